/* The plans of the planner: each is carried out step by step, and is as cheap as trying everything
 * finds.  tests/cases/oracle/plan.case has which of several ways they take. */
#include "harness/oracle/oracle.h"
#include "harness/oracle/plan.h"
#include "tests/harness/oracle/plan_simulator.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OOM_COUNT = 60000, TINY_COUNT = 40000, NODES_MAX = 1000000, CANDIDATE_COUNT_MAX = 14 };

/* What each property needs. */
static struct rig {
    struct random random;
    struct oracle *oracle;
    struct planner *planner;
    struct oom oom, other; /* the one drawn, and a changed copy */
    struct proof_plan plan;
} rig;

static void begin_rig(void)
{
    rig = (struct rig){.oracle = oracle_create(), .planner = planner_create()};
}

static void end_rig(void)
{
    oracle_destroy(rig.oracle);
    planner_destroy(rig.planner);
    oom_deinit(&rig.oom);
    free(rig.other.blocks);
}

/* A copy to change: whose blocks are its own. */
static struct oom *copy_oom(void)
{
    struct oom_block *blocks = realloc(rig.other.blocks,
                                       (rig.oom.block_count + 1) * sizeof *blocks);
    ck_assert_ptr_nonnull(blocks);
    if (rig.oom.block_count > 0) {
        memcpy(blocks, rig.oom.blocks, rig.oom.block_count * sizeof *blocks);
    }
    rig.other = rig.oom;
    rig.other.blocks = blocks;
    rig.other.due_times_ns = NULL;
    return &rig.other;
}

static enum verdict_kind judge_oom(const struct oom *oom)
{
    struct verdict verdict = {0};
    oracle_judge(rig.oracle, oom, NODES_MAX, &verdict);
    return verdict.kind;
}

static bool is_premature(const struct oom *oom)
{
    return judge_oom(oom) == VERDICT_PREMATURE;
}

static bool find_plan(void)
{
    const enum plan_result result = planner_find(rig.planner, &rig.oom, NODES_MAX, &rig.plan);
    ck_assert_int_ne(result, PLAN_UNKNOWN);
    return result == PLAN_FOUND;
}

/* Draws until there is a plan. */
static void draw_found(const struct random_oom_wish *wanted)
{
    do {
        random_oom_draw(&rig.random, wanted, &rig.oom);
    } while (!find_plan());
}

static const struct random_oom_wish small = {
    .granules_max = 40, .block_count_max = 14, .has_alignments = true};
static const struct random_oom_wish tiny = {
    .granules_max = 8, .block_count_max = 6, .has_alignments = false};
static const struct random_oom_wish tiny_aligned = {
    .granules_max = 12, .block_count_max = 6, .has_alignments = true};

static bool is_free_of_charge(const struct proof_plan *plan)
{
    return plan->evicted_count == 0 && plan->move_count == 0;
}

/* --- plans can be carried out --- */

/* The sums that a plan says beside its steps. */
static void check_sums(const struct oom *oom, const struct proof_plan *plan)
{
    uint64_t moved_bytes = 0;
    uint64_t staged_count = 0;
    uint64_t evicted_bytes = 0;
    uint64_t frees_awaited = 0;
    for (size_t i = 0; i < plan->move_count; i++) {
        moved_bytes += plan->moves[i].to != PROOF_IN_HOST_MEMORY ? plan->moves[i].size_bytes : 0;
        staged_count += plan->moves[i].to == PROOF_IN_HOST_MEMORY;
    }
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        frees_awaited += block->state == BLOCK_DYING && block->hold_count == 0 &&
                         block->freed_at_ns <= plan->until_ns;
        for (size_t k = 0; k < plan->evicted_count; k++) {
            evicted_bytes += plan->evicted[k] == i ? block->size_bytes : 0;
        }
    }
    ck_assert_uint_eq(plan->moved_bytes, moved_bytes);
    ck_assert_uint_eq(plan->staged_count, staged_count);
    ck_assert_uint_eq(plan->evicted_bytes, evicted_bytes);
    ck_assert_uint_eq(plan->frees_awaited, frees_awaited);
}

EVERY_TEST(.timeout_s = 120, .setup = begin_rig, .teardown = end_rig);

