/* For each target of targets/threaded/list.h the shortest list of ops in which some interleaving
 * shows its race: lane 0 goes first and alone, then the others overlap.  The comment in each list
 * says which switch it takes. */
#ifndef TESTS_HELPERS_RACES_H
#define TESTS_HELPERS_RACES_H

struct race_list {
    const char *target; /* name in races[] */
    const char *ops;    /* text of an .ops file: 8 granules, at most 4 lanes and 12 ops */
};

#define RACE_HEAD(name) "hbmstress-ops 1\ncapacity 4K\ngranule 512\ntarget " name "\n"

static const struct race_list race_lists[] = {
    {"race_drain_unlocked",
     RACE_HEAD(
         "race_drain_unlocked") "# lane 1 has settled block 0 and given the mutex up; lane 2 runs; lane 1 searches, and drains no more\n"
                                "0: alloc size=2K\n"
                                "1: alloc size=2K\n"
                                "2: free_after block=0 delay=1ms\n"
                                "3: alloc size=2K lane=1\n"
                                "4: free_after block=1 delay=1ms lane=2\n"
                                "5: alloc size=2K lane=2\n"},
    {"race_wakeup_lost",
     RACE_HEAD(
         "race_wakeup_lost") "# lane 1 awaits the event; lane 2 sees that and gives the mutex up; lane 1 ends; lane 2 waits for it\n"
                             "0: alloc size=4K\n"
                             "1: free_after block=0 delay=1ms\n"
                             "2: alloc size=1K lane=1\n"
                             "3: alloc size=1K lane=2\n"},
    {"race_first_unfinished",
     RACE_HEAD(
         "race_first_unfinished") "# lane 1 awaits the event of block 0; lane 2 begins, finds the queue's first free unfinished, and gives up\n"
                                  "0: alloc size=4K\n"
                                  "1: free_after block=0 delay=1ms\n"
                                  "2: alloc size=1K lane=1\n"
                                  "3: alloc size=1K lane=2\n"},
    {"race_reused_id",
     RACE_HEAD(
         "race_reused_id") "# lane 1 awaits the event, it completes; lane 2 settles block 0, gets its node; lane 1 settles that again\n"
                           "0: alloc size=4K\n"
                           "1: free_after block=0 delay=1ms\n"
                           "2: alloc size=1K lane=1\n"
                           "3: alloc size=1K lane=2\n"},
    {"race_pin_flag",
     RACE_HEAD(
         "race_pin_flag") "# lane 1 has counted its release, and no more; lane 2 holds; lane 1 clears the pin; lane 2 moves block 1\n"
                          "0: alloc size=1K\n"
                          "1: alloc size=1K\n"
                          "2: hold block=1\n"
                          "3: free block=0\n"
                          "4: release block=1 lane=1\n"
                          "5: hold block=1 lane=2\n"
                          "6: alloc size=3K lane=2\n"},
    {"race_published_early",
     RACE_HEAD(
         "race_published_early") "# lane 1 has linked its block and given the mutex up; lane 2 finds it empty, and takes the same place\n"
                                 "0: alloc size=1K lane=1\n"
                                 "1: alloc size=1K lane=2\n"},
    {"race_limit_checked",
     RACE_HEAD(
         "race_limit_checked") "# lane 1 has found its place and given the mutex up; lane 2 finds the same place\n"
                               "0: alloc size=1K lane=1\n"
                               "1: alloc size=1K lane=2\n"},
    {"race_evicts_busy",
     RACE_HEAD(
         "race_evicts_busy") "# lane 1 has chosen program 0 and given the mutex up; lane 2 executes it; lane 1 evicts it\n"
                             "0: load size=2K stack=0\n"
                             "1: alloc size=3K lane=1\n"
                             "2: execute program=0 delay=1ms lane=2\n"},
    {"race_moves_pinned",
     RACE_HEAD(
         "race_moves_pinned") "# lane 1 has planned to move block 1 and given the mutex up; lane 2 holds block 1; lane 1 copies it\n"
                              "0: alloc size=1K\n"
                              "1: alloc size=1K\n"
                              "2: free block=0\n"
                              "3: alloc size=3K lane=1\n"
                              "4: hold block=1 lane=2\n"},
    {"race_merge_evicted",
     RACE_HEAD(
         "race_merge_evicted") "# lane 1 is about to call unload() for program 0; lane 2 takes the image for a part of the hole\n"
                               "0: load size=2K stack=0\n"
                               "1: alloc size=3K lane=1\n"
                               "2: alloc size=3K lane=2\n"},
    {"race_double_drain",
     RACE_HEAD(
         "race_double_drain") "# lane 1 awaits the event, it completes; lane 2 settles block 0; lane 1 takes it off the counters again\n"
                              "0: alloc size=4K\n"
                              "1: free_after block=0 delay=1ms\n"
                              "2: alloc size=1K lane=1\n"
                              "3: alloc size=1K lane=2\n"},
    {"race_free_in_move",
     RACE_HEAD("race_free_in_move") "# lane 1 is about to copy block 1; lane 2 frees it\n"
                                    "0: alloc size=1K\n"
                                    "1: alloc size=1K\n"
                                    "2: free block=0\n"
                                    "3: alloc size=3K lane=1\n"
                                    "4: free block=1 lane=2\n"},
    {"race_lock_order",
     RACE_HEAD(
         "race_lock_order") "# lane 1 has the second mutex and is about to take the first; lane 2 has the first and wants the second\n"
                            "0: alloc size=1K\n"
                            "1: alloc size=1K lane=1\n"
                            "2: free block=0 lane=2\n"},
    {"race_signal",
     RACE_HEAD(
         "race_signal") "# lane 1 awaits the event; lanes 2 and 3 wait for lane 1, which wakes one of them; that one has room and ends\n"
                        "0: alloc size=4K\n"
                        "1: free_after block=0 delay=1ms\n"
                        "2: alloc size=1K lane=1\n"
                        "3: alloc size=1K lane=2\n"
                        "4: alloc size=1K lane=3\n"},
    {"race_counter_unlocked",
     RACE_HEAD(
         "race_counter_unlocked") "# lane 1 has freed block 0 and given the mutex up; lane 2 counts its block; lane 1 writes what it had computed\n"
                                  "0: alloc size=1K\n"
                                  "1: free block=0 lane=1\n"
                                  "2: alloc size=1K lane=2\n"},
    {"race_peek_unlocked",
     RACE_HEAD(
         "race_peek_unlocked") "# no switch is needed: whichever lane is second reads what the first wrote, and nothing orders them\n"
                               "0: alloc size=1K lane=1\n"
                               "1: alloc size=1K lane=2\n"},
    {"race_spins",
     RACE_HEAD(
         "race_spins") "# lane 1 awaits the event; lane 2 sees that and gives the mutex up; lane 1 ends; lane 2 spins\n"
                       "0: alloc size=4K\n"
                       "1: free_after block=0 delay=1ms\n"
                       "2: alloc size=1K lane=1\n"
                       "3: alloc size=1K lane=2\n"},
    {"race_unlocks_twice",
     RACE_HEAD(
         "race_unlocks_twice") "# lane 1 awaits the event; lane 2 begins, and gives the mutex up twice\n"
                               "0: alloc size=4K\n"
                               "1: free_after block=0 delay=1ms\n"
                               "2: alloc size=1K lane=1\n"
                               "3: alloc size=1K lane=2\n"},
};
enum { RACE_LIST_COUNT = sizeof race_lists / sizeof race_lists[0] };

#endif
