/* Requests that wait for a collective which nobody else joins, and fit without that wait. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

#define BOUND_NS UINT64_C(5000000000)

/* Two hosts share one time; the second one does nothing unless a test says so. */
static void start_in_order(enum mitigation first, enum mitigation second, enum mitigation third)
{
    prepare();
    script.contract.order[0] = first;
    script.contract.order[1] = second;
    script.contract.order[2] = third;
    start_hosts(2);
}

static void start_documented(void)
{
    start_in_order(MITIGATION_DRAIN, MITIGATION_DEFRAGMENT, MITIGATION_EVICT);
}

static const struct verdict *join(uint32_t program, uint8_t host)
{
    struct op op = op_make(OP_EXECUTE);
    op.ref = program;
    op.host = host;
    op.delay_ns = 1000;
    op.flags = OP_COLLECTIVE;
    script.block = script.at[program + 1];
    return step(op);
}

static const struct verdict *free_after(uint32_t block, uint32_t event)
{
    struct op op = op_make(OP_FREE_AFTER);
    op.ref = block;
    op.event = event;
    return step(op);
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

static void breaks_held_back(const struct verdict *verdict, const char *mechanism)
{
    BREAKS(verdict, RULE_HELD_BACK);
    ck_assert_str_eq(verdict->mechanism, mechanism);
}

/* --- what the requests do --- */

static void await_2(void)
{
    wait_for(2);
}
static void await_3(void)
{
    wait_for(3);
}
static void await_5_and_3(void)
{
    wait_for(5);
    wait_for(3);
}
static void fail_and_await_2(void)
{
    ck_assert_int_eq(copy(4, 8, 4), DEVICE_REFUSED);
    wait_for(2);
}
static void move_and_await_3(void)
{
    ck_assert_int_eq(copy(10, 12, 2), DEVICE_OK);
    script.at[3].address = 12 * (uint64_t)G;
    wait_for(3);
}

/* A program in granules 0 to 3 waits for the other host, a queued free in 4 to 7 for the program;
 * 8 granules are free. */
static void queue_behind_partner(void)
{
    KEEPS(load_at(0, 4, 0));
    KEEPS(alloc_at(4, 4));
    KEEPS(join(0, 0));
    KEEPS(free_after(1, 2));
}

/* The same with a buffer in 10 and 11, which leaves holes of 2 and of 4. */
static void queue_below_buffer(void)
{
    KEEPS(load_at(0, 4, 0));
    KEEPS(alloc_at(4, 4));
    KEEPS(alloc_at(10, 2));
    KEEPS(join(0, 0));
    KEEPS(free_after(1, 3));
}

/* A program in 0 and 1 waits for the other host, a queued free in 2 to 9 for the program; above it
 * an idle program and a hole of 4. */
static void queue_below_program(void)
{
    KEEPS(load_at(0, 2, 0));
    KEEPS(load_at(10, 2, 0));
    KEEPS(alloc_at(2, 8));
    KEEPS(join(0, 0));
    KEEPS(free_after(2, 3));
}

/* --- what is held back --- */

TEST(a_request_for_which_a_hole_is_there_waits_for_no_partner)
{
    start_documented();
    queue_behind_partner();
    const struct verdict *verdict = alloc_while(await_2, 8, 8);
    breaks_held_back(verdict, "wait in vain although a hole fitted");
    ck_assert_str_eq(verdict->reason,
                     "it waited until the bound for collective 0, which host 1 had "
                     "not joined, although a hole fitted, for a request of 4096 "
                     "bytes");
    stop();
}

TEST(a_request_that_needs_what_waits_may_wait)
{
    start_documented();
    queue_behind_partner();
    KEEPS(alloc_while(await_2, 4, 9));
    stop();
}

TEST(a_partner_that_joined_is_not_awaited_in_vain)
{
    start_documented();
    queue_behind_partner();
    struct op load = op_make(OP_LOAD);
    load.host = 1;
    load.size_bytes = 4 * G;
    script.block = (struct target_block){next_handle(), 0, 4 * G};
    KEEPS(step(load));
    KEEPS(join(4, 1));
    KEEPS(alloc_while(await_2, 8, 8));
    stop();
}

TEST(what_is_over_already_is_not_awaited)
{
    start_documented();
    queue_behind_partner();
    struct op advance = op_make(OP_ADVANCE);
    advance.delay_ns = BOUND_NS + 1;
    KEEPS(step(advance));
    KEEPS(alloc_while(await_2, 8, 8));
    stop();
}

TEST(moves_come_first_where_the_contract_says_so)
{
    start_in_order(MITIGATION_DEFRAGMENT, MITIGATION_DRAIN, MITIGATION_EVICT);
    queue_below_buffer();
    breaks_held_back(alloc_while(await_3, 4, 6), "wait in vain although moves were enough");
    stop();
    start_documented();
    queue_below_buffer();
    KEEPS(alloc_while(await_3, 4, 6));
    stop();
}

TEST(evictions_come_first_where_the_contract_says_so)
{
    start_in_order(MITIGATION_EVICT, MITIGATION_DRAIN, MITIGATION_DEFRAGMENT);
    queue_below_program();
    breaks_held_back(alloc_while(await_3, 2, 6), "wait in vain although evictions were enough");
    stop();
    start_documented();
    queue_below_program();
    KEEPS(alloc_while(await_3, 2, 6));
    stop();
}

/* Granules 10 and 11 are a queued free of its own here, which ends after 1 us. */
static void queue_another(void)
{
    KEEPS(load_at(0, 4, 0));
    KEEPS(alloc_at(4, 4));
    KEEPS(alloc_at(10, 2));
    KEEPS(join(0, 0));
    KEEPS(free_after(1, 3));
    KEEPS(on_for(OP_FREE_AFTER, 2, 1000));
}

TEST(who_waits_for_others_first_looks_for_a_hole_in_between)
{
    start_documented();
    queue_another();
    breaks_held_back(alloc_while(await_5_and_3, 8, 8), "wait in vain although a hole fitted");
    stop();
    start_documented();
    queue_another();
    KEEPS(alloc_while(await_5_and_3, 4, 9));
    stop();
}

/* The free in 4 to 7 waits for the other host, the one in 8 and 9 for itself: behind the latter,
 * sliding the buffer in 10 and 11 down makes room for 6. */
TEST(who_is_draining_need_not_move_in_between)
{
    start_in_order(MITIGATION_DEFRAGMENT, MITIGATION_DRAIN, MITIGATION_EVICT);
    KEEPS(load_at(0, 4, 0));
    KEEPS(alloc_at(4, 4));
    KEEPS(alloc_at(8, 2));
    KEEPS(join(0, 0));
    KEEPS(free_after(1, 3));
    KEEPS(on_for(OP_FREE_AFTER, 2, 1000));
    KEEPS(alloc_at(10, 2));
    KEEPS(alloc_while(await_5_and_3, 4, 6));
    stop();
}

/* A queued free in granules 0 to 3 lies where the stack of the next program is to be. */
TEST(a_stack_needs_what_lies_below_it)
{
    start_documented();
    KEEPS(load_at(4, 4, 0));
    KEEPS(alloc_at(0, 4));
    KEEPS(join(0, 0));
    KEEPS(free_after(1, 2));
    script.act = await_2;
    KEEPS(load_at(8, 4, 4));
    stop();
}

/* --- what is not judged --- */

TEST(what_asks_for_no_memory_may_wait)
{
    start_documented();
    queue_behind_partner();
    KEEPS(alloc_at(8, 1));
    script.act = await_2;
    KEEPS(on(OP_HOLD, 4));
    stop();
}

TEST(where_blocks_have_no_address_nothing_is_judged)
{
    prepare();
    script.contract.placement = PLACEMENT_PAGES;
    script.contract.defrag = DEFRAG_NONE;
    start_hosts(2);
    queue_behind_partner();
    KEEPS(alloc_while(await_2, 8, 8));
    stop();
}

TEST(a_refused_device_call_excuses_the_wait)
{
    start_documented();
    queue_behind_partner();
    KEEPS(arm(FAULT_COPY));
    script.act = fail_and_await_2;
    KEEPS(alloc_at(8, 8));
    stop();
}

TEST(after_a_move_places_are_not_followed)
{
    start_documented();
    queue_below_buffer();
    KEEPS(alloc_while(move_and_await_3, 8, 4));
    stop();
}

TEST(what_others_of_the_process_have_is_not_known)
{
    prepare();
    script.contract.limit = TARGET_LIMIT_PROCESS;
    start_hosts(2);
    queue_behind_partner();
    KEEPS(alloc_while(await_2, 8, 8));
    stop();
}

/* What a block has beyond what was promised counts as free, but its target does not know that. */
TEST(next_to_a_block_that_is_too_large_nothing_is_judged)
{
    start_documented();
    run_go_on(script.run);
    KEEPS(load_at(0, 4, 0));
    KEEPS(alloc_at(4, 4));
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 2 * G;
    script.block = (struct target_block){next_handle(), 8 * G, 8 * G};
    BREAKS(step(op), RULE_TOO_LARGE);
    KEEPS(join(0, 0));
    KEEPS(free_after(1, 3));
    KEEPS(alloc_while(await_3, 4, 4));
    stop();
}

/* --- next to other rules --- */

TEST(a_refusal_of_what_fits_is_premature_alone)
{
    start_documented();
    queue_behind_partner();
    JUDGED(refuse_while(await_2, 8), VERDICT_PREMATURE);
    stop();
}

TEST(an_order_that_binds_leads)
{
    prepare();
    script.contract.order_binds = true;
    start_hosts(2);
    queue_behind_partner();
    BREAKS(alloc_while(await_2, 8, 8), RULE_ORDER);
    stop();
}
