#include "scenarios/scenarios.h"

#include "scenarios/private/client.h"
#include "scenarios/private/parts.h"

#include <assert.h>
#include <stdio.h>

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
        const uint64_t bytes = client_held_bytes(other, model);
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
        client_queue_reaction(client, stuck ? REACTION_ABORT : reaction,
                              find_largest(reacting, client, model), &reacting->queue, random,
                              model);
    } else if (client_held_bytes(client, model) < client->demand_bytes) {
        client_queue_request(client, &reacting->queue, random, model);
    } else {
        client_queue_run(client, &reacting->queue, random, model);
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
            client_settle(&reacting->clients[i], model);
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
