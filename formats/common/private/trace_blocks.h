/* What a log calls its blocks: a hash table by (host, address), which remembers blocks that are
 * gone, too, so that a second free is told from the free of a block that was never seen. */
#ifndef FORMATS_COMMON_PRIVATE_TRACE_BLOCKS_H
#define FORMATS_COMMON_PRIVATE_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
void trace_blocks_deinit(struct trace_blocks *blocks);

/* The block of that name, valid until the next call.  If there was none it is TRACE_NEVER_SEEN, and
 * the caller gives it another state.  O(1). */
struct trace_block *trace_blocks_at(struct trace_blocks *blocks, uint8_t host, uint64_t address);
/* NULL: never seen.  O(1). */
const struct trace_block *trace_blocks_find(const struct trace_blocks *blocks, uint8_t host,
                                            uint64_t address);

#endif
