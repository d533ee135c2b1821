#include "measure/fixed_places.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "measure/private/placing.h"

#include <stdlib.h>
#include <string.h>

void placing_offer(struct life_placing *placing, uint64_t bytes)
{
    CHECK(bytes >= placing->at_least_bytes);
    if (bytes < placing->best_bytes) {
        placing->best_bytes = bytes;
        memcpy(placing->best, placing->starts, placing->count * sizeof *placing->best);
    }
}

bool placing_is_over(const struct life_placing *placing)
{
    return placing->best_bytes == placing->at_least_bytes || placing->work == 0;
}

uint64_t placing_start(const struct life *life, uint64_t from)
{
    return align_up(from + life->header_bytes, life->align_bytes) - life->header_bytes;
}

bool placing_spend(struct life_placing *placing, uint64_t work)
{
    const bool is_enough = work <= placing->work;
    placing->work -= is_enough ? work : placing->work;
    return is_enough;
}

static uint64_t *make_starts(size_t count)
{
    uint64_t *starts = calloc(count + 1, sizeof *starts);
    CHECK(starts != NULL);
    return starts;
}

void fixed_places_find(const struct list_lives *lives, uint64_t at_least_bytes, uint64_t work,
                       struct fixed_places *places)
{
    struct life_placing placing = {.lives = lives->lives,
                                   .count = lives->count,
                                   .at_least_bytes = at_least_bytes,
                                   .work = work,
                                   .best_bytes = UINT64_MAX,
                                   .best = make_starts(lives->count),
                                   .starts = make_starts(lives->count)};
    placing_sweep(&placing);
    if (!placing_is_over(&placing)) {
        placing_orders(&placing);
    }
    free(placing.starts);
    *places = (struct fixed_places){placing.best_bytes, placing.best,
                                    placing.best_bytes == at_least_bytes};
    if (placing.best_bytes == UINT64_MAX || lives->count == 0) {
        fixed_places_deinit(places);
    }
}

void fixed_places_deinit(struct fixed_places *places)
{
    free(places->starts);
    *places = (struct fixed_places){0};
}

/* Plans made in one sweep over time: what is free is a row of gaps, each request takes one.
 * [start, end) is free. */
struct place_gap {
    uint64_t start, end;
};

/* A life in the sweep's own time, which may run backwards. */
struct turn {
    uint32_t begin, end, life;
    uint64_t bytes;
};

struct place_sweep {
    struct life_placing *placing;
    struct turn *begins, *ends; /* the same, by begin and by end */
    bool is_best_fit;
    struct place_gap *gaps; /* ascending, never touching; the last one has no end */
    size_t gap_count, gap_capacity;
    uint64_t top_bytes;
};

/* Orders lives by their begin; of those that begin together the largest comes first. */
static int compare_begins(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return compare_then(
        compare_numbers(x->begin, y->begin),
        compare_then(compare_numbers(y->bytes, x->bytes), compare_numbers(x->life, y->life)));
}

static int compare_ends(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return compare_then(compare_numbers(x->end, y->end), compare_numbers(x->life, y->life));
}

static void insert_gap(struct place_sweep *sweep, size_t at, struct place_gap gap)
{
    sweep->gaps = array_grown(sweep->gaps, sweep->gap_count, &sweep->gap_capacity,
                              sizeof *sweep->gaps);
    memmove(&sweep->gaps[at + 1], &sweep->gaps[at], (sweep->gap_count - at) * sizeof gap);
    sweep->gaps[at] = gap;
    sweep->gap_count++;
}

static void remove_gap(struct place_sweep *sweep, size_t at)
{
    sweep->gap_count--;
    memmove(&sweep->gaps[at], &sweep->gaps[at + 1], (sweep->gap_count - at) * sizeof *sweep->gaps);
}

/* The gap for the life; the last one always does. */
static size_t choose_gap(struct place_sweep *sweep, const struct life *life)
{
    size_t best = sweep->gap_count - 1, i = 0;
    uint64_t best_bytes = UINT64_MAX;
    for (; i + 1 < sweep->gap_count; i++) {
        const struct place_gap *gap = &sweep->gaps[i];
        if (gap->end - gap->start < best_bytes &&
            placing_start(life, gap->start) + life->bytes <= gap->end) {
            best = i;
            best_bytes = gap->end - gap->start;
            if (!sweep->is_best_fit) {
                break;
            }
        }
    }
    (void)placing_spend(sweep->placing, i + 1);
    return best;
}

