/* Every planted defect: one row each, in the order in which they are listed.
 *
 *     PLANT(file, name, rule, summary, member = function, ...)
 *
 * The target plant_NAME breaks the rule, and that rule must catch it.  The members are those of
 * struct plant_defect; the functions that they name are static in targets/plants/FILE.c, or
 * those of targets/plants/private/plant.h. */
/* clang-format off */
PLANT(refusals, premature_undrained, "premature", "gives up without waiting for queued frees",
      .event_wait = wait_never)
PLANT(refusals, premature_stalled, "premature", "a request awaits only the first queued free",
      .event_wait = wait_for_head)
PLANT(refusals, premature_unretried, "premature",
      "waits for queued frees but does not search again",
      .alloc = alloc_without_retry, .event_wait = wait_in_vain, .hides_completions = true)
PLANT(refusals, premature_moved_unretried, "premature", "moves blocks but does not search again",
      .refuses = moves_in_vain)
PLANT(refusals, premature_defragmented_once, "premature", "defragments for one request only",
      .alloc = alloc_or_refuse, .copy = copy_once, .refuses_stages = true)
PLANT(refusals, premature_evicted_once, "premature", "evicts one program, then gives up",
      .alloc = alloc_or_refuse, .unload = unload_once)
PLANT(refusals, premature_rounded, "premature",
      "rounds a request to a power of two before the fit test",
      .refuses = misses_rounded)
PLANT(refusals, premature_binned, "premature",
      "does not see a hole of the request's own size class",
      .refuses = misses_bin)
PLANT(refusals, premature_last_hole, "premature", "sometimes skips the last hole",
      .refuses = misses_last_hole)
PLANT(refusals, retry, "retry",
      "refuses a request whose size class does not fit, and grants it when it is asked again",
      .declare = declare_doublings, .alloc = alloc_when_asked_again)
PLANT(answers, overlap, "overlap", "sometimes places a block that overlaps the one above it",
      .placed = overlap)
PLANT(answers, outside, "outside", "sometimes places a block that ends beyond the device",
      .placed = leave_device)
PLANT(answers, misaligned, "misaligned",
      "sometimes ignores an alignment, or returns an address half a granule too low",
      .asked = drop_align, .placed = add_half_header)
PLANT(answers, too_small, "too_small", "sometimes rounds a size down",
      .placed = round_down)
PLANT(answers, too_large, "too_large", "gives a request the whole of the largest hole",
      .asked = ask_for_hole)
PLANT(moves, contents, "contents", "sometimes a move leaves its last granule behind",
      .copy = copy_torn)
PLANT(answers, reused_early, "reused_early", "sometimes places a block on a queued free",
      .placed = reuse_early)
PLANT(moves, held_moved, "held_moved", "forgets two of three holds and uses when it moves blocks",
      .forced = {"defrag", "repack"}, .hold = hold_forgotten, .release = release_forgotten,
      .use = use_forgotten, .free = free_remembering, .around_program = remember_for_program)
PLANT(moves, moved_unasked, "moved_unasked", "declares slide but changes the order of blocks",
      .forced = {"defrag", "repack"}, .declare = declare_slide)
PLANT(moves, busy_evicted, "busy_evicted", "evicts a busy program when nothing else is left",
      .alloc = alloc_evicting_busy)
PLANT(moves, wrong_eviction, "wrong_eviction", "programs evict programs, against its contract",
      .forced = {"program_evicts_program", "yes"}, .declare = declare_no_rivalry)
PLANT(moves, failed_changed, "failed_changed", "a failed request leaves a planned move behind",
      .failed = keep_first_move, .located = show_planned)
PLANT(failures, failed_size, "failed_changed", "a refused request leaves a block larger than it was",
      .failed = keep_new_size, .located = show_new_size)
PLANT(failures, failed_image, "failed_changed",
      "after a refused request an evicted program has an address",
      .failed = keep_image, .locate = locate_image)
PLANT(failures, failed_row, "failed_changed",
      "a refused request stays in the report until the next call",
      .alloc = alloc_with_row, .report = report_with_row)
