#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/parts.h"

#include <assert.h>

enum { ALIGN_LOG2_LARGEST = 21, ROUND_COUNT_MAX = 40 };

struct granule_edge {
    struct generate generate;
    struct op_queue queue;
    bool is_open, clears;
    uint32_t rounds; /* until the device is cleared */
};
static_assert(sizeof(struct granule_edge) <= SCENARIO_STATE_BYTES, "the state fits");

static void edge_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free, &(struct device_options){.chip = "v2"});
}

/* A size at one of the edges: of numbers, of the granule, of the device, of what is free. */
static uint64_t draw_edge_size(struct random *random, const struct model *model)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t capacity = model_capacity_bytes(model);
    const uint64_t top = UINT64_C(1) << 63;
    const uint64_t free_bytes = model_free_bytes(model);
    const uint64_t edges[] = {
        0,
        1,
        granule - 1,
        granule,
        granule + 1,
        2 * granule - 1,
        capacity,
        capacity - 1,
        capacity - granule,
        capacity + 1,
        capacity + granule,
        capacity / 2,
        top,
        top - 1,
        top + 1,
        top - granule,
        top + granule,
        UINT64_MAX,
        UINT64_MAX - 1,
        UINT64_MAX - granule + 1,
        UINT64_MAX - granule,
        UINT64_MAX - capacity,
        UINT32_MAX,
        (uint64_t)UINT32_MAX + 1,
        free_bytes,
        free_bytes + 1,
        free_bytes + granule,
        free_bytes > granule ? free_bytes - granule : 1,
        free_bytes / 2,
        UINT64_C(1) << 62,
    };
    return edges[random_below(random, sizeof edges / sizeof edges[0])];
}

/* Draws a size that most devices can grant: otherwise every state would be the empty one. */
static uint64_t draw_near_size(struct random *random, const struct model *model)
{
    return random_chance(random, 1, 2) ? generate_interesting_size(random, model)
                                       : device_part(model, 1, random_log_uniform(random, 2, 64));
}

static uint64_t draw_size(struct random *random, const struct model *model)
{
    return random_chance(random, 2, 3) ? draw_edge_size(random, model)
                                       : draw_near_size(random, model);
}

static void queue_request(struct granule_edge *edge, struct random *random,
                          const struct model *model)
{
    /* Draws are statements of their own: C leaves the order of arguments open. */
    const enum op_kind kind = random_chance(random, 1, 4) ? OP_OUTPUT : OP_ALLOC;
    struct op op = build_request(kind, draw_size(random, model), 0);
    if (random_chance(random, 1, 6)) {
        op.align_log2 = (uint8_t)random_between(random, 1, ALIGN_LOG2_LARGEST);
    }
    if (random_chance(random, 1, 8)) {
        op.unpadded_bytes = op.size_bytes == 0 ? 0 : random_between(random, 0, op.size_bytes - 1);
    }
    op_queue_add(&edge->queue, op);
}

static void queue_program(struct granule_edge *edge, struct random *random,
                          const struct model *model)
{
    const uint64_t image = random_chance(random, 1, 2) ? draw_size(random, model)
                                                       : model_granule_bytes(model);
    const uint64_t stack = random_chance(random, 1, 2) ? draw_size(random, model)
                                                       : draw_near_size(random, model);
    const uint32_t program = op_queue_add(&edge->queue, build_load(image, stack, 0));
    op_queue_add(&edge->queue, build_delayed(OP_EXECUTE, program, random_below(random, 3)));
    queue_request(edge, random, model);
    op_queue_add(&edge->queue, build_advance(random_below(random, 4)));
    if (random_chance(random, 1, 2)) {
        op_queue_add(&edge->queue, build_on(OP_UNLOAD, program));
    }
}

static void queue_on_block(struct granule_edge *edge, struct random *random,
                           const struct model *model)
{
    const size_t count = model_live_count(model);
    if (count == 0) {
        queue_request(edge, random, model);
        return;
    }
    const struct block *block = model_live(model, (size_t)random_below(random, count));
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t sizes[] = {1, block->size_bytes, block->size_bytes - granule + 1,
                              block->requested_bytes};
    const uint64_t way = random_below(random, 4);
    if (way == 0) { /* at the edges: an event that is done before it is queued, one just after */
        op_queue_add(&edge->queue,
                     build_delayed(OP_FREE_AFTER, block->op, random_below(random, 2)));
    } else if (way == 1 && block->hold_count == 0) {
        op_queue_add(&edge->queue, build_donate(block->op, sizes[random_below(random, 4)], 1));
    } else if (way == 2) {
        op_queue_add(&edge->queue, build_on(OP_HOLD, block->op));
        queue_request(edge, random, model);
        op_queue_add(&edge->queue, build_on(OP_RELEASE, block->op));
    } else if (way == 3) {
        op_queue_add(&edge->queue,
                     build_on(random_chance(random, 1, 8) ? OP_TOUCH : OP_FREE, block->op));
    }
}

/* The whole device in one block, then to the granule in two. */
static void queue_whole(struct granule_edge *edge, struct random *random, const struct model *model)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t capacity = model_capacity_bytes(model);
    const uint32_t all = op_queue_add(&edge->queue, build_request(OP_ALLOC, capacity, 0));
    op_queue_add(&edge->queue, build_request(OP_ALLOC, 1, 0));
    op_queue_add(&edge->queue, build_on(OP_FREE, all));
    const uint64_t part = random_between(random, 1, capacity / granule) * granule;
    op_queue_add(&edge->queue, build_request(OP_ALLOC, part, 0));
    op_queue_add(&edge->queue, build_request(OP_ALLOC, capacity - part, 0));
    op_queue_add(&edge->queue, build_request(OP_ALLOC, granule, 0));
}

static void queue_next_ops(struct granule_edge *edge, struct random *random,
                           const struct model *model)
{
    if (edge->rounds-- == 0) {
        edge->rounds = 1 + (uint32_t)random_below(random, ROUND_COUNT_MAX);
        edge->clears = true;
        op_queue_add(&edge->queue, op_make(OP_REPORT));
        return;
    }
    const uint32_t weights[] = {6, model_contract(model)->programs ? 2 : 0, 4, 1};
    static void (*const ways[])(struct granule_edge *, struct random *, const struct model *) = {
        queue_request, queue_program, queue_on_block, queue_whole};
    ways[random_weighted(random, weights, 4)](edge, random, model);
}

static bool edge_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct granule_edge *edge = state;
    while (!op_queue_next(&edge->queue, view, op)) {
        if (edge->clears && clear_next(view, 0, false, op)) {
            return true;
        }
        edge->clears = false;
        queue_next_ops(edge, random, view->hosts[0]);
    }
    return true;
}

const struct scenario scenario_exact_edge = {
    .name = "exact_edge",
    .summary = "sizes 0, 1, around the granule, around the capacity, around 2^63 and 2^64 - 1",
    .source =
        "pytorch/xla#9502, google/tcmalloc commit 8580c68, microsoft/mimalloc#876, mattconte/tlsf#9",
    .chip = "v2",
    .ops_per_trial = 1500,
    .begin = edge_begin,
    .next = edge_next,
};
