/* The hosts of a job: when their answers must be the same, and when they may differ. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* A request of `size` granules on the host, answered at granule 0. */
static struct op ask(uint8_t host, uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.host = host;
    op.flags = OP_SPMD;
    op.size_bytes = size * G;
    script.block = (struct target_block){next_handle(), 0, size * G};
    return op;
}

static const struct verdict *grant(uint8_t host, uint64_t size)
{
    return step(ask(host, size));
}

static const struct verdict *refuse_on(uint8_t host, uint64_t size)
{
    const struct op op = ask(host, size);
    script.result = TARGET_NO_MEMORY;
    return step(op);
}

static void on_host(uint8_t host, enum op_kind kind, uint32_t ref, uint64_t delay_ns)
{
    struct op op = op_make(kind);
    op.host = host;
    op.ref = ref;
    op.delay_ns = delay_ns;
    KEEPS(step(op));
}

/* A block of one granule at the bottom of host 1, and its queued free: host 1 does not await it,
 * though the first host says that all do. */
static void queue_free_on_1(void)
{
    struct op op = op_make(OP_ALLOC);
    op.host = 1;
    op.size_bytes = G;
    script.block = (struct target_block){next_handle(), 0, G};
    KEEPS(step(op));
    on_host(1, OP_FREE_AFTER, (uint32_t)run_ops(script.run)->count - 1, 1000);
}

static void start_job(uint32_t host_count)
{
    prepare();
    script.odd_host_does_not_drain = true;
    start_hosts(host_count);
}

/* --- sums --- */

/* Host 1 has a block of one granule that needs a multiple of eight: the stack pushes it to 8, where
 * it leaves no room for the image, though all sizes together would just do. */
TEST(a_block_that_needs_more_than_granules_keeps_sums_from_deciding)
{
    for (int is_aligned = 0; is_aligned < 2; is_aligned++) {
        start_job(2);
        struct op op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = G;
        op.align_log2 = is_aligned != 0 ? 12 : 0;
        script.block = (struct target_block){next_handle(), 0, G};
        KEEPS(step(op));
        op = op_make(OP_LOAD);
        op.flags = OP_SPMD;
        op.size_bytes = 14 * G;
        op.stack_bytes = G;
        script.block = (struct target_block){next_handle(), G, 14 * G};
        KEEPS(step(op));
        op.host = 1;
        script.result = TARGET_NO_MEMORY;
        JUDGED(step(op), is_aligned != 0 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
        stop();
    }
}

/* A request with an alignment is not decided by sums, either: host 1 may be short of it. */
TEST(a_request_that_needs_more_than_granules_keeps_sums_from_deciding)
{
    for (int is_aligned = 0; is_aligned < 2; is_aligned++) {
        start_job(2);
        queue_free_on_1();
        struct op op = ask(0, 16);
        op.align_log2 = is_aligned != 0 ? 12 : 0;
        KEEPS(step(op));
        op = ask(1, 16);
        op.align_log2 = is_aligned != 0 ? 12 : 0;
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = step(op);
        if (is_aligned != 0) {
            JUDGED(verdict, VERDICT_JUSTIFIED);
        } else {
            BREAKS(verdict, RULE_SPMD);
        }
        stop();
    }
}

/* --- every host counts --- */

TEST(hosts_other_than_the_first_are_held_against_each_other)
{
    start_job(3);
    KEEPS(grant(2, 16));
    queue_free_on_1();
    BREAKS(refuse_on(1, 16), RULE_SPMD);
    stop();
}

TEST(a_second_turn_of_any_host_begins_another_round)
{
    start_job(2);
    KEEPS(grant(1, 16));
    on_host(1, OP_FREE, 0, 0);
    queue_free_on_1();
    JUDGED(refuse_on(1, 16), VERDICT_JUSTIFIED);
    BREAKS(grant(0, 16), RULE_SPMD); /* it is in the round of that refusal */
    stop();
}

/* Host 0 does three things before host 1 does the first of them, as in the merged list of a pod. */
TEST(hosts_may_be_several_requests_apart)
{
    start_job(2);
    for (uint64_t i = 0; i < 3; i++) {
        KEEPS(grant(0, 16 - i));
        on_host(0, OP_FREE, (uint32_t)run_ops(script.run)->count - 1, 0);
    }
    queue_free_on_1();
    BREAKS(refuse_on(1, 16), RULE_SPMD);
    stop();
}

/* --- when hosts may differ --- */

static void arm_on(uint8_t host, enum fault_kind fault)
{
    struct op op = op_make(OP_FAULT);
    op.host = host;
    op.tag = (uint8_t)fault;
    op.size_bytes = 1;
    op.delay_ns = 1000;
    KEEPS(step(op));
}

static void copy_on_1(void)
{
    (void)script.device[1]->copy(script.device[1]->context, 0, 4 * (uint64_t)G, G);
}

/* A fault that refused a call, and one that struck without refusing; some ops later nothing of it
 * is left but that it was. */
TEST(hosts_may_differ_for_ever_once_a_fault_struck_one)
{
    const struct {
        enum fault_kind fault;
        bool is_struck;
    } rows[] = {
        {FAULT_COPY, true},
        {FAULT_COPY_LATE, true},
        {FAULT_CLOCK_JUMP, true},
        {FAULT_UNLOAD, false}, /* armed alone, it is nothing yet */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_job(2);
        arm_on(1, rows[i].fault);
        script.act = copy_on_1;
        struct op op = op_make(OP_DEFRAGMENT);
        op.host = 1;
        KEEPS(step(op));
        KEEPS(grant(0, 16));
        queue_free_on_1();
        const struct verdict *verdict = refuse_on(1, 16);
        ck_assert_msg(verdict->kind == (rows[i].is_struck ? VERDICT_JUSTIFIED : VERDICT_BROKEN),
                      "row %zu: %s", i, verdict->reason);
        stop();
    }
}
