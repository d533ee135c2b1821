#include "tests/helpers/faulty_scenario.h"

#include "harness/base/random.h"
#include "harness/generate/generate.h"

enum { GRANULE_COUNT = 64, GRANULE_BYTES = 1024 };

struct faulty {
    struct generate generate;
    bool is_open;
};

static void faulty_begin(void *state, struct random *random, struct setup *setup,
                         bool capacity_is_free)
{
    (void)state;
    (void)random;
    (void)capacity_is_free;
    setup->capacity_bytes = (uint64_t)GRANULE_COUNT * GRANULE_BYTES;
    setup->granule_bytes = GRANULE_BYTES;
    (void)setup_set_option(setup, "defrag", "slide");
}

static void faulty_open(struct faulty *faulty, struct random *random, const struct model *model)
{
    static const uint8_t weights[OP_KIND_COUNT] = {
        [OP_ALLOC] = 30,      [OP_FREE] = 20,  [OP_FREE_AFTER] = 4, [OP_LOAD] = 8,
        [OP_EXECUTE] = 8,     [OP_UNLOAD] = 2, [OP_FAULT] = 12,     [OP_ADVANCE] = 10,
        [OP_DEFRAGMENT] = 10, [OP_TOUCH] = 4};
    const struct generate_limits limits = {.allowed_kinds = (1u << OP_KIND_COUNT) - 1,
                                           .no_lost_events = true};
    generate_init(&faulty->generate, random, model_capacity_bytes(model),
                  model_granule_bytes(model), &limits);
    for (unsigned i = 0; i < OP_KIND_COUNT; i++) {
        faulty->generate.weights[i] = weights[i];
    }
    faulty->generate.fill_percent = 90;
    faulty->generate.program_count_max = 4;
    faulty->is_open = true;
}

static bool faulty_next(void *state, struct random *random, const struct scenario_view *view,
                        struct op *op)
{
    struct faulty *faulty = state;
    if (!faulty->is_open) {
        faulty_open(faulty, random, view->hosts[0]);
    }
    *op = generate_next(&faulty->generate, random, view->hosts[0], 0);
    if (op->kind == OP_FAULT) {
        *op = op_make(OP_FAULT);
        op->tag = (uint8_t)random_below(random, FAULT_CALL_COUNT);
        op->size_bytes = random_between(random, 1, 3);
    }
    return true;
}

const struct scenario faulty_scenario = {
    .name = "faulty",
    .summary = "a device that refuses something all the time",
    .chip = "v5e",
    .ops_per_trial = 500,
    .needs_programs = true,
    .begin = faulty_begin,
    .next = faulty_next,
};
