#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

enum {
    COUNT_DEFAULT = 4000,
    COUNT_MAX = 1000000,
    SIZE_KIB_DEFAULT = 8,
    SIZE_KIB_MAX = 1048576,
    ALIGN_KIB_DEFAULT = 256,
    ALIGN_KIB_MAX = 2048,
    KIB = 1024,
    CAPACITY_UNIT_BYTES = 2 << 20 /* a multiple of any granule and alignment */
};

struct aligned {
    struct op_walk walk;
    uint32_t count, left; /* blocks of a round, and those still to be asked for */
    uint32_t first;       /* the first op of this round */
    uint32_t round_count;
    bool is_freeing; /* else blocks are asked for */
    bool has_order;  /* the user's, for all rounds */
    uint8_t order;   /* enum op_walk_order */
    uint8_t align_log2;
    uint64_t size_bytes;
};
static_assert(sizeof(struct aligned) <= SCENARIO_STATE_BYTES, "the state fits");

static const char *const order_words[] = {"reverse", "forward", "alternating", "shuffled", NULL};
static const enum op_walk_order orders[] = {OP_WALK_BACKWARD, OP_WALK_FORWARD, OP_WALK_ALTERNATING,
                                            OP_WALK_SHUFFLED};

static const struct scenario_option options[] = {
    OPTION_NUMBER("count", 1, COUNT_MAX, COUNT_DEFAULT, "blocks at once (default 4000)"),
    OPTION_NUMBER("size", 1, SIZE_KIB_MAX, SIZE_KIB_DEFAULT, "of a block, in KiB (default 8)"),
    OPTION_NUMBER("align", 1, ALIGN_KIB_MAX, ALIGN_KIB_DEFAULT,
                  "of a block, in KiB, rounded down to a power of two (default 256)"),
    OPTION_WORDS("order", order_words, "in which they are freed (default reverse)"),
    {0}};

static uint64_t option_of(const struct setup *setup, const char *name)
{
    return scenario_option_value(&scenario_deep_aligned, setup, name);
}

static void aligned_begin(void *state, struct random *random, struct setup *setup,
                          bool capacity_is_free)
{
    struct aligned *aligned = state;
    const bool may_grow = capacity_is_free && setup->capacity_bytes != 0;
    aligned->count = (uint32_t)option_of(setup, "count");
    aligned->size_bytes = option_of(setup, "size") * KIB;
    aligned->align_log2 = (uint8_t)(63 - __builtin_clzll(option_of(setup, "align") * KIB));
    aligned->order = (uint8_t)orders[option_of(setup, "order") - SCENARIO_WORD(0)];
    aligned->has_order = scenario_option_is_given(setup, "order");
    device_draw(random, setup, capacity_is_free, &(struct device_options){.chip = "v5e"});
    const uint64_t align_bytes = UINT64_C(1) << aligned->align_log2;
    const uint64_t stride = (aligned->size_bytes + align_bytes - 1) & ~(align_bytes - 1);
    const uint64_t needed = (aligned->count * stride + CAPACITY_UNIT_BYTES - 1) &
                            ~(uint64_t)(CAPACITY_UNIT_BYTES - 1);
    if (may_grow && setup->capacity_bytes < needed) {
        setup->capacity_bytes = needed;
    }
}

static void begin_round(struct aligned *aligned, struct random *random,
                        const struct scenario_view *view)
{
    const enum op_walk_order drawn = (enum op_walk_order)random_below(random, OP_WALK_ORDER_COUNT);
    if (aligned->round_count++ > 0 && !aligned->has_order) {
        aligned->order = (uint8_t)drawn;
    }
    aligned->first = view->op_number;
    aligned->left = aligned->count;
    aligned->is_freeing = false;
}

static bool aligned_next(void *state, struct random *random, const struct scenario_view *view,
                         struct op *op)
{
    struct aligned *aligned = state;
    uint32_t number = 0;
    if (aligned->is_freeing && op_walk_next_made(&aligned->walk, view->hosts[0], &number)) {
        *op = build_on(OP_FREE, number);
        return true;
    }
    if (aligned->is_freeing || aligned->round_count == 0) {
        begin_round(aligned, random, view);
    }
    if (aligned->left == 0 || is_full(view, aligned->first)) {
        aligned->is_freeing = true;
        op_walk_begin(&aligned->walk, random, aligned->first, view->op_number,
                      (enum op_walk_order)aligned->order);
        *op = op_make(OP_REPORT); /* once a round: it looks at every block */
        return true;
    }
    aligned->left--;
    *op = build_request(OP_ALLOC, aligned->size_bytes, 0);
    op->align_log2 = aligned->align_log2;
    return true;
}

const struct scenario scenario_deep_aligned = {
    .name = "deep_aligned",
    .summary =
        "4,000 blocks of 8 KiB, each aligned to 256 KiB, freed in reverse, then again in any order",
    .source = "drm/buddy, 2025: such frees took 76 s with free lists, 0.2 s with trees",
    .chip = "v5e",
    .ops_per_trial = 16100, /* two rounds */
    .options = options,
    .begin = aligned_begin,
    .next = aligned_next,
};
