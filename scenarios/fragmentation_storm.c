#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/parts.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 1500, PIN_COUNT_MAX = 12 };

enum storm_pattern {
    CHECKERBOARD, /* equal blocks, every other one freed: half the device free in holes of one size
                   */
    COMB,         /* large blocks between small ones; the large ones go */
    SAWTOOTH,     /* sizes rise and fall back; a range of teeth goes */
    SCALARS,      /* jax#9064: each step leaves a small block behind a large temporary one */
    SCATTER,      /* any sizes, any half of them freed */
    PATTERN_COUNT
};

enum storm_phase { FILL, PIN, PUNCH, PROBE, MIX, THIN, RESTART };

struct storm {
    struct generate generate;
    uint16_t weights[OP_KIND_COUNT]; /* of the setup */
    bool is_open, refused;
    bool is_mixed; /* this fill: the generator may have left holds and uses behind */
    uint8_t pattern, phase;
    uint8_t teeth;  /* sawtooth: sizes before it falls back */
    uint8_t parity; /* which half goes */
    uint8_t pin_count;
    uint32_t asked; /* the request whose answer is not yet seen; OP_NONE */
    uint32_t left;  /* ops of this phase still to come */
    uint32_t limit; /* blocks of one fill */
    uint64_t large_bytes, small_bytes;
    uint32_t pins[PIN_COUNT_MAX];
    uint32_t count;
    uint32_t blocks[BLOCK_COUNT_MAX]; /* ops that made the blocks of this fill, in order */
};
static_assert(sizeof(struct storm) <= SCENARIO_STATE_BYTES, "the state fits");

static void storm_begin(void *state, struct random *random, struct setup *setup,
                        bool capacity_is_free)
{
    struct storm *storm = state;
    memcpy(storm->weights, setup->weights, sizeof storm->weights);
    storm->asked = OP_NONE;
    device_draw(random, setup, capacity_is_free, &(struct device_options){.chip = "v5e"});
    setup_set_tag(setup, 0, "batch");
    setup_set_tag(setup, 1, "losses");
}

static void begin_fill(struct storm *storm, struct random *random, const struct model *model)
{
    static const uint32_t limits[] = {FEW_BLOCKS - 2, 64, 200, 400, BLOCK_COUNT_MAX};
    const uint32_t weights[] = {5, 6, 5, 3, 1};
    storm->phase = FILL;
    storm->pattern = (uint8_t)random_below(random, PATTERN_COUNT);
    storm->parity = (uint8_t)random_below(random, 2);
    storm->teeth = (uint8_t)random_between(random, 3, 12);
    storm->limit = limits[random_weighted(random, weights, 5)];
    storm->count = 0;
    storm->left = storm->limit + 2; /* so that the last blocks are refused when all fitted */
    storm->refused = false;
    storm->is_mixed = false;
    /* The fill just does not fit: full, not merely used. */
    const uint64_t mean = model_free_bytes(model) / storm->limit + 1;
    storm->large_bytes = whole_granules(model, mean + mean / 16);
    storm->small_bytes = whole_granules(model, storm->large_bytes >> random_between(random, 1, 6));
}

static uint64_t fill_size(const struct storm *storm, struct random *random,
                          const struct model *model)
{
    const bool is_odd = (storm->count + storm->parity) % 2 == 1;
    const enum storm_pattern pattern = (enum storm_pattern)storm->pattern;
    const uint64_t large = storm->large_bytes;
    return pattern == COMB || pattern == SCALARS ? (is_odd ? storm->small_bytes : 2 * large)
           : pattern == SAWTOOTH
               ? whole_granules(model, large * 2 * (1 + storm->count % storm->teeth) / storm->teeth)
           : pattern == SCATTER
               ? random_log_uniform(random, whole_granules(model, large / 8), large * 4)
               : large;
}

/* True if the block of the fill goes. */
static bool is_punched(const struct storm *storm, struct random *random, uint32_t index)
{
    const bool is_odd = (index + storm->parity) % 2 == 1;
    switch ((enum storm_pattern)storm->pattern) {
    case SAWTOOTH:
        return (index % storm->teeth < storm->teeth / 2u) == (storm->parity == 0);
    case SCATTER:
        return random_chance(random, 1, 2);
    default:
        return !is_odd;
    }
}

static void note_answer(struct storm *storm, const struct model *model)
{
    if (storm->asked == OP_NONE) {
        return;
    }
    const bool is_made = model_find(model, storm->asked) != NULL;
    if (is_made && storm->phase == FILL && storm->count < BLOCK_COUNT_MAX) {
        storm->blocks[storm->count++] = storm->asked;
    }
    storm->refused = !is_made;
    if (!is_made || storm->phase == FILL) {
        storm->asked = OP_NONE;
    }
}

static void make_request(struct storm *storm, const struct scenario_view *view, uint64_t size_bytes,
                         uint8_t tag, struct op *op)
{
    storm->asked = view->op_number;
    *op = build_request(OP_ALLOC, size_bytes, tag);
}

static bool fill_next(struct storm *storm, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    if (storm->left == 0 || storm->refused) {
        storm->phase = PIN;
        const bool may_pin = !repacks(view->hosts[0]) ||
                             model_live_count(view->hosts[0]) <= FEW_BLOCKS;
        storm->left = may_pin && random_chance(random, 1, 2)
                          ? (uint32_t)random_below(random, PIN_COUNT_MAX)
                          : 0;
        storm->pin_count = 0;
        return false;
    }
    storm->left--;
    const uint64_t size = fill_size(storm, random, view->hosts[0]);
    make_request(storm, view, size, size == storm->small_bytes, op);
    return true;
}

