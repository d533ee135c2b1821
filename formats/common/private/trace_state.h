/* A trace while it is read, as its parts share it: events become ops (trace_events.c), and once
 * all are known the list gets its front, its lanes and its setup (trace_end.c). */
#ifndef FORMATS_COMMON_PRIVATE_TRACE_STATE_H
#define FORMATS_COMMON_PRIVATE_TRACE_STATE_H

#include "formats/common/import.h"
#include "formats/common/tags.h"
#include "formats/common/trace.h"
#include "harness/lanes/lanes_list.h"

enum {
    /* Above this all ops stay in one lane.  A replay with lanes costs some 600 bytes and 3 us an op
     * more than one without (measured: 100,000 ops of 4 streams on hbm take 0.43 s and 81 MB
     * instead of 0.17 s and 25 MB), and its schedule makes the list up to twice as long. */
    TRACE_LANE_OPS_MAX = 1 << 20
};
/* Bit of a reference that counts in the missing start, until trace_end(). */
#define TRACE_START_REF ((uint32_t)1 << 31)
#define TRACE_OPS_MAX                                                                             \
    (TRACE_START_REF - ((uint32_t)1 << 26)) /* room for what trace_end() adds: schedule and start \
                                             */

/* The states of the blocks that a log names.  A hash table by (host, address) remembers blocks that
 * are gone, too, so that a second free is told from the free of a block that was never seen. */
enum trace_state {
    TRACE_NEVER_SEEN = 0, /* a free place of the table */
    TRACE_LIVE,
    TRACE_QUEUED,         /* its free is requested, and did not complete */
    TRACE_UNKNOWN_QUEUED, /* the same of a block whose size nobody knows: no op stands for it */
    TRACE_FREED,
};

struct trace_block {
    uint64_t address, size_bytes;
    uint32_t op; /* that made it; while it is queued: that frees it */
    uint8_t host, state;
};

/* Open addressing, at most half full.  A probe that is longer than chance makes it hashes all anew
 * with another seed, which is drawn, so that no choice of addresses makes it slow.  Zero is an
 * empty table. */
struct trace_blocks {
    struct trace_block *blocks; /* room of them, a power of two */
    size_t count, room;
    unsigned room_log2;
    uint64_t seed;
};

/* Bytes of one host.  now and peak count from what was there at the start. */
struct trace_sum {
    uint64_t base; /* of the missing start, as far as it is known */
    int64_t now, peak;
};
struct trace_host {
    struct trace_sum said,
        rounded;          /* as events say, and each size rounded up to a granule that is fixed */
    uint64_t limit_bytes; /* of its device; 0 = not known */
};

/* A request that the log saw fail. */
struct trace_failure {
    uint32_t op;
    int64_t rounded_now; /* of its host */
};

struct event_trace {
    const struct import_input *input;
    struct import *import;
    struct import_error *error;
    struct trace_blocks blocks;
    struct trace_blocks streams; /* by number of the log: ->op is ours */
    uint64_t stream_last;        /* the stream of the last op; valid when stream_count > 0 */
    uint32_t stream_last_number, stream_count;
    /* the missing start: allocations; before them, at the end, what is retired */
    struct op_list start;
    struct trace_failure *failures;
    size_t failure_count, failure_room;
    struct trace_host hosts[OP_HOST_COUNT_MAX];
    uint8_t host_count;
    uint64_t granule_bytes; /* what is fixed, or set by the importer; 0 = neither */
    uint64_t size_bits; /* all sizes, or-ed: the lowest bit is the largest power of two that divides
                           all */
    struct tag_table tags;
    struct trace_totals totals;
    uint64_t start_bytes;
    uint64_t cut_request_count; /* of failures: beyond what a setup can hold */
};

#endif
