/* Every format, FORMAT(room, name): in the order of `list formats`, where the first of those that
 * are equally sure of a text wins. */
/* clang-format off */
FORMAT(generic, ops)
FORMAT(generic, azure_llm)
FORMAT(bfc, bfc)
FORMAT(xla, hbm_allocations)
FORMAT(xla, hbm_report)
FORMAT(profile, jax_device_memory)
FORMAT(generic, malloc_lab)
FORMAT(generic, rmm)
FORMAT(generic, static_planning)
FORMAT(torch, torch_events)
FORMAT(torch, torch_snapshot)
FORMAT(torch, torch_state)
FORMAT(xla, tpu_message)
FORMAT(profile, trace_json)
FORMAT(profile, xplane)
