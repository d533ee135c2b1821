/* Every interleaving, within a bound on preemptions, of many small lists in which queued frees of
 * several lanes meet a request that needs their memory: the reference allocator breaks no promise.
 * And what the search finds is all there is: schedules of chance lead to nothing else.
 *
 * HBMSTRESS_EXHAUSTIVE=1: no bound, for as many lists as complete in 20 minutes.  Otherwise the
 * first twelfth of the lists, and a twelfth of the chance, all at night (draws.h), and under a
 * sanitizer every LIST_STRIDE-th. */
#include "explore/strategies/strategies.h"
#include "harness/base/random.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIST_STRIDE = 16 };
#else
enum { LIST_STRIDE = 1 };
#endif

enum {
    FREE_COUNT_MAX = 6,
    LIST_COUNT = 600,
    LIST_COUNT_MIN = 3 * 3 *
                     FREE_COUNT_MAX, /* each way to defragment, number of lanes and of frees */
    BOUND = 1,
    GRANULE_BYTES = 512,
    BLOCK_COUNT_MAX = 16,
    PAIR_COUNT = 32
};
/* Without a bound a list may have more interleavings than anybody can wait for: it is left, and
 * said to be. */
enum { UNBOUNDED_SECONDS = 20 * 60, UNBOUNDED_SCHEDULE_COUNT_MAX = 50000 };
enum { RANDOM_SCHEDULE_COUNT = 20000 };

/* --- lists --- */

struct drawn_block {
    uint32_t op;
    uint64_t granule_count;
};

/* What a list is drawn with. */
struct drawing {
    struct random random;
    struct setup setup;
    struct op_list ops;
    uint32_t lane_count; /* the request has the last one for itself, the frees have the others */
    struct drawn_block blocks[BLOCK_COUNT_MAX]; /* [0, block_count) are not freed yet */
    uint32_t block_count;
    uint64_t granule_count, hole_count;  /* of the device; of it never taken */
    uint64_t freed_count, largest_count; /* granules: of what is freed, and of the largest of it */
    uint32_t program, shared_event;      /* the op that made it; OP_NONE: there is none */
};

static uint32_t append_op(struct drawing *drawing, struct op op, uint32_t lane)
{
    op.lane = (uint8_t)lane;
    op_list_append(&drawing->ops, &op);
    return (uint32_t)drawing->ops.count - 1;
}

static uint32_t add_on(struct drawing *drawing, enum op_kind kind, uint32_t ref, uint32_t lane)
{
    struct op op = op_make(kind);
    op.ref = ref;
    if (op_kind_info(kind)->has_delay) {
        op.delay_ns = random_between(&drawing->random, 1, 5) * 1000;
    }
    return append_op(drawing, op, lane);
}

static uint32_t lane_draw(struct drawing *drawing)
{
    return (uint32_t)random_below(&drawing->random, drawing->lane_count - 1);
}

/* An op that prepares what its lane does next: in that lane, or before anybody else begins. */
static uint32_t lane_early(struct drawing *drawing, uint32_t lane)
{
    return random_chance(&drawing->random, 1, 2) ? lane : 0;
}

static void fill_program(struct drawing *drawing, uint64_t *left)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = random_between(&drawing->random, 1, 2) * GRANULE_BYTES;
    op.stack_bytes = random_below(&drawing->random, 2) * GRANULE_BYTES;
    *left -= op.size_bytes / GRANULE_BYTES + op.stack_bytes / GRANULE_BYTES;
    drawing->hole_count += op.stack_bytes / GRANULE_BYTES;
    drawing->program = append_op(drawing, op, 0);
}

/* Lane 0 alone, until there is at most one small hole. */
static void fill_heap(struct drawing *drawing)
{
    uint64_t left = drawing->granule_count;
    drawing->hole_count = random_chance(&drawing->random, 1, 4) ? 1 : 0;
    left -= drawing->hole_count;
    if (drawing->program == OP_NONE && random_chance(&drawing->random, 1, 5)) {
        fill_program(drawing, &left);
    }
    while (left > 0) {
        const uint64_t most = left < 4 ? left : 4;
        const uint64_t count = random_between(&drawing->random, 1, most);
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = count * GRANULE_BYTES;
        drawing->blocks[drawing->block_count++] = (struct drawn_block){append_op(drawing, op, 0),
                                                                       count};
        left -= count;
    }
}

static struct drawn_block block_take(struct drawing *drawing)
{
    const uint32_t i = (uint32_t)random_below(&drawing->random, drawing->block_count);
    const struct drawn_block block = drawing->blocks[i];
    drawing->blocks[i] = drawing->blocks[--drawing->block_count];
    drawing->freed_count += block.granule_count;
    if (block.granule_count > drawing->largest_count) {
        drawing->largest_count = block.granule_count;
    }
    return block;
}

