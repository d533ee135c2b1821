/* Reports as events, while a run goes on, what becomes of each of its blocks.  That includes queued
 * frees that complete, moves and evictions, which are no op of their own. */
#ifndef RECORDING_BLOCK_EVENTS_H
#define RECORDING_BLOCK_EVENTS_H

#include "formats/export/export.h"
#include "harness/run/run.h"

struct block_events;

/* event is called for each event, in order; context is its first argument.  NULL: no host memory.
 */
struct block_events *block_events_create(void (*event)(void *context,
                                                       const struct export_event *event),
                                         void *context);
void block_events_destroy(struct block_events *block_events);
/* Before the first op: events do not say the largest hole, which costs O(blocks) where it changed.
 */
void block_events_leave_out_holes(struct block_events *block_events);

/* To be called from a run_listener after each op, with its arguments; the ops that the end of the
 * run adds are left out.  False: that op was reported before.  O(hosts), O(queued frees) where one
 * completed, and O(blocks) where a block moved or was evicted, with lanes for 64 ops after it. */
bool block_events_take(struct block_events *block_events, const struct run *run,
                       const struct verdict *verdict);

/* Return, after the last op: the blocks, sorted by host and address (*count of them, owned by
 * block_events); each host's reserved bytes (OP_HOST_COUNT_MAX of them); the virtual time. */
const struct export_block *block_events_blocks(struct block_events *block_events, size_t *count);
const uint64_t *block_events_reserved(const struct block_events *block_events);
uint64_t block_events_now_ns(const struct block_events *block_events);

#endif
