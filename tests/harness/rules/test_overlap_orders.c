/* Out-of-memories that an order of the overlapping calls justifies in which somebody got the place
 * of what makes way. */
#include "harness/rules/private/pass.h"
#include "harness/run/run_state.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>

static uint32_t take_program(uint64_t at, uint64_t size, uint64_t stack)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = size * G;
    op.stack_bytes = stack * G;
    return call_granted(op, at, size);
}

static void take_note(struct op op)
{
    const uint32_t number = begin_call(op);
    end_call(number);
    KEEPS(&rig.verdicts[number]);
}

static struct op make_on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.delay_ns = op_kind_info(kind)->has_delay ? 1000 : 0;
    return op;
}

static struct op make_complete(uint32_t number)
{
    struct op op = op_make(OP_COMPLETE);
    op.event = number;
    return op;
}

static uint32_t begin_request(enum op_kind kind, uint64_t size)
{
    struct op op = op_make(kind);
    op.size_bytes = size * G;
    return begin_call(op);
}

static const struct oom_block *find_judged(uint32_t op)
{
    const struct oom *oom = &script.run->judge.oom;
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].op == op) {
            return &oom->blocks[i];
        }
    }
    ck_abort_msg("no block of op %u was judged", (unsigned)op);
}

static void check_verdict(uint32_t number, enum verdict_kind kind, size_t row)
{
    const struct verdict *verdict = &rig.verdicts[number];
    ck_assert_msg(verdict->kind == kind, "row %zu: %s, %s: %s", row, verdict_name(verdict->kind),
                  rule_info(verdict->rule)->name, verdict->reason);
}

/* --- one taker --- */

/* Two granules are freed, and somebody gets five in their place: then eleven are left. */
TEST(what_took_the_place_of_a_freed_block_may_have_been_there)
{
    const struct {
        enum op_kind taker;
        uint64_t request;
        enum verdict_kind verdict;
    } rows[] = {
        {OP_ALLOC, 12, VERDICT_JUSTIFIED},  {OP_ALLOC, 11, VERDICT_PREMATURE},
        {OP_OUTPUT, 12, VERDICT_JUSTIFIED}, {OP_OUTPUT, 11, VERDICT_PREMATURE},
        {OP_LOAD, 12, VERDICT_PREMATURE}, /* it may be evicted for the request */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t freed = call_granted_alloc(0, 2);
        const uint32_t freeing = begin_on(OP_FREE, freed);
        const uint32_t taker = begin_request(rows[i].taker, 5);
        const uint32_t request = begin_request(OP_ALLOC, rows[i].request);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(taker, 9, 0, 5);
        end_call(freeing);
        check_verdict(request, rows[i].verdict, i);
        ck_assert_uint_eq(rig.verdicts[request].free_bytes, 11 * G);
        stop_lanes();
    }
}

/* The state that is judged, and that a certificate shows. */
TEST(a_taker_is_judged_as_it_was_asked_for)
{
    const struct {
        enum op_kind taker;
        uint8_t align_log2;
        enum block_kind kind;
        uint64_t align, stack;
    } rows[] = {
        {OP_ALLOC, 0, BLOCK_BUFFER, G, 0},
        {OP_OUTPUT, 11, BLOCK_OUTPUT, 4 * G, 0},
        {OP_LOAD, 0, BLOCK_PROGRAM, G, 3 * G},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes_that_go_on();
        const uint32_t above = call_granted_alloc(9, 1);
        const uint32_t freed = call_granted_alloc(4, 2);
        const uint32_t below = call_granted_alloc(3, 1);
        struct op op = op_make(rows[i].taker);
        op.size_bytes = 4 * G;
        op.align_log2 = rows[i].align_log2;
        if (rows[i].taker == OP_LOAD) {
            op.stack_bytes = 2 * G + 1;
        }
        const uint32_t freeing = begin_on(OP_FREE, freed);
        const uint32_t taker = begin_call(op);
        struct op large = op_make(OP_LOAD); /* which may evict nothing */
        large.size_bytes = 11 * G;
        const uint32_t request = begin_call(large);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(taker, 9, 4, 5);
        end_call(freeing);
        check_verdict(request, VERDICT_JUSTIFIED, i);
        ck_assert_uint_eq(rig.verdicts[request].free_bytes, 10 * G);
        ck_assert_uint_eq(script.run->judge.oom.block_count, 3);
        ck_assert_uint_eq(find_judged(below)->address, 3 * G);
        ck_assert_uint_eq(find_judged(above)->address, 9 * G);
        const struct oom_block *judged = find_judged(taker);
        ck_assert_uint_eq(judged->address, 4 * G);
        ck_assert_uint_eq(judged->size_bytes, 4 * G);
        ck_assert_uint_eq(judged->surplus_bytes, G); /* that the contract does not allow */
        ck_assert_uint_eq(judged->align_bytes, rows[i].align);
        ck_assert_uint_eq(judged->stack_bytes, rows[i].stack);
        ck_assert_uint_eq(judged->used_until_ns, 0);
        ck_assert_int_eq(judged->kind, rows[i].kind);
        ck_assert_int_eq(judged->state, BLOCK_LIVE);
        ck_assert_ptr_eq(judged, &script.run->judge.oom.blocks[1]);
        stop_lanes();
    }
}

