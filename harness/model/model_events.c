#include "harness/base/check.h"
#include "harness/model/private/model_state.h"

#include "harness/device/timeline.h"

/* The op that made it: a number that is never NUMBER_NONE. */
static uint32_t event_op(uint64_t event)
{
    CHECK(event >= 1);
    CHECK_COSTLY(event <= OP_NONE);
    return (uint32_t)(event - 1);
}

/* The first that waits for the event; SLOT_NONE: none does. */
static uint32_t find_first_waiter(const struct waiter_lists *waiters, uint64_t event)
{
    return number_map_find(&waiters->heads, event_op(event));
}

bool model_is_pending(const struct model *model, uint64_t event)
{
    const enum event_state state = timeline_state(model->timeline, event);
    return state == EVENT_PENDING ||
           (state == EVENT_DONE &&
            timeline_completed_index(model->timeline, event) >= model->completed_count);
}

void model_await(struct model *model, uint32_t slot, uint64_t event, bool is_use)
{
    CHECK(event != 0);
    CHECK(slot < model->block_count);
    struct waiter_lists *waiters = &model->waiters;
    uint32_t node = waiters->free_node;
    if (node == SLOT_NONE) {
        waiters->nodes = array_grown(waiters->nodes, waiters->node_count, &waiters->node_capacity,
                                     sizeof *waiters->nodes);
        node = (uint32_t)waiters->node_count++;
    } else {
        waiters->free_node = waiters->nodes[node].next;
    }
    struct block *block = &model->blocks[slot];
    const bool is_away = timeline_stream(model->timeline, event) != block->stream;
    block->away_count += is_away;
    waiters->nodes[node] = (struct event_waiter){slot, find_first_waiter(waiters, event), is_use,
                                                 is_away};
    number_map_set(&waiters->heads, event_op(event), node);
}

void model_use(struct model *model, uint32_t slot, uint64_t event)
{
    if (!model_is_pending(model, event)) {
        return;
    }
    CHECK(slot < model->block_count);
    struct block *block = &model->blocks[slot];
    CHECK(block->use_count < UINT32_MAX);
    model_await(model, slot, event, true);
    model->pin_count++;
    if (block->use_count++ == 0 && block->kind == BLOCK_PROGRAM) {
        slot_list_add(&model->busy, slot);
        model_count_reserved(model);
    }
}

static void end_one_use(struct model *model, uint32_t slot)
{
    CHECK_COSTLY(slot < model->block_count);
    struct block *block = &model->blocks[slot];
    CHECK(block->use_count > 0);
    model->pin_count--;
    if (--block->use_count == 0 && block->kind == BLOCK_PROGRAM) {
        slot_list_take(&model->busy, slot);
        model_count_reserved(model);
    }
    model_settle(model, slot);
}

void model_complete(struct model *model, uint64_t event)
{
    struct waiter_lists *waiters = &model->waiters;
    CHECK(timeline_completed_at(model->timeline, model->completed_count) == event);
    model->completed_count++;
    uint32_t node = find_first_waiter(waiters, event);
    if (node == SLOT_NONE) {
        return;
    }
    number_map_remove(&waiters->heads, event_op(event));
    while (node != SLOT_NONE) {
        const struct event_waiter waiter = waiters->nodes[node];
        waiters->nodes[node].next = waiters->free_node;
        waiters->free_node = node;
        CHECK_COSTLY(model->blocks[waiter.slot].away_count >= waiter.is_away);
        model->blocks[waiter.slot].away_count -= waiter.is_away;
        if (waiter.is_use) {
            end_one_use(model, waiter.slot);
        } else {
            CHECK(model->blocks[waiter.slot].wait_count > 0);
            model->blocks[waiter.slot].wait_count--;
            model_settle(model, waiter.slot);
        }
        node = waiter.next;
    }
}

/* --- until when --- */

