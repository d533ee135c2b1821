/* How an overlap is read from the device's log, and what is looked at when it has ended. */
#include "harness/run/run_state.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static struct op make_on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.delay_ns = op_kind_info(kind)->has_delay ? 1000 : 0;
    return op;
}

static struct op make_load(uint64_t size)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = size * G;
    return op;
}

/* --- who is blamed --- */

/* Each act makes room at 0 for a call that waits for it, and that took too little. */
static void wait_for_0(void)
{
    wait_for(2);
}

static void wait_and_copy(void)
{
    wait_for(2);
    ck_assert_int_eq(copy(14, 12, 1), DEVICE_OK);
    script.at[1].address = 12 * G;
}

static void copy_it_away(void)
{
    ck_assert_int_eq(copy(0, 10, 2), DEVICE_OK);
    script.at[2].address = 10 * G;
}

static void evict_it(void)
{
    ck_assert_int_eq(unload(1), DEVICE_OK);
}

/* What makes room ends the run: what returns behind it is not told. */
TEST(what_waits_for_room_is_blamed_for_what_it_took)
{
    enum cause { EVENT, EVENT_BEFORE_COPY, COPY, EVICTION, RETURN, CAUSE_COUNT };
    for (enum cause cause = 0; cause < CAUSE_COUNT; cause++) {
        start_lanes(DEFRAG_REPACK);
        (void)call_granted_alloc(14, 1);
        const uint32_t block = cause == EVICTION ? call_granted(make_load(2), 0, 2)
                                                 : call_granted_alloc(0, 2);
        if (cause <= EVENT_BEFORE_COPY) {
            end_call(begin_call(make_on(OP_FREE_AFTER, block)));
        }
        const uint32_t freeing = cause == RETURN ? begin_on(OP_FREE, block) : 0;
        const uint32_t waiting = begin_alloc(5 * G);
        const uint32_t other = begin_alloc(G);
        const uint32_t later = begin_alloc(G);
        static void (*const acts[])(void) = {wait_for_0, wait_and_copy, copy_it_away, evict_it,
                                             NULL};
        script.act = acts[cause];
        end_granted(other, 20, 15, 1);
        if (cause == RETURN) {
            end_call(freeing);
        }
        end_refused(later, TARGET_INVALID, "not told");
        end_granted(waiting, 21, 0, 4);
        BREAKS(&rig.verdicts[waiting], RULE_TOO_SMALL);
        KEEPS(&rig.verdicts[other]);
        KEEPS(&rig.verdicts[freeing]);
        KEEPS(&rig.verdicts[later]);
        ck_assert_uint_eq(rig.verdicts[waiting].op, waiting);
        stop_lanes();
    }
}

static void move_waiting(void)
{
    ck_assert_int_eq(copy(0, 6, 5), DEVICE_OK);
}

static void evict_waiting(void)
{
    ck_assert_int_eq(unload(2), DEVICE_OK);
}

/* The log shows that the call was granted its place: its block is moved, or its image evicted. */
TEST(what_the_log_shows_of_a_call_is_told_of_that_call)
{
    for (int is_load = 0; is_load < 2; is_load++) {
        for (uint64_t size = 5; size <= 6; size++) {
            start_lanes(DEFRAG_REPACK);
            const uint32_t block = call_granted_alloc(0, 2);
            const uint32_t freeing = begin_on(OP_FREE, block);
            struct op op = make_load(size);
            op.kind = is_load != 0 ? OP_LOAD : OP_ALLOC;
            const uint32_t shown = begin_call(op);
            const uint32_t other = begin_alloc(5 * G);
            script.act = is_load != 0 ? evict_waiting : move_waiting;
            end_granted(other, 20, 0, 5);
            end_granted(shown, 21, 0, 5);
            script.at[21].address = is_load != 0 ? TARGET_ADDRESS_NONE : 6 * G;
            end_call(freeing);
            if (size == 5) {
                KEEPS(&rig.verdicts[shown]);
            } else {
                BREAKS(&rig.verdicts[shown], RULE_TOO_SMALL);
            }
            KEEPS(&rig.verdicts[other]);
            KEEPS(&rig.verdicts[freeing]);
            stop_lanes();
        }
    }
}

