/* A short list of ops that a scenario has decided on and hands out one by one.  An entry may name
 * what an earlier entry makes; an entry whose block, program or event never came to be is dropped,
 * not emitted. */
#ifndef SCENARIOS_PRIVATE_OP_QUEUE_H
#define SCENARIOS_PRIVATE_OP_QUEUE_H

#include "harness/generate/scenario.h"

enum { OP_QUEUE_COUNT_MAX = 64 };

/* Names what entry `index` makes, in ref and event of later entries.  Numbers of real ops stay
 * below it: a list of two thousand million ops does not fit in memory. */
#define OP_QUEUE_ENTRY(index) (UINT32_C(0x80000000) | (uint32_t)(index))

/* Plain data; all zero is an empty queue.  next <= count <= OP_QUEUE_COUNT_MAX. */
struct op_queue {
    uint32_t count; /* entries since it was last empty */
    uint32_t next;  /* entries before it are handed out or dropped */
    struct op ops[OP_QUEUE_COUNT_MAX];
    uint32_t numbers[OP_QUEUE_COUNT_MAX]; /* the op number that entry got; OP_NONE when dropped */
};

static inline bool op_queue_is_empty(const struct op_queue *queue)
{
    return queue->next == queue->count;
}

/* Forgets all entries, what they made included. */
void op_queue_clear(struct op_queue *queue);

/* Adds an op and gives back how later entries name what it makes; when the queue is full the op is
 * dropped and the name is OP_NONE. */
uint32_t op_queue_add(struct op_queue *queue, struct op op);

/* Does the same for an op of that host. */
uint32_t op_queue_add_on(struct op_queue *queue, uint8_t host, struct op op);

/* Hands out the next entry that can act.  False: none is left. */
bool op_queue_next(struct op_queue *queue, const struct scenario_view *view, struct op *op);

#endif
