#include "scenarios/scenarios.h"

#include "scenarios/private/device_draw.h"
#include "scenarios/private/device_part.h"
#include "scenarios/private/op_build.h"
#include "scenarios/private/op_queue.h"

#include <assert.h>
#include <stdio.h>

enum {
    STEP_COUNT_MIN = 20000,
    STEP_COUNT_MAX = 80000,
    CACHE_COUNT = 4, /* tags that only warm up */
    CACHE_BLOCK_COUNT_MAX = 48,
    LEAK_COUNT_MIN = 200,
    LEAK_COUNT_MAX = 1000,
    REFUSAL_COUNT_MAX = 40, /* then the job is dead */
    TAG_BATCH = 0,
    TAG_CACHE_FIRST = 1,
    TAG_NAME_COUNT = 10
};

/* What may leak: all are small, live long by mistake, and look harmless one by one. */
static const char *const leak_names[TAG_NAME_COUNT] = {
    "losses",     "metrics",       "rng_keys",    "step_counters", "debug_taps",
    "grad_norms", "old_schedules", "eval_logits", "callbacks",     "histograms",
};
static const char *const cache_names[CACHE_COUNT] = {"kv_cache", "embeddings", "constants",
                                                     "prefetch"};

struct cache {
    uint64_t block_bytes;
    uint32_t block_count; /* when warm */
    uint32_t count, oldest;
    uint32_t blocks[CACHE_BLOCK_COUNT_MAX];
};
struct leak {
    struct op_queue queue;
    bool is_open, cache_is_done; /* cache_is_done: this step has had its turn at the caches */
    uint8_t leak_tag;
    uint32_t asked; /* for a cache; OP_NONE */
    uint8_t asked_cache;
    uint32_t step, step_count, leak_every, refusals;
    uint64_t leak_bytes, batch_bytes, delay_ns;
    struct cache caches[CACHE_COUNT];
};
static_assert(sizeof(struct leak) <= SCENARIO_STATE_BYTES, "the state fits");

static void leak_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    struct leak *leak = state;
    leak->asked = OP_NONE;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e", .granules_min = 32 * LEAK_COUNT_MIN});
    setup_set_tag(setup, TAG_BATCH, "batch");
    for (uint8_t i = 0; i < CACHE_COUNT; i++) {
        setup_set_tag(setup, (uint8_t)(TAG_CACHE_FIRST + i), cache_names[i]);
    }
    leak->leak_tag = (uint8_t)(TAG_CACHE_FIRST + CACHE_COUNT +
                               random_below(random, TAG_NAME_COUNT));
    for (uint8_t i = 0; i < TAG_NAME_COUNT; i++) {
        setup_set_tag(setup, (uint8_t)(TAG_CACHE_FIRST + CACHE_COUNT + i), leak_names[i]);
    }
}

/* The caches take up to half of the device, a batch up to a quarter; the leak takes the rest, and
 * reaches it in the last tenth of the run or not quite. */
static void begin_job(struct leak *leak, struct random *random, const struct model *model)
{
    leak->is_open = true;
    leak->step_count = (uint32_t)random_between(random, STEP_COUNT_MIN, STEP_COUNT_MAX);
    leak->leak_every = (uint32_t)(leak->step_count /
                                  random_between(random, LEAK_COUNT_MIN, LEAK_COUNT_MAX));
    uint64_t used_parts = 0;
    for (int i = 0; i < CACHE_COUNT; i++) {
        const uint64_t parts = random_between(random, 1, 7);
        struct cache *cache = &leak->caches[i];
        cache->block_count = (uint32_t)random_log_uniform(random, 2, CACHE_BLOCK_COUNT_MAX - 1);
        cache->block_bytes = device_part(model, parts, 64 * (uint64_t)cache->block_count);
        used_parts += parts;
    }
    const uint64_t batch_parts = random_between(random, 1, 16);
    leak->batch_bytes = device_part(model, batch_parts, 64);
    const uint64_t room_parts = 64 - used_parts - batch_parts;
    const uint64_t leak_count = leak->step_count / leak->leak_every;
    leak->leak_bytes = device_part(model, room_parts * random_between(random, 92, 112),
                                   6400 * leak_count);
    leak->delay_ns = random_log_uniform(random, 1000, 1000000);
}

