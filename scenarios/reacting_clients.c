/* Clients that react to an out-of-memory share one device; the tag of a block says whose it is. */
#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>
#include <stdio.h>

/* Each is another answer to the same error. */
enum reaction {
    REACTION_WAIT = 0,  /* time passes, or an event completes; then it asks for the same */
    REACTION_AGAIN,     /* it asks for the same at once, with time pinned if nothing came between */
    REACTION_SPILL,     /* some of its blocks go to the host, which takes time; it asks again */
    REACTION_SPLIT,     /* it asks for half, twice */
    REACTION_EVICT,     /* it unloads its program, or drops its oldest block; it asks again */
    REACTION_ROLL_BACK, /* it frees all that it has and begins anew */
    REACTION_ABORT, /* it asks while another client's memory is being spilled; that one is aborted
                       from outside meanwhile: all its blocks are freed at once, and its events
                       complete */
    REACTION_COUNT
};

enum { CLIENT_COUNT_MIN = 2, CLIENT_COUNT_MAX = 8, CLIENT_BLOCKS_MAX = 24 };

/* Plain data. */
struct client {
    uint64_t demand_bytes; /* that it needs to run */
    uint64_t batch_bytes;  /* that it asks for at a time */
    uint32_t asked;        /* the op of its last request; OP_NONE: none is to be looked at */
    uint32_t answered;     /* the one before, whose answer is known; OP_NONE */
    uint32_t refused;      /* so often in a row, since it was granted something */
    uint32_t program;      /* the op that loaded it; OP_NONE */
    uint8_t tag;           /* of its blocks: its number */
    bool is_loading;       /* asked is its program */
};

enum { USED_COUNT_MAX = 4, PROGRAM_PARTS = 32 };
#define DELAY_MAX_NS UINT64_C(10000000) /* 10 ms: a step, or a copy to the host */

static bool is_of(const struct client *client, const struct block *block)
{
    return block->tag == client->tag;
}

/* The bytes of its blocks that it can name.  O(blocks). */
static uint64_t count_held_bytes(const struct client *client, const struct model *model)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        bytes += is_of(client, block) ? block->size_bytes : 0;
    }
    return bytes;
}

/* Up to CLIENT_BLOCKS_MAX of its blocks, in the order of the model. */
static size_t list_blocks(const struct client *client, const struct model *model,
                          const struct block *blocks[CLIENT_BLOCKS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < model_live_count(model) && count < CLIENT_BLOCKS_MAX; i++) {
        if (is_of(client, model_live(model, i))) {
            blocks[count++] = model_live(model, i);
        }
    }
    return count;
}

/* Looks at the answer to its last request, once. */
static void settle_client(struct client *client, const struct model *model)
{
    if (client->asked == OP_NONE) {
        return;
    }
    const bool is_granted = has_made(model, client->asked);
    client->refused = is_granted ? 0 : client->refused + 1;
    if (client->is_loading) {
        client->program = is_granted ? client->asked : OP_NONE;
        client->refused = 0; /* it runs without */
    }
    client->answered = client->asked;
    client->asked = OP_NONE;
    client->is_loading = false;
}

static uint64_t draw_delay(struct random *random)
{
    return random_chance(random, 1, 8) ? DELAY_NEVER
                                       : random_log_uniform(random, 1000, DELAY_MAX_NS);
}

static struct op build_batch(const struct client *client, const struct model *model)
{
    const uint64_t held = count_held_bytes(client, model);
    const uint64_t rest = client->demand_bytes > held ? client->demand_bytes - held : 1;
    return build_request(
        OP_ALLOC, whole_granules(model, client->batch_bytes < rest ? client->batch_bytes : rest),
        client->tag);
}

/* The rest of its demand, a batch at most. */
static void queue_request(const struct client *client, struct op_queue *queue,
                          struct random *random, const struct model *model)
{
    struct op op = build_batch(client, model);
    op.kind = random_chance(random, 1, 4) ? OP_OUTPUT : OP_ALLOC;
    const uint32_t made = op_queue_add(queue, op);
    if (!repacks(model) && random_chance(random, 1, 8)) {
        op_queue_add(queue, build_on(OP_HOLD, made));
    }
}

