/* The parts of repacking: what they all work on, the layout of a span, and the cheap attempts. */
#ifndef ALLOCATOR_PRIVATE_PACKING_H
#define ALLOCATOR_PRIVATE_PACKING_H

#include "allocator/private/plan.h"

#define NOWHERE UINT32_MAX
/* Bounds the cheap attempts, which are quadratic in spans, to a few milliseconds. */
#define GREEDY_STEPS_MAX 4000000u
/* The attempts before the long searches have a 64th of their steps: a few milliseconds. */
#define QUICK_SHARE 64

struct hbm_packing {
    struct hbm_plan *plan;
    struct hbm_span *spans; /* [span_count], address order */
    size_t span_count;
    size_t count;    /* movable items, and the demanded block if any */
    uint32_t *items; /* [count]: item of each, sizes descending; item_count is the demanded block */
    /* [item_count + 1]: span now, NOWHERE for unmovable ones and the demanded block */
    uint32_t *home;
    uint32_t *assigned; /* [item_count + 1]: span wanted */
    uint32_t *best;     /* [item_count + 1] */
    uint64_t *room;     /* [span_count]: bytes not yet assigned; may wrap below 0 while overfull */
    uint64_t *room_start;    /* [span_count] with everything at home */
    uint32_t *bin_spans;     /* [span_count]: spans, smallest first */
    size_t bin_first;        /* the first of them that is a bin of the exact search */
    uint64_t *sizes;         /* [count], of items */
    uint64_t *capacities;    /* [span_count], of bin_spans */
    uint64_t *addresses;     /* [count], of items */
    uint8_t *shifts;         /* [count], of items */
    bool aligned;            /* some item wants more than granule alignment */
    bool laid_out;           /* what the search by sums found could be laid out */
    uint32_t *arrival_next;  /* [item_count + 1] */
    uint32_t *arrival_first; /* [span_count] */
    uint64_t steps;
};

static inline uint64_t packing_item_bytes(const struct hbm_packing *packing, uint32_t item)
{
    const struct hbm_plan *plan = packing->plan;
    return item == plan->item_count ? plan->demand.size_bytes : plan->items[item].size_bytes;
}

static inline uint8_t packing_item_shift(const struct hbm_packing *packing, uint32_t item)
{
    const struct hbm_plan *plan = packing->plan;
    return item == plan->item_count ? (uint8_t)plan->demand.align_shift
                                    : plan->items[item].align_shift;
}

static inline uint64_t packing_span_bytes(const struct hbm_packing *packing, uint32_t s)
{
    return packing->spans[s].high - packing->spans[s].low;
}

/* From spans to addresses: sets the targets of the plan by `assigned`.  False: the items of some
 * span do not fit in it side by side, which only alignments can cause where their sum does. */
bool hbm_packing_layout(struct hbm_packing *packing);

/* The cheap attempts; each sets `assigned` and the targets, and proves nothing when it returns
 * false. */

/* Keeps all blocks where they are but those that must make room, in the span where that costs
 * least. */
bool hbm_packing_keep_most(struct hbm_packing *packing);

/* The rule that chooses the next item's span: each finds packings that the others miss. */
enum span_rule {
    SPAN_TIGHTEST, /* the least sufficient room */
    SPAN_ROOMIEST, /* the most room */
    SPAN_LARGEST,  /* the largest span with sufficient room */
    SPAN_RULE_COUNT
};

bool hbm_packing_largest_first(struct hbm_packing *packing, enum span_rule rule);
bool hbm_packing_item_by_item(struct hbm_packing *packing);

#endif
