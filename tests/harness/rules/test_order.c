/* Mitigations in the order that binds, and evictions that end when the request fits. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static void start_in_order(enum mitigation first, enum mitigation second, enum mitigation third)
{
    prepare();
    script.contract.order[0] = first;
    script.contract.order[1] = second;
    script.contract.order[2] = third;
    script.contract.order_binds = true;
    start_hosts(1);
}

static void start_documented(void)
{
    start_in_order(MITIGATION_DRAIN, MITIGATION_DEFRAGMENT, MITIGATION_EVICT);
}

static void start_until_fits(void)
{
    prepare();
    script.contract.evicts_until_fits = true;
    start_hosts(1);
}

static const struct verdict *alloc_while(void (*act)(void), uint64_t at, uint64_t size)
{
    script.act = act;
    return alloc_at(at, size);
}

static const struct verdict *refuse_while(void (*act)(void), uint64_t size)
{
    script.act = act;
    return refuse(size);
}

static void breaks_order(const struct verdict *verdict, const char *mechanism)
{
    BREAKS(verdict, RULE_ORDER);
    ck_assert_str_eq(verdict->mechanism, mechanism);
}

/* --- what the requests do --- */

static void evict(uint32_t op)
{
    ck_assert_int_eq(unload(op), DEVICE_OK);
    script.at[op + 1].address = TARGET_ADDRESS_NONE;
}
static void evict_1(void)
{
    evict(1);
}
static void evict_0_and_1(void)
{
    evict(0);
    evict(1);
}
static void await_2(void)
{
    wait_for(2);
}
static void await_2_and_evict_1(void)
{
    wait_for(2);
    evict_1();
}
static void await_2_in_vain_and_evict_1(void)
{
    ck_assert_int_eq(script.device[0]->event_wait(script.device[0]->context, 3), DEVICE_REFUSED);
    evict_1();
}
static void slide_both_down(void)
{
    ck_assert_int_eq(copy(2, 0, 4), DEVICE_OK);
    script.at[1].address = 0;
    ck_assert_int_eq(copy(8, 4, 4), DEVICE_OK);
    script.at[2].address = 4 * (uint64_t)G;
}
static void ask_in_vain(void)
{
    ck_assert_int_eq(unload(0), DEVICE_REFUSED);
}

/* A queued free of granules 0 to 7, an idle program in 8 to 11, and 4 free ones. */
static void queue_a_free(void)
{
    KEEPS(alloc_at(0, 8));
    KEEPS(load_at(8, 4, 0));
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
}

/* Two free granules, a buffer, two free ones, an idle program, and four free ones. */
static void scatter(void)
{
    KEEPS(alloc_at(2, 4));
    KEEPS(load_at(8, 4, 0));
}

/* --- the order --- */

TEST(an_eviction_waits_for_the_last_queued_free)
{
    start_documented();
    queue_a_free();
    breaks_order(alloc_while(evict_1, 8, 8), "eviction before the last queued free was awaited");
    stop();
    start_in_order(MITIGATION_EVICT, MITIGATION_DRAIN, MITIGATION_DEFRAGMENT);
    queue_a_free();
    KEEPS(alloc_while(evict_1, 8, 8));
    stop();
    start();
    queue_a_free();
    KEEPS(alloc_while(evict_1, 8, 8));
    stop();
}

TEST(nothing_more_happens_once_a_hole_fits)
{
    start_documented();
    queue_a_free();
    KEEPS(alloc_while(await_2, 0, 8));
    stop();
    start_documented();
    queue_a_free();
    breaks_order(alloc_while(await_2_and_evict_1, 0, 8), "eviction although a hole fitted");
    stop();
    start_documented();
    queue_a_free();
    breaks_order(alloc_while(await_2, 12, 4), "wait although a hole fitted");
    stop();
    start_documented();
    scatter();
    breaks_order(alloc_while(slide_both_down, 8, 4), "move although a hole fitted");
    stop();
}

TEST(an_eviction_waits_for_moves_that_are_enough)
{
    start_documented();
    scatter();
    breaks_order(alloc_while(evict_1, 6, 8), "eviction although moves were enough");
    stop();
    start_documented();
    scatter();
    KEEPS(alloc_while(slide_both_down, 8, 8));
    stop();
    /* Moves alone leave 8. */
    start_documented();
    scatter();
    KEEPS(alloc_while(evict_1, 6, 9));
    stop();
}

TEST(moves_and_waits_come_after_evictions_that_are_enough)
{
    start_in_order(MITIGATION_EVICT, MITIGATION_DEFRAGMENT, MITIGATION_DRAIN);
    scatter();
    breaks_order(alloc_while(slide_both_down, 8, 8), "move before the programs were evicted");
    stop();
    start_in_order(MITIGATION_EVICT, MITIGATION_DRAIN, MITIGATION_DEFRAGMENT);
    queue_a_free();
    breaks_order(alloc_while(await_2, 0, 8), "wait before the programs were evicted");
    stop();
}

TEST(a_refused_call_excuses_what_comes_after_it)
{
    start_documented();
    queue_a_free();
    KEEPS(arm(FAULT_WAIT));
    KEEPS(alloc_while(await_2_in_vain_and_evict_1, 8, 8));
    stop();
}

/* --- until it fits --- */

/* Two idle programs of 4 granules and a held buffer of 8: no request of more than 8 can fit. */
static void fill(void)
{
    KEEPS(load_at(0, 4, 0));
    KEEPS(load_at(4, 4, 0));
    KEEPS(alloc_at(8, 8));
    KEEPS(on(OP_HOLD, 2));
}

TEST(evictions_end_when_the_request_fits)
{
    start_until_fits();
    fill();
    breaks_order(alloc_while(evict_0_and_1, 0, 4), "eviction although a hole fitted");
    stop();
    start_until_fits();
    fill();
    KEEPS(alloc_while(evict_0_and_1, 0, 8));
    stop();
}

TEST(an_out_of_memory_leaves_no_program_that_may_go)
{
    start_until_fits();
    fill();
    breaks_order(refuse(12), "program kept at an out-of-memory");
    ck_assert_uint_eq(run_totals(script.run)->justified, 1);
    ck_assert_int_eq(run_hidden_oom(script.run)->kind, VERDICT_JUSTIFIED);
    stop();
    start_until_fits();
    fill();
    JUDGED(refuse_while(evict_0_and_1, 12), VERDICT_JUSTIFIED);
    stop();
    /* One that runs may stay, and so may all for what no device of the size has room for. */
    start_until_fits();
    fill();
    KEEPS(execute(0, 1000));
    JUDGED(refuse_while(evict_1, 12), VERDICT_JUSTIFIED);
    JUDGED(refuse(17), VERDICT_JUSTIFIED);
    stop();
}

TEST(a_refused_eviction_may_keep_all)
{
    start_until_fits();
    fill();
    KEEPS(arm(FAULT_UNLOAD));
    JUDGED(refuse_while(ask_in_vain, 12), VERDICT_JUSTIFIED);
    breaks_order(refuse(12), "program kept at an out-of-memory");
    stop();
}