/* --- what the log shows --- */

static void move_held(void)
{
    ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
    script.at[1].address = 0;
}

TEST(a_held_block_does_not_move_while_calls_overlap)
{
    for (int is_held = 0; is_held < 2; is_held++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        if (is_held != 0) {
            end_call(begin_on(OP_HOLD, 0));
        }
        const uint32_t other = begin_alloc(G);
        const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
        script.act = move_held;
        end_call(move);
        end_granted(other, 2, 15, 1);
        ck_assert_int_eq(rig.verdicts[move].rule, is_held != 0 ? RULE_HELD_MOVED : RULE_NONE);
        stop_lanes();
    }
}

static void move_onto_0(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
    script.at[2].address = 0;
}

TEST(a_copy_shows_that_what_lay_there_was_given_back)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t freed = call_granted_alloc(0, 2);
    (void)call_granted_alloc(4, 2);
    const uint32_t freeing = begin_on(OP_FREE, freed);
    const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
    script.act = move_onto_0;
    end_call(move);
    const uint32_t request = begin_alloc(14 * G); /* all the rest */
    end_refused(request, TARGET_NO_MEMORY, "no room");
    end_call(freeing);
    KEEPS(&rig.verdicts[move]);
    JUDGED(&rig.verdicts[request], VERDICT_PREMATURE);
    stop_lanes();
}

static void wait_for_freed(void)
{
    wait_for(2);
}

static void wait_and_move_onto_0(void)
{
    wait_for(2);
    move_onto_0();
}

/* An event that is done in a call is done before what follows in it: the place of what it kept is
 * written to, and given to a call that waits for it before the request of this call is answered. */
TEST(an_event_is_done_before_what_follows_it_in_a_call)
{
    for (uint64_t size = 10; size <= 11; size++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t freed = call_granted_alloc(0, 2);
        (void)call_granted_alloc(4, 2);
        end_call(begin_call(make_on(OP_FREE_AFTER, freed)));
        const uint32_t waiting = begin_alloc(4 * G);
        const uint32_t request = begin_alloc(size * G);
        script.act = wait_for_freed;
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(waiting, 20, 0, 4);
        JUDGED(&rig.verdicts[request], size == 10 ? VERDICT_PREMATURE : VERDICT_JUSTIFIED);
        stop_lanes();
    }
    start_lanes(DEFRAG_SLIDE);
    const uint32_t freed = call_granted_alloc(0, 2);
    (void)call_granted_alloc(4, 2);
    end_call(begin_call(make_on(OP_FREE_AFTER, freed)));
    const uint32_t looking = begin_call(op_make(OP_REPORT));
    const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
    script.act = wait_and_move_onto_0;
    end_call(move);
    end_call(looking);
    KEEPS(&rig.verdicts[move]);
    KEEPS(&rig.verdicts[looking]);
    stop_lanes();
}

static uint64_t stage;

static void stage_14_out(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 14 * G, 2 * G, &stage), DEVICE_OK);
}

static void stage_14_drop(void)
{
    script.device[0]->stage_drop(script.device[0]->context, stage);
}

static void copy_in_vain(void)
{
    ck_assert_int_eq(copy(14, 0, 2), DEVICE_REFUSED);
}

/* A stage has a number, and no place on the device, and a copy that was refused wrote nothing: the
 * block at 0 is still there. */
