/* What counters say where the contract says less than all of it: bounds, late and absent ones, a
 * limit that others share, and who has the memory. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static void start_counting(enum target_counting counting)
{
    prepare();
    script.contract.counting[TARGET_COUNTER_BYTES_IN_USE] = (uint8_t)counting;
    start_hosts(1);
}

/* The counter shows so many granules more than it should. */
static void show_more(int64_t granules)
{
    script.stats_more.bytes_in_use = (uint64_t)(granules * G);
}

static const struct verdict *pass_time(void)
{
    return on_for(OP_ADVANCE, 0, 1);
}

/* --- counters --- */

TEST(a_late_counter_is_at_most_64_ops_behind)
{
    start_counting(TARGET_COUNT_LATE);
    KEEPS(alloc_at(0, 1));
    show_more(-1);
    KEEPS(alloc_at(1, 1));
    for (int i = 0; i < 62; i++) {
        KEEPS(pass_time());
    }
    BREAKS(pass_time(), RULE_COUNTERS);
    stop();
}

TEST(a_late_counter_may_show_what_was_right_after_open)
{
    start_counting(TARGET_COUNT_LATE);
    show_more(-2);
    KEEPS(alloc_at(0, 2));
    show_more(-1);
    BREAKS(pass_time(), RULE_COUNTERS); /* one granule was never in use */
    stop();
}

TEST(a_late_counter_never_goes_back)
{
    start_counting(TARGET_COUNT_LATE);
    KEEPS(alloc_at(0, 1));
    KEEPS(alloc_at(1, 1)); /* it shows both */
    show_more(-1);
    const struct verdict *verdict = pass_time();
    BREAKS(verdict, RULE_COUNTERS);
    ck_assert_str_eq(verdict->reason,
                     "bytes_in_use is 512, which was not right after any of the last 64 ops, or "
                     "only before what it showed last; it should be 1024 now");
    stop();
}

/* Each value that it shows is explained by the earliest op, so that the next may be any later. */
TEST(a_late_counter_may_follow_step_by_step)
{
    start_counting(TARGET_COUNT_LATE);
    for (uint64_t i = 0; i < 8; i++) {
        show_more(i < 4 ? -(int64_t)(i + 1) : -4);
        KEEPS(alloc_at(i, 1));
    }
    for (int64_t behind = 3; behind >= 0; behind--) {
        show_more(-behind);
        KEEPS(pass_time());
    }
    stop();
}

TEST(an_upper_bound_is_never_below)
{
    start_counting(TARGET_COUNT_AT_MOST);
    show_more(100);
    KEEPS(alloc_at(0, 2));
    show_more(0);
    KEEPS(pass_time());
    show_more(-1);
    const struct verdict *verdict = pass_time();
    BREAKS(verdict, RULE_COUNTERS);
    ck_assert_str_eq(verdict->reason, "bytes_in_use is 512 but should be at least 1024");
    stop();
}

TEST(an_absent_counter_may_show_anything_and_the_others_may_not)
{
    start_counting(TARGET_COUNT_ABSENT);
    show_more(-1);
    KEEPS(alloc_at(0, 2));
    script.stats_more.num_allocs = 1;
    BREAKS(pass_time(), RULE_COUNTERS);
    stop();
}

TEST(the_hole_of_an_empty_heap_is_a_counter_like_others_where_it_is_not_exact)
{
    const struct {
        enum target_counting counting;
        uint64_t more;
        bool breaks;
    } cases[] = {{TARGET_COUNT_AT_MOST, G, false},
                 {TARGET_COUNT_AT_MOST, (uint64_t)-G, true},
                 {TARGET_COUNT_LATE, (uint64_t)-G, false}, /* as before the free */
                 {TARGET_COUNT_LATE, (uint64_t)-2 * G, true},
                 {TARGET_COUNT_ABSENT, (uint64_t)-2 * G, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prepare();
        script.contract.counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] = (uint8_t)cases[i]
                                                                                .counting;
        start_hosts(1);
        KEEPS(alloc_at(0, 1));
        script.stats_more.largest_free_block_bytes = cases[i].counting == TARGET_COUNT_LATE ? 0 : G;
        KEEPS(pass_time());
        script.stats_more.largest_free_block_bytes = cases[i].counting == TARGET_COUNT_LATE
                                                         ? (uint64_t)-G
                                                         : G;
        KEEPS(on(OP_FREE, 0));
        script.stats_more.largest_free_block_bytes = cases[i].more;
        if (cases[i].breaks) {
            BREAKS(report(), RULE_COUNTERS);
        } else {
            KEEPS(report());
        }
        stop();
    }
}

/* --- texts and limits --- */

