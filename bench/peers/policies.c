/* Fit policies for blocks that never move, simulated: what they would need, not how fast they are.
 * A policy sees the request, the device and what was requested before, never what comes later. */
#include "bench/peers/subjects.h"
#include "harness/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NO_OP = UINT32_MAX, NO_SPAN = UINT32_MAX };

/* The hole that is taken: the first in this order, from the side of the request. */
enum hole_order {
    HOLE_NEAREST,  /* to that side: first fit */
    HOLE_SMALLEST, /* best fit */
    HOLE_LARGEST,  /* worst fit */
    HOLE_CLASS     /* of the smallest size class, of 2^bits classes for each doubling */
};

/* The rule that puts requests on the low side; the others belong to the high one. */
enum side_rule {
    SIDE_LOW,      /* all */
    SIDE_CAPACITY, /* at least this share of the device */
    SIDE_MEAN,     /* at least this many times the mean request so far */
    SIDE_LOG_MEAN, /* the same of the geometric mean */
    SIDE_LARGEST   /* at least this share of the largest request so far */
};

/* The end of the hole that is taken: the request's side, or next to a certain neighbour. */
enum end_rule { END_SIDE, END_OLDER, END_LARGER };

struct policy {
    enum hole_order hole;
    unsigned bits; /* of HOLE_CLASS */
    enum side_rule side;
    double threshold;
    enum end_rule end;
    bool keeps_bottom; /* the hole at address 0 is always used from its high end */
};

/* A block or a hole; all of them cover the device in address order, holes never touch. */
struct policy_span {
    uint64_t low, bytes;
    uint32_t op; /* that made the block; NO_OP: a hole */
};

struct policy_heap {
    const struct policy *policy;
    struct policy_span *spans; /* [span_count] of at most 2 * live_count_max + 1 */
    uint32_t span_count;
    uint64_t capacity_bytes, request_count, largest_bytes;
    double sum_bytes, sum_log;
};

/* --- the rules --- */

static void note_request(struct policy_heap *heap, uint64_t bytes)
{
    heap->request_count++;
    heap->sum_bytes += (double)bytes;
    heap->sum_log += log2((double)bytes);
    heap->largest_bytes = bytes > heap->largest_bytes ? bytes : heap->largest_bytes;
}

static bool is_low(const struct policy_heap *heap, uint64_t bytes)
{
    const double size = (double)bytes, threshold = heap->policy->threshold;
    const double count = (double)heap->request_count;
    const enum side_rule side = heap->policy->side;
    return side == SIDE_CAPACITY   ? size >= threshold * (double)heap->capacity_bytes
           : side == SIDE_MEAN     ? size * count >= threshold * heap->sum_bytes
           : side == SIDE_LOG_MEAN ? log2(size) >= heap->sum_log / count + log2(threshold)
           : side == SIDE_LARGEST  ? size >= threshold * (double)heap->largest_bytes
                                   : true;
}

static uint64_t find_class(uint64_t bytes, unsigned bits)
{
    const uint64_t size = bytes / PEER_GRANULE_BYTES;
    if (size < UINT64_C(1) << bits) {
        return size;
    }
    const unsigned shift = 63u - (unsigned)__builtin_clzll(size) - bits;
    return ((uint64_t)(shift + 1) << bits) + ((size >> shift) & ((UINT64_C(1) << bits) - 1));
}

/* The smaller, the better. */
static uint64_t rank_hole(const struct policy *policy, const struct policy_span *hole)
{
    return policy->hole == HOLE_SMALLEST  ? hole->bytes
           : policy->hole == HOLE_LARGEST ? UINT64_MAX - hole->bytes
           : policy->hole == HOLE_CLASS   ? find_class(hole->bytes, policy->bits)
                                          : 0;
}

static uint32_t choose_hole(const struct policy_heap *heap, uint64_t bytes, bool from_low)
{
    uint32_t best = NO_SPAN;
    uint64_t best_rank = UINT64_MAX;
    for (uint32_t k = 0; k < heap->span_count; k++) {
        const uint32_t i = from_low ? k : heap->span_count - 1 - k;
        const struct policy_span *span = &heap->spans[i];
        if (span->op == NO_OP && span->bytes >= bytes &&
            (best == NO_SPAN || rank_hole(heap->policy, span) < best_rank)) {
            best = i;
            best_rank = rank_hole(heap->policy, span);
        }
    }
    return best;
}

/* The border of the device is the oldest and the smallest neighbour. */
static bool goes_to_low_end(const struct policy_heap *heap, uint32_t hole, bool from_low)
{
    const struct policy_span *below = hole == 0 ? NULL : &heap->spans[hole - 1];
    const struct policy_span *above = hole + 1 == heap->span_count ? NULL : &heap->spans[hole + 1];
    if (below == NULL && heap->policy->keeps_bottom) {
        return false;
    }
    return heap->policy->end == END_OLDER
               ? below == NULL || (above != NULL && below->op <= above->op)
           : heap->policy->end == END_LARGER
               ? above == NULL || (below != NULL && below->bytes >= above->bytes)
               : from_low;
}

/* --- the heap --- */

static void insert_span(struct policy_heap *heap, uint32_t at, struct policy_span span)
{
    memmove(&heap->spans[at + 1], &heap->spans[at], (heap->span_count - at) * sizeof span);
    heap->spans[at] = span;
    heap->span_count++;
}

static void remove_span(struct policy_heap *heap, uint32_t at)
{
    heap->span_count--;
    memmove(&heap->spans[at], &heap->spans[at + 1], (heap->span_count - at) * sizeof *heap->spans);
}

