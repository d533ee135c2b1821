/* Out-of-memories of calls that overlap: what is judged of them, at which instants, and what is
 * said. */
#include "harness/run/run_state.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static struct op make_load(uint64_t size, uint64_t stack)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = size * G;
    op.stack_bytes = stack * G;
    return op;
}

static struct op make_on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.delay_ns = op_kind_info(kind)->has_delay ? 1000 : 0;
    return op;
}

static void do_on(enum op_kind kind, uint32_t ref)
{
    const uint32_t number = begin_call(make_on(kind, ref));
    end_call(number);
    KEEPS(&rig.verdicts[number]);
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

/* --- what is one --- */

TEST(what_asks_for_no_memory_is_not_out_of_it)
{
    start_lanes_that_go_on();
    make_block_at_7();
    const uint32_t hold = begin_on(OP_HOLD, 0);
    const uint32_t touch = begin_on(OP_TOUCH, 0);
    end_refused(hold, TARGET_NO_MEMORY, "no room");
    end_call(touch);
    BREAKS(&rig.verdicts[hold], RULE_STATUS);
    ck_assert_uint_eq(rig.verdicts[hold].requested_bytes, 0);
    ck_assert_uint_eq(run_totals(script.run)->excused, 1);
    stop_lanes();
}

TEST(an_overlapping_refusal_on_an_empty_device_is_premature)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t request = begin_alloc(16 * G);
    const uint32_t looking = begin_call(op_make(OP_REPORT));
    end_refused(request, TARGET_NO_MEMORY, "no room");
    end_call(looking);
    JUDGED(&rig.verdicts[request], VERDICT_PREMATURE);
    ck_assert_uint_eq(rig.verdicts[request].free_bytes, 16 * G);
    ck_assert_uint_eq(rig.verdicts[request].requested_bytes, 16 * G);
    stop_lanes();
}

