/* Frees that are ordered by streams, and recorded programs: whose memory a request may have, what
 * an out-of-memory is held against, and in which order the events of a stream complete. */
#include "harness/device/timeline.h"
#include "harness/oracle/oom.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <string.h>

static struct target streaming_target;

static enum target_result note_recording(struct target_instance *instance, uint64_t id)
{
    (void)instance;
    ck_assert_uint_ne(id, 0);
    const enum target_result result = script.result;
    script.result = TARGET_OK;
    return result;
}

static struct run *open_run(char reason[RUN_REASON_BYTES])
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(16) * G;
    streaming_target = scripted_target;
    streaming_target.retire = NULL;
    streaming_target.record_begin = note_recording;
    streaming_target.record_end = note_recording;
    streaming_target.record_drop = note_recording;
    return run_create(&streaming_target, &setup, reason);
}

static void start_with(struct target_contract contract)
{
    char reason[RUN_REASON_BYTES] = "";
    prepare();
    script.contract = contract;
    script.contract.granule_bytes = G;
    script.contract.queues_frees = true;
    script.run = open_run(reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
}

static void start_streams(bool drains)
{
    start_with((struct target_contract){.stream_ordered = true, .drains = drains});
}

static void start_recording(void)
{
    start_with((struct target_contract){.records = true});
}

/* --- ops --- */

static const struct verdict *alloc_on(uint32_t stream, uint64_t at, uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    op_set_stream(&op, stream);
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return step(op);
}

static const struct verdict *refuse_on(uint32_t stream, uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    op_set_stream(&op, stream);
    script.result = TARGET_NO_MEMORY;
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

static const struct verdict *record(enum op_kind kind, uint32_t ref)
{
    return on(kind, ref);
}

/* --- streams --- */

TEST(the_stream_of_a_free_has_the_memory_at_once)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 16));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    ck_assert_uint_eq(model_free_bytes(run_model(script.run, 0)), UINT64_C(16) * G);
    KEEPS(alloc_on(1, 0, 16));
    stop();
}

TEST(another_stream_has_it_once_the_work_is_done)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 16));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    BREAKS(alloc_on(2, 0, 16), RULE_REUSED_EARLY);
    ck_assert_str_eq(run_findings(script.run)->findings[0].verdict.mechanism,
                     "memory of another stream");
    stop();
    start_streams(false);
    KEEPS(alloc_on(1, 0, 16));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(complete(1));
    KEEPS(alloc_on(2, 0, 16));
    stop();
}

TEST(memory_that_was_reused_stays_with_the_stream)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(alloc_on(1, 4, 8)); /* the upper half of it, and four granules more */
    KEEPS(on(OP_FREE, 2));    /* behind what is not done there */
    KEEPS(alloc_on(2, 12, 4));
    BREAKS(alloc_on(2, 10, 1), RULE_REUSED_EARLY);
    stop();
}

TEST(a_free_waits_for_what_was_enqueued_on_its_stream)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(alloc_on(1, 8, 8));
    KEEPS(event_on(OP_USE, 1, 1, 1000));
    KEEPS(on(OP_FREE, 0));
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 1);
    JUDGED(refuse_on(2, 8), VERDICT_JUSTIFIED);
    KEEPS(complete(2));
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 0);
    KEEPS(alloc_on(2, 0, 8));
    stop();
}

TEST(a_use_on_another_stream_keeps_the_block)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 16));
    KEEPS(event_on(OP_USE, 0, 2, 1000));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 2000));
    ck_assert_uint_eq(model_dying_count(run_model(script.run, 0)), 1);
    KEEPS(complete(1));
    ck_assert_uint_eq(model_dying_count(run_model(script.run, 0)), 0);
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 1);
    KEEPS(alloc_on(1, 0, 16));
    stop();
}

TEST(a_hold_keeps_the_block_and_a_donation_its_stream)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(event_on(OP_USE, 0, 1, 1000));
    KEEPS(on(OP_HOLD, 0));
    KEEPS(on(OP_FREE, 0));
    ck_assert_uint_eq(model_dying_count(run_model(script.run, 0)), 1);
    KEEPS(on(OP_RELEASE, 0));
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 1);
    KEEPS(alloc_on(2, 8, 8));
    struct op donate = op_make(OP_DONATE);
    donate.ref = 5;
    donate.size_bytes = G;
    script.block = (struct target_block){next_handle(), UINT64_C(8) * G, UINT64_C(8) * G};
    KEEPS(step(donate));
    KEEPS(event_on(OP_FREE_AFTER, 6, 2, 1000));
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 2);
    stop();
}

TEST(an_out_of_memory_is_judged_for_its_stream)
{
    start_streams(false);
    KEEPS(alloc_on(1, 0, 16));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    JUDGED(refuse_on(2, 1), VERDICT_JUSTIFIED);
    JUDGED(refuse_on(1, 16), VERDICT_PREMATURE);
    stop();
}

TEST(who_drains_awaits_other_streams_unless_they_are_lost)
{
    start_streams(true);
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(alloc_on(1, 8, 8));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    JUDGED(refuse_on(2, 8), VERDICT_PREMATURE);
    stop();
    start_streams(true);
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(alloc_on(1, 8, 8));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, DELAY_NEVER));
    JUDGED(refuse_on(2, 8), VERDICT_JUSTIFIED);
    KEEPS(event_on(OP_FREE_AFTER, 1, 1, 1000)); /* behind what never ends */
    JUDGED(refuse_on(2, 8), VERDICT_JUSTIFIED);
    stop();
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
    start_streams(true);
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

/* --- without addresses --- */

