hbmstress_add_test(test_fuzz_input LIBS fuzz scenarios)
hbmstress_add_test(test_fuzz_player LIBS fuzz)
hbmstress_add_test(test_fuzz_regrets LIBS fuzz)
hbmstress_add_test(test_fuzz_finding LIBS fuzz)
hbmstress_add_test(test_fuzz_targets LIBS fuzz_checks certificate_check LABELS fuzz)

set(fuzz_seeds "${CMAKE_SOURCE_DIR}/corpus/seeds")
set(fuzz_field "${CMAKE_SOURCE_DIR}/corpus/field")

# hbmstress_add_fuzz_corpus_test(TARGET <file or folder>...): the fuzz target plays its seeds, and what else is named.
function(hbmstress_add_fuzz_corpus_test target)
    hbmstress_add_script_test(${target}_corpus COMMAND "$<TARGET_FILE:${target}>" "${fuzz_seeds}/${target}" ${ARGN}
                              LABELS fuzz)
endfunction()
foreach(target IN ITEMS fuzz_ops fuzz_faults fuzz_schedule)
    hbmstress_add_fuzz_corpus_test(${target})
endforeach()
foreach(format IN ITEMS azure_llm bfc jax_device_memory malloc_lab rmm static_planning torch_snapshot tpu_message
                        trace_json xplane)
    hbmstress_add_fuzz_corpus_test(fuzz_${format} "${fuzz_field}/${format}")
endforeach()
hbmstress_add_fuzz_corpus_test(fuzz_hbm_report "${fuzz_field}/hbm_report" "${fuzz_field}/hbm_allocations")
hbmstress_add_fuzz_corpus_test(fuzz_certificate)
hbmstress_add_fuzz_corpus_test(fuzz_differential)
hbmstress_add_fuzz_corpus_test(fuzz_hbm_calls)
hbmstress_add_fuzz_corpus_test(fuzz_ops_text "${fuzz_field}/ops" "${CMAKE_SOURCE_DIR}/corpus/regressions")
hbmstress_add_fuzz_corpus_test(fuzz_packing)
hbmstress_add_fuzz_corpus_test(fuzz_text "${fuzz_field}/static_planning")