static void queue_free(struct op_queue *queue, const struct block *block)
{
    for (uint32_t i = 0; i < block->hold_count; i++) {
        op_queue_add(queue, build_on(OP_RELEASE, block->op));
    }
    op_queue_add(queue, build_on(OP_FREE, block->op));
}

/* Everything is there: it executes its program, if it has one, uses its blocks until that ends, and
 * frees some or all of them. */
static void queue_run(const struct client *client, struct op_queue *queue, struct random *random,
                      const struct model *model)
{
    const struct block *blocks[CLIENT_BLOCKS_MAX];
    const size_t count = list_blocks(client, model, blocks);
    uint32_t execution = OP_NONE;
    if (has_made(model, client->program)) {
        execution = op_queue_add(queue,
                                 build_delayed(OP_EXECUTE, client->program, draw_delay(random)));
    } else if (model_contract(model)->programs && random_chance(random, 1, 2)) {
        const uint64_t image = device_part(model, random_between(random, 1, 4), PROGRAM_PARTS);
        op_queue_add(queue, build_load(image, image / 2, client->tag));
    }
    for (size_t i = 0; i < count && i < USED_COUNT_MAX && execution != OP_NONE; i++) {
        op_queue_add(queue, build_awaiting(OP_USE, blocks[i]->op, execution));
    }
    if (count > 0) {
        op_queue_add(queue, build_on(OP_TOUCH, blocks[random_below(random, count)]->op));
    }
    /* The blocks that stay are its cache. */
    const size_t kept = random_chance(random, 1, 3) ? (size_t)random_below(random, count + 1) : 0;
    for (size_t i = kept; i < count; i++) {
        queue_free(queue, blocks[i]);
    }
}

/* --- reactions --- */

static void queue_wait(struct op_queue *queue, struct random *random, const struct model *model)
{
    if (model_event_count(model) > 0 && random_chance(random, 1, 2)) {
        const size_t at = (size_t)random_below(random, model_event_count(model));
        op_queue_add(queue, build_complete(model_event_op(model, at)));
    } else {
        op_queue_add(queue, build_advance(random_log_uniform(random, 1000, DELAY_MAX_NS)));
    }
}

static struct op build_again(const struct client *client, const struct model *model)
{
    struct op op = build_batch(client, model);
    const bool is_at_once = model_last_op(model) == client->answered &&
                            model_last_result(model) == TARGET_NO_MEMORY &&
                            !model_last_skipped(model);
    op.flags |= is_at_once ? OP_RETRY : 0;
    return op;
}

/* It reads them first: that is the copy. */
static void queue_spill(const struct client *client, size_t most, struct op_queue *queue,
                        struct random *random, const struct model *model)
{
    const struct block *blocks[CLIENT_BLOCKS_MAX];
    const size_t count = list_blocks(client, model, blocks);
    const size_t wanted = count == 0 ? 0 : 1 + (size_t)random_below(random, count);
    for (size_t i = 0; i < wanted && i < most; i++) {
        const uint32_t op = blocks[count - 1 - i]->op;
        if (blocks[count - 1 - i]->hold_count > 0) {
            continue; /* pinned */
        }
        op_queue_add(queue, build_on(OP_TOUCH, op));
        op_queue_add(queue, build_delayed(OP_FREE_AFTER, op, draw_delay(random)));
    }
}

static void queue_split(struct client *client, struct op_queue *queue, const struct model *model)
{
    client->batch_bytes = whole_granules(model, client->batch_bytes / 2);
    op_queue_add(queue, build_batch(client, model));
    op_queue_add(queue, build_batch(client, model));
}

static void queue_evict(const struct client *client, struct op_queue *queue,
                        const struct model *model)
{
    const struct block *blocks[CLIENT_BLOCKS_MAX];
    const size_t count = list_blocks(client, model, blocks);
    if (has_made(model, client->program)) {
        op_queue_add(queue, build_on(OP_UNLOAD, client->program));
    } else if (count > 0) {
        queue_free(queue, blocks[0]);
    }
}

static void queue_everything(const struct client *client, struct op_queue *queue,
                             const struct model *model)
{
    const struct block *blocks[CLIENT_BLOCKS_MAX];
    const size_t count = list_blocks(client, model, blocks);
    for (size_t i = 0; i < count; i++) {
        queue_free(queue, blocks[i]);
    }
}