PLANT(failures, failed_tidied, "failed_changed",
      "moves blocks together for a request that can never be right",
      .asked = tidy_for_invalid)
PLANT(failures, failed_free, "failed_changed",
      "moves blocks together when a free has failed",
      .free = free_tidying)
PLANT(failures, failed_stage, "failed_changed",
      "a refused request leaves a copy of a block in host memory",
      .failed = keep_stage)
PLANT(failures, failed_peak, "counters", "after a failed call the peak is another one",
      .placed = note_peak, .failed = count_peak, .stats = stats_at_peak)
PLANT(failures, failed_hole, "counters",
      "after an impossible size the largest hole is counted too small once",
      .failed = note_invalid, .stats = stats_without_granule)
PLANT(numbers, counters, "counters", "a free sometimes subtracts a granule too little from the bytes in use",
      .free = free_drifting, .stats = plant_stats_with_amount)
PLANT(numbers, message, "message", "sometimes prints the previous error",
      .failed = message_sticks)
PLANT(numbers, report, "report", "a report of two or more blocks lacks the smallest",
      .report = report_without_last)
PLANT(answers, status, "status", "reports some impossible sizes as out of memory",
      .alloc = alloc_without_judgement)
PLANT(answers, handle, "handle", "sometimes returns the handle 0",
      .placed = drop_handle)
PLANT(moves, hang, "hang", "sometimes repeats one move forever",
      .failed = move_for_ever)
PLANT(numbers, not_coalesced, "not_coalesced", "reports the empty heap as two holes",
      .stats = stats_with_gap)
PLANT(numbers, host_memory, "host_memory", "releases less host memory than it obtained",
      .host_free_bytes = host_free_bytes)
PLANT(numbers, spmd, "spmd", "does not drain on every second host",
      .declare = declare_drains, .event_wait = wait_on_even_hosts)
PLANT(numbers, spmd_one_host, "spmd", "does not drain on the fourth host of the job",
      .declare = declare_drains_but_on_fourth_host, .event_wait = wait_but_on_fourth_host)
PLANT(numbers, replay, "replay", "answers depend on how many requests the process has had",
      .asked = wait_by_mood)
PLANT(numbers, relation_names, "relation",
      "which requests wait for the newest queued free depends on the ids of their blocks",
      .asked = wait_by_name)
PLANT(numbers, relation_sizes, "relation",
      "awaits queued frees for requests of every second doubling of size",
      .declare = declare_no_drain, .alloc = alloc_noting_size, .event_wait = wait_by_size)
PLANT(regrets, regret_evicts_first, "regret", "evicts idle programs before it waits or moves",
      .forced = {"order", "evict,drain,defragment"}, .declare = declare_documented_order)
PLANT(regrets, regret_moves_first, "regret", "moves all blocks together although a hole fits",
      .asked = move_first)
PLANT(regrets, regret_evicts_all, "regret", "evicts all idle programs where one is enough",
      .placed = evict_all)
PLANT(regrets, regret_moves_all, "regret", "moves all blocks together where a few are enough",
      .asked = move_all)
PLANT(deaths, crash_segv, "crash",
      "the third copy of one call writes through an invalid pointer",
      .copy = copy_crashing)
PLANT(deaths, crash_abort, "crash", "an assertion of its own fails at the second refused request",
      .alloc = alloc_aborting)
PLANT(deaths, crash_exit, "crash", "ends the process in a queued free that waits behind others",
      .free = free_exiting)
PLANT(deaths, crash_host_refused, "crash", "writes into host memory that it was refused",
      .asked = alloc_unchecked)
PLANT(deaths, hang_spin, "hang", "walks a ring of queued frees without end and makes no device call",
      .free = free_spinning)
PLANT(deaths, overrun, "overrun", "writes one row more than its host memory holds",
      .asked = alloc_overrunning)
PLANT(deaths, contents_scribble, "contents", "sometimes a copy is a granule too long",
      .copy = copy_scribbling)