static bool allocate(struct policy_heap *heap, uint64_t bytes, uint32_t op)
{
    note_request(heap, bytes);
    const bool from_low = is_low(heap, bytes);
    const uint32_t i = choose_hole(heap, bytes, from_low);
    if (i == NO_SPAN) {
        return false;
    }
    struct policy_span *hole = &heap->spans[i];
    const bool to_low = goes_to_low_end(heap, i, from_low);
    if (hole->bytes == bytes) {
        hole->op = op;
        return true;
    }
    const struct policy_span rest = {hole->low + (to_low ? bytes : 0), hole->bytes - bytes, NO_OP};
    *hole = (struct policy_span){to_low ? hole->low : hole->low + rest.bytes, bytes, op};
    insert_span(heap, to_low ? i + 1 : i, rest);
    return true;
}

static void free_block(struct policy_heap *heap, uint32_t op)
{
    uint32_t i = 0;
    while (heap->spans[i].op != op) {
        i++;
        CHECK(i < heap->span_count);
    }
    heap->spans[i].op = NO_OP;
    if (i + 1 < heap->span_count && heap->spans[i + 1].op == NO_OP) {
        heap->spans[i].bytes += heap->spans[i + 1].bytes;
        remove_span(heap, i + 1);
    }
    if (i > 0 && heap->spans[i - 1].op == NO_OP) {
        heap->spans[i - 1].bytes += heap->spans[i].bytes;
        remove_span(heap, i);
    }
}

static bool is_whole(const struct policy_heap *heap)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < heap->span_count; i++) {
        const struct policy_span *span = &heap->spans[i];
        const bool follows_hole = i > 0 && heap->spans[i - 1].op == NO_OP;
        if (span->low != end || span->bytes == 0 || (span->op == NO_OP && follows_hole)) {
            return false;
        }
        end += span->bytes;
    }
    return end == heap->capacity_bytes;
}

/* --- a list --- */

/* Ends at the first refusal: that is all that is asked. */
static bool play_policy(const struct peer_subject *subject, const struct peer_list *list,
                        struct played *played)
{
    struct policy_heap heap = {
        .policy = subject->context,
        .spans = calloc(2 * (size_t)list->live_count_max + 1, sizeof(struct policy_span)),
        .span_count = 1,
        .capacity_bytes = list->capacity_bytes};
    CHECK(heap.spans != NULL);
    heap.spans[0] = (struct policy_span){0, list->capacity_bytes, NO_OP};
    *played = (struct played){0};
    for (uint32_t i = 0; i < list->count && played->refused_count == 0; i++) {
        const struct peer_op op = list->ops[i];
        if (op.size_bytes == 0) {
            free_block(&heap, op.ref);
        } else {
            played->refused_count += !allocate(&heap, op.size_bytes, i);
        }
    }
    CHECK(is_whole(&heap));
    free(heap.spans);
    return true;
}

#define POLICY(label, ...)                         \
    {                                              \
        label, play_policy, &(const struct policy) \
        {                                          \
            __VA_ARGS__                            \
        }                                          \
    }
#define SIDED(label, rule, value) \
    POLICY(label, .hole = HOLE_SMALLEST, .side = rule, .threshold = value)
const struct peer_subject policies[] = {
    POLICY("first fit", .hole = HOLE_NEAREST),
    POLICY("best fit", .hole = HOLE_SMALLEST),
    POLICY("worst fit", .hole = HOLE_LARGEST),
    POLICY("1 class a doubling, lowest", .hole = HOLE_CLASS, .bits = 0),
    POLICY("4 classes a doubling, lowest", .hole = HOLE_CLASS, .bits = 2),
    POLICY("16 classes a doubling, lowest", .hole = HOLE_CLASS, .bits = 4),
    POLICY("best, end next to the older", .hole = HOLE_SMALLEST, .end = END_OLDER),
    POLICY("the same, but keeps the bottom", .hole = HOLE_SMALLEST, .end = END_OLDER,
           .keeps_bottom = true),
    POLICY("best, end next to the larger", .hole = HOLE_SMALLEST, .end = END_LARGER),
    POLICY("4 classes, next to the older", .hole = HOLE_CLASS, .bits = 2, .end = END_OLDER),
    POLICY("first, low from 1/32 of device", .side = SIDE_CAPACITY, .threshold = 1.0 / 32),
    POLICY("first, low from 2 x mean", .side = SIDE_MEAN, .threshold = 2),
    SIDED("best, low from 1/64 of device", SIDE_CAPACITY, 1.0 / 64),
    SIDED("best, low from 1/32 of device", SIDE_CAPACITY, 1.0 / 32),
    SIDED("best, low from 1/16 of device", SIDE_CAPACITY, 1.0 / 16),
    SIDED("best, low from half of largest", SIDE_LARGEST, 0.5),
    SIDED("best, low from 1 x mean", SIDE_MEAN, 1),
    SIDED("best, low from 1.5 x mean", SIDE_MEAN, 1.5),
    SIDED("best, low from 2 x mean", SIDE_MEAN, 2),
    POLICY("the same, but keeps the bottom", .hole = HOLE_SMALLEST, .side = SIDE_MEAN,
           .threshold = 2, .keeps_bottom = true),
    SIDED("best, low from 2.5 x mean", SIDE_MEAN, 2.5),
    SIDED("best, low from 3 x mean", SIDE_MEAN, 3),
    SIDED("best, low from 4 x mean", SIDE_MEAN, 4),
    SIDED("best, low from 2 x geom. mean", SIDE_LOG_MEAN, 2),
    SIDED("best, low from 3 x geom. mean", SIDE_LOG_MEAN, 3),
    SIDED("best, low from 4 x geom. mean", SIDE_LOG_MEAN, 4),
    {NULL, NULL, NULL}};
