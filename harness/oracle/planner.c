#include "harness/oracle/plan.h"

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/oracle/private/layout.h"

#include <stdlib.h>
#include <string.h>

/* So many choices of programs are tried for the fewest; beyond that, one choice is made smaller. */
enum { CHOICE_COUNT_MAX = 256 };
/* Looking for a cheaper plan takes no more, however long it took to find that there is one. */
#define CHEAPER_NODES_MAX UINT64_C(4000000)

struct candidate {
    uint64_t size_bytes;
    uint32_t block;
};

struct planner {
    const struct oom *oom; /* that is planned for */
    uint64_t drain_ns;     /* reach_drain_ns() of it */
    uint64_t nodes_left;   /* of the budget of what is asked now */
    struct reach reach;
    struct repack repack;
    struct plan_layout layout;
    struct move_order order;
    uint64_t *times_ns;           /* when queued frees that can complete are done */
    struct candidate *candidates; /* programs that may be evicted, smallest first */
    /* indices into candidates, of the choice under test; then of the best one so far */
    uint32_t *chosen;
    uint32_t *evicted; /* blocks of the plan */
    bool *stays;       /* by block */
    size_t candidate_count, capacity;
    bool orders_moves; /* of the plan; else it has a price alone */
};

struct planner *planner_create(void)
{
    struct planner *planner = array_zeroed(1, sizeof *planner);
    return planner;
}

void planner_destroy(struct planner *planner)
{
    reach_deinit(&planner->reach);
    repack_deinit(&planner->repack);
    layout_deinit(&planner->layout);
    move_order_deinit(&planner->order);
    free(planner->times_ns);
    free(planner->candidates);
    free(planner->chosen);
    free(planner->evicted);
    free(planner->stays);
    free(planner);
}

static void reserve_planner(struct planner *planner, size_t count)
{
    if (count <= planner->capacity) {
        return;
    }
    planner->capacity = count * 2;
    planner->times_ns = array_resized(planner->times_ns,
                                      planner->capacity * sizeof *planner->times_ns);
    planner->candidates = array_resized(planner->candidates,
                                        planner->capacity * sizeof *planner->candidates);
    planner->chosen = array_resized(planner->chosen,
                                    planner->capacity * 2 * sizeof *planner->chosen);
    planner->evicted = array_resized(planner->evicted,
                                     planner->capacity * sizeof *planner->evicted);
    planner->stays = array_resized(planner->stays, planner->capacity * sizeof *planner->stays);
}

/* --- the plan of a reached state --- */

static void fill_plan(struct planner *planner, struct proof_plan *plan)
{
    const struct oom *oom = planner->reach.oom;
    planner->order.move_count = planner->order.staged_count = 0;
    if (oom->placement == PLACEMENT_RANGES && planner->orders_moves) {
        move_order_find(&planner->order, &planner->reach, planner->layout.to);
    }
    *plan = (struct proof_plan){
        .until_ns = planner->reach.until_ns,
        .frees_awaited = planner->reach.frees_awaited,
        .evicted = planner->evicted,
        .moves = planner->order.moves,
        .move_count = planner->order.move_count,
        .staged_count = planner->order.staged_count,
        .moved_bytes = planner->layout.moved_bytes,
        .address = planner->layout.address,
    };
    /* A block that may be evicted and is not among the ranges has gone. */
    for (size_t i = 0; i < planner->candidate_count; i++) {
        const uint32_t block = planner->candidates[i].block;
        if (!planner->stays[block]) {
            planner->evicted[plan->evicted_count++] = block;
            plan->evicted_bytes += oom->blocks[block].size_bytes;
        }
    }
}

static enum plan_result try_layout(struct planner *planner, uint64_t nodes_max,
                                   struct proof_plan *plan)
{
    const enum plan_result result = layout_find(&planner->layout, &planner->reach, &planner->repack,
                                                nodes_max);
    if (result == PLAN_FOUND) {
        fill_plan(planner, plan);
    }
    return result;
}

/* --- draining --- */

