#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

/* The tests' sizes in gibibytes on a device of about 15. */
enum {
    DEVICE_UNITS = 15,
    BUFFER_COUNT = 7,
    BUFFER_UNITS = 2,
    LARGE_UNITS = 4,
    STACK_UNITS = 11,
    SHARDED_UNITS = 2,
    UNSHARDED_UNITS = 4,
    STEP_COUNT = 20,
    STEP_NS = 1000000
};

enum test {
    BUFFER_ALLOCATION,          /* testAutoDefragInBufferAllocation, as published */
    PROGRAM_LOADING,            /* testAutoDefragInProgramLoading, as published */
    PROGRAM_LOADING_FRAGMENTED, /* the same, with the variables made again in the middle of the
                                   device */
    BUFFER_ALLOCATION_SHUFFLED, /* other buffers freed, in other orders, behind events */
    TEST_COUNT
};

struct published {
    struct op_queue queue;
    bool clears;
    uint32_t test; /* of the next round; the first two rounds of every trial are as published */
};
static_assert(sizeof(struct published) <= SCENARIO_STATE_BYTES, "the state fits");

static void published_begin(void *state, struct random *random, struct setup *setup,
                            bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v3", .granules_min = 8 * DEVICE_UNITS});
    setup_set_tag(setup, 0, "buffer");
    setup_set_tag(setup, 1, "sharded_variables");
    setup_set_tag(setup, 2, "unsharded_variables");
    setup_set_tag(setup, 3, "step");
}

static uint64_t measure_units(const struct model *model, uint64_t count)
{
    return count * device_part(model, 1, DEVICE_UNITS);
}

/* Seven buffers; the first and the third go; twice their size must fit. */
static void queue_buffer_allocation(struct op_queue *queue, const struct model *model)
{
    uint32_t buffers[BUFFER_COUNT];
    for (int i = 0; i < BUFFER_COUNT; i++) {
        buffers[i] = op_queue_add(queue,
                                  build_request(OP_ALLOC, measure_units(model, BUFFER_UNITS), 0));
    }
    op_queue_add(queue, build_on(OP_FREE, buffers[1]));
    op_queue_add(queue, build_on(OP_FREE, buffers[3]));
    op_queue_add(queue, build_request(OP_ALLOC, measure_units(model, LARGE_UNITS), 0));
}

static void queue_buffer_allocation_shuffled(struct op_queue *queue, struct random *random,
                                             const struct model *model)
{
    uint32_t buffers[BUFFER_COUNT];
    for (int i = 0; i < BUFFER_COUNT; i++) {
        buffers[i] = op_queue_add(queue,
                                  build_request(OP_ALLOC, measure_units(model, BUFFER_UNITS), 0));
    }
    const uint64_t first = random_below(random, BUFFER_COUNT);
    const uint64_t second = (first + random_between(random, 2, BUFFER_COUNT - 2)) % BUFFER_COUNT;
    const uint64_t held = random_below(random, BUFFER_COUNT);
    const bool holds = held != first && held != second && random_chance(random, 1, 2);
    if (holds) { /* one block cannot move: whether it fits now depends on where that block is */
        op_queue_add(queue, build_on(OP_HOLD, buffers[held]));
    }
    op_queue_add(queue, build_delayed(OP_FREE_AFTER, buffers[first],
                                      random_log_uniform(random, 1, STEP_NS)));
    op_queue_add(queue, build_delayed(OP_FREE_AFTER, buffers[second],
                                      random_log_uniform(random, 1, STEP_NS)));
    const uint64_t extra = random_below(random, 4) * model_granule_bytes(model);
    op_queue_add(queue, build_request(OP_ALLOC, measure_units(model, LARGE_UNITS) + extra, 0));
    op_queue_add(queue, build_request(OP_ALLOC, measure_units(model, 1) + extra, 0));
    if (holds) {
        op_queue_add(queue, build_on(OP_RELEASE, buffers[held]));
        op_queue_add(queue, build_request(OP_ALLOC, measure_units(model, LARGE_UNITS), 0));
    }
}