static const char wrong_free[] =
    "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 8.5K. That was not "
    "possible. There are 9.9G free.";

TEST(a_text_says_no_more_than_its_counters)
{
    for (unsigned counting = TARGET_COUNT_EXACT; counting <= TARGET_COUNT_ABSENT; counting++) {
        prepare();
        script.contract.documented_messages = true;
        script.contract.counting[TARGET_COUNTER_BYTES_IN_USE] = (uint8_t)counting;
        start_hosts(1);
        script.message = wrong_free;
        if (counting == TARGET_COUNT_EXACT) {
            BREAKS(refuse(17), RULE_MESSAGE);
        } else {
            JUDGED(refuse(17), VERDICT_JUSTIFIED);
            script.message = "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to "
                             "allocate 8.5K. That was not possible. There are many free.";
            BREAKS(refuse(17), RULE_MESSAGE); /* a size it must be */
        }
        stop();
    }
}

TEST(an_out_of_memory_of_a_shared_limit_is_not_judged)
{
    prepare();
    script.contract.limit = TARGET_LIMIT_PROCESS;
    script.contract.documented_messages = true;
    start_hosts(1);
    script.message = "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate "
                     "512B. That was not possible. There are 12B free.";
    KEEPS(refuse(1));
    ck_assert_uint_eq(run_totals(script.run)->excused, 1);
    struct op again = op_make(OP_ALLOC);
    again.flags = OP_RETRY;
    script.block = (struct target_block){next_handle(), 0, G};
    KEEPS(step(again));
    ck_assert_uint_eq(run_totals(script.run)->retries_granted, 1);
    stop();
    start();
    JUDGED(refuse(1), VERDICT_PREMATURE);
    stop();
}

/* --- owners --- */

static void show_owners(uint64_t free_granules, uint64_t used, uint64_t evictable, uint64_t held)
{
    script.stats_more.free_bytes = free_granules * G;
    script.stats_more.used_bytes = used * G;
    script.stats_more.evictable_bytes = evictable * G;
    script.stats_more.held_bytes = held * G;
}

/* A buffer of 2, a held one of 1, an idle program of 3, a dying buffer of 4. */
static void start_with_owners(bool evicts)
{
    prepare();
    script.contract.counts_owners = true;
    script.contract.evicts = evicts;
    start_hosts(1);
    show_owners(14, 2, 0, 0);
    KEEPS(alloc_at(4, 2));
    show_owners(13, 3, 0, 0);
    KEEPS(alloc_at(6, 1));
    show_owners(13, 2, 0, 1);
    KEEPS(on(OP_HOLD, 1));
    show_owners(10, evicts ? 2 : 5, evicts ? 3 : 0, 1);
    KEEPS(load_at(7, 3, 2));
    show_owners(6, evicts ? 6 : 9, evicts ? 3 : 0, 1);
    KEEPS(alloc_at(10, 4));
    show_owners(6, evicts ? 2 : 5, evicts ? 3 : 0, 5);
    KEEPS(on_for(OP_FREE_AFTER, 4, 1000));
}

TEST(each_byte_has_one_owner)
{
    for (int evicts = 0; evicts < 2; evicts++) {
        start_with_owners(evicts != 0);
        JUDGED(refuse(17), VERDICT_JUSTIFIED); /* it is looked at in full after a failure */
        /* A program that runs is held, and so is its stack. */
        show_owners(4, 2, 0, 10);
        KEEPS(execute(3, 1000));
        JUDGED(refuse(17), VERDICT_JUSTIFIED);
        stop();
    }
}

TEST(a_wrong_owner_is_named)
{
    const struct {
        uint64_t owners[4];
        const char *mechanism;
    } cases[] = {
        {{6, 2, 3, 6}, "sum"},         {{6, 2, 3, 4}, "sum"},
        {{10, 2, 3, 1}, "free_bytes"}, {{6, 7, 3, 0}, "used_bytes"},
        {{6, 5, 0, 5}, "used_bytes"},  {{6, 2, 8, 0}, "evictable_bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint64_t *owners = cases[i].owners;
        start_with_owners(true);
        show_owners(owners[0], owners[1], owners[2], owners[3]);
        const struct verdict *verdict = refuse(17);
        BREAKS(verdict, RULE_OWNERSHIP);
        ck_assert_str_eq(verdict->mechanism, cases[i].mechanism);
        stop();
    }
}

TEST(a_sum_that_overflows_is_wrong)
{
    start_with_owners(true);
    script.stats_more.free_bytes = UINT64_MAX;
    script.stats_more.used_bytes = 16 * (uint64_t)G + 1;
    script.stats_more.evictable_bytes = script.stats_more.held_bytes = 0;
    BREAKS(report(), RULE_OWNERSHIP);
    stop();
}