TEST(only_a_copy_that_was_made_shows_that_a_place_was_given_back)
{
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        start_lanes(DEFRAG_REPACK);
        const uint32_t freed = call_granted_alloc(0, 2);
        (void)call_granted_alloc(14, 2);
        struct op op = op_make(OP_FAULT);
        op.tag = FAULT_COPY;
        op.size_bytes = (uint64_t)is_copy; /* 0: disarmed */
        end_call(begin_call(op));
        const uint32_t freeing = begin_on(OP_FREE, freed);
        const uint32_t first = begin_call(op_make(OP_DEFRAGMENT));
        const uint32_t second = begin_call(op_make(OP_DEFRAGMENT));
        script.act = is_copy != 0 ? copy_in_vain : stage_14_out;
        end_call(first);
        const uint32_t request = begin_alloc(13 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        script.act = is_copy != 0 ? NULL : stage_14_drop;
        end_call(second);
        end_call(freeing);
        JUDGED(&rig.verdicts[request], VERDICT_JUSTIFIED);
        KEEPS(&rig.verdicts[freeing]);
        stop_lanes();
    }
}

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

/* The program on host 0 is evicted while nothing is called that may evict there, or a request is
 * under way, was before, or is on another host. */
TEST(a_program_is_evicted_for_a_request_under_way_on_its_host)
{
    enum when { NONE, MEANWHILE, BEFORE, ELSEWHERE, WHEN_COUNT };
    for (enum when when = NONE; when < WHEN_COUNT; when++) {
        prepare();
        open_lanes(2);
        (void)call_granted(make_load(2), 0, 2);
        const uint32_t looking = begin_call(op_make(OP_REPORT));
        const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = G;
        op.host = when == ELSEWHERE;
        if (when == BEFORE) {
            end_granted(begin_call(op), 20, 15, 1);
        }
        const bool is_under_way = when == MEANWHILE || when == ELSEWHERE;
        const uint32_t request = is_under_way ? begin_call(op) : 0;
        script.act = evict_0;
        end_call(move);
        if (is_under_way) {
            end_granted(request, 20, 15, 1);
        }
        end_call(looking);
        ck_assert_msg(rig.verdicts[move].rule ==
                          (when == MEANWHILE ? RULE_NONE : RULE_WRONG_EVICTION),
                      "row %d: %s", (int)when, rig.verdicts[move].reason);
        stop_lanes();
    }
}

/* --- what is told --- */

TEST(the_call_that_began_last_of_the_others_is_named)
{
    for (int are_others = 0; are_others < 2; are_others++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        struct op op = op_make(OP_REPORT);
        op.lane = 1;
        const uint32_t over = begin_call(op);
        const uint32_t first = are_others != 0 ? begin_call(op) : 0;
        const uint32_t request = begin_alloc(3 * G);
        op = op_make(OP_TOUCH);
        op.ref = 0;
        op.lane = 3;
        const uint32_t second = are_others != 0 ? begin_call(op) : 0;
        end_call(over);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        if (are_others != 0) {
            end_call(first);
            end_call(second);
        }
        const char *named = strstr(rig.verdicts[request].reason, "; meanwhile ");
        if (are_others != 0) {
            ck_assert_pstr_eq(named, "; meanwhile lane 3 was in op 4 (touch)");
        } else {
            ck_assert_ptr_null(named);
        }
        stop_lanes();
    }
}

TEST(nothing_is_told_to_whoever_heard_enough)
{
    for (int ends = 0; ends < 2; ends++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        rig.ends = ends != 0;
        const uint32_t first = begin_alloc(G);
        const uint32_t second = begin_alloc(2 * G);
        end_granted(first, 2, 0, 1);
        end_refused(second, TARGET_INVALID, "no");
        KEEPS(&rig.verdicts[first]);
        ck_assert_int_eq(rig.verdicts[second].rule, ends != 0 ? RULE_NONE : RULE_STATUS);
        stop_lanes();
    }
}

/* --- when no call is under way --- */

static void *piece;