static size_t find_times(struct planner *planner)
{
    size_t count = 0;
    for (size_t i = 0; i < planner->oom->block_count; i++) {
        const struct oom_block *block = &planner->oom->blocks[i];
        if (block->state == BLOCK_DYING && block->hold_count == 0 &&
            block->freed_at_ns <= planner->drain_ns) {
            planner->times_ns[count++] = block->freed_at_ns;
        }
    }
    sort_numbers(planner->times_ns, count);
    return count;
}

/* True if the state that was decided on has a layout, as far as the budget tells. */
static bool has_layout(struct planner *planner)
{
    return layout_exists(&planner->reach, &planner->repack, &planner->nodes_left) == PLAN_FOUND;
}

static bool fits_in_place(struct planner *planner, uint64_t until_ns)
{
    planner->nodes_left = 0; /* nothing moves, so nothing is packed */
    reach_decide(&planner->reach, planner->oom, &(struct reach_limits){.until_ns = until_ns});
    return has_layout(planner);
}

/* Without a move: at once, or after the shortest wait that does.  Waiting longer never takes a
 * place away. */
static enum plan_result find_in_place(struct planner *planner, struct proof_plan *plan)
{
    const size_t high = find_times(planner);
    uint64_t until_ns = 0;
    if (!fits_in_place(planner, 0)) {
        if (high == 0 || !fits_in_place(planner, planner->drain_ns)) {
            return PLAN_NONE;
        }
        size_t first;
        SEARCH_FIRST(first, 0, high, fits_in_place(planner, planner->times_ns[first]));
        until_ns = planner->times_ns[first];
    }
    reach_decide(&planner->reach, planner->oom, &(struct reach_limits){.until_ns = until_ns});
    return try_layout(planner, 0, plan);
}

/* --- evicting --- */

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a;
    const struct candidate *right = b;
    return compare_then(compare_numbers(left->size_bytes, right->size_bytes),
                        compare_numbers(left->block, right->block));
}

static void find_candidates(struct planner *planner)
{
    const struct oom *oom = planner->oom;
    planner->candidate_count = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        planner->stays[i] = true;
        if (reach_may_evict(oom, &oom->blocks[i], planner->drain_ns)) {
            planner->candidates[planner->candidate_count++] = (struct candidate){
                oom->blocks[i].size_bytes, (uint32_t)i};
        }
    }
    if (planner->candidate_count > 1) {
        qsort(planner->candidates, planner->candidate_count, sizeof *planner->candidates,
              compare_candidates);
    }
}

/* The state with everything awaited and the programs gone that `stays` does not keep. */
static void decide_without(struct planner *planner)
{
    const struct reach_limits limits = {
        .until_ns = planner->drain_ns, .moves = true, .evicts = true, .stays = planner->stays};
    reach_decide(&planner->reach, planner->oom, &limits);
}

/* True if all blocks that stay, the request and the stack are no more than the device has. */
static bool has_volume(const struct reach *reach)
{
    uint64_t bytes = reach->bottom + reach->need;
    for (size_t i = 0; i < reach->range_count; i++) {
        bytes += reach->ranges[i].size_bytes;
    }
    return bytes <= reach->oom->capacity_bytes;
}

/* The next choice of count out of candidate_count, in lexical order; false: that was the last. */
static bool next_choice(struct planner *planner, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (planner->chosen[i] + (count - i) < planner->candidate_count) {
            planner->chosen[i]++;
            for (size_t j = i + 1; j < count; j++) {
                planner->chosen[j] = planner->chosen[j - 1] + 1;
            }
            return true;
        }
    }
    return false;
}

/* Returns the bytes of the programs of the choice, which stay or not from here on. */
static uint64_t apply_choice(struct planner *planner, const uint32_t *chosen, size_t count,
                             bool stay)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        planner->stays[planner->candidates[chosen[i]].block] = stay;
        bytes += planner->candidates[chosen[i]].size_bytes;
    }
    return bytes;
}

/* The choice of so many programs with the least bytes; *choices counts what was tried, up to
 * CHOICE_COUNT_MAX. True: it is applied to stays. */