static void queue_steps(struct op_queue *queue, uint32_t step, uint32_t variables, int count)
{
    for (int i = 0; i < count; i++) {
        const uint32_t event = op_queue_add(queue, build_delayed(OP_EXECUTE, step, STEP_NS));
        op_queue_add(queue, build_awaiting(OP_USE, variables, event));
    }
    op_queue_add(queue, build_advance((uint64_t)STEP_NS * 2));
}

/* Twenty steps, an unshard that does not fit beside the step's stack, and the step again. */
static void queue_program_loading(struct op_queue *queue, const struct model *model)
{
    const uint32_t variables = op_queue_add(
        queue, build_request(OP_ALLOC, measure_units(model, SHARDED_UNITS), 1));
    const uint32_t step = op_queue_add(queue, build_load(device_part(model, 1, 8 * DEVICE_UNITS),
                                                         measure_units(model, STACK_UNITS), 3));
    queue_steps(queue, step, variables, STEP_COUNT);
    const uint32_t unsharded = op_queue_add(
        queue, build_request(OP_ALLOC, measure_units(model, UNSHARDED_UNITS), 2));
    op_queue_add(queue, build_delayed(OP_USE, unsharded, STEP_NS));
    op_queue_add(queue, build_on(OP_FREE, unsharded));
    queue_steps(queue, step, variables, 1);
}

/* The variables are written back while the unsharded copy lives, and so end up in the middle: the
 * bottom is not free for the step's stack until something moves. */
static void queue_program_loading_fragmented(struct op_queue *queue, struct random *random,
                                             const struct model *model)
{
    const uint32_t old = op_queue_add(
        queue, build_request(OP_ALLOC, measure_units(model, SHARDED_UNITS), 1));
    const uint32_t step = op_queue_add(queue, build_load(device_part(model, 1, 8 * DEVICE_UNITS),
                                                         measure_units(model, STACK_UNITS), 3));
    queue_steps(queue, step, old, (int)random_between(random, 1, 3));
    const uint32_t unsharded = op_queue_add(
        queue, build_request(OP_ALLOC, measure_units(model, UNSHARDED_UNITS), 2));
    const uint32_t variables = op_queue_add(
        queue, build_request(OP_ALLOC, measure_units(model, SHARDED_UNITS), 1));
    op_queue_add(queue, build_on(OP_FREE, old));
    op_queue_add(queue,
                 build_delayed(OP_FREE_AFTER, unsharded, random_log_uniform(random, 1, STEP_NS)));
    queue_steps(queue, step, variables, 2);
    op_queue_add(
        queue, build_request(OP_ALLOC,
                             measure_units(model, SHARDED_UNITS) + model_granule_bytes(model), 0));
}

static void queue_next_test(struct published *published, struct random *random,
                            const struct model *model)
{
    enum test test = (enum test)(published->test < 2 ? published->test
                                                     : random_below(random, TEST_COUNT));
    if (!model_contract(model)->programs &&
        (test == PROGRAM_LOADING || test == PROGRAM_LOADING_FRAGMENTED)) {
        test = test == PROGRAM_LOADING ? BUFFER_ALLOCATION : BUFFER_ALLOCATION_SHUFFLED;
    }
    if (test == BUFFER_ALLOCATION) {
        queue_buffer_allocation(&published->queue, model);
    } else if (test == PROGRAM_LOADING) {
        queue_program_loading(&published->queue, model);
    } else if (test == PROGRAM_LOADING_FRAGMENTED) {
        queue_program_loading_fragmented(&published->queue, random, model);
    } else {
        queue_buffer_allocation_shuffled(&published->queue, random, model);
    }
    published->test += published->test < 2;
    published->clears = true;
}

static bool published_next(void *state, struct random *random, const struct scenario_view *view,
                           struct op *op)
{
    struct published *published = state;
    while (!op_queue_next(&published->queue, view, op)) {
        if (published->clears && clear_next(view, 0, false, op)) {
            return true;
        }
        queue_next_test(published, random, view->hosts[0]);
    }
    return true;
}

const struct scenario scenario_defrag_published = {
    .name = "defrag_published",
    .summary =
        "the two published tests of automatic defragmentation: in buffer allocation and in program loading",
    .source =
        "TensorFlow tensorflow/python/distribute/integration_test/tpu_memory_test.py (TpuMemoryTest)",
    .chip = "v3",
    .ops_per_trial = 600,
    .begin = published_begin,
    .next = published_next,
};