TEST(a_plan_is_found_exactly_when_the_oracle_says_premature_and_can_be_carried_out)
{
    uint64_t found_count = 0;
    uint64_t waits = 0;
    uint64_t moves = 0;
    uint64_t evictions = 0;
    random_init(&rig.random, 1);
    for (int i = 0; i < OOM_COUNT; i++) {
        char reason[PLAN_SIMULATOR_REASON_BYTES];
        random_oom_draw(&rig.random, &small, &rig.oom);
        const enum verdict_kind kind = judge_oom(&rig.oom);
        ck_assert(kind == VERDICT_PREMATURE || kind == VERDICT_JUSTIFIED);
        ck_assert_msg(find_plan() == (kind == VERDICT_PREMATURE), "draw %d: the oracle says %s", i,
                      verdict_name(kind));
        if (kind == VERDICT_JUSTIFIED) {
            continue;
        }
        ck_assert_msg(plan_simulate(&rig.oom, &rig.plan, reason), "draw %d: %s", i, reason);
        check_sums(&rig.oom, &rig.plan);
        found_count++;
        waits += rig.plan.until_ns > 0;
        moves += rig.plan.move_count > 0;
        evictions += rig.plan.evicted_count > 0;
    }
    printf("plan: %d draws, %" PRIu64 " plans, %" PRIu64 " wait, %" PRIu64 " move, %" PRIu64
           " evict\n",
           OOM_COUNT, found_count, waits, moves, evictions);
    ck_assert_uint_gt(found_count, OOM_COUNT / 4);
    ck_assert_uint_gt(waits, OOM_COUNT / 100);
    ck_assert_uint_gt(moves, OOM_COUNT / 100);
    ck_assert_uint_gt(evictions, OOM_COUNT / 100);
}

/* --- plans cost no more than they must --- */

TEST(nothing_is_awaited_moved_or_evicted_when_a_hole_is_there)
{
    uint64_t hole_count = 0;
    random_init(&rig.random, 2);
    for (int i = 0; i < OOM_COUNT / 2; i++) {
        draw_found(&small);
        struct oom *bare = copy_oom();
        bare->drains = bare->evicts = bare->program_evicts_program = false;
        bare->defrag = DEFRAG_NONE;
        const bool has_hole = is_premature(bare);
        ck_assert_int_eq(has_hole, rig.plan.until_ns == 0 && is_free_of_charge(&rig.plan));
        hole_count += has_hole;
    }
    ck_assert_uint_gt(hole_count, 1000);
}

/* The same out-of-memory in which nothing that is done at until_ns or later is ever done. */
static bool would_do_with_less(uint64_t until_ns)
{
    struct oom *hasty = copy_oom();
    hasty->evicts = hasty->program_evicts_program = false;
    hasty->defrag = DEFRAG_NONE;
    for (size_t i = 0; i < hasty->block_count; i++) {
        struct oom_block *block = &hasty->blocks[i];
        block->freed_at_ns = block->freed_at_ns >= until_ns ? DELAY_NEVER : block->freed_at_ns;
    }
    return is_premature(hasty);
}

TEST(nothing_is_moved_or_evicted_when_waiting_does_and_no_wait_is_longer_than_it_must_be)
{
    uint64_t wait_count = 0;
    random_init(&rig.random, 3);
    for (int i = 0; i < OOM_COUNT / 2; i++) {
        draw_found(&small);
        struct oom *patient = copy_oom();
        patient->evicts = patient->program_evicts_program = false;
        patient->defrag = DEFRAG_NONE;
        const bool waiting_does = is_premature(patient);
        ck_assert_int_eq(waiting_does, is_free_of_charge(&rig.plan));
        if (waiting_does && rig.plan.until_ns > 0) {
            ck_assert(!would_do_with_less(rig.plan.until_ns));
            wait_count++;
        }
    }
    ck_assert_uint_gt(wait_count, 1000);
}

/* Programs that may go: their indices. */
static size_t find_candidates(const struct oom *oom, size_t candidates[CANDIDATE_COUNT_MAX])
{
    const uint64_t drain_ns = plan_drain_ns(oom);
    size_t count = 0;
    for (size_t i = 0; i < oom->block_count && plan_may_evict(oom); i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE &&
            block->used_until_ns <= drain_ns && block->op != oom->request.own_op) {
            ck_assert_uint_lt(count, CANDIDATE_COUNT_MAX);
            candidates[count++] = i;
        }
    }
    return count;
}

