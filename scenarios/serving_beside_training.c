/* A serving engine and trainers on one device, as in reinforcement learning: the engine (host 0)
 * makes rollouts with weights and a KV-cache of equal blocks, then sleeps; a trainer wakes, makes
 * steps with an optimizer's state and activations, and sleeps before the engine wakes again.
 *
 * All hosts share the memory of one device, where one alone has room.  Some hand it over wrongly:
 * the next one wakes while the one before has not slept yet, and is refused; or that one forgets to
 * sleep for a whole turn, and the next one gets none.  Such a wake must fail, leave the target
 * asleep, and succeed once the other has slept.  A target that grows in regions never sleeps: all
 * are awake, and one gives way by freeing what it does not need for its next turn. */
#include "scenarios/private/parts.h"
#include "scenarios/scenarios.h"

enum { TAG_WEIGHTS = 1, TAG_KV, TAG_PARAMETERS, TAG_OPTIMIZER, TAG_ACTIVATIONS, TAG_PROGRAM };
enum { ENGINE = 0, KEPT_COUNT = 2, PARTS = 64, TRY_COUNT_MAX = 3 };
#define DELAY_MAX_NS UINT64_C(50000000) /* 50 ms */

/* A turn: the host that is next may try too early; the one before sleeps, or forgets it and works
 * on; the next one wakes and works. */
enum serving_phase { EARLY, REST, WAKE, WORK };

struct serving {
    uint8_t phase, tries;                 /* tries: sleeps or wakes of this phase so far */
    uint8_t worked, next;                 /* hosts: who has worked, and whose turn it is */
    bool forgets;                         /* the one who has worked does not sleep this turn */
    uint32_t unit_count;                  /* requests or steps that are left of the turn */
    uint64_t kv_bytes, kept_bytes;        /* of one block; 0 = not drawn yet */
    uint32_t programs[OP_HOST_COUNT_MAX]; /* the op that loaded it; OP_NONE */
    struct op_queue queue;
};
static_assert(sizeof(struct serving) <= SCENARIO_STATE_BYTES, "the state fits");

/* Room for one host, or somewhat more, which is still too little for two. */
static uint64_t draw_shared_bytes(struct random *random, const struct setup *setup)
{
    const uint64_t eighths = random_between(random, 1, 7);
    const bool has_more = random_chance(random, 1, 2);
    return has_more && setup->capacity_bytes >= 8
               ? setup->capacity_bytes + setup->capacity_bytes / 8 * eighths
               : 0;
}

static void serving_begin(void *state, struct random *random, struct setup *setup,
                          bool capacity_is_free)
{
    struct serving *serving = state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e", .granules_min = 64});
    if (setup->host_count == 1) {
        setup_set_hosts(setup, random_chance(random, 1, 4) ? 3 : 2);
    }
    setup->has_clocks = true;
    setup->shared_hosts = UINT64_MAX >> (64 - setup->host_count);
    setup->shared_bytes = draw_shared_bytes(random, setup);
    const bool keeps = random_chance(random, 2, 3);
    if (setup_option(setup, "sleep") == NULL) {
        (void)setup_set_option(setup, "sleep", keeps ? "keeps" : "discards");
    }
    setup_set_tag(setup, TAG_WEIGHTS, "weights");
    setup_set_tag(setup, TAG_KV, "kv_cache");
    setup_set_tag(setup, TAG_PARAMETERS, "parameters");
    setup_set_tag(setup, TAG_OPTIMIZER, "optimizer");
    setup_set_tag(setup, TAG_ACTIVATIONS, "activations");
    setup_set_tag(setup, TAG_PROGRAM, "step");
    serving->phase = WAKE;
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        serving->programs[i] = OP_NONE;
    }
}

static void queue_on(struct serving *serving, uint8_t host, struct op op)
{
    (void)op_queue_add_on(&serving->queue, host, op);
}

static uint32_t queue_named(struct serving *serving, uint8_t host, struct op op)
{
    return op_queue_add_on(&serving->queue, host, op);
}

/* --- what they do while they are awake --- */

static size_t count_of(const struct model *model, uint8_t tag)
{
    size_t count = 0;
    for (size_t i = 0; i < model_live_count(model); i++) {
        count += model_live(model, i)->tag == tag;
    }
    return count;
}

/* A block of that tag, or OP_NONE. */
static uint32_t pick_of(struct random *random, const struct model *model, uint8_t tag)
{
    const size_t count = count_of(model, tag);
    size_t at = count == 0 ? 0 : (size_t)random_below(random, count);
    for (size_t i = 0; count > 0 && i < model_live_count(model); i++) {
        if (model_live(model, i)->tag == tag && at-- == 0) {
            return model_live(model, i)->op;
        }
    }
    return OP_NONE;
}