static bool choose_programs(struct planner *planner, size_t count, size_t *choices)
{
    uint64_t best_bytes = UINT64_MAX;
    uint32_t *chosen = planner->chosen;
    uint32_t *best = chosen + planner->candidate_count;
    for (size_t i = 0; i < count; i++) {
        chosen[i] = (uint32_t)i;
    }
    do {
        const uint64_t bytes = apply_choice(planner, chosen, count, false);
        decide_without(planner);
        if (bytes < best_bytes && has_volume(&planner->reach) && has_layout(planner)) {
            best_bytes = bytes;
            memcpy(best, chosen, count * sizeof *best);
        }
        apply_choice(planner, chosen, count, true);
    } while (++*choices < CHOICE_COUNT_MAX && next_choice(planner, count));
    if (best_bytes != UINT64_MAX) {
        apply_choice(planner, best, count, false);
    }
    return best_bytes != UINT64_MAX;
}

static void let_all_go(struct planner *planner)
{
    for (size_t i = planner->candidate_count; i-- > 0;) {
        planner->stays[planner->candidates[i].block] = false;
    }
}

/* From all gone, keeps each program, the largest first, if the rest will do; it tries so many. */
static void choose_fewer_programs(struct planner *planner)
{
    let_all_go(planner);
    for (size_t i = planner->candidate_count, tried = 0; i-- > 0 && tried < CHOICE_COUNT_MAX;
         tried++) {
        bool *stays = &planner->stays[planner->candidates[i].block];
        *stays = true;
        decide_without(planner);
        *stays = has_layout(planner);
    }
}

static uint64_t cheaper_max(uint64_t nodes_max)
{
    return nodes_max < CHEAPER_NODES_MAX ? nodes_max : CHEAPER_NODES_MAX;
}

static enum plan_result find_by_evicting(struct planner *planner, uint64_t nodes_max,
                                         struct proof_plan *plan)
{
    size_t choices = 0;
    bool is_chosen = false;
    reach_decide_fully(&planner->reach, planner->oom);
    planner->nodes_left = nodes_max;
    const enum plan_result at_most = layout_exists(&planner->reach, &planner->repack,
                                                   &planner->nodes_left);
    if (at_most != PLAN_FOUND) {
        return at_most;
    }
    /* One budget for all choices: where it ends, a choice counts as one that does not do. */
    planner->nodes_left = cheaper_max(nodes_max);
    for (size_t count = 1;
         count <= planner->candidate_count && choices < CHOICE_COUNT_MAX && !is_chosen; count++) {
        is_chosen = choose_programs(planner, count, &choices);
    }
    if (!is_chosen) {
        choose_fewer_programs(planner);
    }
    decide_without(planner);
    if (try_layout(planner, cheaper_max(nodes_max), plan) == PLAN_FOUND) {
        return PLAN_FOUND;
    }
    /* With another budget the search went another way: all gone is known to do. */
    reach_decide_fully(&planner->reach, planner->oom);
    let_all_go(planner);
    return try_layout(planner, nodes_max, plan);
}

/* --- all together --- */

static enum plan_result find_plan(struct planner *planner, const struct oom *oom,
                                  uint64_t nodes_max, struct proof_plan *plan)
{
    reserve_planner(planner, oom->block_count + 1);
    planner->oom = oom;
    planner->drain_ns = reach_drain_ns(oom);
    planner->candidate_count = 0;
    if (find_in_place(planner, plan) == PLAN_FOUND) {
        return PLAN_FOUND;
    }
    find_candidates(planner);
    decide_without(planner);
    const bool is_last = planner->candidate_count == 0;
    const enum plan_result moved = try_layout(planner, is_last ? nodes_max : cheaper_max(nodes_max),
                                              plan);
    return moved == PLAN_FOUND || is_last ? moved : find_by_evicting(planner, nodes_max, plan);
}

enum plan_result planner_find(struct planner *planner, const struct oom *oom, uint64_t nodes_max,
                              struct proof_plan *plan)
{
    planner->orders_moves = true;
    return find_plan(planner, oom, nodes_max, plan);
}

enum plan_result planner_price(struct planner *planner, const struct oom *oom, uint64_t nodes_max,
                               struct proof_plan *plan)
{
    planner->orders_moves = false;
    return find_plan(planner, oom, nodes_max, plan);
}
