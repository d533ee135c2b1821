#include "scenarios/private/client.h"

#include "scenarios/private/parts.h"

enum { USED_COUNT_MAX = 4, PROGRAM_PARTS = 32 };
#define DELAY_MAX_NS UINT64_C(10000000) /* 10 ms: a step, or a copy to the host */

static bool is_of(const struct client *client, const struct block *block)
{
    return block->tag == client->tag;
}

uint64_t client_held_bytes(const struct client *client, const struct model *model)
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

void client_settle(struct client *client, const struct model *model)
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
    const uint64_t held = client_held_bytes(client, model);
    const uint64_t rest = client->demand_bytes > held ? client->demand_bytes - held : 1;
    return build_request(
        OP_ALLOC, whole_granules(model, client->batch_bytes < rest ? client->batch_bytes : rest),
        client->tag);
}

void client_queue_request(const struct client *client, struct op_queue *queue,
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

void client_queue_run(const struct client *client, struct op_queue *queue, struct random *random,
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

void client_queue_reaction(struct client *client, enum reaction reaction, struct client *other,
                           struct op_queue *queue, struct random *random, const struct model *model)
{
    switch (reaction) {
    case REACTION_AGAIN:
        op_queue_add(queue, build_again(client, model));
        return;
    case REACTION_SPLIT:
        queue_split(client, queue, model);
        return;
    case REACTION_ROLL_BACK:
        queue_everything(client, queue, model);
        client->refused = 0;
        return;
    case REACTION_SPILL:
        queue_spill(client, CLIENT_BLOCKS_MAX, queue, random, model);
        break;
    case REACTION_EVICT:
        queue_evict(client, queue, model);
        break;
    case REACTION_ABORT:
        queue_abort(client, other, queue, random, model);
        break;
    default:
        queue_wait(queue, random, model);
        break;
    }
    op_queue_add(queue, build_batch(client, model));
}
