#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>
#include <stdio.h>

enum {
    STEP_COUNT_MIN = 20000, /* of all hosts together */
    STEP_COUNT_MAX = 80000,
    TRIAL_OP_COUNT = 230000, /* 2.6 ops a step, and faults: at most one op in ten */
    CACHE_COUNT = 4,         /* tags that only warm up */
    CACHE_BLOCK_COUNT_MAX = 48,
    CACHED_COUNT_MAX = 1024, /* of all hosts: more than five have smaller caches */
    LEAK_COUNT_MIN = 200,
    LEAK_COUNT_MAX = 1000,
    LEAK_PERCENT_MIN = 102, /* of what caches and batch leave */
    LEAK_PERCENT_MAX = 112,
    REFUSAL_COUNT_MAX = 40, /* then the job is dead on that host */
    TAG_BATCH = 0,
    TAG_CACHE_FIRST = 1,
    TAG_NAME_COUNT = 10
};

/* These may leak: all are small, live long by mistake, and look harmless one by one. */
static const char *const leak_names[TAG_NAME_COUNT] = {
    "losses",     "metrics",       "rng_keys",    "step_counters", "debug_taps",
    "grad_norms", "old_schedules", "eval_logits", "callbacks",     "histograms",
};
static const char *const cache_names[CACHE_COUNT] = {"kv_cache", "embeddings", "constants",
                                                     "prefetch"};

/* A cache has the same sizes on every host. */
struct leaky_cache {
    uint64_t block_bytes;
    uint32_t block_count; /* when warm */
};
/* One host of the job. */
struct leaking_host {
    uint32_t step;
    uint32_t asked; /* for a cache; OP_NONE */
    uint8_t asked_cache;
    uint8_t refusals;
    bool cache_is_done; /* this step has had its turn at the caches */
    bool drops;         /* the oldest entry of asked_cache is gone, and the new one is next */
    uint8_t counts[CACHE_COUNT], oldest[CACHE_COUNT];
};
struct leak {
    struct op_queue queue;
    bool is_open;
    uint8_t leak_tag;
    uint8_t host;                    /* whose turn it is: the hosts go step by step */
    bool is_in_turn;                 /* its cache comes first, and then its step */
    uint32_t step_count, leak_every; /* of each host */
    uint64_t leak_bytes, batch_bytes, delay_ns;
    struct leaky_cache caches[CACHE_COUNT];
    struct leaking_host hosts[OP_HOST_COUNT_MAX];
    /* For each host and cache a ring of cached_max. */
    uint32_t cached_max;
    uint32_t cached[CACHED_COUNT_MAX];
};
static_assert(sizeof(struct leak) <= SCENARIO_STATE_BYTES, "the state fits");
static_assert(CACHED_COUNT_MAX >= 2 * CACHE_COUNT * OP_HOST_COUNT_MAX, "no cache is too small");

static void leak_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    struct leak *leak = state;
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
        leak->hosts[host].asked = OP_NONE;
    }
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

/* The caches take up to half of the device, a batch up to a quarter. */
static uint64_t draw_sizes(struct leak *leak, struct random *random, const struct model *model)
{
    uint64_t used_bytes = 0;
    for (int i = 0; i < CACHE_COUNT; i++) {
        const uint64_t parts = random_between(random, 1, 7);
        struct leaky_cache *cache = &leak->caches[i];
        cache->block_count = (uint32_t)random_log_uniform(random, 2, leak->cached_max - 1);
        cache->block_bytes = device_part(model, parts, 64 * (uint64_t)cache->block_count);
        used_bytes += cache->block_bytes * cache->block_count;
    }
    leak->batch_bytes = device_part(model, random_between(random, 1, 16), 64);
    return used_bytes + leak->batch_bytes;
}

/* The leak takes what caches and batch leave, and more: so the device is full in the last tenth of
 * the run.  More hosts make fewer steps each, so that they are full after as many ops. */
static void begin_job(struct leak *leak, struct random *random, const struct scenario_view *view)
{
    const struct model *model = view->hosts[0];
    const uint32_t cached_max = CACHED_COUNT_MAX / (CACHE_COUNT * view->host_count);
    leak->is_open = true;
    leak->cached_max = cached_max < CACHE_BLOCK_COUNT_MAX ? cached_max : CACHE_BLOCK_COUNT_MAX;
    leak->step_count = (uint32_t)random_between(random, STEP_COUNT_MIN, STEP_COUNT_MAX) /
                       view->host_count;
    const uint32_t every = leak->step_count /
                           (uint32_t)random_between(random, LEAK_COUNT_MIN, LEAK_COUNT_MAX);
    leak->leak_every = every == 0 ? 1 : every;
    const uint64_t used_bytes = draw_sizes(leak, random, model);
    const uint64_t capacity = model_capacity_bytes(model);
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t room = capacity > used_bytes ? capacity - used_bytes : granule;
    const uint64_t leak_count = leak->step_count / leak->leak_every;
    const uint64_t percent = random_between(random, LEAK_PERCENT_MIN, LEAK_PERCENT_MAX);
    leak->leak_bytes = whole_granules(model, room * percent / (100 * leak_count) + granule - 1);
    leak->delay_ns = random_log_uniform(random, 1000, 1000000);
}