/* Freed when an event completes that others wait for, too; somebody who comes first makes it. */
static void add_shared(struct drawing *drawing, uint32_t block, uint32_t lane)
{
    if (drawing->shared_event == OP_NONE) {
        drawing->shared_event = add_on(drawing, OP_USE, block, lane_early(drawing, lane));
    }
    struct op op = op_make(OP_FREE_AFTER);
    op.ref = block;
    op.event = drawing->shared_event;
    append_op(drawing, op, lane);
}

static void add_lost(struct drawing *drawing, uint32_t block, uint32_t lane)
{
    struct op lost = op_make(OP_FREE_AFTER), complete = op_make(OP_COMPLETE);
    lost.ref = block;
    lost.delay_ns = DELAY_NEVER;
    complete.event = append_op(drawing, lost, lane);
    if (random_chance(&drawing->random, 3, 4)) {
        append_op(drawing, complete, lane_draw(drawing));
    }
}

static void add_free(struct drawing *drawing)
{
    const uint32_t block = block_take(drawing).op, lane = lane_draw(drawing);
    switch (random_below(&drawing->random, 8)) {
    case 0:
        add_on(drawing, OP_USE, block, lane_early(drawing, lane));
        add_on(drawing, OP_FREE, block, lane);
        return;
    case 1:
        add_on(drawing, OP_HOLD, block, lane_early(drawing, lane));
        add_on(drawing, OP_FREE, block, lane);
        add_on(drawing, OP_RELEASE, block, lane_draw(drawing));
        return;
    case 2:
    case 3:
        add_shared(drawing, block, lane);
        return;
    case 4:
        add_lost(drawing, block, lane);
        return;
    default:
        add_on(drawing, OP_FREE_AFTER, block, lane);
        return;
    }
}

/* At the edge of what can ever be free. */
static void add_request(struct drawing *drawing, struct random *random, uint64_t freed_count,
                        uint64_t largest_count)
{
    const uint64_t room = drawing->hole_count + freed_count;
    const uint64_t edges[] = {room,          room + 1,          room - 1,
                              largest_count, largest_count + 1, drawing->hole_count + 1};
    const uint64_t count = edges[random_below(random, sizeof edges / sizeof edges[0])];
    struct op op = op_make(random_chance(random, 1, 4) ? OP_OUTPUT : OP_ALLOC);
    op.size_bytes = (count == 0 ? 1 : count) * GRANULE_BYTES;
    op.align_log2 = random_chance(random, 1, 8) ? 10 : 0;
    append_op(drawing, op, drawing->lane_count - 1);
}

/* Drawn twice with the same seed, because the size of the request depends on frees that come after
 * it: it has chance of its own. */
static void draw_ops(struct drawing *drawing, uint32_t free_count, uint64_t freed_count,
                     uint64_t largest_count)
{
    const uint32_t before = (uint32_t)random_below(&drawing->random, free_count + 1);
    struct random of_request;
    random_init(&of_request, random_derive(drawing->setup.seed, 1));
    fill_heap(drawing);
    for (uint32_t i = 0; i <= free_count; i++) {
        if (i == before) {
            add_request(drawing, &of_request, freed_count, largest_count);
        }
        if (i < free_count && drawing->block_count > 0) {
            add_free(drawing);
        }
        if (drawing->program != OP_NONE && random_chance(&drawing->random, 1, 4)) {
            add_on(drawing, OP_EXECUTE, drawing->program, lane_draw(drawing));
        }
    }
}

static struct drawing drawing_begin(uint64_t seed, uint32_t lane_count)
{
    static const char *const defrags[] = {"none", "slide", "repack"};
    struct drawing drawing = {
        .lane_count = lane_count, .program = OP_NONE, .shared_event = OP_NONE};
    random_init(&drawing.random, seed);
    drawing.granule_count = random_between(&drawing.random, 8, 16);
    setup_init(&drawing.setup);
    drawing.setup.capacity_bytes = drawing.granule_count * GRANULE_BYTES;
    drawing.setup.granule_bytes = GRANULE_BYTES;
    drawing.setup.seed = seed;
    ck_assert(setup_set_option(&drawing.setup, "defrag", defrags[seed % 3]));
    op_list_init(&drawing.ops);
    return drawing;
}

/* The caller deinits its ops. */
static struct drawing list_draw(uint64_t seed, uint32_t lane_count, uint32_t free_count)
{
    struct drawing trial = drawing_begin(seed, lane_count);
    draw_ops(&trial, free_count, 1, 1);
    struct drawing drawing = drawing_begin(seed, lane_count);
    draw_ops(&drawing, free_count, trial.freed_count, trial.largest_count);
    op_list_deinit(&trial.ops);
    return drawing;
}