# hbmstress_add_fuzz_liar(TARGET LIAR CALL...): the program TARGET_lied_to is the fuzz target with the calls of LIAR.c
# in the place of the true ones.  Without a lie it finds nothing in its seeds.
function(hbmstress_add_fuzz_liar target liar)
    add_executable(${target}_lied_to "${CMAKE_SOURCE_DIR}/fuzz/${target}.c" ${liar}.c)
    target_link_libraries(${target}_lied_to PRIVATE fuzz_checks certificate_check fuzz_replayer)
    foreach(call IN LISTS ARGN)
        target_link_options(${target}_lied_to PRIVATE "-Wl,--wrap=${call}")
    endforeach()
    # What is optimised across files is bound before the linker could wrap it.
    set_target_properties(${target}_lied_to PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_link_options(${target}_lied_to PRIVATE -fno-lto)
    hbmstress_add_script_test(${target}_notices_nothing
        COMMAND "$<TARGET_FILE:${target}_lied_to>" "${fuzz_seeds}/${target}" LABELS fuzz)
endfunction()
hbmstress_add_fuzz_liar(fuzz_certificate fuzz_lying_judges certificate_check exhaustive_judge oracle_judge)
hbmstress_add_fuzz_liar(fuzz_packing fuzz_lying_judges certificate_check exhaustive_judge oracle_judge)
hbmstress_add_fuzz_liar(fuzz_differential fuzz_lying_runs exhaustive_judge run_observation)
hbmstress_add_fuzz_liar(fuzz_hbm_calls fuzz_lying_hbm hbm_invariants_hold hbm_host_bytes hbm_create hbm_allocate
                        hbm_release hbm_stats hbm_shape_parse)
target_link_libraries(fuzz_hbm_calls_lied_to PRIVATE hbm_calls)
hbmstress_add_fuzz_liar(fuzz_text fuzz_lying_text text_read)

# Each format, and the target that gives it bytes.
set(fuzz_formats azure_llm bfc hbm_allocations hbm_report jax_device_memory malloc_lab rmm static_planning
                 torch_snapshot torch_state tpu_message trace_json xplane)
foreach(format IN LISTS fuzz_formats)
    set(fuzz_target_of_${format} fuzz_${format})
endforeach()
set(fuzz_target_of_hbm_allocations fuzz_hbm_report)
set(fuzz_target_of_torch_state fuzz_torch_snapshot)
foreach(target IN ITEMS ops_text ${fuzz_formats})
    if(TARGET fuzz_${target})
        hbmstress_add_fuzz_liar(fuzz_${target} fuzz_lying_readers import_text ops_file_parse ops_file_print)
    endif()
endforeach()

# hbmstress_add_fuzz_liar_test(TARGET LIE EXPECTED): told the lie, the target finds what is expected in its seeds.
function(hbmstress_add_fuzz_liar_test target lie expected)
    string(REGEX REPLACE "[:/]" "_" lie_name "${lie}")
    hbmstress_add_script_test(${target}_notices_${lie_name}
        COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/fuzz_liar.sh" "$<TARGET_FILE:${target}_lied_to>" ${lie} ${expected}
                "${fuzz_seeds}/${target}"
        LABELS fuzz)
endfunction()
hbmstress_add_fuzz_liar_test(fuzz_certificate accepts false_claim_accepted)
hbmstress_add_fuzz_liar_test(fuzz_certificate exhaustive false_claim_accepted)
hbmstress_add_fuzz_liar_test(fuzz_certificate oracle false_claim_accepted)
hbmstress_add_fuzz_liar_test(fuzz_certificate refuses proof_refuted)
hbmstress_add_fuzz_liar_test(fuzz_certificate reason reason_unprintable)
hbmstress_add_fuzz_liar_test(fuzz_packing exhaustive judges_differ)
hbmstress_add_fuzz_liar_test(fuzz_packing oracle verdict_unstable)
hbmstress_add_fuzz_liar_test(fuzz_packing oracle_of_none contract_loses_room)
hbmstress_add_fuzz_liar_test(fuzz_packing refuses proof_refuted)
hbmstress_add_fuzz_liar_test(fuzz_differential exhaustive judges_differ)
hbmstress_add_fuzz_liar_test(fuzz_differential room contract_loses_room)
hbmstress_add_fuzz_liar_test(fuzz_differential invalid invalid_differs)
hbmstress_add_fuzz_liar_test(fuzz_differential in_use counters_differ)
hbmstress_add_fuzz_liar_test(fuzz_differential reserved counters_differ)
hbmstress_add_fuzz_liar_test(fuzz_differential target:plant_premature_rounded premature)
foreach(lie IN ITEMS invariants host_bytes order size memory release count shape offset)
    hbmstress_add_fuzz_liar_test(fuzz_hbm_calls ${lie} calls_contradict)
endforeach()
foreach(lie IN ITEMS byte again refuses limit cuts nul)
    hbmstress_add_fuzz_liar_test(fuzz_text ${lie} text_changed)
endforeach()
hbmstress_add_fuzz_liar_test(fuzz_text reason reason_unprintable)
# What is checked of every format alike (fuzz/text_check.h) is seen to be checked in one target ...
foreach(target IN ITEMS fuzz_ops_text fuzz_rmm)
    foreach(lie IN ITEMS reason no_reason endless_reason)
        hbmstress_add_fuzz_liar_test(${target} ${lie} reason_unprintable)
    endforeach()
    hbmstress_add_fuzz_liar_test(${target} line position_outside)
    hbmstress_add_fuzz_liar_test(${target} column position_outside)
    foreach(lie IN ITEMS op loses_op print setup refuses)
        hbmstress_add_fuzz_liar_test(${target} ${lie} text_changed)
    endforeach()
endforeach()
foreach(lie IN ITEMS lane host flags align size made_of block_later block_of_none program_of_none event_missing
                     event_later event_of_none switch_lane switch_op switch_event capacity hosts no_host)
    hbmstress_add_fuzz_liar_test(fuzz_rmm ${lie} op_illegal)
endforeach()
hbmstress_add_fuzz_liar_test(fuzz_rmm note reason_unprintable)
hbmstress_add_fuzz_liar_test(fuzz_rmm no_note reason_unprintable)
hbmstress_add_fuzz_liar_test(fuzz_rmm target:plant_not_coalesced not_coalesced)
# ... and in the others, that each of their formats is checked at all.
foreach(format IN LISTS fuzz_formats)
    hbmstress_add_fuzz_liar_test(${fuzz_target_of_${format}} ${format}/kind op_illegal)
endforeach()
foreach(format IN ITEMS bfc hbm_report tpu_message)
    hbmstress_add_fuzz_liar_test(fuzz_${format} ${format}/last_op message_not_repeated)
endforeach()

# What engines call, and the plays of inputs.
hbmstress_add_test(test_fuzz_choices LIBS fuzz SOURCES simulated_lanes.c)
hbmstress_add_test(test_fuzz_lane_player LIBS fuzz)
hbmstress_add_test(test_fuzz_feedback LIBS fuzz)
hbmstress_add_script_test(fuzz_schedule
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/fuzz_schedule.sh" "$<TARGET_FILE:fuzz_schedule>" "$<TARGET_FILE:fuzz_input>"
            "$<TARGET_FILE:hbmstress>")
# The builds that engines run, where presets put them.
hbmstress_add_script_test(fuzz_feedback
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/fuzz_feedback.sh" "$<TARGET_FILE:fuzz_input>" "${CMAKE_SOURCE_DIR}/build/fuzz"
            "${CMAKE_SOURCE_DIR}/build/fuzz-fast" "${CMAKE_SOURCE_DIR}/build/afl")
hbmstress_add_test(test_fuzz_mutate LIBS fuzz_mutate SOURCES fuzz_lists.c)
hbmstress_add_test(test_fuzz_mutate_edits LIBS fuzz_mutate SOURCES fuzz_lists.c)
hbmstress_add_test(test_fuzz_mutate_heap LIBS fuzz_mutate SOURCES fuzz_lists.c)
hbmstress_add_test(test_fuzz_mutate_hosts LIBS fuzz_mutate SOURCES fuzz_lists.c)
hbmstress_add_test(test_fuzz_trim LIBS fuzz_mutate SOURCES fuzz_lists.c)
# The engines' sides, called as the engines call them.
hbmstress_add_test(test_fuzz_mutators
    LIBS fuzz_mutator_libfuzzer fuzz_mutate
    SOURCES fuzz_lists.c ../fuzz/mutator_afl.c)
hbmstress_add_script_test(ci_fuzz
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/ci_fuzz.sh" "${CMAKE_SOURCE_DIR}" "$<TARGET_FILE:hbmstress>"
            "$<TARGET_FILE:hbm-certificate-check>")
hbmstress_add_script_test(ci_coverage COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/ci_coverage.sh" "${CMAKE_SOURCE_DIR}")
# Two builds of everything that the targets need: minutes, so ci/test leaves it out and ci/nightly runs it.
hbmstress_add_script_test(fuzz_fleet
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/fuzz_fleet.sh" "${CMAKE_SOURCE_DIR}" LABELS nightly)
