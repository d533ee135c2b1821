#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/parts.h"

#include <assert.h>

/* Sizes are counted in units: granules, or more of them where the device is a large one. */
enum { UNIT_COUNT_MAX = 256, FEW_UNITS = 9, ALIGN_LOG2_MAX = 4, NEIGHBOUR_COUNT_MAX = 3 };

enum crowded_phase {
    PAIRS,  /* one hole in a full device: of every length, at every place */
    FILL,   /* blocks until the device refuses */
    REFILL, /* some go, in any order, and as much is asked for again */
    MIX,    /* anything */
    CLEAR
};

/* The way in which the block in the middle makes room. */
enum crowded_way { FREED, QUEUED, ALIGNED, AROUND, DONATED, HELD, LOADED, WAY_COUNT };

struct crowded {
    struct generate generate;
    struct op_queue queue;
    bool is_open;
    uint8_t phase;
    uint32_t asked; /* the request whose answer is not yet seen; OP_NONE */
    uint32_t left;  /* steps of this phase still to come */
    uint32_t unit_count, pair_count;
    uint32_t pair; /* the last one: where the hole is, and how long */
    uint64_t unit_bytes;
    uint32_t fill_low, fill_high; /* units of a block */
};
static_assert(sizeof(struct crowded) <= SCENARIO_STATE_BYTES, "the state fits");

static void crowded_begin(void *state, struct random *random, struct setup *setup,
                          bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v2", .granules_min = 2, .is_small = true});
}

static void open_crowded(struct crowded *crowded, struct random *random, const struct model *model)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t granules = model_capacity_bytes(model) / granule;
    const uint64_t per_unit = granules / UNIT_COUNT_MAX + (granules % UNIT_COUNT_MAX != 0);
    generate_init(&crowded->generate, random, model_capacity_bytes(model), granule,
                  &(struct generate_limits){0});
    crowded->unit_bytes = granule * (per_unit == 0 ? 1 : per_unit);
    crowded->unit_count = (uint32_t)(model_capacity_bytes(model) / crowded->unit_bytes);
    crowded->unit_count += crowded->unit_count == 0;
    crowded->pair_count = crowded->unit_count * (crowded->unit_count + 1) / 2;
    crowded->pair = (uint32_t)random_below(random, crowded->pair_count);
    crowded->asked = OP_NONE;
    crowded->phase = CLEAR;
    crowded->is_open = true;
}

/* --- one hole --- */

/* The units before the hole, and of it.  Few pairs are taken in turn, many by chance. */
static void choose_pair(struct crowded *crowded, struct random *random, uint32_t *before,
                        uint32_t *length)
{
    crowded->pair = crowded->unit_count <= FEW_UNITS
                        ? (crowded->pair + 1) % crowded->pair_count
                        : (uint32_t)random_below(random, crowded->pair_count);
    *before = crowded->pair;
    *length = 1;
    while (*before > crowded->unit_count - *length) { /* so many places has a hole of that length */
        *before -= crowded->unit_count - *length + 1;
        (*length)++;
    }
}

static uint32_t queue_request(struct crowded *crowded, uint64_t size_bytes, uint8_t align_log2)
{
    struct op op = build_request(OP_ALLOC, size_bytes, 0);
    op.align_log2 = align_log2;
    return size_bytes == 0 ? OP_NONE : op_queue_add(&crowded->queue, op);
}

static uint32_t queue_middle(struct crowded *crowded, enum crowded_way way, uint64_t size_bytes)
{
    return way == LOADED
               ? op_queue_add(&crowded->queue, build_load(size_bytes, crowded->unit_bytes, 1))
               : queue_request(crowded, size_bytes, 0);
}

/* Among many blocks to repack none is aligned; see FEW_BLOCKS. */
static uint8_t draw_align(struct random *random, const struct model *model)
{
    if (repacks(model) && model_live_count(model) > FEW_BLOCKS) {
        return 0;
    }
    const uint64_t granule = model_granule_bytes(model);
    const uint8_t granule_log2 = (uint8_t)(63 - __builtin_clzll(granule));
    const uint8_t log2 = (uint8_t)(granule_log2 + random_between(random, 1, ALIGN_LOG2_MAX));
    return log2 < OP_ALIGN_LOG2_MAX ? log2 : OP_ALIGN_LOG2_MAX;
}