static void write_too_far(void)
{
    piece = script.device[0]->host_alloc(script.device[0]->context, 16);
    ((unsigned char *)piece)[16] ^= 1;
    script.device[0]->host_free(script.device[0]->context, piece, 16);
}

TEST(what_is_wrong_at_the_end_is_told_of_the_last_call)
{
    for (int is_overrun = 0; is_overrun < 2; is_overrun++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        const uint32_t first = begin_alloc(G);
        const uint32_t last = begin_alloc(G);
        script.act = is_overrun != 0 ? write_too_far : NULL;
        script.stats_more.num_allocs = is_overrun == 0;
        end_granted(first, 2, 0, 1);
        end_granted(last, 3, 1, 1);
        KEEPS(&rig.verdicts[first]);
        BREAKS(&rig.verdicts[last], is_overrun != 0 ? RULE_OVERRUN : RULE_COUNTERS);
        stop_lanes();
    }
}

/* Two granules are freed and three taken: at most all five were in use at once, at least three. */
TEST(a_peak_that_may_be_right_is_followed)
{
    const struct {
        uint64_t peak, low, high;
    } rows[] = {{2, 3, 5}, {3, 3, 3}, {4, 4, 4}, {5, 5, 5}, {6, 3, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes_that_go_on();
        make_block_at_7();
        const uint32_t freeing = begin_on(OP_FREE, 0);
        const uint32_t taking = begin_alloc(3 * G);
        end_granted(taking, 2, 0, 3);
        script.stats_more.peak_bytes_in_use = (rows[i].peak - 5) * G; /* the model's own is 5 */
        end_call(freeing);
        const struct model_counters *counters = model_counters(run_model(script.run, 0));
        ck_assert_uint_eq(counters->peak_low_bytes, rows[i].low * G);
        ck_assert_uint_eq(counters->peak_high_bytes, rows[i].high * G);
        ck_assert_int_eq(rig.verdicts[freeing].rule,
                         rows[i].low == rows[i].high ? RULE_NONE : RULE_COUNTERS);
        stop_lanes();
    }
}

/* A request, or one that can never be right, on that host; a free of nothing, which is skipped. */
enum beside { REFUSED, INVALID, GRANTED, GRANTED_ELSEWHERE, SKIPPED };

static uint32_t begin_beside(enum beside beside)
{
    struct op op = op_make(beside == SKIPPED ? OP_FREE : OP_ALLOC);
    op.ref = CALL_COUNT_MAX - 1;
    op.size_bytes = beside == REFUSED ? 16 * G : beside == INVALID ? 0 : G;
    op.host = beside == GRANTED_ELSEWHERE;
    return begin_call(op);
}

static void end_beside(uint32_t number, enum beside beside, void (*act)(void))
{
    script.act = act;
    script.block = (struct target_block){20, 15 * G, G};
    script.result = beside == REFUSED   ? TARGET_NO_MEMORY
                    : beside == INVALID ? TARGET_INVALID
                                        : TARGET_OK;
    end_call(number);
}

static void leave_stage(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 7 * G, 2 * G, &stage), DEVICE_OK);
}

