#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/parts.h"

#include <assert.h>

enum { QUEUED_COUNT_MAX = 8, BUFFER_COUNT_MAX = 64 };
enum late_tag { TAG_WEIGHTS, TAG_CACHE, TAG_SERVER, TAG_FIRST_CALL };

enum late_phase { FILL, QUEUE, LOAD, AFTER, CLEAR };

struct late {
    struct op_queue queue;
    bool is_open;
    uint8_t phase;
    uint32_t left;         /* buffers still to come, or tries to load */
    uint32_t early;        /* a program that was loaded before the device filled; OP_NONE */
    uint64_t margin_bytes; /* what the fill leaves */
    uint64_t buffer_bytes; /* the largest */
    uint64_t queued_bytes; /* behind events when the program comes */
    uint64_t delay_ns;
};
static_assert(sizeof(struct late) <= SCENARIO_STATE_BYTES, "the state fits");

static void late_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v7x", .granules_min = 4});
    setup_set_tag(setup, TAG_WEIGHTS, "weights");
    setup_set_tag(setup, TAG_CACHE, "kv_cache");
    setup_set_tag(setup, TAG_SERVER, "jit_serve");
    setup_set_tag(setup, TAG_FIRST_CALL, "first_call");
}

static void begin_round(struct late *late, struct random *random, const struct model *model)
{
    late->phase = FILL;
    late->left = (uint32_t)random_between(random, 2,
                                          repacks(model) ? FEW_BLOCKS : BUFFER_COUNT_MAX);
    late->buffer_bytes = device_part(model, 3, 2 * (uint64_t)late->left);
    late->margin_bytes = device_part(model, random_between(random, 1, 40), 64);
    late->delay_ns = random_log_uniform(random, 1000, UINT64_C(1000000000));
    late->queued_bytes = 0;
    late->early = OP_NONE;
    if (random_chance(random, 1,
                      2)) { /* loaded while there was room; needs it again later (E0101) */
        const uint64_t image = device_part(model, 1, random_between(random, 8, 64));
        const uint64_t stack = device_part(model, random_between(random, 1, 24), 64);
        op_queue_add(&late->queue, build_load(image, stack, TAG_SERVER));
    }
}

/* Buffers down to the margin that was meant for the program. */
static void queue_fill(struct late *late, struct random *random, const struct model *model)
{
    if (late->early == OP_NONE && model_program_count(model) > 0) {
        late->early = model_program(model, 0)->op;
    }
    const uint64_t free_bytes = model_free_bytes(model);
    const bool was_refused = model_last_result(model) == TARGET_NO_MEMORY;
    if (late->left == 0 || free_bytes <= late->margin_bytes || was_refused) {
        late->phase = QUEUE;
        return;
    }
    late->left--;
    const uint64_t room = whole_granules(model, free_bytes - late->margin_bytes);
    const uint64_t drawn = random_between(random, 1, late->buffer_bytes);
    const uint64_t bytes = late->left == 0 || drawn > room ? room : drawn;
    op_queue_add(
        &late->queue,
        build_request(OP_ALLOC, bytes, random_chance(random, 1, 2) ? TAG_WEIGHTS : TAG_CACHE));
}

/* Queues what the first call leaves: queued frees, uses in flight, a residue nobody drops. */
static void queue_frees(struct late *late, struct random *random, const struct model *model)
{
    const size_t live = model_live_count(model);
    const uint64_t count = live == 0 ? 0
                                     : random_below(
                                           random,
                                           (live < QUEUED_COUNT_MAX ? live : QUEUED_COUNT_MAX) + 1);
    const size_t first = live == 0 ? 0 : (size_t)random_below(random, live);
    for (uint64_t i = 0; i < count; i++) {
        const struct block *block = model_live(model, (first + (size_t)i) % live);
        const uint64_t delay = random_chance(random, 1, 24)
                                   ? DELAY_NEVER
                                   : random_log_uniform(random, 1, late->delay_ns);
        op_queue_add(&late->queue, build_delayed(OP_FREE_AFTER, block->op, delay));
        late->queued_bytes += block->size_bytes;
    }
    if (random_chance(random, 1, 2)) {
        op_queue_add(&late->queue, build_advance(random_log_uniform(random, 1, late->delay_ns)));
    }
    late->phase = LOAD;
    late->left = (uint32_t)random_between(random, 1, 6);
}

