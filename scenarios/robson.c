#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

enum {
    LIVE_MIN = 4,
    LIVE_MAX = 65536,
    LIVE_DRAWN_MIN = 8,
    LIVE_DRAWN_MAX = 1024,
    FILLED_DRAWN_MIN = 10,
    SMALLEST_BYTES_MAX = 1 << 30
};

enum robson_phase { OPEN = 0, FILL, CHOOSE, THIN };

/* One game.  Round i asks for blocks of 2^i smallest ones, size_bytes, until live_bytes are live.
 * Between two rounds each block that covers no address of offset_bytes + a multiple of size_bytes
 * goes.  No block of the next size fits between two that stay, wherever they lie. */
struct robson {
    uint64_t live_count, largest_count; /* as drawn or given, in smallest blocks */
    uint64_t smallest_bytes;            /* as given; 0: filled_percent has it */
    uint64_t filled_percent;
    uint64_t live_bytes; /* a multiple of 2 * largest_bytes */
    uint64_t largest_bytes;
    uint64_t size_bytes;
    uint64_t offset_bytes; /* less than size_bytes */
    uint64_t left;         /* requests of this round */
    size_t cursor;         /* live blocks below it are still to be looked at */
    uint8_t phase;
};
static_assert(sizeof(struct robson) <= SCENARIO_STATE_BYTES, "the state fits");

static const struct scenario_option robson_options[] = {
    OPTION_NUMBER("live", LIVE_MIN, LIVE_MAX, 0, "smallest blocks that are live at most; drawn"),
    OPTION_NUMBER(
        "largest", 2, LIVE_MAX / 2, 0,
        "the largest block, in smallest ones: a power of two, at most half of live; drawn"),
    OPTION_NUMBER("smallest", 1, SMALLEST_BYTES_MAX, 0,
                  "bytes of the smallest block, rounded up to granules; as filled has it"),
    OPTION_NUMBER("filled", 1, 100, 0,
                  "percent of the device that is live at most, where smallest is not given; drawn"),
    {0}};

static uint64_t choose_value(const struct setup *setup, const char *name, uint64_t drawn)
{
    const uint64_t given = scenario_option_value(&scenario_robson, setup, name);
    return given == 0 ? drawn : given;
}

static const char *robson_refuses(const struct setup *setup)
{
    const uint64_t largest = scenario_option_value(&scenario_robson, setup, "largest");
    const uint64_t live = scenario_option_value(&scenario_robson, setup, "live");
    if ((largest & (largest - 1)) != 0) {
        return "largest: not a power of two";
    }
    return live != 0 && 2 * largest > live ? "largest: more than half of live" : NULL;
}

/* A power of two from 2 to half of live. */
static uint64_t draw_largest(struct random *random, uint64_t live_count)
{
    uint64_t log2_max = 1;
    while (UINT64_C(4) << log2_max <= live_count) {
        log2_max++;
    }
    return UINT64_C(1) << random_between(random, 1, log2_max);
}

static void robson_begin(void *state, struct random *random, struct setup *setup,
                         bool capacity_is_free)
{
    struct robson *robson = state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e", .granules_min = LIVE_MIN});
    const uint64_t live = random_log_uniform(random, LIVE_DRAWN_MIN, LIVE_DRAWN_MAX);
    const uint64_t filled = random_between(random, FILLED_DRAWN_MIN, 100);
    robson->largest_count = choose_value(setup, "largest", draw_largest(random, live));
    robson->live_count = choose_value(
        setup, "live", live < 2 * robson->largest_count ? 2 * robson->largest_count : live);
    while (2 * robson->largest_count > robson->live_count) { /* only live is given */
        robson->largest_count /= 2;
    }
    robson->smallest_bytes = choose_value(setup, "smallest", 0);
    robson->filled_percent = choose_value(setup, "filled", filled);
}

static uint64_t find_smallest(const struct robson *robson, const struct model *model)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t filled = device_part(model, robson->filled_percent, 100) / robson->live_count;
    return robson->smallest_bytes == 0
               ? whole_granules(model, filled)
               : whole_granules(model, robson->smallest_bytes + granule - 1);
}

/* The sizes, now that the device is known: fewer and smaller ones where it is too
 * small. */
