/* Which cells an engine sees for which state of the heap. */
#include "fuzz/feedback.h"
#include "harness/base/random.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* In the place of an engine. */
static uint32_t noted[FEEDBACK_CELL_COUNT];

void feedback_forget(void)
{
    memset(noted, 0, sizeof noted);
}

void feedback_note(uint32_t cell)
{
    ck_assert_uint_lt(cell, FEEDBACK_CELL_COUNT);
    noted[cell]++;
}

static uint32_t noted_between(uint32_t first, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t cell = first; cell < end; cell++) {
        count += noted[cell] > 0;
    }
    return count;
}

/* --- cells of a sight --- */

static const struct feedback_sight plain = {.outcome = FEEDBACK_JUSTIFIED,
                                            .granule_bytes = 512,
                                            .request_bytes = 4096,
                                            .free_bytes = 8192,
                                            .largest_hole_bytes = 2048,
                                            .best_span_bytes = 2048,
                                            .span_count = 3,
                                            .queued_free_count = 1};

static bool differ_in(const struct feedback_sight *a, const struct feedback_sight *b,
                      uint32_t first, uint32_t end)
{
    uint32_t of_a[FEEDBACK_CELLS_PER_OP_MAX], of_b[FEEDBACK_CELLS_PER_OP_MAX];
    const uint32_t count = feedback_cells(a, of_a);
    ck_assert_uint_eq(count, feedback_cells(b, of_b));
    bool is_different = false;
    for (uint32_t i = 0; i < count; i++) {
        if (of_a[i] != of_b[i]) {
            ck_assert_msg(of_a[i] >= first && of_a[i] < end && of_b[i] >= first && of_b[i] < end,
                          "another group");
            is_different = true;
        }
    }
    return is_different;
}

/* Members of a sight that are not as in `plain`, and in which group the cells differ. */
static const struct {
    const char *promise;
    uint64_t free_bytes, largest_hole_bytes, best_span_bytes, span_count, queued_free_count;
    uint32_t first, end;
} rows[] = {
    {"twice the fragmentation is another cell", 8192, 1024, 2048, 3, 1, FEEDBACK_HEAP,
     FEEDBACK_SPANS},
    {"twice the spans are another cell", 8192, 2048, 2048, 6, 1, FEEDBACK_SPANS, FEEDBACK_QUEUED},
    {"twice the queued frees are another cell", 8192, 2048, 2048, 3, 2, FEEDBACK_QUEUED,
     FEEDBACK_DISTANCE},
    {"a span that fits and one as much too short are two cells", 8192, 2048, 6144, 3, 1,
     FEEDBACK_DISTANCE, FEEDBACK_SWITCHES},
    {"a little more of everything is no other cell", 8704, 2048, 1537, 3, 1, 0, 0},
};

TEST(a_sight_that_differs_much_has_another_cell, .to = sizeof rows / sizeof rows[0])
{
    struct feedback_sight other = plain;
    other.free_bytes = rows[_i].free_bytes;
    other.largest_hole_bytes = rows[_i].largest_hole_bytes;
    other.best_span_bytes = rows[_i].best_span_bytes;
    other.span_count = rows[_i].span_count;
    other.queued_free_count = rows[_i].queued_free_count;
    ck_assert_msg(differ_in(&plain, &other, rows[_i].first, rows[_i].end) == (rows[_i].end > 0),
                  "%s", rows[_i].promise);
}

TEST(one_granule_short_is_another_cell_than_two)
{
    struct feedback_sight one = plain, two = plain;
    one.best_span_bytes = plain.request_bytes - 512;
    two.best_span_bytes = plain.request_bytes - 1024;
    ck_assert(differ_in(&one, &two, FEEDBACK_DISTANCE, FEEDBACK_SWITCHES));
}

TEST(each_mitigation_and_each_outcome_is_a_cell_of_its_own)
{
    uint32_t cells[FEEDBACK_CELLS_PER_OP_MAX];
    bool is_seen[FEEDBACK_SPANS] = {false};
    for (unsigned outcome = 0; outcome < FEEDBACK_OUTCOME_COUNT; outcome++) {
        for (uint8_t mitigations = 0; mitigations < FEEDBACK_MITIGATIONS_COUNT; mitigations++) {
            struct feedback_sight sight = plain;
            sight.outcome = (enum feedback_outcome)outcome;
            sight.mitigations = mitigations;
            ck_assert_uint_ge(feedback_cells(&sight, cells), 2);
            ck_assert_uint_lt(cells[0], FEEDBACK_SPANS);
            ck_assert(!is_seen[cells[0]]);
            is_seen[cells[0]] = true;
        }
    }
}