static uint32_t *cached_block(struct leak *leak, uint8_t cache, uint32_t index)
{
    const uint32_t ring = ((uint32_t)leak->host * CACHE_COUNT + cache) * leak->cached_max;
    return &leak->cached[ring + index % leak->cached_max];
}

static void note_cache(struct leak *leak, const struct model *model)
{
    struct leaking_host *host = &leak->hosts[leak->host];
    if (host->asked != OP_NONE && model_find(model, host->asked) != NULL) {
        const uint8_t cache = host->asked_cache;
        *cached_block(leak, cache, host->oldest[cache] + host->counts[cache]) = host->asked;
        host->counts[cache]++;
    }
    host->asked = OP_NONE;
}

/* A cache that is warm drops its oldest entry for each new one. */
static bool cache_next(struct leak *leak, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    struct leaking_host *host = &leak->hosts[leak->host];
    const uint8_t index = host->drops ? host->asked_cache
                                      : (uint8_t)random_below(random, CACHE_COUNT);
    const struct leaky_cache *cache = &leak->caches[index];
    host->asked_cache = index;
    host->drops = host->counts[index] > 0 && host->counts[index] >= cache->block_count;
    if (host->drops) {
        *op = build_on(OP_FREE, *cached_block(leak, index, host->oldest[index]));
        host->oldest[index] = (uint8_t)((host->oldest[index] + 1u) % leak->cached_max);
        host->counts[index]--;
        return model_find(view->hosts[leak->host], op->ref) != NULL;
    }
    host->asked = view->op_number;
    *op = build_request(OP_ALLOC, cache->block_bytes, (uint8_t)(TAG_CACHE_FIRST + index));
    return true;
}

static uint32_t queue_op(struct leak *leak, struct op op)
{
    return op_queue_add_on(&leak->queue, leak->host, op);
}

static void queue_step(struct leak *leak, struct random *random)
{
    struct leaking_host *host = &leak->hosts[leak->host];
    const bool is_ragged = random_chance(random, 1, 16); /* the last batch of an epoch */
    const uint64_t batch = is_ragged ? random_between(random, 1, leak->batch_bytes)
                                     : leak->batch_bytes;
    const uint32_t ref = queue_op(leak, build_request(OP_ALLOC, batch, TAG_BATCH));
    if (host->step % leak->leak_every ==
        0) { /* beside the batch, so that it stays in the way of the next one */
        queue_op(leak, build_request(OP_OUTPUT, leak->leak_bytes, leak->leak_tag));
    }
    if (host->step % 16 == 0) {
        queue_op(leak, build_delayed(OP_FREE_AFTER, ref, leak->delay_ns));
        queue_op(leak, build_advance(2 * leak->delay_ns));
    } else {
        queue_op(leak, build_on(OP_FREE, ref));
    }
    host->step++;
    host->cache_is_done = false;
}

static bool is_over(const struct leak *leak, uint8_t host)
{
    return leak->hosts[host].step >= leak->step_count ||
           leak->hosts[host].refusals >= REFUSAL_COUNT_MAX;
}

/* The next host that goes on.  False: none does. */
static bool find_turn(struct leak *leak, uint32_t host_count)
{
    for (uint32_t i = 1; i <= host_count; i++) {
        const uint8_t host = (uint8_t)((leak->host + i) % host_count);
        if (!is_over(leak, host)) {
            leak->host = host;
            return true;
        }
    }
    return false;
}

/* Notes the answer to the last op, on the host that it was for. */
static void note_answer(struct leak *leak, const struct scenario_view *view)
{
    struct leaking_host *host = &leak->hosts[leak->host];
    const struct model *model = view->hosts[leak->host];
    if (view->op_number > 0 && host->refusals < REFUSAL_COUNT_MAX &&
        model_last_result(model) == TARGET_NO_MEMORY) {
        host->refusals++;
    }
    note_cache(leak, model);
}

static bool leak_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct leak *leak = state;
    if (!leak->is_open) {
        begin_job(leak, random, view);
    }
    note_answer(leak, view);
    if (op_queue_next(&leak->queue, view, op)) {
        return true;
    }
    if (!leak->is_in_turn && !find_turn(leak, view->host_count)) {
        return false;
    }
    struct leaking_host *host = &leak->hosts[leak->host];
    leak->is_in_turn = host->step % 4 == 0 && !host->cache_is_done;
    if (leak->is_in_turn && cache_next(leak, random, view, op)) {
        host->cache_is_done = host->asked != OP_NONE;
        op->host = leak->host;
        return true;
    }
    leak->is_in_turn = false;
    queue_step(leak, random);
    return op_queue_next(&leak->queue, view, op);
}

const struct scenario scenario_slow_leak = {
    .name = "slow_leak",
    .summary =
        "20,000 to 80,000 steps that sometimes leave a small tensor behind, next to caches that only warm up, until each host is out of memory",
    .source =
        "pytorch/xla#8216 (no more than 20,000 to 80,000 steps), jax-ml/jax#7913 (200,000 steps), tensorflow/minigo#702",
    .chip = "v5e",
    .ops_per_trial = TRIAL_OP_COUNT,
    .op_count_default = TRIAL_OP_COUNT,
    .begin = leak_begin,
    .next = leak_next,
};
