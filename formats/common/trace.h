/* A log of allocations and frees, in order of time, becomes ops.  Streams become lanes, with the
 * schedule that keeps the order of the log; a free that is requested and completes later becomes a
 * free after an event that completes there; a request that failed stays a request, and the import
 * says that the log saw it fail.  A log that begins in the middle has its missing start rebuilt
 * where a later event determines it: blocks whose free is seen, with a size, were there before.
 *
 * An importer calls trace_begin, one call for each event, and trace_end, whatever happened between.
 */
#ifndef FORMATS_COMMON_TRACE_H
#define FORMATS_COMMON_TRACE_H

#include "formats/common/import.h"

struct event_trace;

/* The facts of an event.  Zero-initialise, then set. */
struct trace_event {
    uint64_t address; /* names the block until it is freed, in the words of the log; any number */
    /* what the block takes; 0 = not said (trace_alloc and trace_failed need it) */
    uint64_t size_bytes;
    uint64_t requested_bytes; /* what was asked for, when that is less: the rest is padding; 0 =
                                 size_bytes */
    uint64_t stream; /* any number, the same on every host; lanes are numbered as they come */
    uint8_t host; /* its device; addresses of different hosts have nothing to do with each other */
    uint8_t tag;  /* of trace_tag; 0 = none */
    uint32_t
        stack;   /* of import->stacks, for what makes a block; STACKS_NONE where there are none */
    size_t line; /* for messages; of the text, from 1, or 0 */
};

/* Everything that is made goes into import; input->fixed is obeyed.  Both must outlive the trace.
 */
struct event_trace *trace_begin(const struct import_input *input, struct import *import,
                                struct import_error *error);

/* A tag_giver, of a trace: the first 254 names have a tag each. */
uint8_t trace_give_tag(void *trace, size_t rank, const char *name);
/* The tag of that name (cut to SETUP_NAME_BYTES - 1), a new one if need be.  When 254 are used up,
 * the tag named "other".  O(1). */
uint8_t trace_tag(struct event_trace *trace, const char *name, size_t length);

/* Each returns IMPORT_OK, or IMPORT_INVALID with *error set: the event contradicts what came before
 * (a block where one is live, a second free, sizes that differ), or sums above 2^50.  A free of an
 * address that was never seen is no contradiction: with a size it was there at the start, without
 * one it is counted and left out.  O(1). */
enum import_result trace_alloc(struct event_trace *trace, const struct trace_event *event);
enum import_result trace_free(struct event_trace *trace,
                              const struct trace_event *event); /* at once */
enum import_result trace_free_requested(struct event_trace *trace,
                                        const struct trace_event *event); /* by the user */
enum import_result trace_free_completed(struct event_trace *trace,
                                        const struct trace_event *event); /* reusable now */
enum import_result trace_failed(struct event_trace *trace,
                                const struct trace_event *event); /* no address */

/* A block that the log's final state shows and no event made or freed: it was there all the time.
 * After the events. */
enum import_result trace_was_there(struct event_trace *trace, const struct trace_event *event);

/* True if a block of that address is live after the events so far (queued frees are not). */
bool trace_is_live(const struct event_trace *trace, uint8_t host, uint64_t address);

/* The device of that host has no more than these bytes, cut to whole granules; 0: nothing is known.
 * trace_end retires what the capacity is above them, unless it is fixed. */
void trace_limit_host(struct event_trace *trace, uint8_t host, uint64_t bytes);

/* The totals of what came in.  Sizes are those of the events (unrounded), queued frees count until
 * they complete, blocks of the missing start count from the beginning. */
struct trace_totals {
    uint64_t allocs, frees, failures; /* ops made of them */
    uint64_t at_start;                /* blocks of the missing start */
    uint64_t retired;                 /* hosts whose rest is: the first ops of the list */
    uint64_t unknown_frees;           /* left out: no size is known */
    uint64_t live_bytes, live_count;  /* at the end, of all hosts together */
    uint64_t peak_bytes;              /* the highest of any host */
    uint64_t streams;
};

/* Puts the rests that are retired and the blocks of the missing start before the ops, chooses what
 * is not fixed, adds notes (what was rebuilt, assumed, left out), and frees the trace in every
 * case.  totals may be NULL. IMPORT_INCOMPLETE: no event became an op.  IMPORT_INVALID: as above.
 *
 * - The granule, unless it is fixed or in import->setup since before trace_begin(): the largest
 *   power of two up to 512 that divides all sizes.
 * - The capacity, unless it is fixed or in import->setup: the peak, with every size rounded up to
 *   the granule, of a long log an eighth more (import.h); target option defrag=repack is
 *   suggested.
 * - A failure that would fit by its bytes is followed by a free of it: nobody frees what the log
 *   did not grant, and a replay may grant it.
 * - 2 to 16 streams become lanes, with the schedule at the end of the list under which a replay
 *   executes the ops in the order of the log.  Where a lane would wait inside for another, or end
 *   early, it gets a pause (an op `advance` by nothing).  More streams, more than 2^20 ops (a
 *   replay with lanes is slower, and its list longer), a rest that is retired (a replay with lanes
 *   skips it), or another target than hbm, which may not take lanes: one lane, and a note. */
enum import_result trace_end(struct event_trace *trace, struct trace_totals *totals);
/* Instead of trace_end, when the import failed.  NULL is allowed. */
void trace_abandon(struct event_trace *trace);

#endif