/* Queues the blocks that stay from turn to turn, and the program. */
static void queue_kept(struct serving *serving, uint8_t host, const struct model *model,
                       uint8_t tag)
{
    for (size_t i = count_of(model, tag); i < KEPT_COUNT; i++) {
        queue_on(serving, host, build_request(OP_ALLOC, serving->kept_bytes, tag));
    }
}

static void queue_program(struct serving *serving, uint8_t host, const struct scenario_view *view)
{
    const struct model *model = view->hosts[host];
    if (model_contract(model)->programs && !has_made(model, serving->programs[host]) &&
        op_queue_is_empty(&serving->queue)) {
        serving->programs[host] = view->op_number;
        queue_on(
            serving, host,
            build_load(device_part(model, 1, PARTS), device_part(model, 2, PARTS), TAG_PROGRAM));
    }
}

/* The program works on what the queue's entry makes; the event is that of the execution, or of the
 * use. */
static uint32_t queue_execution(struct serving *serving, struct random *random, uint8_t host,
                                uint32_t block)
{
    const uint64_t delay_ns = random_log_uniform(random, 1000, DELAY_MAX_NS);
    if (serving->programs[host] == OP_NONE) {
        return queue_named(serving, host, build_delayed(OP_USE, block, delay_ns));
    }
    const uint32_t execution = queue_named(
        serving, host, build_delayed(OP_EXECUTE, serving->programs[host], delay_ns));
    queue_on(serving, host, build_awaiting(OP_USE, block, execution));
    return execution;
}

/* A request comes: blocks of KV-cache for its prompt, then it decodes.  Others end, or are
 * preempted. */
static void queue_request(struct serving *serving, struct random *random,
                          const struct scenario_view *view)
{
    const struct model *model = view->hosts[ENGINE];
    const bool was_refused = model_last_result(model) == TARGET_NO_MEMORY;
    const uint32_t ended = pick_of(random, model, TAG_KV);
    if (ended != OP_NONE && (was_refused || random_chance(random, 2, 5))) {
        queue_on(serving, ENGINE, build_on(OP_FREE, ended));
    }
    const uint32_t count = (uint32_t)random_between(random, 1, 3);
    for (uint32_t i = 0; i < count && !was_refused; i++) {
        const uint32_t block = queue_named(serving, ENGINE,
                                           build_request(OP_ALLOC, serving->kv_bytes, TAG_KV));
        (void)queue_execution(serving, random, ENGINE, block);
    }
    queue_on(serving, ENGINE, build_advance(random_log_uniform(random, 1000, DELAY_MAX_NS)));
}

/* The cache is dropped before the weights are saved, most often. */
static void queue_end_of_rollout(struct serving *serving, struct random *random,
                                 const struct model *model)
{
    for (size_t i = 0; i < model_live_count(model) && random_chance(random, 9, 10); i++) {
        if (model_live(model, i)->tag == TAG_KV) {
            queue_on(serving, ENGINE, build_on(OP_FREE, model_live(model, i)->op));
        }
    }
}

/* Activations, which are gone once the step ends. */
static void queue_step(struct serving *serving, struct random *random, uint8_t host,
                       const struct model *model)
{
    const uint32_t count = (uint32_t)random_between(random, 1, 4);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bytes = device_part(model, random_between(random, 2, 16), PARTS);
        const uint32_t block = queue_named(serving, host,
                                           build_request(OP_OUTPUT, bytes, TAG_ACTIVATIONS));
        const uint32_t event = queue_execution(serving, random, host, block);
        queue_on(serving, host,
                 random_chance(random, 1, 2) ? build_awaiting(OP_FREE_AFTER, block, event)
                                             : build_on(OP_FREE, block));
    }
    queue_on(serving, host, build_advance(random_log_uniform(random, 1000, DELAY_MAX_NS)));
}

static void queue_work(struct serving *serving, struct random *random, uint8_t host,
                       const struct scenario_view *view)
{
    const struct model *model = view->hosts[host];
    queue_program(serving, host, view);
    queue_kept(serving, host, model, host == ENGINE ? TAG_WEIGHTS : TAG_PARAMETERS);
    if (host != ENGINE) {
        queue_kept(serving, host, model, TAG_OPTIMIZER);
        queue_step(serving, random, host, model);
    } else if (serving->unit_count > 0) {
        queue_request(serving, random, view);
    } else {
        queue_end_of_rollout(serving, random, model);
    }
}