/* Image and stack together are what there will be, a granule more or less, or by some parts in a
 * thousand more: the field's margins are 30 MiB of 29 GiB and 37 MiB of 16 GiB. */
static uint64_t draw_program_bytes(const struct late *late, struct random *random,
                                   const struct model *model)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t all = model_free_bytes(model) + late->queued_bytes;
    const uint64_t margin = device_part(model, random_between(random, 1, 4), 1024);
    const uint64_t sizes[] = {
        all,
        all + granule,
        all > granule ? all - granule : all,
        all + margin,
        all > margin ? all - margin : all,
        model_free_bytes(model),
        model_free_bytes(model) + granule,
        model_largest_hole_bytes(model) + granule,
    };
    return whole_granules(model, sizes[random_below(random, sizeof sizes / sizeof sizes[0])]);
}

static void queue_program(struct late *late, struct random *random, const struct model *model)
{
    const uint64_t bytes = draw_program_bytes(late, random, model);
    const uint64_t image = whole_granules(model, bytes / random_between(random, 1, 16));
    const uint64_t stack = bytes > image ? bytes - image : 0;
    const uint32_t program = op_queue_add(&late->queue, build_load(image, stack, TAG_SERVER));
    const uint32_t execution = op_queue_add(&late->queue,
                                            build_delayed(OP_EXECUTE, program, late->delay_ns));
    if (random_chance(random, 1, 2)) {
        const uint64_t result = random_between(random, 1, late->margin_bytes);
        const uint32_t output = op_queue_add(&late->queue,
                                             build_request(OP_OUTPUT, result, TAG_FIRST_CALL));
        op_queue_add(&late->queue, build_awaiting(OP_USE, output, execution));
    }
    if (late->early != OP_NONE) {
        op_queue_add(&late->queue, build_delayed(OP_EXECUTE, late->early, late->delay_ns));
    }
    if (random_chance(random, 1, 3)) {
        op_queue_add(&late->queue, build_delayed(OP_EXECUTE, program, late->delay_ns));
    }
    op_queue_add(&late->queue, build_advance(random_log_uniform(random, 1, 2 * late->delay_ns)));
    if (random_chance(random, 1, 2)) {
        op_queue_add(&late->queue, build_on(OP_UNLOAD, program));
    }
    late->left--;
    late->phase = late->left == 0 ? AFTER : LOAD;
}

/* The server is up, or not: requests come anyway. */
static void queue_requests(struct late *late, struct random *random, const struct model *model)
{
    const uint64_t count = random_below(random, 8);
    for (uint64_t i = 0; i < count; i++) {
        op_queue_add(&late->queue,
                     build_request(OP_ALLOC, generate_interesting_size(random, model), TAG_CACHE));
    }
    op_queue_add(&late->queue, op_make(OP_REPORT));
    late->phase = CLEAR;
}

static void (*const phases[])(struct late *, struct random *, const struct model *) = {
    [FILL] = queue_fill, [QUEUE] = queue_frees, [LOAD] = queue_program, [AFTER] = queue_requests};

static bool late_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct late *late = state;
    const struct model *model = view->hosts[0];
    if (!model_contract(model)->programs) {
        return false;
    }
    if (!late->is_open) {
        begin_round(late, random, model);
        late->is_open = true;
    }
    while (!op_queue_next(&late->queue, view, op)) { /* a round passes through each phase once */
        if (late->phase != CLEAR) {
            phases[late->phase](late, random, model);
        } else if (clear_next(view, 0, false, op)) {
            return true;
        } else {
            begin_round(late, random, model);
        }
    }
    return true;
}

const struct scenario scenario_late_program = {
    .name = "late_program",
    .summary = "a program that loads last, at the margin that buffers and queued frees leave",
    .source =
        "AI-Hypercomputer/tpu-recipes#151 (a failure rate of 63.64 %); public logs that miss 30 MiB of 29.33 GiB",
    .chip = "v7x",
    .ops_per_trial = 1500,
    .needs_programs = true,
    .begin = late_begin,
    .next = late_next,
};