/* Ops on the middle block, behind which a request of its size is due. */
static void queue_way(struct crowded *crowded, struct random *random, enum crowded_way way,
                      uint32_t middle)
{
    struct op_queue *queue = &crowded->queue;
    if (way == QUEUED || way == LOADED) {
        op_queue_add(queue, build_delayed(way == QUEUED ? OP_FREE_AFTER : OP_EXECUTE, middle,
                                          random_between(random, 1, 100)));
        return;
    }
    if (way == DONATED) {
        middle = op_queue_add(queue, build_donate(middle, crowded->unit_bytes, 1));
    } else if (way == HELD) {
        op_queue_add(queue, build_on(OP_HOLD, middle));
    }
    op_queue_add(queue, build_on(OP_FREE, middle));
    if (way == HELD) {
        op_queue_add(queue, build_request(OP_ALLOC, crowded->unit_bytes, 2));
        op_queue_add(queue, build_on(OP_RELEASE, middle));
    }
}

/* The blocks on both sides go, and what they leave is asked for in one piece: the one between them
 * may have to move. */
static void queue_around(struct crowded *crowded, struct random *random, uint32_t first,
                         uint32_t middle, uint32_t last, uint64_t size_bytes)
{
    const bool is_first_first = random_chance(random, 1, 2);
    const uint32_t sides[] = {is_first_first ? first : last, is_first_first ? last : first};
    for (unsigned i = 0; i < 2; i++) {
        if (sides[i] != OP_NONE) {
            op_queue_add(&crowded->queue, build_on(OP_FREE, sides[i]));
        }
    }
    (void)queue_request(crowded, size_bytes, 0);
    op_queue_add(&crowded->queue, build_on(OP_TOUCH, middle));
}

static enum crowded_way draw_way(struct random *random, const struct model *model)
{
    const uint32_t weights[WAY_COUNT] = {[FREED] = 6,
                                         [QUEUED] = 2,
                                         [ALIGNED] = 2,
                                         [AROUND] = 4,
                                         [DONATED] = 1,
                                         [HELD] = 1,
                                         [LOADED] = model_contract(model)->programs ? 1 : 0};
    return (enum crowded_way)random_weighted(random, weights, WAY_COUNT);
}

static void queue_pair(struct crowded *crowded, struct random *random, const struct model *model)
{
    uint32_t before, length;
    choose_pair(crowded, random, &before, &length);
    const enum crowded_way way = draw_way(random, model);
    const uint64_t unit = crowded->unit_bytes;
    const uint64_t middle_bytes = length * unit;
    const uint64_t after_bytes = model_capacity_bytes(model) - before * unit - middle_bytes;
    const uint32_t first = queue_request(crowded, before * unit, 0);
    const uint32_t middle = queue_middle(crowded, way, middle_bytes);
    const uint32_t last = queue_request(crowded, after_bytes, 0);
    if (way == AROUND) {
        queue_around(crowded, random, first, middle, last, before * unit + after_bytes);
        return;
    }
    queue_way(crowded, random, way, middle);
    const uint8_t align_log2 = way == ALIGNED ? draw_align(random, model) : 0;
    const bool is_shorter = way == ALIGNED && random_chance(random, 1, 2);
    (void)queue_request(
        crowded, is_shorter ? unit * random_between(random, 1, length) : middle_bytes, align_log2);
}

/* --- many blocks --- */

static void begin_fill(struct crowded *crowded, struct random *random)
{
    const uint32_t half = crowded->unit_count / 2 + 1;
    crowded->phase = FILL;
    crowded->left = UNIT_COUNT_MAX + 2;
    crowded->fill_low = (uint32_t)random_between(random, 1, half < 4 ? half : 4);
    crowded->fill_high = random_chance(random, 1, 2) ? crowded->fill_low
                                                     : crowded->fill_low + half / 8 + 1;
    crowded->asked = OP_NONE;
}

static bool fill_next(struct crowded *crowded, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    const bool is_refused = crowded->asked != OP_NONE && model_find(model, crowded->asked) == NULL;
    if (crowded->left == 0 || is_refused) {
        crowded->phase = REFILL;
        crowded->left = 2 + (uint32_t)random_below(random, 2 * model_live_count(model) + 2);
        return false;
    }
    crowded->left--;
    crowded->asked = view->op_number;
    /* Draws are statements of their own: C leaves the order of arguments open. */
    const enum op_kind kind = random_chance(random, 1, 4) ? OP_OUTPUT : OP_ALLOC;
    const uint64_t units = random_between(random, crowded->fill_low, crowded->fill_high);
    *op = build_request(kind, crowded->unit_bytes * units, 0);
    return true;
}

/* The live block that begins at the address; NULL: none does. */
static const struct block *find_at(const struct model *model, uint64_t address)
{
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        if (block->address == address) {
            return block;
        }
    }
    return NULL;
}