/* --- turns --- */

/* Sizes of the trial: the engine's cache grows until a request is refused.  Where nobody sleeps
 * the weights and parameters of all lie on the device at once. */
static void draw_sizes(struct serving *serving, struct random *random, const struct model *model)
{
    const uint64_t kept_max = model_contract(model)->sleeps == SLEEP_NONE ? 4 : 10;
    serving->kv_bytes = device_part(model, random_between(random, 2, 8), PARTS);
    serving->kept_bytes = device_part(model, random_between(random, 2, kept_max), PARTS);
}

static void begin_turn(struct serving *serving, struct random *random, uint32_t host_count)
{
    serving->worked = serving->next;
    serving->next = (uint8_t)((serving->next + 1) % host_count);
    serving->tries = 0;
    serving->unit_count = (uint32_t)random_between(random, 2, 8);
    const bool is_early = random_chance(random, 1, 3);
    serving->forgets = is_early && random_chance(random, 1, 4);
    serving->phase = is_early ? EARLY : REST;
}

/* Frees all but weights and parameters, for a model that cannot sleep. */
static bool give_way_next(const struct serving *serving, const struct model *model, struct op *op)
{
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        if (block->tag != TAG_WEIGHTS && block->tag != TAG_PARAMETERS) {
            *op = build_on(OP_FREE, block->op);
            op->host = serving->worked;
            return true;
        }
    }
    return false;
}

/* True: *op is the next one on the host's way to sleep. */
static bool rest_next(struct serving *serving, const struct model *model, struct op *op)
{
    if (model_contract(model)->sleeps == SLEEP_NONE) {
        return give_way_next(serving, model, op);
    }
    if (model_is_asleep(model) || serving->tries == TRY_COUNT_MAX) {
        return false;
    }
    if (model_event_count(model) > 0) {
        *op = build_complete(model_event_op(model, 0));
    } else {
        *op = op_make(OP_SLEEP);
        serving->tries++;
    }
    op->host = serving->worked;
    return true;
}

static bool wake_next(struct serving *serving, const struct model *model, uint8_t tries_max,
                      struct op *op)
{
    if (!model_is_asleep(model) || serving->tries == tries_max) {
        return false;
    }
    *op = op_make(OP_WAKE);
    op->host = serving->next;
    serving->tries++;
    return true;
}

/* Works on the host; one that forgets to sleep works on, and the next one is left without. */
static bool work_next(struct serving *serving, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    const uint8_t host = serving->forgets ? serving->worked : serving->next;
    while (!op_queue_next(&serving->queue, view, op)) {
        if (serving->unit_count == 0 || model_is_asleep(view->hosts[host])) {
            return false;
        }
        serving->unit_count--;
        queue_work(serving, random, host, view);
    }
    return true;
}

static bool phase_next(struct serving *serving, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *next = view->hosts[serving->next];
    const struct model *worked = view->hosts[serving->worked];
    return serving->phase == EARLY  ? wake_next(serving, next, 1, op)
           : serving->phase == REST ? !serving->forgets && rest_next(serving, worked, op)
           : serving->phase == WAKE ? wake_next(serving, next, TRY_COUNT_MAX, op)
                                    : work_next(serving, random, view, op);
}

static bool serving_next(void *state, struct random *random, const struct scenario_view *view,
                         struct op *op)
{
    struct serving *serving = state;
    if (serving->kv_bytes == 0) {
        draw_sizes(serving, random, view->hosts[ENGINE]);
        serving->unit_count = (uint32_t)random_between(random, 2, 8);
    }
    while (!phase_next(serving, random, view, op)) {
        serving->tries = 0;
        if (serving->phase != WORK) {
            serving->phase++;
            continue;
        }
        if (serving->forgets) { /* it is still its turn to sleep */
            serving->forgets = false;
            serving->unit_count = (uint32_t)random_between(random, 2, 8);
            serving->phase = REST;
        } else {
            begin_turn(serving, random, view->host_count);
        }
    }
    return true;
}

const struct scenario scenario_serving_beside_training = {
    .name = "serving_beside_training",
    .summary =
        "a serving engine that sleeps and wakes beside trainers on one device; some wake before the other has slept",
    .source =
        "vLLM's sleep mode beside a trainer (reinforcement learning): vllm-project/vllm#21336, #16663, PR 34600",
    .chip = "v5e",
    .ops_per_trial = 600,
    .shares_device = true,
    .has_clocks = true,
    .begin = serving_begin,
    .next = serving_next,
};