TEST(where_nobody_sees_places_only_certain_answers_are_judged)
{
    start_with((struct target_contract){.stream_ordered = true, .placement = PLACEMENT_PAGES});
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(refuse_on(2, 9)); /* that depends on what became of it: excused */
    ck_assert_uint_eq(run_totals(script.run)->excused, 1);
    JUDGED(refuse_on(2, 17), VERDICT_JUSTIFIED);
    JUDGED(refuse_on(2, 8), VERDICT_PREMATURE); /* it fits beside all that is kept */
    stop();
}

TEST(without_places_what_cannot_be_elsewhere_is_reused_early)
{
    const struct target_contract contract = {.stream_ordered = true, .placement = PLACEMENT_PAGES};
    start_with(contract);
    KEEPS(alloc_on(1, 0, 12));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(alloc_on(2, 0, 4));
    BREAKS(alloc_on(2, 0, 1), RULE_REUSED_EARLY);
    stop();
    start_with(contract);
    KEEPS(alloc_on(1, 0, 12));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(alloc_on(1, 0, 8)); /* perhaps of what was kept: 4 are kept for certain */
    KEEPS(event_on(OP_FREE_AFTER, 2, 1, 2000));
    KEEPS(alloc_on(1, 0, 8));
    KEEPS(alloc_on(2, 0, 4));
    BREAKS(alloc_on(2, 0, 1), RULE_REUSED_EARLY);
    stop();
    start_with(contract);
    KEEPS(alloc_on(1, 0, 12));
    KEEPS(event_on(OP_FREE_AFTER, 0, 1, 1000));
    KEEPS(complete(1));
    KEEPS(alloc_on(2, 0, 16));
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

/* --- recordings --- */

TEST(what_was_recorded_is_nobody_elses_until_it_is_dropped)
{
    start_recording();
    KEEPS(record(OP_RECORD, OP_NONE));
    KEEPS(alloc_at(0, 8));
    KEEPS(on(OP_FREE, 1));
    KEEPS(alloc_at(0, 8)); /* of the same recording */
    KEEPS(on(OP_FREE, 3));
    KEEPS(record(OP_RECORD_END, OP_NONE));
    ck_assert_uint_eq(model_free_bytes(run_model(script.run, 0)), UINT64_C(16) * G);
    JUDGED(refuse(9), VERDICT_JUSTIFIED);
    BREAKS(alloc_at(4, 8), RULE_RECORDED);
    stop();
    start_recording();
    KEEPS(record(OP_RECORD, OP_NONE));
    KEEPS(alloc_at(0, 8));
    KEEPS(on(OP_FREE, 1));
    JUDGED(refuse(16), VERDICT_PREMATURE); /* of the same recording */
    stop();
}

TEST(a_drop_gives_back_what_was_freed_and_leaves_what_lives)
{
    start_recording();
    KEEPS(record(OP_RECORD, OP_NONE));
    KEEPS(alloc_at(0, 4));
    KEEPS(alloc_at(4, 4));
    KEEPS(record(OP_RECORD_END, OP_NONE));
    KEEPS(on(OP_FREE, 1)); /* after its end */
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 1);
    KEEPS(record(OP_RECORD_DROP, 0));
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 0);
    KEEPS(alloc_at(0, 4));
    KEEPS(on(OP_FREE, 2));
    ck_assert_uint_eq(model_kept_count(run_model(script.run, 0)), 0);
    stop();
}

TEST(another_recording_is_somebody_else)
{
    start_recording();
    KEEPS(record(OP_RECORD, OP_NONE));
    KEEPS(alloc_at(0, 4));
    KEEPS(on(OP_FREE, 1));
    KEEPS(record(OP_RECORD_END, OP_NONE));
    KEEPS(record(OP_RECORD, OP_NONE));
    BREAKS(alloc_at(0, 4), RULE_RECORDED);
    stop();
}

TEST(recordings_out_of_order_are_skipped)
{
    start_recording();
    KEEPS(record(OP_RECORD_END, OP_NONE));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 1);
    KEEPS(record(OP_RECORD, OP_NONE));
    KEEPS(record(OP_RECORD, OP_NONE));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 1);
    KEEPS(record(OP_RECORD_DROP, 1)); /* it is open */
    ck_assert_uint_eq(run_observation(script.run)->skipped, 1);
    KEEPS(record(OP_RECORD_END, OP_NONE));
    KEEPS(record(OP_RECORD_DROP, 1));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 0);
    KEEPS(record(OP_RECORD_DROP, 1));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 1);
    KEEPS(record(OP_RECORD, OP_NONE)); /* the end of the run ends and drops it */
    KEEPS(run_finish(script.run));
    stop();
}

TEST(a_recording_that_cannot_begin_needs_a_refusal)
{
    start_recording();
    script.result = TARGET_FAILED;
    BREAKS(record(OP_RECORD, OP_NONE), RULE_STATUS);
    stop();
}

/* --- contracts --- */

TEST(a_contract_that_makes_no_sense_is_refused_in_one_line)
{
    static const struct {
        struct target_contract contract;
        const char *reason;
    } rows[] = {
        {{.stream_ordered = true}, "does not accept both queued frees and uses"},
        {{.stream_ordered = true, .queues_frees = true, .programs = true}, "it moves, grows"},
        {{.stream_ordered = true, .queues_frees = true, .defrag = DEFRAG_SLIDE}, "it moves, grows"},
        {{.records = true, .order_binds = true}, "binds its order"},
        {{.records = true, .placement = PLACEMENT_PAGES}, "no address that could be kept"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[RUN_REASON_BYTES] = "";
        prepare();
        script.contract = rows[i].contract;
        script.contract.granule_bytes = G;
        ck_assert_ptr_null(open_run(reason));
        ck_assert_msg(strstr(reason, rows[i].reason) != NULL, "%zu: %s", i, reason);
    }
}