/* The fewest programs, and of those the least bytes, over all choices: who must stay becomes a
 * buffer, which may move as the program might have, and never goes. */
static void try_every_choice(size_t *fewest, uint64_t *least_bytes)
{
    size_t candidates[CANDIDATE_COUNT_MAX];
    const size_t count = find_candidates(&rig.oom, candidates);
    *fewest = SIZE_MAX;
    *least_bytes = UINT64_MAX;
    for (unsigned choice = 0; choice < 1u << count; choice++) {
        struct oom *other = copy_oom();
        size_t evicted_count = 0;
        uint64_t evicted_bytes = 0;
        for (size_t i = 0; i < count; i++) {
            struct oom_block *block = &other->blocks[candidates[i]];
            const bool goes = (choice >> i & 1) != 0;
            evicted_count += goes;
            evicted_bytes += goes ? block->size_bytes : 0;
            block->kind = goes ? BLOCK_PROGRAM : BLOCK_BUFFER;
        }
        const bool is_cheaper = evicted_count < *fewest ||
                                (evicted_count == *fewest && evicted_bytes < *least_bytes);
        if (is_cheaper && is_premature(other)) {
            *fewest = evicted_count;
            *least_bytes = evicted_bytes;
        }
    }
}

TEST(the_fewest_programs_are_evicted_and_of_those_the_least_bytes)
{
    uint64_t by_count[CANDIDATE_COUNT_MAX] = {0};
    random_init(&rig.random, 4);
    for (int i = 0; i < OOM_COUNT / 4; i++) {
        size_t fewest = 0;
        uint64_t least_bytes = 0;
        draw_found(&small);
        try_every_choice(&fewest, &least_bytes);
        ck_assert_uint_eq(rig.plan.evicted_count, fewest);
        ck_assert_uint_eq(rig.plan.evicted_bytes, least_bytes);
        by_count[fewest]++;
    }
    printf("plan: %" PRIu64 " plans evict one program, %" PRIu64 " two, %" PRIu64 " three\n",
           by_count[1], by_count[2], by_count[3]);
    ck_assert_uint_gt(by_count[1], 500);
    ck_assert_uint_gt(by_count[2], 50);
}

/* --- moved bytes --- */

/* A search over all places of movable blocks and request on a tiny heap, in granules. */
struct tiny_search {
    const struct oom *oom;
    bool is_movable[8], is_gone[8];
    uint64_t places[8]; /* of the blocks before the one under way */
    uint64_t bottom, need, align, granules;
    bool keeps_order;
    uint64_t best;
};

static uint64_t size_of(const struct tiny_search *search, size_t block)
{
    return search->oom->blocks[block].size_bytes / search->oom->granule_bytes;
}

static uint64_t home_of(const struct tiny_search *search, size_t block)
{
    return search->oom->blocks[block].address / search->oom->granule_bytes;
}

static bool is_clear(const struct tiny_search *search, size_t placed, uint64_t start, uint64_t size)
{
    for (size_t i = 0; i < search->oom->block_count; i++) {
        const bool is_there = !search->is_gone[i] && (i < placed || !search->is_movable[i]);
        const uint64_t other = search->is_movable[i] ? search->places[i] : home_of(search, i);
        if (is_there && start < other + size_of(search, i) && other < start + size) {
            return false;
        }
    }
    return true;
}

/* Blocks ascend, so one that keeps its place in the order lies above all that were placed before it
 * and below every unmovable one that comes after it. */
static bool is_in_order(const struct tiny_search *search, size_t block, uint64_t start)
{
    for (size_t i = 0; i < search->oom->block_count; i++) {
        const bool is_fixed = !search->is_movable[i];
        const uint64_t other = is_fixed ? home_of(search, i) : search->places[i];
        if (search->is_gone[i] || i == block || (!is_fixed && i > block)) {
            continue;
        }
        if ((i < block) != (other < start)) {
            return false;
        }
    }
    return true;
}

