/* The memory that is kept for a stream, piece by piece, and the order in which the events of a
 * stream complete.  tests/cases/rules/streams.case has what is promised of it. */
#include "harness/device/timeline.h"
#include "harness/oracle/oom.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

static void start_streams(void)
{
    prepare();
    script.contract = (struct target_contract){
        .granule_bytes = G, .queues_frees = true, .stream_ordered = true, .drains = true};
    start_hosts(1);
}

static const struct verdict *alloc_on(uint32_t stream, uint64_t at, uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    op_set_stream(&op, stream);
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return step(op);
}

static const struct verdict *event_on(enum op_kind kind, uint32_t ref, uint32_t stream,
                                      uint64_t delay_ns)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.delay_ns = delay_ns;
    op_set_stream(&op, stream);
    return step(op);
}

static void take_state(struct oom *oom, uint32_t stream)
{
    const struct oom_request request = {
        .size_bytes = G, .align_bytes = G, .own_op = OP_NONE, .stream = stream};
    oom_take(oom, run_model(script.run, 0), &request, 0);
}

static void check_piece(const struct oom *oom, size_t i, uint64_t at, uint64_t size, uint32_t op)
{
    ck_assert_uint_lt(i, oom->block_count);
    ck_assert_uint_eq(oom->blocks[i].address, at * G);
    ck_assert_uint_eq(oom->blocks[i].size_bytes, size * G);
    ck_assert_uint_eq(oom->blocks[i].op, op);
    ck_assert(oom->blocks[i].is_kept);
}

TEST(kept_memory_comes_in_pieces_between_the_blocks)
{
    struct oom oom = {0};
    start_streams();
    KEEPS(alloc_on(1, 0, 12));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(alloc_on(1, 6, 8));
    KEEPS(event_on(OP_FREE_AFTER, 2, 1, 5000)); /* later than what it lies on */
    KEEPS(alloc_on(1, 2, 2));
    take_state(&oom, 2);
    ck_assert_uint_eq(oom.block_count, 4);
    check_piece(&oom, 0, 0, 2, 0);
    ck_assert(!oom.blocks[1].is_kept);
    check_piece(&oom, 2, 4, 2, 0);
    check_piece(&oom, 3, 6, 8, 2);
    ck_assert_uint_eq(oom.blocks[0].freed_at_ns, 1000);
    ck_assert_uint_eq(oom.blocks[3].freed_at_ns, 5000);
    take_state(&oom, 1);
    ck_assert_uint_eq(oom.block_count, 1);
    oom_deinit(&oom);
    stop();
}

/* --- the order of a stream --- */

TEST(events_of_a_stream_complete_in_their_order)
{
    struct timeline *timeline = timeline_create();
    timeline_enqueue(timeline, 1, 3, 1000);
    timeline_enqueue(timeline, 2, 3, 10);
    timeline_enqueue(timeline, 3, 4, 20);
    ck_assert_uint_eq(timeline_due_ns(timeline, 2), 1000);
    timeline_advance(timeline, 100);
    ck_assert_int_eq(timeline_state(timeline, 2), EVENT_PENDING);
    ck_assert_int_eq(timeline_state(timeline, 3), EVENT_DONE);
    timeline_postpone(timeline, 1, 500);
    ck_assert_uint_eq(timeline_due_ns(timeline, 2), 1500);
    timeline_enqueue(timeline, 4, 3, 0);
    ck_assert_int_eq(timeline_state(timeline, 4), EVENT_PENDING);
    timeline_cancel(timeline, 4);
    ck_assert_int_eq(timeline_state(timeline, 1), EVENT_PENDING);
    timeline_complete(timeline, 2);
    ck_assert_uint_eq(timeline_completed_at(timeline, 2), 1);
    ck_assert_uint_eq(timeline_completed_at(timeline, 3), 2);
    ck_assert_uint_eq(timeline_stream(timeline, 2), 3);
    ck_assert_uint_eq(timeline_stream(timeline, 99), 0);
    timeline_destroy(timeline);
}

TEST(behind_a_lost_event_nothing_completes)
{
    struct timeline *timeline = timeline_create();
    timeline_enqueue(timeline, 1, 1, 10);
    timeline_enqueue(timeline, 2, 1, 20);
    timeline_postpone(timeline, 1, DELAY_NEVER);
    timeline_enqueue(timeline, 3, 1, 0);
    timeline_advance(timeline, 1000);
    ck_assert_uint_eq(timeline_pending_count(timeline), 3);
    ck_assert_uint_eq(timeline_due_ns(timeline, 3), DELAY_NEVER);
    timeline_complete(timeline, 3);
    ck_assert_uint_eq(timeline_pending_count(timeline), 0);
    timeline_destroy(timeline);
}