TEST(queued_frees_are_told_of_out_of_memories_alone)
{
    uint32_t cells[FEEDBACK_CELLS_PER_OP_MAX];
    struct feedback_sight sight = plain;
    sight.outcome = FEEDBACK_PLACED;
    const uint32_t count = feedback_cells(&sight, cells);
    ck_assert_uint_eq(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(cells[i] < FEEDBACK_QUEUED || cells[i] >= FEEDBACK_DISTANCE);
    }
}

/* Sizes of every magnitude, and the two ends. */
static uint64_t any_number(struct random *random)
{
    const uint64_t bits = random_bits(random);
    const uint64_t any = bits >> random_below(random, 64);
    return random_chance(random, 1, 8) ? 0 : random_chance(random, 1, 8) ? UINT64_MAX : any;
}

/* Each next cell is of a later group; the group of a cell, or 4. */
static uint32_t group_of(uint32_t cell)
{
    static const uint32_t ends[] = {FEEDBACK_SPANS, FEEDBACK_QUEUED, FEEDBACK_DISTANCE,
                                    FEEDBACK_SWITCHES};
    uint32_t group = 0;
    while (group < 4 && cell >= ends[group]) {
        group++;
    }
    return group;
}

TEST(no_sight_has_a_cell_out_of_range_or_two_of_one_group)
{
    uint32_t cells[FEEDBACK_CELLS_PER_OP_MAX];
    struct random random;
    bool is_right = true;
    random_init(&random, 1);
    for (uint32_t i = 0; i < 100000; i++) {
        const struct feedback_sight sight = {
            .outcome = (enum feedback_outcome)random_below(&random, FEEDBACK_OUTCOME_COUNT),
            .mitigations = (uint8_t)random_below(&random, FEEDBACK_MITIGATIONS_COUNT),
            .granule_bytes = any_number(&random) | 1,
            .request_bytes = any_number(&random),
            .free_bytes = any_number(&random),
            .largest_hole_bytes = any_number(&random),
            .best_span_bytes = any_number(&random),
            .span_count = any_number(&random),
            .queued_free_count = any_number(&random)};
        const uint32_t count = feedback_cells(&sight, cells);
        for (uint32_t k = 0; k < count; k++) {
            is_right = is_right && group_of(cells[k]) < 4 &&
                       (k == 0 || group_of(cells[k]) > group_of(cells[k - 1]));
        }
    }
    ck_assert(is_right);
}

/* --- what ops leave behind --- */

/* A device of 8 granules; each list ends with the op that is looked at. */
static struct run *run_list(const struct op *ops, size_t count)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup.capacity_bytes = 4096;
    setup.granule_bytes = 512;
    struct run *run = run_create(&target_hbm, &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    feedback_begin();
    for (size_t i = 0; i < count; i++) {
        const struct verdict *verdict = run_step(run, &ops[i]);
        ck_assert(!run_is_broken(run));
        feedback_listener.judged(feedback_listener.context, run, verdict);
    }
    return run;
}

static struct op make_alloc(uint64_t granules)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = granules * 512;
    return op;
}

static struct op make_op_on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    return op;
}

static struct op queued_free(uint32_t ref, uint64_t delay_ns)
{
    struct op op = make_op_on(OP_FREE_AFTER, ref);
    op.delay_ns = delay_ns;
    return op;
}

static struct feedback_sight see_last(const struct run *run, const struct verdict *verdict)
{
    struct feedback_sight sight;
    ck_assert(feedback_see(run, verdict, &sight));
    return sight;
}

TEST(a_request_that_is_just_placed_is_not_told)
{
    const struct op ops[] = {make_alloc(2), make_alloc(3), make_op_on(OP_FREE, 0),
                             make_op_on(OP_HOLD, 1)};
    struct run *run = run_list(ops, sizeof ops / sizeof ops[0]);
    ck_assert_uint_eq(noted_between(0, FEEDBACK_CELL_COUNT), 0);
    run_destroy(run);
}

