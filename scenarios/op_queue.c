#include "scenarios/private/op_queue.h"

void op_queue_clear(struct op_queue *queue)
{
    queue->count = 0;
    queue->next = 0;
}

uint32_t op_queue_add(struct op_queue *queue, struct op op)
{
    if (queue->count >= OP_QUEUE_COUNT_MAX) {
        return OP_NONE;
    }
    queue->ops[queue->count] = op;
    return OP_QUEUE_ENTRY(queue->count++);
}

uint32_t op_queue_add_on(struct op_queue *queue, uint8_t host, struct op op)
{
    op.host = host;
    return op_queue_add(queue, op);
}

/* Returns the op that a name stands for now, or OP_NONE for an entry that was dropped. */
static uint32_t resolve_name(const struct op_queue *queue, uint32_t name)
{
    if (name == OP_NONE || (name & OP_QUEUE_ENTRY(0)) == 0) {
        return name;
    }
    const uint32_t index = name & ~OP_QUEUE_ENTRY(0);
    return index < queue->next ? queue->numbers[index] : OP_NONE;
}

/* True if the op's references are still there.  An event that is done is gone from no list a
 * scenario can see; such an op acts, and means "at once". */
static bool may_act(const struct op *op, bool awaited, const struct scenario_view *view)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (op->host >= view->host_count) {
        return false;
    }
    if (awaited && op->event == OP_NONE) {
        return false;
    }
    /* A release may name a block that is freed already, and that only this release ends. */
    return !(info->has_block || info->has_program) || op->kind == OP_RELEASE ||
           model_find(view->hosts[op->host], op->ref) != NULL;
}

bool op_queue_next(struct op_queue *queue, const struct scenario_view *view, struct op *op)
{
    while (queue->next < queue->count) {
        struct op candidate = queue->ops[queue->next];
        const bool awaited = candidate.event != OP_NONE;
        candidate.ref = resolve_name(queue, candidate.ref);
        candidate.event = resolve_name(queue, candidate.event);
        const bool acts = may_act(&candidate, awaited, view);
        queue->numbers[queue->next++] = acts ? view->op_number : OP_NONE;
        if (acts) {
            *op = candidate;
            return true;
        }
    }
    op_queue_clear(queue);
    return false;
}