static void queue_free(struct crowded *crowded, struct random *random, const struct block *block)
{
    const uint64_t way = random_below(random, 8);
    if (way < 2) {
        op_queue_add(&crowded->queue, build_delayed(way == 0 ? OP_FREE_AFTER : OP_USE, block->op,
                                                    random_between(random, 1, 1000)));
    }
    if (way > 0) {
        op_queue_add(&crowded->queue, build_on(OP_FREE, block->op));
    }
}

/* Frees one to three neighbours, the last or the first of them first.  Returns their bytes. */
static uint64_t queue_neighbours(struct crowded *crowded, struct random *random,
                                 const struct model *model)
{
    const struct block *blocks[NEIGHBOUR_COUNT_MAX];
    const uint64_t most = random_between(random, 1, NEIGHBOUR_COUNT_MAX);
    const bool is_forward = random_chance(random, 1, 2);
    uint64_t count = 0, size_bytes = 0;
    const struct block *block = model_live(model,
                                           (size_t)random_below(random, model_live_count(model)));
    while (block != NULL && block->hold_count == 0 && count < most) {
        blocks[count++] = block;
        size_bytes += block->size_bytes;
        block = find_at(model, block->address + block->size_bytes);
    }
    for (uint64_t i = 0; i < count; i++) {
        queue_free(crowded, random, blocks[is_forward ? i : count - 1 - i]);
    }
    return size_bytes;
}

/* Requests as much as went, in one piece or in two, a unit more, or what the state suggests. */
static void queue_requests(struct crowded *crowded, struct random *random,
                           const struct model *model, uint64_t size_bytes)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t part = granule * random_between(random, 1, size_bytes / granule + 1);
    const uint64_t way = random_below(random, 8);
    if (way == 0) {
        (void)queue_request(crowded, part < size_bytes ? part : granule, 0);
        (void)queue_request(crowded, part < size_bytes ? size_bytes - part : 0, 0);
        return;
    }
    (void)queue_request(crowded,
                        way == 1   ? size_bytes + crowded->unit_bytes
                        : way == 3 ? generate_interesting_size(random, model)
                                   : size_bytes,
                        way == 2 ? draw_align(random, model) : 0);
}

static void queue_refill(struct crowded *crowded, struct random *random, const struct model *model)
{
    if (model_live_count(model) > 0) {
        const uint64_t size_bytes = queue_neighbours(crowded, random, model);
        queue_requests(crowded, random, model, size_bytes);
    }
    if (random_chance(random, 1, 16)) {
        op_queue_add(&crowded->queue,
                     op_make(random_chance(random, 1, 2) ? OP_REPORT : OP_DEFRAGMENT));
    }
}

/* --- what comes next --- */

static void begin_pattern(struct crowded *crowded, struct random *random)
{
    const uint64_t way = random_below(random, 8);
    if (way >= 1 && way <= 3) {
        begin_fill(crowded, random);
    } else {
        crowded->phase = way == 0 ? MIX : PAIRS;
        crowded->left = way == 0 ? (uint32_t)random_between(random, 16, 64) : 1;
    }
}

/* The queue is empty.  True: *op is the next one. */
static bool phase_next(struct crowded *crowded, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    if (crowded->phase == FILL) {
        return fill_next(crowded, random, view, op);
    }
    if (crowded->phase == CLEAR) {
        if (clear_next(view, 0, false, op)) {
            return true;
        }
        begin_pattern(crowded, random);
        return false;
    }
    if (crowded->left == 0) {
        crowded->phase = CLEAR;
        return false;
    }
    crowded->left--;
    if (crowded->phase == MIX) {
        *op = generate_next(&crowded->generate, random, model, 0);
        return true;
    }
    if (crowded->phase == PAIRS) {
        queue_pair(crowded, random, model);
    } else {
        queue_refill(crowded, random, model);
    }
    return false;
}

static bool crowded_next(void *state, struct random *random, const struct scenario_view *view,
                         struct op *op)
{
    struct crowded *crowded = state;
    if (!crowded->is_open) {
        open_crowded(crowded, random, view->hosts[0]);
    }
    /* A phase makes an op, fills the queue or goes on to the next; pairs and fills begin with one.
     */
    while (!op_queue_next(&crowded->queue, view, op)) {
        if (phase_next(crowded, random, view, op)) {
            return true;
        }
    }
    return true;
}

const struct scenario scenario_crowded = {
    .name = "crowded",
    .summary = "tiny full devices: a hole of every length at every place, refilled in every order",
    .source = "the small scope hypothesis: Jackson and Damon, ISSTA 1996; Korat, ISSTA 2002",
    .chip = "v2",
    .ops_per_trial = 400,
    .begin = crowded_begin,
    .next = crowded_next,
};