/* 2 free, 2 held, 4 that may move or not. */
TEST(a_refused_request_is_seen_with_its_holes_spans_and_distance)
{
    const struct op ops[] = {make_alloc(2),          make_alloc(2),          make_alloc(2),
                             make_alloc(2),          make_op_on(OP_HOLD, 1), make_op_on(OP_FREE, 0),
                             make_op_on(OP_FREE, 3), make_alloc(6)};
    struct run *run = run_list(ops, sizeof ops / sizeof ops[0]);
    const struct verdict verdict = {.kind = VERDICT_JUSTIFIED, .requested_bytes = 6 * 512};
    const struct feedback_sight sight = see_last(run, &verdict);
    ck_assert_int_eq(sight.outcome, FEEDBACK_JUSTIFIED);
    ck_assert_uint_eq(sight.request_bytes, 6 * 512);
    ck_assert_uint_eq(sight.free_bytes, 4 * 512);
    ck_assert_uint_eq(sight.largest_hole_bytes, 2 * 512);
    ck_assert_uint_eq(sight.span_count, 2);
    ck_assert_uint_eq(sight.best_span_bytes, 2 * 512);
    ck_assert_uint_eq(sight.queued_free_count, 0);
    ck_assert_uint_eq(noted_between(FEEDBACK_HEAP, FEEDBACK_SWITCHES), 4);
    run_destroy(run);
}

TEST(a_request_that_took_a_wait_is_seen_to_have_drained)
{
    const struct op ops[] = {make_alloc(8), queued_free(0, 1000), make_alloc(8)};
    struct run *run = run_list(ops, sizeof ops / sizeof ops[0]);
    const struct feedback_sight sight = see_last(run, &(struct verdict){.kind = VERDICT_NONE});
    ck_assert_int_eq(sight.outcome, FEEDBACK_PLACED);
    ck_assert_uint_eq(sight.mitigations, FEEDBACK_DRAINED);
    run_destroy(run);
}

TEST(a_request_that_took_a_move_is_seen_to_have_moved)
{
    const struct op ops[] = {make_alloc(2),          make_alloc(2),          make_alloc(4),
                             make_op_on(OP_FREE, 0), make_op_on(OP_FREE, 2), make_alloc(6)};
    struct run *run = run_list(ops, sizeof ops / sizeof ops[0]);
    const struct feedback_sight sight = see_last(run, &(struct verdict){.kind = VERDICT_NONE});
    ck_assert_uint_eq(sight.mitigations, FEEDBACK_MOVED);
    ck_assert_uint_eq(sight.span_count, 1);
    run_destroy(run);
}

TEST(a_free_that_is_lost_is_queued_when_memory_runs_out)
{
    const struct op ops[] = {make_alloc(8), queued_free(0, DELAY_NEVER), make_alloc(8)};
    struct run *run = run_list(ops, sizeof ops / sizeof ops[0]);
    const struct feedback_sight sight = see_last(run, &(struct verdict){.kind = VERDICT_JUSTIFIED});
    ck_assert_uint_eq(sight.queued_free_count, 1);
    ck_assert_uint_eq(sight.best_span_bytes, 0);
    run_destroy(run);
}

TEST(each_kind_of_switch_is_a_cell)
{
    struct op_list ops;
    op_list_init(&ops);
    struct op op = make_alloc(1), at = op_make(OP_SWITCH), completes = op_make(OP_SWITCH),
              of_thread = op_make(OP_SWITCH);
    at.ref = completes.ref = 0;
    at.size_bytes = completes.size_bytes = UINT32_MAX;
    completes.event = 0;
    of_thread.ref = OP_NONE;
    op_list_append(&ops, &op);
    op_list_append(&ops, &at);
    op_list_append(&ops, &completes);
    op_list_append(&ops, &of_thread);
    feedback_begin();
    feedback_take_schedule(&ops);
    ck_assert_uint_eq(noted_between(FEEDBACK_SWITCHES, FEEDBACK_CELL_COUNT), 2);
    ck_assert_uint_eq(noted_between(0, FEEDBACK_SWITCHES), 0);
    op_list_deinit(&ops);
}