/* --- every interleaving --- */

struct searched {
    uint64_t list_count, interleavings, pruned, failed_count, left_count;
    uint64_t most_interleavings, most_seed;
    struct run_totals totals;
};

static bool is_thorough(void)
{
    return getenv("HBMSTRESS_EXHAUSTIVE") != NULL;
}

static void say_failed(const struct drawing *drawing, const struct trial *trial,
                       const struct lanes_found *found)
{
    printf("seed %" PRIu64 ": %s%s%s: %s\n", drawing->setup.seed,
           found->is_complete ? "" : "not complete", found->diverged ? ", diverged" : "",
           trial->first.kind == VERDICT_NONE ? "" : rule_info(trial->first.rule)->name,
           trial->first.reason);
    ops_file_print(stdout, &trial->setup, &trial->ops, NULL);
}

static void count_list(struct searched *searched, const struct drawing *drawing,
                       const struct lanes_found *found)
{
    searched->list_count++;
    searched->interleavings += found->interleavings;
    searched->pruned += found->pruned;
    if (found->interleavings > searched->most_interleavings) {
        searched->most_interleavings = found->interleavings;
        searched->most_seed = drawing->setup.seed;
    }
}

static void search_list(const struct drawing *drawing, const struct lanes_search *search,
                        struct searched *searched)
{
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    const bool was_run = lanes_search(target_find("hbm"), &drawing->setup, &drawing->ops, search,
                                      NULL, &trial, &found, reason);
    ck_assert_msg(was_run, "%s", reason);
    const bool is_kept = trial.first.kind == VERDICT_NONE && !found.diverged;
    const bool is_left = is_kept && search->schedule_count_max != 0 &&
                         found.schedule_count == search->schedule_count_max && !found.is_complete;
    if (!is_kept || (!found.is_complete && !is_left)) {
        searched->failed_count++;
        say_failed(drawing, &trial, &found);
    }
    searched->left_count += is_left;
    count_list(searched, drawing, &found);
    run_totals_add(&searched->totals, &trial.totals);
    trial_deinit(&trial);
}

static void say_searched(const struct searched *searched, const struct lanes_search *search)
{
    printf("%" PRIu64 " lists (every %u.), at most %" PRIu64 " preemptions (0 = no bound): %" PRIu64
           " interleavings, %" PRIu64 " runs pruned; "
           "largest list: seed %" PRIu64 " with %" PRIu64 "; %" PRIu64 " left at %" PRIu64
           " runs; %" PRIu64 " failed\n",
           searched->list_count, is_thorough() ? 1 : LIST_STRIDE, search->argument,
           searched->interleavings, searched->pruned, searched->most_seed,
           searched->most_interleavings, searched->left_count, search->schedule_count_max,
           searched->failed_count);
    const struct run_totals *totals = &searched->totals;
    printf("  %" PRIu64 " ops, %" PRIu64 " OOMs, %" PRIu64 " excused, %" PRIu64 " unknown, %" PRIu64
           " drains, %" PRIu64 " moves, %" PRIu64 " evictions\n",
           totals->ops, totals->ooms, totals->excused, totals->unknown, totals->drains,
           totals->moves, totals->evictions);
}

EVERY_TEST(.timeout_s = 2 * UNBOUNDED_SECONDS);

TEST(no_interleaving_of_queued_frees_and_a_request_breaks_a_promise)
{
    const bool thorough = is_thorough();
    const struct lanes_search search = {
        .strategy = &strategy_exhaustive,
        .argument = thorough ? 0 : BOUND,
        .schedule_count_max = thorough ? UNBOUNDED_SCHEDULE_COUNT_MAX : 0,
        .backend = SCHEDULER_FIBERS};
    const uint64_t list_count = thorough ? LIST_COUNT : draws_count(LIST_COUNT, LIST_COUNT_MIN);
    const time_t end = time(NULL) + UNBOUNDED_SECONDS;
    struct searched searched = {0};
    for (uint32_t seed = 0; seed < list_count && !(thorough && time(NULL) > end);
         seed += thorough ? 1 : LIST_STRIDE) {
        struct drawing drawing = list_draw(seed, 2 + seed / 3 % 3, 1 + seed / 9 % FREE_COUNT_MAX);
        search_list(&drawing, &search, &searched);
        op_list_deinit(&drawing.ops);
    }
    say_searched(&searched, &search);
    ck_assert_uint_eq(searched.failed_count, 0);
    ck_assert_uint_gt(searched.totals.ooms, 0);
    ck_assert_uint_gt(searched.totals.drains, 0);
    ck_assert_uint_gt(searched.totals.moves, 0);
}