/* The other one spills, which takes time; the request drains and evicts; then the other one is gone
 * at once, its program and its events with it. */
static void queue_abort(const struct client *client, struct client *other, struct op_queue *queue,
                        struct random *random, const struct model *model)
{
    queue_spill(other, USED_COUNT_MAX, queue, random, model);
    op_queue_add(queue, build_batch(client, model));
    queue_everything(other, queue, model);
    if (has_made(model, other->program)) {
        op_queue_add(queue, build_on(OP_UNLOAD, other->program));
    }
    for (size_t i = 0; i < model_event_count(model) && i < USED_COUNT_MAX; i++) {
        op_queue_add(queue, build_complete(model_event_op(model, i)));
    }
    other->refused = 0;
    other->program = OP_NONE;
}

/* other: whom REACTION_ABORT aborts.  client->refused > 0. */
static void queue_reaction(struct client *client, enum reaction reaction, struct client *other,
                           struct op_queue *queue, struct random *random, const struct model *model)
{
    if (reaction == REACTION_AGAIN) {
        op_queue_add(queue, build_again(client, model));
        return;
    }
    if (reaction == REACTION_SPLIT) {
        queue_split(client, queue, model);
        return;
    }
    if (reaction == REACTION_ROLL_BACK) {
        queue_everything(client, queue, model);
        client->refused = 0;
        return;
    }
    if (reaction == REACTION_SPILL) {
        queue_spill(client, CLIENT_BLOCKS_MAX, queue, random, model);
    } else if (reaction == REACTION_EVICT) {
        queue_evict(client, queue, model);
    } else if (reaction == REACTION_ABORT) {
        queue_abort(client, other, queue, random, model);
    } else {
        queue_wait(queue, random, model);
    }
    op_queue_add(queue, build_batch(client, model));
}

/* --- the scenario --- */

enum { STUBBORN_ROUNDS = 4 };

struct reacting {
    struct op_queue queue;
    struct client clients[CLIENT_COUNT_MAX]; /* client_count of them */
    uint32_t client_count;
    uint32_t turn_count; /* still to come in this round; 0: all go, and a new round begins */
    uint32_t weights[REACTION_COUNT];
    uint32_t patience; /* so often all may be refused before one is aborted */
    bool is_clearing;
};
static_assert(sizeof(struct reacting) <= SCENARIO_STATE_BYTES, "the state fits");

static void reacting_begin(void *state, struct random *random, struct setup *setup,
                           bool capacity_is_free)
{
    struct reacting *reacting = state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e", .granules_min = 16});
    reacting->client_count = (uint32_t)random_between(random, CLIENT_COUNT_MIN, CLIENT_COUNT_MAX);
    for (uint32_t i = 0; i < reacting->client_count; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "client %u", i);
        setup_set_tag(setup, (uint8_t)i, name);
    }
}

/* The demands together are one and a quarter to four times the device; now and then one is more
 * than the device by itself. */
static void draw_demand(struct reacting *reacting, struct client *client, struct random *random,
                        const struct model *model)
{
    const uint64_t parts = random_between(random, 20, 64) / reacting->client_count + 1;
    const uint64_t most = random_chance(random, 1, 24) ? 18 : 15;
    client->demand_bytes = device_part(model, parts < most ? parts : most, 16);
    const uint64_t pieces = random_log_uniform(random, 1, repacks(model) ? 3 : 16);
    client->batch_bytes = whole_granules(model, client->demand_bytes / pieces);
}

/* In one round of four nobody does anything but wait. */
static void begin_round(struct reacting *reacting, struct random *random, const struct model *model)
{
    const bool is_stubborn = random_chance(random, 1, 4);
    for (int i = 0; i < REACTION_COUNT; i++) {
        const bool is_on = i == REACTION_WAIT || (!is_stubborn && random_chance(random, 2, 3));
        reacting->weights[i] = is_on ? (uint32_t)random_between(random, 1, 4) : 0;
    }
    reacting->weights[REACTION_AGAIN] += is_stubborn;
    reacting->patience = (uint32_t)random_between(random, 1, STUBBORN_ROUNDS);
    reacting->turn_count = (uint32_t)random_between(random, 20, 200);
    for (uint32_t i = 0; i < reacting->client_count; i++) {
        reacting->clients[i] = (struct client){
            .tag = (uint8_t)i, .asked = OP_NONE, .answered = OP_NONE, .program = OP_NONE};
        draw_demand(reacting, &reacting->clients[i], random, model);
    }
}

