/* What becomes of each block of a run, told as events while the run goes on: queued frees that
 * complete, moves, and evictions, too, which are no op of their own. */
#ifndef CLI_HAPPENINGS_H
#define CLI_HAPPENINGS_H

#include "formats/export.h"
#include "harness/run/run.h"

struct happenings;

/* event is called for each event, in order; context is its first argument.  NULL: no host memory.
 */
struct happenings *happenings_create(void (*event)(void *context, const struct export_event *event),
                                     void *context);
void happenings_destroy(struct happenings *happenings);

/* To be called from a run_listener after each op, with what it is given; what the end of the run
 * does is left out. O(hosts), and O(blocks) where a block moved, completed its free, or was
 * evicted, with lanes for 64 ops after it. */
void happenings_take(struct happenings *happenings, const struct run *run,
                     const struct verdict *verdict);

/* How it stands after the last op: the blocks, sorted by host and address (*count of them, the
 * happenings'), each host's reserved bytes (OP_HOST_COUNT_MAX of them), and the virtual time. */
const struct export_block *happenings_blocks(struct happenings *happenings, size_t *count);
const uint64_t *happenings_reserved(const struct happenings *happenings);
uint64_t happenings_now_ns(const struct happenings *happenings);

#endif
