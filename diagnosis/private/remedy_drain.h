/* A forced drain while a list is written anew: ops after which no event of before is pending, so
 * that queued frees are done. */
#ifndef DIAGNOSIS_PRIVATE_REMEDY_DRAIN_H
#define DIAGNOSIS_PRIVATE_REMEDY_DRAIN_H

#include "diagnosis/private/remedy_rewrite.h"

#include <stdbool.h>

/* The events that were enqueued since the last drain. */
struct drain {
    uint64_t delay_ns; /* after which all of it is done, but for what is lost */
    uint32_t *lost; /* lost_count events that no time completes, by old number; some were completed
                       since */
    bool *is_lost;  /* by old number: of lost, and not completed yet */
    size_t lost_count, lost_room;
    uint32_t first; /* events with lower old numbers were drained */
    bool has_events;
    uint32_t clock_count; /* hosts with a time of their own; 1: all share one */
    uint64_t bound_ns;    /* of collectives */
};
struct setup;
/* op_count: of the old list. */
void drain_init(struct drain *drain, const struct setup *setup, size_t op_count);
void drain_deinit(struct drain *drain);

/* Takes in op number i of the old list, which was written. */
void drain_note(struct drain *drain, const struct op_list *from, uint32_t i);
/* True if op i completes an event that a drain completed before: nothing is left for it to
 * do. */
bool drain_makes_needless(const struct drain *drain, const struct op_list *from, uint32_t i);
/* Appends the ops of a drain, none when nothing was enqueued: time passes until every delay is
 * over, and events that are lost are completed.  `at`: number of the old op that comes next.  True:
 * it appended some. */
bool drain_put(struct drain *drain, struct rewrite *rewrite, uint32_t at);

#endif