/* --- against chance --- */

enum { OUTCOME_COUNT_MAX = 20000 };

/* What one run answered, by op: its result and its address. */
struct answers {
    size_t count;
    uint64_t of[64][2];
};

/* The different ones that were met. */
struct outcomes {
    size_t count;
    struct answers *of;
};

static void take_answer(void *context, const struct run *run, const struct verdict *verdict)
{
    struct answers *answers = context;
    const struct observation *seen = run_observation(run);
    (void)verdict;
    if (seen->op < answers->count) {
        answers->of[seen->op][0] = (uint64_t)seen->result << 1 | seen->skipped;
        answers->of[seen->op][1] = seen->address;
    }
}

/* True: it is new. */
static bool outcomes_add(struct outcomes *outcomes, const struct answers *answers)
{
    for (size_t i = 0; i < outcomes->count; i++) {
        if (memcmp(&outcomes->of[i], answers, sizeof *answers) == 0) {
            return false;
        }
    }
    ck_assert_uint_lt(outcomes->count, OUTCOME_COUNT_MAX);
    outcomes->of = realloc(outcomes->of, (outcomes->count + 1) * sizeof *outcomes->of);
    ck_assert_ptr_nonnull(outcomes->of);
    outcomes->of[outcomes->count++] = *answers;
    return true;
}

/* Runs the list until the strategy has nothing left, or count_max times (0: no limit); returns how
 * many outcomes were new. */
static size_t outcomes_of(const struct drawing *drawing, const struct strategy_kind *strategy,
                          uint64_t count_max, struct outcomes *outcomes)
{
    const size_t count_before = outcomes->count;
    void *state = calloc(1, strategy->state_bytes);
    struct lanes *lanes = lanes_create(SCHEDULER_FIBERS);
    ck_assert_ptr_nonnull(state);
    strategy->init(state, drawing->setup.seed, 0);
    bool has_more = true;
    for (uint64_t run = 0; has_more && (count_max == 0 || run < count_max); run++) {
        struct answers answers = {.count = drawing->ops.count};
        const struct run_listener listener = {&answers, take_answer};
        const struct lanes_plan plan = {.target = target_find("hbm"),
                                        .setup = &drawing->setup,
                                        .ops = &drawing->ops,
                                        .strategy = strategy,
                                        .state = state,
                                        .run = run};
        struct scheduler_report report;
        struct trial trial;
        char reason[RUN_REASON_BYTES] = "";
        ck_assert_msg(lanes_run(lanes, &plan, &listener, &trial, &report, reason), "%s", reason);
        (void)outcomes_add(outcomes, &answers);
        has_more = strategy->end(state, &report.summary);
        trial_deinit(&trial);
    }
    lanes_destroy(lanes);
    if (strategy->deinit != NULL) {
        strategy->deinit(state);
    }
    free(state);
    return outcomes->count - count_before;
}

/* Two lanes with two or three ops each: both ask for memory, so that it matters who comes first. */
static struct drawing pair_draw(uint32_t seed)
{
    struct drawing drawing = list_draw(UINT64_C(1000000) + seed, 2, 1 + seed % 2);
    for (uint32_t lane = 0; lane < 2; lane++) {
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = random_between(&drawing.random, 1, 2) * GRANULE_BYTES;
        append_op(&drawing, op, lane);
    }
    return drawing;
}

TEST(chance_finds_nothing_that_the_search_did_not)
{
    const uint64_t schedule_count = draws_count(RANDOM_SCHEDULE_COUNT, 1);
    uint64_t outcome_count = 0, list_count = 0;
    const uint64_t pair_count = draws_count(PAIR_COUNT, PAIR_COUNT / 2);
    for (uint32_t seed = 0; seed < pair_count; seed += LIST_STRIDE) {
        struct outcomes outcomes = {0};
        struct drawing drawing = pair_draw(seed);
        outcome_count += outcomes_of(&drawing, &strategy_exhaustive, 0, &outcomes);
        const size_t missed_count = outcomes_of(&drawing, &strategy_random, schedule_count,
                                                &outcomes);
        if (missed_count > 0) {
            ops_file_print(stdout, &drawing.setup, &drawing.ops,
                           "chance leads to an outcome that the search missed");
        }
        ck_assert_uint_eq(missed_count, 0);
        list_count++;
        op_list_deinit(&drawing.ops);
        free(outcomes.of);
    }
    printf("%" PRIu64 " lists of two lanes: %" PRIu64 " outcomes\n", list_count, outcome_count);
    ck_assert_uint_gt(outcome_count, list_count);
}
