/* Plans made life by life: each goes to the lowest place that is free of those already placed with
 * which it shares an op.  What matters is the order.  The best of some is improved: what reaches
 * highest is moved ahead, and all are placed again. */
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/random.h"
#include "measure/private/placing.h"

#include <stdlib.h>
#include <string.h>

/* Pairs of lives that share an op: 4 bytes each way, 16 MiB.  Above it only sweeps are made. */
enum { PAIR_COUNT_MAX = 2000000, WAY_COUNT = 4, PLAN_COUNT = 5000, SKYLINE_COUNT_MAX = 4096 };

/* The bytes that a neighbour takes. */
struct taken {
    uint64_t start, end;
};

/* A life with more weight is placed first. */
struct life_rank {
    __uint128_t weight;
    uint32_t life;
};

struct life_orders {
    struct life_placing *placing;
    size_t *firsts; /* neighbours[firsts[i]] to neighbours[firsts[i + 1]] are those of life i */
    uint32_t *neighbours;
    struct life_rank *order;      /* every life, the first to be placed first */
    struct life_rank *best_order; /* that with the smallest plan of those that were tried first */
    bool *is_placed;              /* by life */
    struct taken *taken;          /* scratch: as many as a life has neighbours */
};

/* --- who is a neighbour --- */

struct active {
    uint32_t *lives;
    size_t count;
};

/* Drops the lives that end by then; the order of the others stays. */
static void drop_ended(const struct life_placing *placing, struct active *active, uint32_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < active->count; i++) {
        if (placing->lives[active->lives[i]].to > now) {
            active->lives[kept++] = active->lives[i];
        }
    }
    active->count = kept;
}

/* Calls for each pair, the earlier life first: counts into firsts, or fills neighbours.  Returns
 * the pairs, or PAIR_COUNT_MAX + 1 where there are more. */
static size_t walk_pairs(struct life_orders *orders, uint32_t *active_lives, size_t *cursors)
{
    const struct life_placing *placing = orders->placing;
    struct active active = {active_lives, 0};
    size_t pair_count = 0;
    for (uint32_t i = 0; i < placing->count; i++) {
        drop_ended(placing, &active, placing->lives[i].from);
        pair_count += active.count;
        if (pair_count > PAIR_COUNT_MAX) {
            return pair_count;
        }
        for (size_t k = 0; k < active.count; k++) {
            const uint32_t other = active.lives[k];
            if (cursors == NULL) {
                orders->firsts[i + 1]++;
                orders->firsts[other + 1]++;
            } else {
                orders->neighbours[cursors[i]++] = other;
                orders->neighbours[cursors[other]++] = i;
            }
        }
        active.lives[active.count++] = i;
    }
    return pair_count;
}

/* False: there are too many. */
static bool find_neighbours(struct life_orders *orders)
{
    const size_t count = orders->placing->count;
    uint32_t *active = malloc((count + 1) * sizeof *active);
    CHECK(active != NULL);
    const size_t pair_count = walk_pairs(orders, active, NULL);
    if (pair_count <= PAIR_COUNT_MAX && placing_spend(orders->placing, 2 * pair_count)) {
        size_t *cursors = malloc((count + 1) * sizeof *cursors);
        orders->neighbours = malloc((2 * pair_count + 1) * sizeof *orders->neighbours);
        CHECK(cursors != NULL && orders->neighbours != NULL);
        for (size_t i = 0; i < count; i++) {
            orders->firsts[i + 1] += orders->firsts[i];
        }
        memcpy(cursors, orders->firsts, (count + 1) * sizeof *cursors);
        (void)walk_pairs(orders, active, cursors);
        free(cursors);
    }
    free(active);
    return orders->neighbours != NULL;
}

/* --- one plan --- */

static int compare_taken(const void *a, const void *b)
{
    return compare_numbers(((const struct taken *)a)->start, ((const struct taken *)b)->start);
}

static uint64_t find_lowest(struct life_orders *orders, uint32_t number)
{
    const struct life_placing *placing = orders->placing;
    const struct life *life = &placing->lives[number];
    size_t taken_count = 0;
    for (size_t i = orders->firsts[number]; i < orders->firsts[number + 1]; i++) {
        const uint32_t other = orders->neighbours[i];
        if (orders->is_placed[other]) {
            const uint64_t start = placing->starts[other];
            orders->taken[taken_count++] = (struct taken){start,
                                                          start + placing->lives[other].bytes};
        }
    }
    qsort(orders->taken, taken_count, sizeof *orders->taken, compare_taken);
    uint64_t start = placing_start(life, 0);
    for (size_t i = 0; i < taken_count && orders->taken[i].start < start + life->bytes; i++) {
        if (orders->taken[i].end > start) {
            start = placing_start(life, orders->taken[i].end);
        }
    }
    return start;
}

/* Places all lives, and returns the size of the plan; 0: it was cut. */
static uint64_t place_all(struct life_orders *orders)
{
    struct life_placing *placing = orders->placing;
    uint64_t top_bytes = 0;
    memset(orders->is_placed, 0, placing->count * sizeof *orders->is_placed);
    for (size_t i = 0; i < placing->count; i++) {
        const uint32_t number = orders->order[i].life;
        if (!placing_spend(placing, 1 + orders->firsts[number + 1] - orders->firsts[number])) {
            return 0;
        }
        placing->starts[number] = find_lowest(orders, number);
        orders->is_placed[number] = true;
        const uint64_t end = placing->starts[number] + placing->lives[number].bytes;
        top_bytes = end > top_bytes ? end : top_bytes;
    }
    placing_offer(placing, top_bytes);
    return top_bytes;
}

/* --- orders --- */