/* --- what makes way --- */

/* What became of the block at 0 before the calls overlap, which of them gives it back, and when the
 * event is done that it waits for: before the request is answered, after that, or never. */
TEST(a_block_makes_way_when_nothing_keeps_it)
{
    enum before { NOTHING, FREED, FREED_LATER, USED };
    enum done { BEFORE, AFTER, NEVER };
    const struct {
        enum before before;
        enum op_kind giving_back;
        enum done done;
        enum verdict_kind verdict;
    } rows[] = {
        {NOTHING, OP_FREE, NEVER, VERDICT_JUSTIFIED},
        {NOTHING, OP_FREE_AFTER, BEFORE, VERDICT_JUSTIFIED},
        {NOTHING, OP_FREE_AFTER, AFTER, VERDICT_PREMATURE},
        {NOTHING, OP_FREE_AFTER, NEVER, VERDICT_PREMATURE},
        {USED, OP_FREE, BEFORE, VERDICT_JUSTIFIED},
        {USED, OP_FREE, AFTER, VERDICT_PREMATURE},
        {FREED, OP_RELEASE, NEVER, VERDICT_JUSTIFIED},
        {FREED_LATER, OP_RELEASE, BEFORE, VERDICT_JUSTIFIED},
        {FREED_LATER, OP_RELEASE, AFTER, VERDICT_PREMATURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const enum before before = rows[i].before;
        const uint32_t freed = call_granted_alloc(0, 2);
        if (before == FREED || before == FREED_LATER) {
            take_note(make_on(OP_HOLD, freed));
        }
        const uint32_t waiting = (uint32_t)script.run->ops.count; /* its event is awaited */
        if (before != NOTHING) {
            take_note(make_on(before == USED          ? OP_USE
                              : before == FREED_LATER ? OP_FREE_AFTER
                                                      : OP_FREE,
                              freed));
        }
        const uint32_t freeing = begin_call(make_on(rows[i].giving_back, freed));
        if (rows[i].done == BEFORE) {
            end_call(begin_call(make_complete(waiting)));
        }
        const uint32_t taker = begin_alloc(5 * G);
        const uint32_t request = begin_alloc(12 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        if (rows[i].done == AFTER) {
            end_call(begin_call(make_complete(waiting)));
        }
        end_granted(taker, 9, 0, 5);
        end_call(freeing);
        check_verdict(request, rows[i].verdict, i);
        if (rows[i].verdict == VERDICT_JUSTIFIED) {
            KEEPS(&rig.verdicts[taker]);
            KEEPS(&rig.verdicts[freeing]);
        }
        stop_lanes();
    }
}

/* What makes way for one taker does not for another, in whose way something stays.  The state that
 * is shown is one that was possible. */
TEST(a_block_that_nobody_gives_back_stays)
{
    start_lanes_that_go_on();
    const uint32_t stays = call_granted_alloc(0, 2);
    const uint32_t freed = call_granted_alloc(8, 2);
    const uint32_t freeing = begin_on(OP_FREE, freed);
    const uint32_t touching = begin_on(OP_TOUCH, stays);
    const uint32_t taker = begin_alloc(4 * G);
    const uint32_t wrong = begin_alloc(5 * G);
    const uint32_t request = begin_alloc(10 * G);
    end_refused(request, TARGET_NO_MEMORY, "no room");
    end_granted(taker, 9, 8, 4);
    end_call(freeing);
    end_granted(wrong, 10, 0, 5);
    end_call(touching);
    JUDGED(&rig.verdicts[request], VERDICT_PREMATURE);
    ck_assert_uint_eq(rig.verdicts[request].free_bytes, 10 * G);
    BREAKS(&rig.verdicts[wrong], RULE_OVERLAP);
    stop_lanes();
}

/* Two granules are freed.  Whoever gets five in their place has called before the request was
 * answered, and the request has called before that one returned. */
TEST(what_was_not_under_way_with_a_request_took_nothing_from_it)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t freed = call_granted_alloc(0, 2);
        const uint32_t early = is_late == 0 ? begin_alloc(5 * G) : 0;
        const uint32_t freeing = begin_on(OP_FREE, freed);
        const uint32_t request = begin_alloc(12 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(is_late == 0 ? early : begin_alloc(5 * G), 9, 0, 5);
        end_call(freeing);
        JUDGED(&rig.verdicts[request], is_late == 0 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
        stop_lanes();
    }
}

/* Made, returned, and not yet freed: the request is answered in between. */
TEST(a_block_is_there_between_its_call_and_its_free)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t taker = begin_alloc(5 * G);
    const uint32_t made = begin_alloc(2 * G);
    end_granted(made, 1, 0, 2);
    const uint32_t request = begin_alloc(12 * G);
    end_refused(request, TARGET_NO_MEMORY, "no room");
    end_call(begin_on(OP_FREE, made));
    end_granted(taker, 2, 0, 5);
    JUDGED(&rig.verdicts[request], VERDICT_PREMATURE);
    stop_lanes();
}

static void move_7_to_14(void)
{
    ck_assert_int_eq(copy(7, 14, 2), DEVICE_OK);
}

/* A block that is made meanwhile, and moves later: the other got its place.  Nobody knows which was
 * there first. */
TEST(a_block_that_is_made_meanwhile_may_not_have_been_there)
{
    start_lanes(DEFRAG_REPACK);
    const uint32_t made = begin_alloc(2 * G);
    const uint32_t taker = begin_alloc(9 * G);
    const uint32_t request = begin_alloc(8 * G);
    const uint32_t last = begin_call(op_make(OP_REPORT));
    end_refused(request, TARGET_NO_MEMORY, "no room");
    script.act = move_7_to_14;
    end_granted(taker, 2, 0, 9);
    end_granted(made, 1, 7, 2);
    script.at[1].address = 14 * G;
    end_call(last);
    JUDGED(&rig.verdicts[request], VERDICT_JUSTIFIED);
    KEEPS(&rig.verdicts[taker]);
    KEEPS(&rig.verdicts[made]);
    KEEPS(&rig.verdicts[last]);
    stop_lanes();
}

static void move_5_to_0(void)
{
    ck_assert_int_eq(copy(5, 0, 2), DEVICE_OK);
}

static void move_0_to_12(void)
{
    ck_assert_int_eq(copy(0, 12, 2), DEVICE_OK);
}

/* A copy of the block shows that the release was over: then it gives nothing back any more. */
TEST(a_release_that_was_felt_makes_no_room_twice)
{
    start_lanes(DEFRAG_REPACK);
    const uint32_t held = call_granted_alloc(5, 2);
    take_note(make_on(OP_HOLD, held));
    const uint32_t release = begin_on(OP_RELEASE, held);
    const uint32_t taker = begin_alloc(5 * G);
    const uint32_t first = begin_call(op_make(OP_DEFRAGMENT));
    const uint32_t second = begin_call(op_make(OP_DEFRAGMENT));
    script.act = move_5_to_0;
    end_call(first);
    const uint32_t request = begin_alloc(12 * G);
    end_refused(request, TARGET_NO_MEMORY, "no room");
    script.act = move_0_to_12;
    end_call(second);
    end_granted(taker, 9, 0, 5);
    script.at[held + 1].address = 12 * G;
    end_call(release);
    JUDGED(&rig.verdicts[request], VERDICT_PREMATURE);
    stop_lanes();
}

/* --- executions --- */

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

/* Program 0 of two granules, with that stack, is evicted; the block of the returned op lies on the
 * upper end. */
static uint32_t take_evicted_program(uint64_t stack)
{
    (void)take_program(0, 2, stack);
    script.act = evict_0;
    return call_granted_alloc(12, 2);
}

/* An execution brings its image to the place of what is freed: it cannot move, and its stack is
 * reserved. */
TEST(an_execution_takes_a_place_and_its_stack)
{
    const struct {
        uint64_t stack, request;
        enum verdict_kind verdict;
    } rows[] = {
        {0, 12, VERDICT_PREMATURE},
        {0, 13, VERDICT_JUSTIFIED},
        {4, 8, VERDICT_PREMATURE},
        {4, 9, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes_that_go_on();
        const uint32_t freed = take_evicted_program(rows[i].stack);
        const uint32_t freeing = begin_on(OP_FREE, freed);
        const uint32_t execution = begin_call(make_on(OP_EXECUTE, 0));
        const uint32_t request = begin_alloc(rows[i].request * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(execution, 1, 12, 3);
        end_call(freeing);
        check_verdict(request, rows[i].verdict, i);
        BREAKS(&rig.verdicts[execution], RULE_TOO_LARGE);
        if (rows[i].verdict == VERDICT_JUSTIFIED) {
            const struct oom_block *judged = find_judged(0);
            ck_assert_uint_eq(script.run->judge.oom.block_count, 1);
            ck_assert_uint_eq(judged->address, 12 * G);
            ck_assert_uint_eq(judged->size_bytes, 2 * G);
            ck_assert_uint_eq(judged->surplus_bytes, G);
            ck_assert_uint_eq(judged->align_bytes, G);
            ck_assert_uint_eq(judged->stack_bytes, rows[i].stack * G);
            ck_assert_uint_eq(judged->used_until_ns, DELAY_NEVER);
            ck_assert_int_eq(judged->kind, BLOCK_PROGRAM);
        }
        stop_lanes();
    }
}

/* --- several takers --- */

/* Two are in the place of two blocks that are freed; which began first makes no difference. */
TEST(takers_side_by_side_may_all_have_been_there)
{
    for (uint64_t size = 8; size <= 9; size++) {
        for (int is_upper_first = 0; is_upper_first < 2; is_upper_first++) {
            start_lanes(DEFRAG_SLIDE);
            const uint32_t low = call_granted_alloc(0, 2);
            const uint32_t high = call_granted_alloc(4, 2);
            const uint32_t first_freeing = begin_on(OP_FREE, low);
            const uint32_t second_freeing = begin_on(OP_FREE, high);
            const uint32_t first = begin_alloc(4 * G);
            const uint32_t second = begin_alloc(4 * G);
            const uint32_t request = begin_alloc(size * G);
            end_refused(request, TARGET_NO_MEMORY, "no room");
            end_granted(first, 10, is_upper_first != 0 ? 4 : 0, 4);
            end_granted(second, 11, is_upper_first != 0 ? 0 : 4, 4);
            end_call(first_freeing);
            end_call(second_freeing);
            JUDGED(&rig.verdicts[request], size == 8 ? VERDICT_PREMATURE : VERDICT_JUSTIFIED);
            stop_lanes();
        }
    }
}

static void move_first_taker(void)
{
    ck_assert_int_eq(copy(0, 10, 4), DEVICE_OK);
}

/* The second gets part of the place of the first, which has moved away: only one of them was there
 * before. */
TEST(takers_of_the_same_place_were_not_there_together)
{
    const struct {
        uint64_t at, size, request;
        enum verdict_kind verdict;
    } rows[] = {
        {2, 4, 10, VERDICT_PREMATURE},                                /* [0, 4) and [2, 6) */
        {2, 4, 11, VERDICT_JUSTIFIED}, {0, 1, 12, VERDICT_PREMATURE}, /* [0, 4) and [0, 1) */
        {0, 1, 13, VERDICT_JUSTIFIED}, {3, 1, 12, VERDICT_PREMATURE}, /* [0, 4) and [3, 4) */
        {3, 1, 13, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_REPACK);
        const uint32_t freed = call_granted_alloc(0, 2);
        const uint32_t freeing = begin_on(OP_FREE, freed);
        const uint32_t first = begin_alloc(4 * G);
        const uint32_t second = begin_alloc(rows[i].size * G);
        const uint32_t request = begin_alloc(rows[i].request * G);
        const uint32_t last = begin_call(op_make(OP_REPORT));
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(first, 10, 0, 4);
        script.act = move_first_taker;
        end_granted(second, 11, rows[i].at, rows[i].size);
        script.at[10].address = 10 * G;
        end_call(freeing);
        end_call(last);
        check_verdict(request, rows[i].verdict, i);
        if (rows[i].verdict == VERDICT_JUSTIFIED) {
            KEEPS(&rig.verdicts[second]);
            KEEPS(&rig.verdicts[last]);
        } else if (rows[i].at == 2) { /* the last order that was possible: the second alone */
            ck_assert_uint_eq(rig.verdicts[request].free_bytes, 10 * G);
        }
        stop_lanes();
    }
}

/* So many each get a granule of a block that is freed.  Beyond six not every order is looked at, so
 * nobody says that the refusal is wrong; that it is right shows in one. */
TEST(a_refusal_among_too_many_takers_is_not_premature)
{
    const struct {
        uint64_t takers, request;
        enum verdict_kind verdict;
    } rows[] = {
        {6, 9, VERDICT_PREMATURE},
        {7, 9, VERDICT_NONE},
        {7, 10, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t freed = call_granted_alloc(0, 7);
        uint32_t takers[OVERLAP_ORDERS_TAKER_COUNT_MAX + 1];
        const uint32_t freeing = begin_on(OP_FREE, freed);
        for (uint64_t k = 0; k < rows[i].takers; k++) {
            takers[k] = begin_alloc(G);
        }
        const uint32_t request = begin_alloc(rows[i].request * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        for (uint64_t k = 0; k < rows[i].takers; k++) {
            end_granted(takers[k], 10 + k, k, 1);
        }
        end_call(freeing);
        check_verdict(request, rows[i].verdict, i);
        ck_assert_uint_eq(run_ops(script.run)->count, 3 + rows[i].takers);
        stop_lanes();
    }
}

/* --- several hosts --- */

/* On both hosts two granules are freed, and on one somebody gets five in their place. */
TEST(what_is_taken_on_another_host_justifies_nothing)
{
    for (uint8_t host = 0; host < 2; host++) {
        prepare();
        open_lanes(2);
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 2 * G;
        uint32_t freed[2];
        uint32_t freeing[2];
        for (uint8_t i = 0; i < 2; i++) {
            op.host = i;
            freed[i] = call_granted(op, 0, 2);
        }
        for (uint8_t i = 0; i < 2; i++) {
            op = make_on(OP_FREE, freed[i]);
            op.host = i;
            freeing[i] = begin_call(op);
        }
        op = op_make(OP_ALLOC);
        op.size_bytes = 5 * G;
        op.host = host;
        const uint32_t taker = begin_call(op);
        const uint32_t request = begin_alloc(12 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(taker, 9, 0, 5);
        end_call(freeing[0]);
        end_call(freeing[1]);
        JUDGED(&rig.verdicts[request], host == 0 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
        stop_lanes();
    }
}

/* --- which of two was first --- */

static void move_larger(void)
{
    ck_assert_int_eq(copy(5, 0, 9), DEVICE_OK);
}

/* The block of one call is moved away for that of the other, whose call returns before. */
TEST(a_block_that_moved_away_was_there_first)
{
    for (int is_mover_first = 0; is_mover_first < 2; is_mover_first++) {
        start_lanes(DEFRAG_SLIDE);
        uint32_t calls[2]; /* the one that moves, the one that is moved */
        for (int i = 0; i < 2; i++) {
            const int call = i ^ !is_mover_first;
            calls[call] = begin_alloc((call == 0 ? 6 : 9) * G);
        }
        const uint32_t last = begin_call(op_make(OP_REPORT));
        script.act = move_larger;
        end_granted(calls[0], 1, 9, 6);
        end_granted(calls[1], 2, 5, 9);
        script.at[2].address = 0;
        end_call(last);
        KEEPS(&rig.verdicts[calls[0]]);
        KEEPS(&rig.verdicts[calls[1]]);
        KEEPS(&rig.verdicts[last]);
        stop_lanes();
    }
}

static void move_one_after_the_other(void)
{
    ck_assert_int_eq(copy(0, 10, 2), DEVICE_OK);
    ck_assert_int_eq(copy(0, 12, 2), DEVICE_OK);
}

/* Both blocks were at 0, the second once the first had moved away, and both answers come behind
 * that, in either order: where they are in the end tells which copy took which. */
TEST(of_two_that_moved_away_the_first_to_go_was_there_first)
{
    for (int row = 0; row < 4; row++) {
        start_lanes(DEFRAG_REPACK);
        uint32_t calls[2]; /* the one that went to 10, the one that went to 12 */
        calls[row & 1] = begin_alloc(2 * G);
        calls[!(row & 1)] = begin_alloc(2 * G);
        const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
        script.act = move_one_after_the_other;
        end_call(move);
        for (int i = 0; i < 2; i++) {
            const int call = i ^ row >> 1;
            end_granted(calls[call], (uint64_t)call + 1, 0, 2);
            script.at[call + 1].address = (call == 0 ? 10 : 12) * G;
        }
        for (int i = 0; i < 2; i++) {
            ck_assert_msg(rig.verdicts[calls[i]].kind == VERDICT_NONE, "row %d, %d: %s", row, i,
                          rig.verdicts[calls[i]].reason);
        }
        KEEPS(&rig.verdicts[move]);
        ck_assert_uint_eq(model_in_use_bytes(run_model(script.run, 0)), 4 * G);
        stop_lanes();
    }
}