static void take_place(struct place_sweep *sweep, const struct turn *turn)
{
    const struct life *life = &sweep->placing->lives[turn->life];
    const size_t at = choose_gap(sweep, life);
    struct place_gap *gap = &sweep->gaps[at];
    const struct place_gap whole = *gap;
    const uint64_t start = placing_start(life, whole.start), end = start + life->bytes;
    sweep->placing->starts[turn->life] = start;
    sweep->top_bytes = end > sweep->top_bytes ? end : sweep->top_bytes;
    gap->start = end;
    if (end == whole.end) {
        remove_gap(sweep, at);
    }
    if (start > whole.start) {
        insert_gap(sweep, at, (struct place_gap){whole.start, start});
    }
}

static void give_place(struct place_sweep *sweep, const struct turn *turn)
{
    const uint64_t start = sweep->placing->starts[turn->life], end = start + turn->bytes;
    size_t above; /* the first gap that begins at or above start */
    SEARCH_FIRST(above, 0, sweep->gap_count, sweep->gaps[above].start >= start);
    CHECK(above < sweep->gap_count && sweep->gaps[above].start >= end);
    const bool joins_above = sweep->gaps[above].start == end;
    const bool joins_below = above > 0 && sweep->gaps[above - 1].end == start;
    if (joins_above && joins_below) {
        sweep->gaps[above - 1].end = sweep->gaps[above].end;
        remove_gap(sweep, above);
    } else if (joins_above) {
        sweep->gaps[above].start = start;
    } else if (joins_below) {
        sweep->gaps[above - 1].end = end;
    } else {
        insert_gap(sweep, above, (struct place_gap){start, end});
    }
    (void)placing_spend(sweep->placing, 1 + (sweep->gap_count - above) / 16);
}

/* Makes one sweep; a sweep that is cut offers no plan. */
static void sweep_once(struct place_sweep *sweep, bool is_best_fit)
{
    struct life_placing *placing = sweep->placing;
    size_t ended = 0;
    sweep->is_best_fit = is_best_fit;
    sweep->gap_count = 0;
    sweep->top_bytes = 0;
    insert_gap(sweep, 0, (struct place_gap){0, UINT64_MAX});
    for (size_t i = 0; i < placing->count; i++) {
        while (sweep->ends[ended].end <= sweep->begins[i].begin) {
            give_place(sweep, &sweep->ends[ended++]);
        }
        take_place(sweep, &sweep->begins[i]);
        if (placing->work == 0) {
            return;
        }
    }
    placing_offer(placing, sweep->top_bytes);
}

static void sort_turns(struct place_sweep *sweep, bool is_backwards)
{
    const struct life_placing *placing = sweep->placing;
    for (size_t i = 0; i < placing->count; i++) {
        const struct life *life = &placing->lives[i];
        sweep->begins[i] = (struct turn){is_backwards ? UINT32_MAX - life->to : life->from,
                                         is_backwards ? UINT32_MAX - life->from : life->to,
                                         (uint32_t)i, life->bytes};
    }
    memcpy(sweep->ends, sweep->begins, placing->count * sizeof *sweep->ends);
    qsort(sweep->begins, placing->count, sizeof *sweep->begins, compare_begins);
    qsort(sweep->ends, placing->count, sizeof *sweep->ends, compare_ends);
}

void placing_sweep(struct life_placing *placing)
{
    const size_t bytes = (placing->count + 1) * sizeof(struct turn);
    struct place_sweep sweep = {.placing = placing, .begins = malloc(bytes), .ends = malloc(bytes)};
    CHECK(sweep.begins != NULL && sweep.ends != NULL);
    for (int i = 0; i < 4 && !placing_is_over(placing); i++) {
        if (i % 2 == 0) {
            sort_turns(&sweep, i == 2);
        }
        sweep_once(&sweep, i % 2 != 0);
    }
    free(sweep.begins);
    free(sweep.ends);
    free(sweep.gaps);
}
