#include "targets/plants/plants.h"

#include "targets/plants/private/answers.h"
#include "targets/plants/private/deaths.h"
#include "targets/plants/private/moves.h"
#include "targets/plants/private/numbers.h"
#include "targets/plants/private/refusals.h"
#include "targets/plants/private/regrets.h"

/* open() is not told which target it opens, so each row has one of its own. */
#define PLANT(noun, defect, rule, text)                                                        \
    static enum target_result open_##noun(                                                     \
        const struct target_setup *setup, const struct device_services *device,                \
        struct target_instance **out, struct target_contract *contract, char *reason,          \
        size_t reason_bytes)                                                                   \
    {                                                                                          \
        return plant_call_open(&(defect), setup, device, out, contract, reason, reason_bytes); \
    }                                                                                          \
    const struct target plant_##noun = {                                                       \
        .abi_version = TARGET_ABI_VERSION,                                                     \
        .size_bytes = sizeof(struct target),                                                   \
        .name = "plant_" #noun,                                                                \
        .summary = text,                                                                       \
        .breaks = rule,                                                                        \
        .option_help = PLANT_OPTION_HELP,                                                      \
        .open = open_##noun,                                                                   \
        PLANT_CALLS,                                                                           \
    }

/* Those of libhbm that do not change what is planted. */
#define PLANT_OPTION_HELP                                                                                \
    "defrag=none|slide|repack\ngranule=N\norder=drain,defragment,evict\nprogram_evicts_program=yes|no\n" \
    "log_allocations_on_oom=yes|no\nmessage_code=yes|no\nsearch_nodes=N\n"

#define PLANT_CALLS                                                                                \
    .close = plant_call_close, .alloc = plant_call_alloc, .free = plant_call_free,                 \
    .use = plant_call_use, .hold = plant_call_hold, .release = plant_call_release,                 \
    .donate = plant_call_donate, .load = plant_call_load, .execute = plant_call_execute,           \
    .unload = plant_call_unload, .defragment = plant_call_defragment, .locate = plant_call_locate, \
    .stats = plant_call_stats, .retire = plant_call_retire, .report = plant_call_report,           \
    .message = plant_call_message

PLANT(premature_undrained, defect_undrained, "premature",
      "gives up without waiting for queued frees");
PLANT(premature_stalled, defect_stalled, "premature",
      "awaits the first queued free and none behind it");
PLANT(premature_unretried, defect_unretried, "premature",
      "waits for queued frees and does not search again");
PLANT(premature_moved_unretried, defect_moved_unretried, "premature",
      "moves blocks and does not search again");
PLANT(premature_defragmented_once, defect_defragmented_once, "premature",
      "defragments for one request in its life");
PLANT(premature_evicted_once, defect_evicted_once, "premature",
      "evicts one program, then gives up");
PLANT(premature_rounded, defect_rounded, "premature",
      "rounds a request to a power of two before the fit test");
PLANT(premature_binned, defect_binned, "premature",
      "does not see a hole of the request's own size class");
PLANT(premature_last_hole, defect_last_hole, "premature",
      "now and then does not look at the last hole");
PLANT(overlap, defect_overlap, "overlap", "now and then a block laps over the one above it");
PLANT(outside, defect_outside, "outside", "now and then a block ends behind the device");
PLANT(misaligned, defect_misaligned, "misaligned",
      "now and then an alignment is dropped, or a header of half a granule is left in");
PLANT(too_small, defect_too_small, "too_small", "now and then a size is rounded down");
PLANT(contents, defect_contents, "contents", "now and then a move leaves its last granule behind");
PLANT(reused_early, defect_reused_early, "reused_early",
      "now and then places a block on a queued free");
PLANT(held_moved, defect_held_moved, "held_moved",
      "forgets two of three holds and uses when it moves blocks");
PLANT(moved_unasked, defect_moved_unasked, "moved_unasked",
      "declares slide but changes the order of blocks");
PLANT(busy_evicted, defect_busy_evicted, "busy_evicted",
      "evicts a busy program when nothing else is left");
PLANT(wrong_eviction, defect_wrong_eviction, "wrong_eviction",
      "programs evict programs, against its contract");
PLANT(failed_changed, defect_failed_changed, "failed_changed",
      "a failed request leaves a planned move behind");
PLANT(counters, defect_counters, "counters", "bytes in use drift up by a granule now and then");
PLANT(message, defect_message, "message", "now and then prints the previous error");
PLANT(report, defect_report, "report", "a report of two or more blocks lacks the smallest");
PLANT(status, defect_status, "status", "calls some impossible sizes out of memory");
PLANT(handle, defect_handle, "handle", "now and then the handle is 0");
PLANT(hang, defect_hang, "hang", "now and then repeats one move for ever");
PLANT(not_coalesced, defect_not_coalesced, "not_coalesced", "the empty heap is two holes");
PLANT(host_memory, defect_host_memory, "host_memory", "gives back less host memory than it took");
PLANT(spmd, defect_spmd, "spmd", "does not drain on every second host");
PLANT(replay, defect_replay, "replay", "depends on how many requests the process has seen");
PLANT(regret_evicts_first, defect_evicts_first, "regret",
      "evicts idle programs before it waits or moves");
PLANT(regret_moves_first, defect_moves_first, "regret", "moves blocks together though a hole fits");
PLANT(regret_evicts_all, defect_evicts_all, "regret",
      "evicts all idle programs where one has to go");
PLANT(regret_moves_all, defect_moves_all, "regret",
      "moves all blocks together where a few would do");
PLANT(crash_segv, defect_crash_segv, "crash",
      "the third copy of one call writes through a pointer that is none");
PLANT(crash_abort, defect_crash_abort, "crash",
      "an assertion of its own says that no request fails twice");
PLANT(crash_exit, defect_crash_exit, "crash",
      "ends the process in a queued free that waits behind others");
PLANT(crash_host_refused, defect_crash_host_refused, "crash",
      "writes into host memory that it was refused");
PLANT(hang_spin, defect_hang_spin, "hang",
      "walks a ring of queued frees and never asks the device");
PLANT(overrun, defect_overrun, "overrun", "writes one row more than it has host memory for");
PLANT(contents_scribble, defect_contents_scribble, "contents",
      "now and then a copy is a granule too long");
PLANT(contents_lost_copy, defect_contents_lost_copy, "contents",
      "takes a refused copy for one that was done");
PLANT(host_memory_leak, defect_host_memory_leak, "host_memory",
      "a failed call leaves memory behind that it took with malloc");
PLANT(host_memory_grow, defect_host_memory_grow, "host_memory",
      "keeps host memory for each request until close");
PLANT(counters_failed, defect_counters_failed, "counters",
      "a call that the device failed stays counted");
PLANT(overlap_half_unload, defect_overlap_half_unload, "overlap",
      "half of an image counts as free when its eviction was refused");