static void open_game(struct robson *robson, const struct model *model)
{
    const uint64_t smallest = find_smallest(robson, model);
    const uint64_t room = model_capacity_bytes(model) / smallest;
    const uint64_t live = robson->live_count < room ? robson->live_count : room;
    uint64_t largest = robson->largest_count;
    while (2 * largest > live && largest > 1) {
        largest /= 2;
    }
    robson->live_bytes = live < 2 ? live * smallest : (live - live % (2 * largest)) * smallest;
    robson->largest_bytes = largest * smallest;
    robson->size_bytes = smallest;
    robson->offset_bytes = 0;
    robson->left = robson->live_bytes / smallest;
    robson->phase = FILL;
}

/* True if the block, as it was asked for, covers an address of offset + a multiple of period. */
static bool covers(const struct block *block, uint64_t offset_bytes, uint64_t period_bytes)
{
    const uint64_t place = block->address % period_bytes;
    const uint64_t ahead = (offset_bytes + period_bytes - place) % period_bytes;
    return ahead < block->requested_bytes;
}

/* Sums what the blocks that cover such addresses keep from blocks of the period's size. */
static uint64_t sum_kept(const struct model *model, uint64_t offset_bytes, uint64_t period_bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        if (block->requested_bytes < period_bytes && covers(block, offset_bytes, period_bytes)) {
            sum += period_bytes - block->requested_bytes;
        }
    }
    return sum;
}

/* Chooses, of the two offsets that the next size has for each one of this size, that at which more
 * is kept.  False: the largest size was the last. */
static bool choose_offset(struct robson *robson, struct random *random, const struct model *model)
{
    if (robson->size_bytes >= robson->largest_bytes) {
        return false;
    }
    const uint64_t period = 2 * robson->size_bytes;
    const uint64_t high = robson->offset_bytes + robson->size_bytes;
    const uint64_t kept_low = sum_kept(model, robson->offset_bytes, period);
    const uint64_t kept_high = sum_kept(model, high, period);
    const bool takes_high = kept_high == kept_low ? random_chance(random, 1, 2)
                                                  : kept_high > kept_low;
    robson->offset_bytes = takes_high ? high : robson->offset_bytes;
    robson->size_bytes = period;
    robson->cursor = model_live_count(model);
    robson->phase = THIN;
    return true;
}

/* From the end of the list of live blocks: a free fills the gap from there. */
static bool thin_next(struct robson *robson, const struct model *model, struct op *op)
{
    if (robson->cursor > model_live_count(model)) {
        robson->cursor = model_live_count(model);
    }
    while (robson->cursor > 0) {
        const struct block *block = model_live(model, --robson->cursor);
        if (!covers(block, robson->offset_bytes, robson->size_bytes)) {
            *op = build_on(block->hold_count > 0 ? OP_RELEASE : OP_FREE, block->op);
            return true;
        }
    }
    uint64_t live_bytes = 0;
    for (size_t i = 0; i < model_live_count(model); i++) {
        live_bytes += model_live(model, i)->requested_bytes;
    }
    robson->left = live_bytes >= robson->live_bytes
                       ? 0
                       : (robson->live_bytes - live_bytes) / robson->size_bytes;
    robson->phase = FILL;
    return false;
}

/* A refusal ends the round: the others would be refused, too. */
static bool fill_next(struct robson *robson, const struct model *model, struct op *op)
{
    if (robson->left == 0 || model_last_result(model) == TARGET_NO_MEMORY) {
        robson->phase = CHOOSE;
        return false;
    }
    robson->left--;
    *op = build_request(OP_ALLOC, robson->size_bytes, 0);
    return true;
}

static bool robson_next(void *state, struct random *random, const struct scenario_view *view,
                        struct op *op)
{
    struct robson *robson = state;
    const struct model *model = view->hosts[0];
    if (robson->phase == OPEN) {
        open_game(robson, model);
    }
    for (;;) { /* a round passes through each phase once, and there are 16 at most */
        if ((robson->phase == FILL && fill_next(robson, model, op)) ||
            (robson->phase == THIN && thin_next(robson, model, op))) {
            return true;
        }
        if (robson->phase == CHOOSE && !choose_offset(robson, random, model)) {
            return false;
        }
    }
}

const struct scenario scenario_robson = {
    .name = "robson",
    .summary =
        "doubles the size of its blocks round by round, and keeps those that leave the next size no room between them",
    .source =
        "J. M. Robson, JACM 18 (1971) and 21 (1974): what any allocator needs that moves nothing",
    .chip = "v5e",
    .ops_per_trial = 400000,
    .options = robson_options,
    .refuses = robson_refuses,
    .begin = robson_begin,
    .next = robson_next,
};
