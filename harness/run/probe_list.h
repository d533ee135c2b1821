/* The probes, one row each, for includers that define PROBE(enumerator, name, summary) and undefine
 * it afterwards.  The order is that of enum probe and of `hbmstress list probes`.
 *
 * "Placed": a request (alloc, output, load, execute) that was granted.  "Refused": one that ended
 * out of memory.  The summary is one sentence without its full stop. */
/* clang-format off */
/* placed */
PROBE(DRAINED_FOR_A_REQUEST, drained_for_a_request,
      "a request was placed after an event was awaited for it")
PROBE(MOVED_FOR_A_REQUEST, moved_for_a_request,
      "a request was placed after blocks were moved for it")
PROBE(EVICTED_FOR_A_BUFFER, evicted_for_a_buffer,
      "a buffer was placed after a program was evicted for it")
PROBE(EVICTED_FOR_A_PROGRAM, evicted_for_a_program,
      "a program was loaded or executed after another one was evicted for it")
PROBE(PLACED_AFTER_ALL_THREE, placed_after_all_three,
      "a request was placed after a wait, a move and an eviction")
PROBE(HOLE_EXACTLY_THE_REQUEST, hole_exactly_the_request,
      "mitigations gave a request a hole of exactly its size")
PROBE(RELOADED_BY_EXECUTE, reloaded_by_execute,
      "an evicted program was executed, which loaded it again")
PROBE(STACK_MET_THE_HEAP, stack_met_the_heap,
      "the stack of an executing program ends where the lowest block begins")
PROBE(DEVICE_FULL, device_full,
      "no byte was free after a request")
PROBE(FAILED_AND_RECOVERED, failed_and_recovered,
      "a call failed, and the next request on that host was placed")
/* placed, refused or failed */
PROBE(HOLE_ONE_GRANULE_SHORT, hole_one_granule_short,
      "the largest hole was one granule smaller than a request that was refused or mitigated")
PROBE(HOLE_FITS_BUT_FOR_ALIGNMENT, hole_fits_but_for_alignment,
      "a hole had the size of a request, but its alignment made the target refuse or mitigate")
PROBE(EVICTED_WHILE_A_FREE_WAS_QUEUED, evicted_while_a_free_was_queued,
      "a program was evicted while a queued free could have been awaited")
PROBE(EVICTED_ONCE_IT_WAS_IDLE, evicted_once_it_was_idle,
      "a program was evicted after its execution ended during the same request")
PROBE(MOVED_WHILE_A_PROGRAM_LOADS, moved_while_a_program_loads,
      "blocks were moved while a program was loaded")
PROBE(MOVED_WHILE_A_PROGRAM_EXECUTES, moved_while_a_program_executes,
      "blocks were moved while a program executed")
PROBE(MOVED_THROUGH_THE_HOST, moved_through_the_host,
      "a block was moved through host memory")
PROBE(MOVED_AROUND_A_HELD_BLOCK, moved_around_a_held_block,
      "blocks were moved on both sides of a held block, or past it")
PROBE(COMPLETED_WHILE_AWAITING_ANOTHER, completed_while_awaiting_another,
      "an event completed while another one was awaited")
PROBE(AWAITED_OUT_OF_ORDER, awaited_out_of_order,
      "an event was awaited while an earlier op's event was unfinished")
PROBE(FAULT_STRUCK_A_MOVE, fault_struck_a_move,
      "a fault struck a copy or a staging")
PROBE(FAULT_STRUCK_A_WAIT, fault_struck_a_wait,
      "a fault struck the wait for an event")
PROBE(FAULT_STRUCK_AN_UNLOAD, fault_struck_an_unload,
      "a fault struck the eviction of a program")
PROBE(FAULT_STRUCK_HOST_MEMORY, fault_struck_host_memory,
      "the allocator was refused host memory")
/* refused */
PROBE(OOM_AFTER_ALL_THREE, oom_after_all_three,
      "a request was refused after a wait; blocks moved or could move, programs were evicted or could be")
PROBE(OOM_WITH_ENOUGH_FREE, oom_with_enough_free,
      "a request was refused although enough bytes were free in sum")
PROBE(OOM_WITHOUT_ENOUGH_FREE, oom_without_enough_free,
      "a request was refused for more bytes than were free")
PROBE(OOM_FOR_THE_STACK, oom_for_the_stack,
      "a loaded program was refused the stack that it needs to execute")
PROBE(OOM_WHILE_A_FREE_IS_LOST, oom_while_a_free_is_lost,
      "a request was refused while a queued free waited for a lost event")
PROBE(OOM_WHILE_A_PROGRAM_EXECUTES, oom_while_a_program_executes,
      "a request was refused while a program executed")
PROBE(RELOAD_REFUSED, reload_refused,
      "an evicted program was refused the memory that it needs to reload")
PROBE(SEVERAL_HOSTS_SHORT_TOGETHER, several_hosts_short_together,
      "a request was refused, and so was the last request on another host")
/* other ops */
PROBE(DONATED_WHILE_USED, donated_while_used,
      "a block was donated while an unfinished event used it")
PROBE(FREED_WHILE_HELD, freed_while_held,
      "a block was freed while it was held")
PROBE(RELEASED_BY_ONE_OF_TWO, released_by_one_of_two,
      "a freed block was released by one holder while another one held it")
PROBE(RETIRED_MEMORY, retired_memory,
      "memory went bad and was taken out of service")
/* clang-format on */
