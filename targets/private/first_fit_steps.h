/* Runs first_fit's steps before it refuses a request, if it is told to: it awaits queued frees one
 * by one, then evicts idle programs one by one. */
#ifndef TARGETS_PRIVATE_FIRST_FIT_STEPS_H
#define TARGETS_PRIVATE_FIRST_FIT_STEPS_H

#include "targets/private/first_fit_heap.h"

/* A call begins: what the device refused or could not end in the last one may be asked for again.
 */
void first_fit_begin_steps(struct first_fit_heap *heap);
/* Awaits a queued free or, when none is left that waiting can end, evicts a program; then takes in
 * what the device has finished.  False: there is none either, and nothing was finished. */
bool first_fit_step(struct first_fit_heap *heap, bool may_evict);

/* Places an evicted program again, where first_fit_find_place() said; it waits for event.  False:
 * host memory was refused, and nothing changed. */
bool first_fit_bring_back(struct first_fit_heap *heap, struct first_fit_node *program,
                          uint64_t event, uint64_t address, struct first_fit_node *above);
/* The client does not need the evicted program any more. */
void first_fit_forget(struct first_fit_heap *heap, struct first_fit_node *program);

#endif