PLANT(deaths, contents_lost_copy, "contents", "treats a refused copy as done",
      .copy = copy_trusting)
PLANT(deaths, host_memory_leak, "host_memory",
      "a failed call leaks memory that it allocated with malloc",
      .failed = leak_notes)
PLANT(deaths, host_memory_grow, "host_memory", "keeps host memory for each request until close",
      .asked = keep_history, .close = close_history)
PLANT(deaths, counters_failed, "counters", "counts a granule as used for each call that the device failed",
      .failed = keep_counted, .stats = plant_stats_with_amount)
PLANT(deaths, overlap_half_unload, "overlap",
      "counts half of an image as free when its eviction was refused",
      .placed = place_in_half, .unload = unload_half)
PLANT(classes, classes_rounding, "premature",
      "finds a hole by its size class, of which there are eight for each doubling",
      .refuses = misses_class)
PLANT(classes, classes_leaking, "premature",
      "the same, and the memory of each 50th free is never found again",
      .refuses = misses_class, .free = free_losing)
PLANT(classes, one_host_leaking, "premature",
      "on the second host of the job alone the memory of each 50th free is never found again",
      .refuses = misses_lost, .free = free_losing_on_one_host)
PLANT(classes, too_large_classes, "too_large",
      "gives a request the whole of its size class, which its contract does not declare",
      .asked = ask_for_class)
PLANT(classes, premature_reserve, "premature", "never gives the last granule of the device",
      .refuses = keeps_reserve)
PLANT(clients, premature_starving, "premature",
      "of several refused clients it serves the one that came last, and the others never again",
      .alloc = alloc_for_last)
PLANT(clients, premature_aborted, "premature",
      "leaks blocks of a client that is aborted while memory is being reclaimed",
      .alloc = alloc_reclaiming, .free = free_into_list)
PLANT(local, premature_at_address, "premature", "loses a hole that begins at the fifth granule",
      .refuses = loses_address)
PLANT(local, premature_at_size, "premature", "loses a hole of exactly five granules",
      .refuses = loses_size)
PLANT(local, premature_at_align, "premature",
      "loses a hole whose address is aligned to four granules and no more",
      .refuses = loses_align)
PLANT(local, premature_at_count, "premature", "loses the highest hole while there are seven blocks",
      .refuses = loses_count)
PLANT(local, contents_at_length, "contents", "a move of exactly three granules leaves the last behind",
      .copy = copy_short_at_length)
PLANT(deep, counters_ring, "counters",
      "a ring of 1,024 queued frees loses one when another comes: its bytes stay counted",
      .free = free_wrapping, .stats = stats_with_lost)
PLANT(deep, counters_polls, "counters",
      "counts a queued free twice that completes between two polls of one request",
      .event_wait = wait_counting_twice, .stats = stats_without_amount)
PLANT(deep, counters_count_late, "counters",
      "misses what completes between its looks at events, because it reads the count after them",
      .counts_late = true)
PLANT(deep, counters_table, "counters",
      "a table of 4,096 handles loses the last one when it grows: its bytes stay counted",
      .placed = grow_table, .free = free_uncounted, .stats = plant_stats_with_amount)
PLANT(deep, counters_generation, "counters",
      "a stale handle names another block after 256 reuses of its place",
      .placed = recycle, .free = free_recycling, .hold = hold_counted,
      .release = release_by_place, .stats = stats_without_amount)
PLANT(deep, overlap_index, "overlap", "an index of 16 bits names two blocks beyond 65,536 of them",
      .placed = take_alias)
PLANT(deep, counters_holds, "counters",
      "a count of holds stays at 255, so that a freed block is counted as gone too soon",
      .hold = hold_saturating, .free = free_saturated, .release = release_saturated,
      .stats = stats_without_held)
PLANT(sleeps, not_released, "not_released", "keeps a granule more of the device in each sleep",
      .forced = {"sleep", "keeps"}, .unmap = unmap_ever_less)
PLANT(sleeps, not_released_half, "not_released",
      "a wake that the device refuses keeps what it took before the refusal",
      .forced = {"sleep", "keeps"}, .unmap = unmap_asleep_only)