static void place_from(struct tiny_search *search, size_t block, uint64_t moved)
{
    while (block < search->oom->block_count &&
           (search->is_gone[block] || !search->is_movable[block])) {
        block++;
    }
    if (moved >= search->best) {
        return;
    }
    if (block == search->oom->block_count) {
        bool fits = search->need == 0;
        for (uint64_t start = search->bottom; start + search->need <= search->granules && !fits;
             start++) {
            fits = start % search->align == 0 && is_clear(search, block, start, search->need);
        }
        search->best = fits ? moved : search->best;
        return;
    }
    const uint64_t size = size_of(search, block);
    const uint64_t align = search->oom->blocks[block].align_bytes / search->oom->granule_bytes;
    for (uint64_t start = search->bottom; start + size <= search->granules; start++) {
        const bool is_allowed = start % align == 0 &&
                                (!search->keeps_order || is_in_order(search, block, start));
        search->places[block] = start;
        if (is_allowed && is_clear(search, block, start, size)) {
            place_from(search, block + 1, moved + (start != home_of(search, block) ? size : 0));
        }
    }
}

static bool is_evicted(const struct proof_plan *plan, size_t block)
{
    for (size_t i = 0; i < plan->evicted_count; i++) {
        if (plan->evicted[i] == block) {
            return true;
        }
    }
    return false;
}

/* In bytes: the least there is with the waiting and the evictions of the plan. */
static uint64_t least_moved(const struct oom *oom, const struct proof_plan *plan)
{
    const uint64_t granule = oom->granule_bytes;
    struct tiny_search search = {
        .oom = oom,
        .bottom = oom->request.stack_bytes / granule,
        .need = (oom->request.size_bytes + granule - 1) / granule,
        .align = oom->request.align_bytes / granule,
        .granules = oom->capacity_bytes / granule,
        .keeps_order = oom->defrag == DEFRAG_SLIDE,
        .best = UINT64_MAX,
    };
    ck_assert_uint_le(oom->block_count, 8);
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool is_used = block->used_until_ns > plan->until_ns;
        const bool is_freed = block->state == BLOCK_DYING && block->hold_count == 0 &&
                              block->freed_at_ns <= plan->until_ns;
        const uint64_t stack = is_used ? block->stack_bytes / granule : 0;
        search.bottom = stack > search.bottom ? stack : search.bottom;
        search.is_gone[i] = is_freed || is_evicted(plan, i);
        search.is_movable[i] = block->state == BLOCK_LIVE && block->hold_count == 0 && !is_used;
    }
    place_from(&search, 0, 0);
    ck_assert_uint_ne(search.best, UINT64_MAX);
    return search.best * granule;
}

/* What plans of one contract move, against the least there is, in granules. */
struct moved {
    uint64_t plan_count, minimal_count, granules, least_granules;
};

static struct moved measure_moves(const struct random_oom_wish *wanted, enum defrag_contract defrag)
{
    struct moved moved = {0};
    for (int i = 0; i < TINY_COUNT; i++) {
        random_oom_draw(&rig.random, wanted, &rig.oom);
        rig.oom.defrag = defrag;
        if (!find_plan() || rig.plan.move_count == 0) {
            continue;
        }
        const uint64_t least = least_moved(&rig.oom, &rig.plan);
        uint64_t all = 0;
        for (size_t k = 0; k < rig.oom.block_count; k++) {
            all += rig.oom.blocks[k].size_bytes;
        }
        ck_assert_uint_ge(rig.plan.moved_bytes, least);
        ck_assert_uint_le(rig.plan.moved_bytes, all);
        moved.plan_count++;
        moved.minimal_count += rig.plan.moved_bytes == least;
        moved.granules += rig.plan.moved_bytes / rig.oom.granule_bytes;
        moved.least_granules += least / rig.oom.granule_bytes;
    }
    printf("plan: of %" PRIu64 " tiny plans that %s%s, %" PRIu64
           " move the least there is; together they move %" PRIu64 " granules, the "
           "least is %" PRIu64 "\n",
           moved.plan_count, defrag == DEFRAG_SLIDE ? "slide" : "repack",
           wanted->has_alignments ? " aligned blocks" : "", moved.minimal_count, moved.granules,
           moved.least_granules);
    ck_assert_uint_gt(moved.plan_count, 1000);
    return moved;
}

TEST(sliding_moves_the_least_bytes_there_are)
{
    random_init(&rig.random, 5);
    const struct moved plain = measure_moves(&tiny, DEFRAG_SLIDE);
    const struct moved aligned = measure_moves(&tiny_aligned, DEFRAG_SLIDE);
    ck_assert_uint_eq(plain.minimal_count, plain.plan_count);
    ck_assert_uint_eq(aligned.minimal_count, aligned.plan_count);
}