/* Every call of the host failed, of them one that may move: nobody but a failed call did it. */
TEST(what_another_call_did_excuses_no_failure_on_its_own_host)
{
    const struct {
        void (*act)(void);
        enum beside first, second;
        enum rule rule;
    } rows[] = {
        {leave_stage, REFUSED, GRANTED, RULE_NONE},
        {leave_stage, REFUSED, GRANTED_ELSEWHERE, RULE_FAILED_CHANGED},
        {leave_stage, REFUSED, SKIPPED, RULE_FAILED_CHANGED},
        {leave_stage, INVALID, SKIPPED, RULE_FAILED_CHANGED},
        {move_held, INVALID, SKIPPED, RULE_FAILED_CHANGED},
        {move_held, INVALID, GRANTED_ELSEWHERE, RULE_FAILED_CHANGED},
        {move_held, REFUSED, INVALID, RULE_NONE},
        {move_held, INVALID, REFUSED, RULE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        open_lanes(2);
        make_block_at_7();
        uint32_t before[3]; /* granted, in an overlap that has ended */
        for (size_t k = 0; k < 3; k++) {
            before[k] = begin_on(OP_TOUCH, 0);
        }
        for (size_t k = 0; k < 3; k++) {
            end_call(before[k]);
        }
        const uint32_t first = begin_beside(rows[i].first);
        const uint32_t second = begin_beside(rows[i].second);
        end_beside(first, rows[i].first, rows[i].act);
        end_beside(second, rows[i].second, NULL);
        const struct verdict *verdict = &rig.verdicts[second];
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop_lanes();
    }
}

static void say_elsewhere(void)
{
    ck_assert_int_eq(copy(15, 14, 1), DEVICE_OK);
    script.at[2].address = 14 * G;
    script.at[1].address = 12 * G;
}

static void say_outside(void)
{
    say_elsewhere();
    script.at[1].address = 15 * G;
}

/* Another block is copied; of this one the target alone says that it moved.  At which instant that
 * was nobody knows, so nobody knows whether it was held then. */
TEST(a_place_that_no_copy_leads_to_is_held_against_what_lies_there)
{
    const struct {
        void (*act)(void);
        bool is_held;
        enum rule rule;
    } rows[] = {
        {say_elsewhere, false, RULE_CONTENTS},
        {say_elsewhere, true, RULE_CONTENTS},
        {say_outside, false, RULE_OUTSIDE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_REPACK);
        make_block_at_7();
        (void)call_granted_alloc(15, 1);
        if (rows[i].is_held) {
            end_call(begin_on(OP_HOLD, 0));
        }
        const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
        const uint32_t looking = begin_call(op_make(OP_REPORT));
        script.act = rows[i].act;
        end_call(move);
        end_call(looking);
        ck_assert_msg(rig.verdicts[looking].rule == rows[i].rule, "row %zu: %s", i,
                      rig.verdicts[looking].reason);
        stop_lanes();
    }
}

/* --- blocks in host memory --- */

/* It can be asked for no more: it is where its stage is, while that lasts. */
TEST(what_was_freed_in_host_memory_is_there_for_its_event)
{
    for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
        start_lanes_with_absent();
        const uint32_t freeing = begin_call(make_on(OP_FREE_AFTER, 0));
        const uint32_t other = begin_call(op_make(OP_DEFRAGMENT));
        end_call(freeing);
        script.act = is_dropped != 0 ? drop_absent : NULL;
        end_call(other);
        KEEPS(&rig.verdicts[freeing]);
        ck_assert_int_eq(rig.verdicts[other].rule, is_dropped != 0 ? RULE_CONTENTS : RULE_NONE);
        ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
        stop_lanes();
    }
}

static void move_1_away(void)
{
    ck_assert_int_eq(copy(0, 8, 2), DEVICE_OK);
    script.at[2].address = 8 * G;
}

/* A call that can never be right may bring back what is in host memory when it begins.  When
 * nothing was there it moves nothing, whatever was there before. */
TEST(what_was_in_host_memory_excuses_only_calls_of_its_time)
{
    for (int is_back = 0; is_back < 2; is_back++) {
        start_lanes_with_absent();
        if (is_back != 0) {
            const uint32_t back = begin_call(op_make(OP_DEFRAGMENT));
            script.act = bring_absent_back;
            end_call(back);
            KEEPS(&rig.verdicts[back]);
        }
        const uint32_t first = begin_beside(INVALID);
        const uint32_t second = begin_beside(INVALID);
        end_beside(first, INVALID, move_1_away);
        end_beside(second, INVALID, NULL);
        ck_assert_int_eq(rig.verdicts[second].rule, is_back != 0 ? RULE_FAILED_CHANGED : RULE_NONE);
        stop_lanes();
    }
}