static void note_cache(struct leak *leak, const struct model *model)
{
    if (leak->asked != OP_NONE && model_find(model, leak->asked) != NULL) {
        struct cache *cache = &leak->caches[leak->asked_cache];
        cache->blocks[(cache->oldest + cache->count) % CACHE_BLOCK_COUNT_MAX] = leak->asked;
        cache->count++;
    }
    leak->asked = OP_NONE;
}

/* A cache that is warm drops its oldest entry for each new one. */
static bool cache_next(struct leak *leak, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    const uint8_t index = (uint8_t)random_below(random, CACHE_COUNT);
    struct cache *cache = &leak->caches[index];
    if (cache->count > 0 && cache->count >= cache->block_count) {
        *op = build_on(OP_FREE, cache->blocks[cache->oldest]);
        cache->oldest = (cache->oldest + 1) % CACHE_BLOCK_COUNT_MAX;
        cache->count--;
        return model_find(view->hosts[0], op->ref) != NULL;
    }
    leak->asked = view->op_number;
    leak->asked_cache = index;
    *op = build_request(OP_ALLOC, cache->block_bytes, (uint8_t)(TAG_CACHE_FIRST + index));
    return true;
}

static void queue_step(struct leak *leak, struct random *random)
{
    const bool is_ragged = random_chance(random, 1, 16); /* the last batch of an epoch */
    const uint64_t batch = is_ragged ? random_between(random, 1, leak->batch_bytes)
                                     : leak->batch_bytes;
    const uint32_t ref = op_queue_add(&leak->queue, build_request(OP_ALLOC, batch, TAG_BATCH));
    if (leak->step % leak->leak_every ==
        0) { /* beside the batch, so that it stays in the way of the next one */
        op_queue_add(&leak->queue, build_request(OP_OUTPUT, leak->leak_bytes, leak->leak_tag));
    }
    if (leak->step % 16 == 0) {
        op_queue_add(&leak->queue, build_delayed(OP_FREE_AFTER, ref, leak->delay_ns));
        op_queue_add(&leak->queue, build_advance(2 * leak->delay_ns));
    } else {
        op_queue_add(&leak->queue, build_on(OP_FREE, ref));
    }
    leak->step++;
}

static bool leak_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct leak *leak = state;
    const struct model *model = view->hosts[0];
    if (!leak->is_open) {
        begin_job(leak, random, model);
    }
    leak->refusals += view->op_number > 0 && model_last_result(model) == TARGET_NO_MEMORY;
    note_cache(leak, model);
    if (op_queue_next(&leak->queue, view, op)) {
        return true;
    }
    if (leak->step >= leak->step_count || leak->refusals >= REFUSAL_COUNT_MAX) {
        return false;
    }
    if (leak->step % 4 == 0 && !leak->cache_is_done && cache_next(leak, random, view, op)) {
        leak->cache_is_done = leak->asked != OP_NONE;
        return true;
    }
    leak->cache_is_done = false;
    queue_step(leak, random);
    return op_queue_next(&leak->queue, view, op);
}

const struct scenario scenario_slow_leak = {
    .name = "slow_leak",
    .summary =
        "20,000 to 80,000 steps that sometimes leave a small tensor behind, next to caches that only warm up",
    .source =
        "pytorch/xla#8216 (no more than 20,000 to 80,000 steps), jax-ml/jax#7913 (200,000 steps), tensorflow/minigo#702",
    .chip = "v5e",
    .ops_per_trial = 400000,
    .begin = leak_begin,
    .next = leak_next,
};