static int compare_ranks(const void *a, const void *b)
{
    const struct life_rank *x = a, *y = b;
    return compare_then((x->weight < y->weight) - (x->weight > y->weight),
                        compare_numbers(x->life, y->life));
}

static __uint128_t weigh(const struct life *life, int way)
{
    const __uint128_t ops = life->to - life->from;
    return way == 0   ? life->bytes
           : way == 1 ? ops * life->bytes
           : way == 2 ? ops
                      : UINT32_MAX - life->from;
}

static void sort_order(struct life_orders *orders)
{
    qsort(orders->order, orders->placing->count, sizeof *orders->order, compare_ranks);
}

/* Moves the lives that reach the highest ahead, each by a random share of the way.  A few others go
 * with them now and then, so that the search does not turn in a circle. */
static void move_ahead(struct life_orders *orders, uint64_t top_bytes, struct random *random)
{
    const struct life_placing *placing = orders->placing;
    for (size_t i = 0; i < placing->count; i++) {
        struct life_rank *rank = &orders->order[i];
        const uint64_t end = placing->starts[rank->life] + placing->lives[rank->life].bytes;
        rank->weight = placing->count - i;
        if (end == top_bytes || random_below(random, placing->count) == 0) {
            rank->weight += random_below(random, placing->count);
        }
    }
    sort_order(orders);
}

/* Improves the best order: a change is kept unless it makes the plan longer. */
static void improve(struct life_orders *orders, uint64_t kept_bytes)
{
    struct life_placing *placing = orders->placing;
    const size_t bytes = placing->count * sizeof *orders->order;
    struct random random;
    random_init(&random, 1);
    memcpy(orders->order, orders->best_order, bytes);
    uint64_t top_bytes = place_all(orders);
    for (int i = 0; i < PLAN_COUNT && !placing_is_over(placing); i++) {
        move_ahead(orders, top_bytes, &random);
        top_bytes = place_all(orders);
        if (top_bytes <= kept_bytes) {
            kept_bytes = top_bytes;
            memcpy(orders->best_order, orders->order, bytes);
        } else {
            memcpy(orders->order, orders->best_order, bytes);
            top_bytes = place_all(orders);
        }
    }
}

/* Returns the unplaced life with the lowest floor; of equals the heaviest, then the first. */
static uint32_t choose_lowest(const struct life_orders *orders, const uint64_t *floors, int way)
{
    const struct life_placing *placing = orders->placing;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < placing->count; i++) {
        if (orders->is_placed[i]) {
            continue;
        }
        if (best == UINT32_MAX || floors[i] < floors[best] ||
            (floors[i] == floors[best] &&
             weigh(&placing->lives[i], way) > weigh(&placing->lives[best], way))) {
            best = i;
        }
    }
    return best;
}

/* The order in which a plan grows from the bottom: next is always the life that can lie lowest
 * above all of its neighbours that are placed, which is its floor.  False: it would cost too much.
 */
static bool raise_skyline(struct life_orders *orders, int way)
{
    struct life_placing *placing = orders->placing;
    const size_t count = placing->count;
    if (count > SKYLINE_COUNT_MAX || !placing_spend(placing, count * count / 8)) {
        return false;
    }
    uint64_t *floors = calloc(count, sizeof *floors);
    CHECK(floors != NULL);
    memset(orders->is_placed, 0, count * sizeof *orders->is_placed);
    for (size_t i = 0; i < count; i++) {
        const uint32_t next = choose_lowest(orders, floors, way);
        const struct life *life = &placing->lives[next];
        const uint64_t end = placing_start(life, floors[next]) + life->bytes;
        orders->is_placed[next] = true;
        orders->order[i].life = next;
        for (size_t k = orders->firsts[next]; k < orders->firsts[next + 1]; k++) {
            uint64_t *floor = &floors[orders->neighbours[k]];
            *floor = end > *floor ? end : *floor;
        }
    }
    free(floors);
    return true;
}

static void sort_by_weight(struct life_orders *orders, int way)
{
    const struct life_placing *placing = orders->placing;
    for (uint32_t i = 0; i < placing->count; i++) {
        orders->order[i] = (struct life_rank){weigh(&placing->lives[i], way), i};
    }
    sort_order(orders);
}

static void try_orders(struct life_orders *orders)
{
    struct life_placing *placing = orders->placing;
    uint64_t best_bytes = UINT64_MAX;
    for (int i = 0; i < 2 * WAY_COUNT && !placing_is_over(placing); i++) {
        if (i % 2 == 0) {
            sort_by_weight(orders, i / 2);
        } else if (!raise_skyline(orders, i / 2)) {
            continue;
        }
        const uint64_t bytes = place_all(orders);
        if (bytes != 0 && bytes < best_bytes) {
            best_bytes = bytes;
            memcpy(orders->best_order, orders->order, placing->count * sizeof *orders->order);
        }
    }
    if (best_bytes != UINT64_MAX) {
        improve(orders, best_bytes);
    }
}

void placing_orders(struct life_placing *placing)
{
    const size_t count = placing->count;
    struct life_orders orders = {.placing = placing,
                                 .firsts = calloc(count + 1, sizeof *orders.firsts),
                                 .order = malloc((count + 1) * sizeof *orders.order),
                                 .best_order = malloc((count + 1) * sizeof *orders.best_order),
                                 .is_placed = malloc((count + 1) * sizeof *orders.is_placed),
                                 .taken = malloc((count + 1) * sizeof *orders.taken)};
    CHECK(orders.firsts != NULL && orders.order != NULL && orders.best_order != NULL &&
          orders.is_placed != NULL && orders.taken != NULL);
    if (find_neighbours(&orders)) {
        try_orders(&orders);
    }
    free(orders.firsts);
    free(orders.neighbours);
    free(orders.order);
    free(orders.best_order);
    free(orders.is_placed);
    free(orders.taken);
}