/* Everybody was refused, more often than there is patience for. */
static bool is_stuck(const struct reacting *reacting)
{
    for (uint32_t i = 0; i < reacting->client_count; i++) {
        if (reacting->clients[i].refused <= reacting->patience) {
            return false;
        }
    }
    return true;
}

/* Returns the one that has most, of the others. */
static struct client *find_largest(struct reacting *reacting, const struct client *client,
                                   const struct model *model)
{
    struct client *largest = NULL;
    uint64_t largest_bytes = 0;
    for (uint32_t i = 0; i < reacting->client_count; i++) {
        struct client *other = &reacting->clients[i];
        const uint64_t bytes = count_held_bytes(other, model);
        if (other != client && (largest == NULL || bytes > largest_bytes)) {
            largest = other;
            largest_bytes = bytes;
        }
    }
    return largest;
}

/* Who splits on and on would fill the device with crumbs, of which no search could decide what
 * fits. */
static enum reaction draw_reaction(const struct reacting *reacting, const struct client *client,
                                   struct random *random, const struct model *model)
{
    const enum reaction drawn = random_weighted(random, reacting->weights, REACTION_COUNT);
    const uint64_t pieces_max = repacks(model) ? 4 : CLIENT_BLOCKS_MAX / 2;
    const bool is_crumb = client->batch_bytes / 2 < client->demand_bytes / pieces_max ||
                          client->batch_bytes <= model_granule_bytes(model);
    return drawn == REACTION_SPLIT && is_crumb ? REACTION_ROLL_BACK : drawn;
}

static void queue_turn(struct reacting *reacting, struct random *random, const struct model *model)
{
    struct client *client = &reacting->clients[random_below(random, reacting->client_count)];
    const bool stuck = is_stuck(reacting);
    if (client->refused > 0) {
        const enum reaction reaction = draw_reaction(reacting, client, random, model);
        queue_reaction(client, stuck ? REACTION_ABORT : reaction,
                       find_largest(reacting, client, model), &reacting->queue, random, model);
    } else if (count_held_bytes(client, model) < client->demand_bytes) {
        queue_request(client, &reacting->queue, random, model);
    } else {
        queue_run(client, &reacting->queue, random, model);
        draw_demand(reacting, client, random, model);
    }
}

/* Whose request it is: the answer is looked at when the queue is empty. */
static void note_request(struct reacting *reacting, const struct op *op, uint32_t number)
{
    if (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD) {
        struct client *client = &reacting->clients[op->tag];
        client->asked = number;
        client->is_loading = op->kind == OP_LOAD;
    }
}

static bool reacting_next(void *state, struct random *random, const struct scenario_view *view,
                          struct op *op)
{
    struct reacting *reacting = state;
    const struct model *model = view->hosts[0];
    while (!op_queue_next(&reacting->queue, view, op)) {
        for (uint32_t i = 0; i < reacting->client_count; i++) {
            settle_client(&reacting->clients[i], model);
        }
        if (reacting->turn_count > 0) {
            reacting->turn_count--;
            reacting->is_clearing = reacting->turn_count == 0;
            queue_turn(reacting, random, model);
        } else if (reacting->is_clearing) {
            reacting->is_clearing = clear_next(view, 0, false, op);
            if (reacting->is_clearing) {
                return true;
            }
        } else {
            begin_round(reacting, random, model);
        }
    }
    note_request(reacting, op, view->op_number);
    return true;
}

const struct scenario scenario_reacting_clients = {
    .name = "reacting_clients",
    .summary =
        "2 to 8 clients in a budget too small for all: refused, they wait, spill, split, evict, roll back, or are aborted",
    .source =
        "Velox's memory arbitration fuzzer; NVIDIA/cudf-spark#8278, #12158: all wait, and none gives way",
    .chip = "v5e",
    .ops_per_trial = 2000,
    .begin = reacting_begin,
    .next = reacting_next,
};