TEST(bytes_that_no_number_holds_are_told_as_the_largest)
{
    const struct {
        uint64_t image, stack, told;
    } rows[] = {
        {G, 2 * G, 3 * G},
        {(uint64_t)1 << 63, 2 * G, ((uint64_t)1 << 63) + 2 * G},
        {(uint64_t)1 << 63, (uint64_t)1 << 63, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        (void)call_granted_alloc(0, 14);
        struct op op = op_make(OP_LOAD);
        op.size_bytes = rows[i].image;
        op.stack_bytes = rows[i].stack;
        const uint32_t request = begin_call(op);
        const uint32_t looking = begin_call(op_make(OP_REPORT));
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_call(looking);
        check_verdict(request, VERDICT_JUSTIFIED, i);
        ck_assert_uint_eq(rig.verdicts[request].requested_bytes, rows[i].told);
        stop_lanes();
    }
}

/* --- what may have been felt --- */

/* Fourteen granules do only if the block at 7 moves, which another hold or its end keeps in place.
 */
TEST(what_may_have_been_felt_is_one_hold_more)
{
    const struct {
        enum op_kind first, second;
        enum verdict_kind verdict;
    } rows[] = {
        {OP_HOLD, OP_HOLD, VERDICT_JUSTIFIED},
        {OP_HOLD, OP_TOUCH, VERDICT_JUSTIFIED},
        {OP_TOUCH, OP_TOUCH, VERDICT_PREMATURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        const uint32_t above = call_granted_alloc(15, 1);
        do_on(rows[i].first, 0);
        const uint32_t other = begin_on(OP_HOLD, above);
        const uint32_t second = begin_on(rows[i].second, 0);
        const uint32_t request = begin_alloc(13 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_call(second);
        end_call(other);
        check_verdict(request, rows[i].verdict, i);
        stop_lanes();
    }
}

/* The state that is judged has what was felt, of those blocks alone. */
TEST(what_is_felt_shows_in_the_state_that_is_judged)
{
    const struct {
        enum op_kind felt;
        uint32_t hold_count;
        uint64_t used_until_ns, freed_at_ns;
        enum block_state state;
    } rows[] = {
        {OP_HOLD, 2, 0, 0, BLOCK_LIVE},
        {OP_USE, 1, DELAY_NEVER, 0, BLOCK_LIVE},
        {OP_FREE_AFTER, 1, 0, DELAY_NEVER, BLOCK_DYING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_REPACK);
        const uint32_t other = call_granted_alloc(3, 1);
        const uint32_t above = call_granted_alloc(15, 1);
        const uint32_t block = call_granted_alloc(7, 2);
        do_on(OP_HOLD, above);
        do_on(OP_HOLD, block);
        const uint32_t pinning = begin_on(OP_HOLD, other);
        const uint32_t felt = begin_call(make_on(rows[i].felt, block));
        const uint32_t touching = begin_on(OP_TOUCH, above);
        /* It fits only below the block, if the other one there may move. */
        const uint32_t request = begin_alloc(7 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_call(touching);
        end_call(felt);
        end_call(pinning);
        check_verdict(request, VERDICT_JUSTIFIED, i);
        const struct oom_block *judged = find_judged(block);
        ck_assert_uint_eq(judged->hold_count, rows[i].hold_count);
        ck_assert_uint_eq(judged->used_until_ns, rows[i].used_until_ns);
        ck_assert_uint_eq(judged->freed_at_ns, rows[i].freed_at_ns);
        ck_assert_int_eq(judged->state, rows[i].state);
        ck_assert_uint_eq(find_judged(other)->hold_count, 1);
        ck_assert_uint_eq(find_judged(above)->hold_count, 1);
        stop_lanes();
    }
}

/* What is certain decides before what may be: no certificate shows more than it needs. */
TEST(what_fits_nowhere_is_shown_without_what_may_have_been_felt)
{
    start_lanes(DEFRAG_SLIDE);
    make_block_at_7();
    const uint32_t pin = begin_on(OP_HOLD, 0);
    const uint32_t request = begin_alloc(15 * G);
    end_refused(request, TARGET_NO_MEMORY, "no room");
    end_call(pin);
    JUDGED(&rig.verdicts[request], VERDICT_JUSTIFIED);
    ck_assert_uint_eq(find_judged(0)->hold_count, 0);
    stop_lanes();
}

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

static void evict_0_of_1(void)
{
    const struct device_services *device = script.device[1];
    ck_assert_int_eq(device->unload(device->context, 1), DEVICE_OK);
}

/* Program 0 of two granules, with that stack, is evicted for op 1 on host 0. */
static uint32_t take_evicted_program(uint64_t stack, uint64_t at, uint64_t size)
{
    (void)call_granted(make_load(2, stack), 0, 2);
    script.act = evict_0;
    return call_granted_alloc(at, size);
}

/* The image of an evicted program is back, and its stack reserved.  The model has not taken it yet,
 * so its bytes count as free; what it has beyond its contract counts as free, too. */
TEST(an_image_that_may_be_back_leaves_less_room)
{
    const struct {
        uint64_t block, image, size, request;
        enum verdict_kind verdict;
    } rows[] = {
        {15, 9, 2, 5, VERDICT_PREMATURE}, /* [4, 9) or [11, 15) */
        {15, 9, 2, 6, VERDICT_JUSTIFIED},
        {8, 14, 2, 9, VERDICT_PREMATURE}, /* [4, 14) less a granule that moves */
        {8, 14, 2, 10, VERDICT_JUSTIFIED},
        {4, 5, 3, 9, VERDICT_PREMATURE}, /* [7, 16) */
        {4, 5, 3, 10, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes_that_go_on();
        const uint32_t block = take_evicted_program(4, rows[i].block, 1);
        const uint32_t execution = begin_call(make_on(OP_EXECUTE, 0));
        const uint32_t request = begin_alloc(rows[i].request * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(execution, 1, rows[i].image, rows[i].size);
        check_verdict(request, rows[i].verdict, i);
        if (rows[i].verdict == VERDICT_JUSTIFIED) {
            ck_assert_uint_eq(rig.verdicts[request].free_bytes, 15 * G);
            ck_assert_uint_eq(script.run->judge.oom.block_count, 2);
            ck_assert_uint_eq(find_judged(block)->used_until_ns, 0);
            const struct oom_block *judged = find_judged(0);
            ck_assert_uint_eq(judged->address, rows[i].image * G);
            ck_assert_uint_eq(judged->size_bytes, 2 * G);
            ck_assert_uint_eq(judged->surplus_bytes, (rows[i].size - 2) * G);
            ck_assert_uint_eq(judged->align_bytes, G);
            ck_assert_uint_eq(judged->stack_bytes, 4 * G);
            ck_assert_uint_eq(judged->used_until_ns, DELAY_NEVER);
            ck_assert_int_eq(judged->kind, BLOCK_PROGRAM);
            ck_assert_int_eq(judged->state, BLOCK_LIVE);
        }
        stop_lanes();
    }
}

/* While something lies there it is not back, and what has no bytes never is. */
TEST(an_image_is_not_back_where_something_else_lies)
{
    const struct {
        uint64_t image, size, request;
        enum verdict_kind verdict;
    } rows[] = {
        {6, 2, 6, VERDICT_PREMATURE},  /* on the first granule of the block, which moves */
        {5, 2, 6, VERDICT_PREMATURE},  /* on its last */
        {6, 0, 14, VERDICT_PREMATURE}, /* nowhere */
        {3, 2, 14, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = take_evicted_program(0, 6, 1);
        const uint32_t touch = begin_on(OP_TOUCH, block);
        const uint32_t execution = begin_call(make_on(OP_EXECUTE, 0));
        const uint32_t request = begin_alloc(rows[i].request * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(execution, 1, rows[i].image, rows[i].size);
        end_call(touch);
        check_verdict(request, rows[i].verdict, i);
        stop_lanes();
    }
}

/* An image is in the way of requests on its own host alone. */
TEST(what_is_felt_on_another_host_is_not_felt)
{
    for (uint8_t host = 0; host < 2; host++) {
        prepare();
        open_lanes(2);
        struct op op = make_load(2, 4);
        op.host = host;
        const uint32_t program = call_granted(op, 0, 2);
        op = op_make(OP_ALLOC);
        op.size_bytes = G;
        op.host = host;
        script.act = host == 0 ? evict_0 : evict_0_of_1;
        (void)call_granted(op, 15, 1);
        op = make_on(OP_EXECUTE, program);
        op.host = host;
        const uint32_t execution = begin_call(op);
        const uint32_t request = begin_alloc(9 * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_granted(execution, 1, 9, 2);
        JUDGED(&rig.verdicts[request], host == 0 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
        stop_lanes();
    }
}

/* --- what no moment shows --- */

static void move_14_to_4(void)
{
    ck_assert_int_eq(copy(14, 4, 2), DEVICE_OK);
}

/* The image has been moved when its execution returns, but the copy is still to come: no moment
 * shows it in both places.  Eight granules are free beside both. */
TEST(an_image_that_is_in_two_places_excuses_a_refusal_without_a_verdict)
{
    for (uint64_t size = 8; size <= 9; size++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t program = call_granted(make_load(2, 0), 14, 2);
        const uint32_t execution = begin_call(make_on(OP_EXECUTE, program));
        const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
        const uint32_t request = begin_alloc(size * G);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        script.act = move_14_to_4;
        end_call(move);
        end_granted(execution, 1, 4, 2);
        JUDGED(&rig.verdicts[request], size == 8 ? VERDICT_PREMATURE : VERDICT_NONE);
        stop_lanes();
    }
}

/* One execution has brought the image back that the other needs room for: no such room is needed
 * then, so a refusal for want of it is not judged.  Where the image was not away it is judged. */
TEST(an_execution_needs_no_room_for_an_image_that_is_back)
{
    for (int is_evicted = 0; is_evicted < 2; is_evicted++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t program = call_granted(make_load(2, 4), 14, 2);
        script.act = is_evicted != 0 ? evict_0 : NULL;
        (void)call_granted_alloc(4, 10);
        const uint32_t first = begin_call(make_on(OP_EXECUTE, program));
        const uint32_t second = begin_call(make_on(OP_EXECUTE, program));
        end_refused(second, TARGET_NO_MEMORY, "no room");
        end_granted(first, 1, 14, 2);
        JUDGED(&rig.verdicts[second], is_evicted != 0 ? VERDICT_NONE : VERDICT_PREMATURE);
        stop_lanes();
    }
}

/* --- blocks in host memory --- */

/* Which room is kept for it nobody knows.  While it was there, nothing justifies a refusal but an
 * instant at which all is known. */
TEST(a_refusal_while_a_block_is_in_host_memory_needs_another_instant)
{
    const struct {
        bool comes_back;
        uint64_t request;
        enum verdict_kind verdict;
    } rows[] = {
        {false, 16, VERDICT_NONE},
        {true, 12, VERDICT_NONE},
        {true, 13, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes_with_absent();
        const uint32_t request = begin_alloc(rows[i].request * G);
        const uint32_t defragmenting = begin_call(op_make(OP_DEFRAGMENT));
        script.act = rows[i].comes_back ? bring_absent_back : NULL;
        end_call(defragmenting);
        end_refused(request, TARGET_NO_MEMORY, "no room");
        check_verdict(request, rows[i].verdict, i);
        stop_lanes();
    }
}

/* --- which instant decides --- */

/* Nine granules are free below a block that is held, and two above it.  Then four lie in the middle
 * for a while: whether six fit still takes more steps than the search may do. */
TEST(an_instant_that_stays_unknown_outweighs_those_at_which_it_fitted)
{
    const struct {
        uint64_t more; /* for the same while */
        enum verdict_kind verdict;
        uint64_t free_granules;
    } rows[] = {
        {0, VERDICT_UNKNOWN, 7},
        {2, VERDICT_JUSTIFIED, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_REPACK);
        script.run->judge.nodes_max = 1;
        do_on(OP_HOLD, call_granted_alloc(9, 5));
        const uint32_t request = begin_alloc(6 * G);
        const uint32_t other = begin_alloc(4 * G);
        end_granted(other, 20, 3, 4);
        if (rows[i].more > 0) {
            end_granted(begin_alloc(rows[i].more * G), 21, 0, rows[i].more);
        }
        end_call(begin_on(OP_FREE, other));
        end_refused(request, TARGET_NO_MEMORY, "no room");
        const struct verdict *verdict = &rig.verdicts[request];
        check_verdict(request, rows[i].verdict, i);
        ck_assert_uint_eq(verdict->free_bytes, rows[i].free_granules * G);
        ck_assert_uint_eq(verdict->nodes_max, 1);
        ck_assert_uint_eq(find_judged(other)->address, 3 * G);
        stop_lanes();
    }
}

/* --- what is told --- */

/* The plan is shown once; a second time the verdict counts alone. */
TEST(a_premature_refusal_of_one_kind_is_explained_once)
{
    start_lanes_that_go_on();
    make_block_at_7();
    for (int i = 0; i < 2; i++) {
        const uint32_t request = begin_alloc(3 * G);
        const uint32_t looking = begin_call(op_make(OP_REPORT));
        end_refused(request, TARGET_NO_MEMORY, "no room");
        end_call(looking);
        const struct verdict *verdict = &rig.verdicts[request];
        JUDGED(verdict, VERDICT_PREMATURE);
        ck_assert_str_eq(verdict->mechanism,
                         "buffer fits at once, in a hole of twice its size or more");
        ck_assert_int_eq(strstr(verdict->reason, "the request fits at 0x0") != NULL, i == 0);
    }
    ck_assert_uint_eq(run_totals(script.run)->premature, 2);
    ck_assert_uint_eq(run_findings(script.run)->count, 1);
    stop_lanes();
}