/* Whatever waits for the event waits until due_ns at least. */
static void raise_waiters(const struct waiter_lists *waiters, uint64_t event, uint64_t due_ns,
                          uint64_t *wait_due_ns, uint64_t *use_due_ns)
{
    uint32_t node = find_first_waiter(waiters, event);
    for (; node != SLOT_NONE; node = waiters->nodes[node].next) {
        const struct event_waiter *waiter = &waiters->nodes[node];
        raise_to(&wait_due_ns[waiter->slot], due_ns);
        if (waiter->is_use) {
            raise_to(&use_due_ns[waiter->slot], due_ns);
        }
    }
}

static void raise_all_waiters(const struct model *model, uint64_t *wait_due_ns,
                              uint64_t *use_due_ns)
{
    const struct waiter_lists *waiters = &model->waiters;
    /* An event that is done but not absorbed was unfinished at the instant that the model shows. */
    for (uint64_t i = model->completed_count; i < timeline_completed_count(model->timeline); i++) {
        const uint64_t event = timeline_completed_at(model->timeline, i);
        const uint64_t due_ns = timeline_was_lost(model->timeline, event) ? DELAY_NEVER : 1;
        raise_waiters(waiters, event, due_ns, wait_due_ns, use_due_ns);
    }
    for (size_t i = 0; i < timeline_pending_count(model->timeline); i++) {
        const uint64_t event = timeline_pending_at(model->timeline, i);
        raise_waiters(waiters, event, timeline_due_ns(model->timeline, event), wait_due_ns,
                      use_due_ns);
    }
}

/* True if a free that waiting can end waits for the event: whoever drains awaits it. */
static bool is_awaited_by_free(const struct model *model, uint64_t event,
                               const uint64_t *wait_due_ns)
{
    const struct waiter_lists *waiters = &model->waiters;
    uint32_t node = find_first_waiter(waiters, event);
    for (; node != SLOT_NONE; node = waiters->nodes[node].next) {
        const uint32_t slot = waiters->nodes[node].slot;
        const struct block *block = &model->blocks[slot];
        if (block->state == BLOCK_DYING && block->hold_count == 0 &&
            wait_due_ns[slot] != DELAY_NEVER) {
            return true;
        }
    }
    return false;
}

/* Events that complete in any order have no times: to await one tells nothing of another.  A use
 * ends by draining only when its own event is among those that are awaited. */
static void forget_due_times(const struct model *model, uint64_t *wait_due_ns, uint64_t *use_due_ns)
{
    CHECK_COSTLY(model->is_unordered);
    CHECK_COSTLY(model->block_count > 0);
    CHECK_COSTLY(wait_due_ns != use_due_ns);
    const struct waiter_lists *waiters = &model->waiters;
    memset(use_due_ns, 0, model->block_count * sizeof *use_due_ns);
    for (size_t slot = 0; slot < model->block_count; slot++) {
        wait_due_ns[slot] = wait_due_ns[slot] == 0 || wait_due_ns[slot] == DELAY_NEVER
                                ? wait_due_ns[slot]
                                : 1;
    }
    for (size_t i = 0; i < waiters->heads.capacity; i++) {
        const struct number_entry *entry = &waiters->heads.entries[i];
        if (entry->key == NUMBER_NONE) {
            continue;
        }
        const uint32_t first = entry->value;
        const uint64_t event = (uint64_t)entry->key + 1;
        const uint64_t due_ns = is_awaited_by_free(model, event, wait_due_ns) ? 1 : DELAY_NEVER;
        for (uint32_t node = first; node != SLOT_NONE; node = waiters->nodes[node].next) {
            if (waiters->nodes[node].is_use) {
                raise_to(&use_due_ns[waiters->nodes[node].slot], due_ns);
            }
        }
    }
}

void model_due_times(const struct model *model, uint64_t *wait_due_ns, uint64_t *use_due_ns)
{
    CHECK_COSTLY(wait_due_ns != use_due_ns);
    if (model->block_count == 0) {
        return;
    }
    memset(wait_due_ns, 0, model->block_count * sizeof *wait_due_ns);
    memset(use_due_ns, 0, model->block_count * sizeof *use_due_ns);
    raise_all_waiters(model, wait_due_ns, use_due_ns);
    if (model->is_unordered) {
        forget_due_times(model, wait_due_ns, use_due_ns);
    }
}