/* Within two percent in sum. */
TEST(repacking_moves_hardly_more_than_the_least_bytes)
{
    random_init(&rig.random, 6);
    const struct moved plain = measure_moves(&tiny, DEFRAG_REPACK);
    const struct moved aligned = measure_moves(&tiny_aligned, DEFRAG_REPACK);
    ck_assert_uint_le(plain.granules * 50, plain.least_granules * 51);
    ck_assert_uint_le(aligned.granules * 50, aligned.least_granules * 51);
}

/* --- circles --- */

/* Blocks in spans that have one granule more, and a request for all of these.  Each fits exactly
 * into the span of the next smaller one, and the smallest goes to that of the largest. */
TEST(the_smallest_block_of_a_circle_goes_through_host_memory)
{
    static const struct {
        const char *drawing;
        uint64_t size;
        uint32_t block;
        size_t move_count;
    } rows[] = {{"mm.hmmm.h", 2, 0, 3}, {"mm.hmmm.hmmmm.h", 3, 0, 4}, {"mmm.hmm.", 2, 2, 3}};
    random_init(&rig.random, 9);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct small_oom heap;
        char reason[PLAN_SIMULATOR_REASON_BYTES];
        const struct oom like = {.defrag = DEFRAG_REPACK,
                                 .request = {.size_bytes = rows[i].size * SMALL_GRANULE}};
        small_oom_draw(&heap, &like, rows[i].drawing);
        ck_assert_int_eq(planner_find(rig.planner, &heap.oom, NODES_MAX, &rig.plan), PLAN_FOUND);
        ck_assert_msg(plan_simulate(&heap.oom, &rig.plan, reason), "%s", reason);
        check_sums(&heap.oom, &rig.plan);
        ck_assert_uint_eq(rig.plan.staged_count, 1);
        ck_assert_uint_eq(rig.plan.move_count, rows[i].move_count);
        ck_assert_uint_eq(rig.plan.moves[0].block, rows[i].block);
        ck_assert_uint_eq(rig.plan.moves[0].to, PROOF_IN_HOST_MEMORY);
    }
}

TEST(circles_among_many_blocks_can_be_carried_out)
{
    uint64_t staged_count = 0;
    random_init(&rig.random, 7);
    for (int i = 0; i < OOM_COUNT / 20; i++) {
        char reason[PLAN_SIMULATOR_REASON_BYTES];
        random_oom_draw_tight(&rig.random, i % 4 == 0, &rig.oom);
        if (planner_find(rig.planner, &rig.oom, 20000, &rig.plan) != PLAN_FOUND) {
            continue;
        }
        ck_assert_msg(plan_simulate(&rig.oom, &rig.plan, reason), "draw %d: %s", i, reason);
        check_sums(&rig.oom, &rig.plan);
        staged_count += rig.plan.staged_count > 0;
    }
    ck_assert_uint_gt(staged_count, 20);
}

/* --- the simulator --- */

/* One plan of the planner with something changed: what a plan is held against here must be able to
 * say no. */
static bool is_refused_with(const struct proof_plan *plan)
{
    char reason[PLAN_SIMULATOR_REASON_BYTES] = "";
    return !plan_simulate(&rig.oom, plan, reason) && reason[0] != '\0';
}

TEST(a_plan_with_a_step_left_out_is_refused)
{
    uint64_t changed_count = 0;
    random_init(&rig.random, 8);
    while (changed_count < 1000) {
        draw_found(&small);
        const struct proof_plan plan = rig.plan;
        /* Repacking may move more than it must. */
        if (plan.move_count > 0 && rig.oom.defrag == DEFRAG_SLIDE) {
            struct proof_plan changed = plan;
            changed.move_count--;
            ck_assert(is_refused_with(&changed));
            changed_count++;
        }
        if (plan.evicted_count > 0) {
            struct proof_plan changed = plan;
            changed.evicted_count--;
            ck_assert(is_refused_with(&changed));
            changed_count++;
        }
        if (plan.until_ns > 0 && is_free_of_charge(&plan)) {
            struct proof_plan changed = plan;
            changed.until_ns = 0;
            ck_assert(is_refused_with(&changed));
            changed_count++;
        }
    }
}