/* Somebody else holds a few blocks: what may move has to move around them. */
static bool pin_next(struct storm *storm, struct random *random, const struct model *model,
                     struct op *op)
{
    if (storm->left == 0 || storm->count == 0) {
        storm->phase = PUNCH;
        storm->left = storm->count;
        return false;
    }
    storm->left--;
    const uint32_t ref = storm->blocks[random_below(random, storm->count)];
    const struct block *block = model_find(model, ref);
    if (block == NULL || block->hold_count > 0 || storm->pin_count >= PIN_COUNT_MAX) {
        return false;
    }
    storm->pins[storm->pin_count++] = ref;
    *op = build_on(OP_HOLD, ref);
    return true;
}

static bool punch_next(struct storm *storm, struct random *random, const struct model *model,
                       struct op *op)
{
    while (storm->left > 0) {
        const uint32_t index = --storm->left;
        const struct block *block = model_find(model, storm->blocks[index]);
        if (block == NULL || block->hold_count > 0 || !is_punched(storm, random, index)) {
            continue;
        }
        *op = model_contract(model)->queues_frees && random_chance(random, 1, 16)
                  ? build_delayed(OP_FREE_AFTER, block->op,
                                  random_log_uniform(random, 1000, 1000000))
                  : build_on(OP_FREE, block->op);
        return true;
    }
    storm->phase = PROBE;
    storm->left = (uint32_t)random_between(random, 4, 40);
    return false;
}

/* Requests just over and just under what there is.  Most of what is granted goes back, so that the
 * next probe meets the same holes. */
static bool probe_next(struct storm *storm, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    const struct model *model = view->hosts[0];
    if (storm->asked != OP_NONE) {
        const uint32_t granted = storm->asked;
        storm->asked = OP_NONE;
        if (random_chance(random, 3, 4)) {
            *op = build_on(OP_FREE, granted);
            return true;
        }
    }
    if (storm->left == 0) {
        const bool may_mix = storm->pin_count == 0 || !repacks(model);
        storm->phase = MIX;
        storm->left = may_mix && random_chance(random, 1, 2) ? (uint32_t)random_below(random, 200)
                                                             : 0;
        storm->is_mixed = storm->left > 0;
        return false;
    }
    storm->left--;
    make_request(storm, view, generate_interesting_size(random, model), 0, op);
    return true;
}

static bool mix_next(struct storm *storm, struct random *random, const struct scenario_view *view,
                     struct op *op)
{
    if (storm->left == 0) {
        /* A fill to the brim around what is held is a hard packing: see FEW_BLOCKS. */
        const bool restarts = random_chance(random, 1, 2) ||
                              (storm->is_mixed && repacks(view->hosts[0]));
        storm->phase = restarts ? RESTART : THIN;
        storm->left = (uint32_t)(model_live_count(view->hosts[0]) / (restarts ? 1 : 2));
        return false;
    }
    storm->left--;
    *op = generate_next(&storm->generate, random, view->hosts[0], 0);
    return true;
}

/* The next fill begins among what is left of this one. */
static bool thin_next(struct storm *storm, struct random *random, const struct model *model,
                      struct op *op)
{
    if (storm->pin_count > 0) {
        const struct block *block = model_find(model, storm->pins[--storm->pin_count]);
        if (block == NULL || block->hold_count == 0) {
            return false;
        }
        *op = build_on(OP_RELEASE, block->op);
        return true;
    }
    if (storm->left == 0 || model_live_count(model) == 0) {
        begin_fill(storm, random, model);
        return false;
    }
    storm->left--;
    const struct block *block = model_live(model,
                                           (size_t)random_below(random, model_live_count(model)));
    *op = build_on(block->hold_count > 0 ? OP_RELEASE : OP_FREE, block->op);
    return true;
}

static bool phase_next(struct storm *storm, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    const struct model *model = view->hosts[0];
    switch ((enum storm_phase)storm->phase) {
    case FILL:
        return fill_next(storm, random, view, op);
    case PIN:
        return pin_next(storm, random, model, op);
    case PUNCH:
        return punch_next(storm, random, model, op);
    case PROBE:
        return probe_next(storm, random, view, op);
    case MIX:
        return mix_next(storm, random, view, op);
    case THIN:
        return thin_next(storm, random, model, op);
    default:
        if (clear_next(view, 0, false, op)) {
            return true;
        }
        begin_fill(storm, random, model);
        return false;
    }
}

static bool storm_next(void *state, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    struct storm *storm = state;
    const struct model *model = view->hosts[0];
    if (!storm->is_open) {
        /* The refusals of a device now and then: an allocator must come out of them whole. */
        const uint32_t faults = random_chance(random, 1, 8) ? 0 : 1u << OP_FAULT;
        const struct generate_limits limits = {
            .allowed_kinds = ((1u << OP_KIND_COUNT) - 1) & ~faults, .weights = storm->weights};
        generate_init(&storm->generate, random, model_capacity_bytes(model),
                      model_granule_bytes(model), &limits);
        begin_fill(storm, random, model);
        storm->is_open = true;
    }
    note_answer(storm, model);
    while (!phase_next(storm, random, view,
                       op)) { /* each phase is left after a bounded number of turns */
    }
    return true;
}

const struct scenario scenario_fragmentation_storm = {
    .name = "fragmentation_storm",
    .summary =
        "checkerboards, combs and sawteeth of blocks, then requests just over and under the largest hole",
    .source =
        "jax-ml/jax#9064 (small values kept between big steps), jax-ml/jax#7913, google/trax#431",
    .chip = "v5e",
    .ops_per_trial = 2500,
    .takes_weights = true,
    .begin = storm_begin,
    .next = storm_next,
};