PLANT(sleeps, not_released_pieces, "not_released",
      "wakes piece by piece, and keeps the pieces that it took when the next one is refused",
      .forced = {"sleep", "keeps"}, .map = map_in_pieces, .unmap = unmap_asleep_only)
PLANT(sleeps, wake_forgets, "contents", "sometimes forgets to restore a block",
      .forced = {"sleep", "keeps"}, .stage_copy = stage_copy_forgotten)
PLANT(sleeps, wake_loses, "contents",
      "after a wake that failed the next one takes its first block for restored",
      .forced = {"sleep", "keeps"}, .stage_copy = stage_copy_noted, .wake = wake_noting)
PLANT(sleeps, wake_moves, "moved_unasked", "after a wake a block has another address",
      .forced = {"sleep", "keeps"}, .wake = wake_elsewhere, .located = show_elsewhere)
PLANT(sleeps, wake_refuses, "status", "some wakes are refused, although the device refuses nothing",
      .forced = {"sleep", "keeps"}, .wake = wake_without_cause)
PLANT(sleeps, wake_grows, "wake_grows", "each wake leaves a page of host memory until close",
      .forced = {"sleep", "keeps"}, .wake = wake_with_history, .close = close_wakes)
PLANT(sleeps, wake_grows_stage, "wake_grows",
      "sometimes keeps what it saved of a block after the wake",
      .forced = {"sleep", "keeps"}, .stage_drop = stage_drop_asleep_only)
PLANT(promises, counters_late_back, "counters",
      "declares late counters, and sometimes shows what was right before what it showed last",
      .declare = declare_late, .stats = stats_going_back)
PLANT(promises, counters_too_late, "counters",
      "declares late counters, and sometimes is up to 100 ops behind",
      .declare = declare_late, .stats = stats_asleep)
PLANT(promises, counters_below, "counters",
      "declares upper bounds, and sometimes takes a granule off twice",
      .declare = declare_at_most, .stats = stats_below)
PLANT(promises, order_evicts_first, "order",
      "declares that the documented order binds, but evicts before it waits or moves",
      .forced = {"order", "evict,drain,defragment"}, .declare = declare_binding_order)
PLANT(promises, order_moves_first, "order",
      "declares that the documented order binds, but moves before it waits",
      .forced = {"order", "defragment,drain,evict"}, .declare = declare_binding_order)
PLANT(promises, order_evicts_another, "order",
      "declares that it evicts until a request fits, but evicts one program more",
      .declare = declare_until_fits, .placed = evict_another)
PLANT(promises, order_keeps_programs, "order",
      "declares that it evicts until a request fits, but keeps programs where that would not help",
      .declare = declare_until_fits)
PLANT(promises, ownership, "ownership", "counts what is held as used, too",
      .forced = {"owners", "yes"}, .stats = stats_with_held_twice)
PLANT(promises, ownership_forgets, "ownership", "counts idle programs as used",
      .forced = {"owners", "yes"}, .stats = stats_without_evictable)
PLANT(promises, held_back, "held_back", "awaits every queued free before it looks for a hole",
      .asked = drain_all)
PLANT(costs, cost_polls, "cost",
      "declares that device calls grow with the logarithm, but reads the clock for each block",
      .declare = declare_calls, .asked = read_ages)
PLANT(costs, cost_closes_up, "cost",
      "declares that moved bytes grow with the logarithm, but moves all blocks together at each free",
      .declare = declare_moves, .free = free_closing_up)
PLANT(costs, cost_walks, "cost",
      "declares that memory accesses do not grow, but looks at each block in each alloc and free",
      .declare = declare_accesses, .asked = walk, .free = free_after_walk)
PLANT(costs, latency_spins, "latency",
      "declares at most 64 device calls for 990 ops of 1,000, and makes 100 in each 16th request",
      .declare = declare_few_calls, .asked = spin)
PLANT(costs, latency_moves, "latency",
      "declares that no op moves more than a 16th of the device, which libhbm does",
      .declare = declare_few_moves)
