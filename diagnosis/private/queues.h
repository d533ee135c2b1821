/* Finds the queued frees that wait for one event. */
#ifndef DIAGNOSIS_PRIVATE_QUEUES_H
#define DIAGNOSIS_PRIVATE_QUEUES_H

#include "diagnosis/evidence.h"

struct queue {
    uint32_t event_op; /* that made the event */
    bool is_lost;
    uint64_t bytes, count; /* that wait for it */
};

/* *most: the queue with most bytes on the evidence's host, that of the earliest event of equal
 * ones; *all: the sums of all, whose event_op says nothing.  All 0 where nothing is queued.
 * O(blocks log blocks). */
void queues_find(const struct evidence *evidence, struct queue *most, struct queue *all);

#endif
