/* What a list and its observations make of one host, op by op, and the facts of an out-of-memory
 * there. */
#ifndef CHECKER_PRIVATE_REPLAY_H
#define CHECKER_PRIVATE_REPLAY_H

#include "checker/private/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block as the document has it, made again from the list and its observations, and the regions of
 * a host. */

struct fact_block {
    const char *kind, *state;
    int64_t op, address, size, align, stack, holds, used_until, freed_at; /* -1: never */
};

struct fact_regions {
    uint64_t (*ranges)[2]; /* count of them, ascending: start and end; the caller frees them */
    size_t count;
};

/* The state of one host, op by op as the observations of a list have it. */

/* Larger sizes are written as this one, and later times by their order. */
#define FACT_NUMBER_MAX (UINT64_C(1) << 62)

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline int64_t round_stack(uint64_t stack, uint64_t granule)
{
    return (int64_t)((least(stack, FACT_NUMBER_MAX) + granule - 1) / granule * granule);
}

/* An event that a block awaits; the next one of the same block. */
struct replay_wait {
    size_t next; /* 0: there is none; the first wait is 1 */
    uint32_t event;
    bool is_use;
};
/* An event, by the op that made it. */
struct replay_event {
    uint64_t due;
    uint32_t before; /* enqueued on the same stream; NO_OP */
    bool has_other_due, is_done;
};
struct held_block {
    uint64_t address, size, align, stack, most; /* most: what its size may be */
    size_t waits;
    uint32_t holds, recording; /* the op that began it; or NO_OP */
    uint8_t kind, stream;      /* kind: of its op */
    bool is_there, is_dying, is_evicted;
};
/* The state of a recording, by the op that began it. */
enum checked_recording { RECORDING_NONE, RECORDING_OPEN, RECORDING_ENDED, RECORDING_DROPPED };
struct checked_replay {
    const struct list *list;
    const struct log *log;
    const struct promise *promise;
    struct held_block *blocks;
    struct replay_event *events;
    struct replay_wait *waits;
    size_t wait_count;
    uint8_t *recordings; /* enum checked_recording */
    uint32_t open_recording;
    uint32_t last_events[STREAM_COUNT]; /* enqueued there; NO_OP */
    struct fact_regions regions;        /* of the host */
    size_t region_capacity;
    uint64_t now_before;      /* when the op at hand began */
    uint64_t nows[HOSTS_MAX]; /* by host: when its last op ended; 0 where all have one time */
    char *reason;
};

/* Writes why, and is false. */
__attribute__((format(printf, 2, 3))) bool replay_fail(struct checked_replay *replay,
                                                       const char *format, ...);
/* Takes in what the op at number did, if it is of that host, and what its line says of others.
 * False: it goes against the list. */
bool replay_take_line(struct checked_replay *replay, size_t number, uint8_t host);

/* Returns true when the freed block has left, as far as its own stream goes. */
bool replay_is_gone(const struct checked_replay *replay, const struct held_block *block);
/* Returns true when the block's recording was not dropped. */
bool replay_is_recorded(const struct checked_replay *replay, const struct held_block *block);
/* Returns true when the request may not have what the block left. */
bool replay_is_kept(const struct checked_replay *replay, const struct held_block *block,
                    size_t request);

/* Memory that gone blocks left and that is kept: the pieces of it that a document shows. */

/* The bytes that a live or dying block takes, from the address on. */
struct kept_taken {
    uint64_t address, bytes;
};

/* The blocks that stand on the device, and the pieces of what was left.  Each size is the whole
 * one, and times are not yet ranked. */
struct replay_kept {
    struct kept_taken *taken;
    struct fact_block *left, *pieces;
    size_t taken_count, left_count, piece_count;
};

/* Finds the pieces, in no order, and reorders what was left; the caller frees all arrays.  False:
 * there is no memory.  O(n log n) for n blocks and ranges left. */
bool kept_cut(struct replay_kept *kept);

/* The facts of an out-of-memory, made again from the list and its observations. */

struct fact_request {
    const char *class;
    int64_t bytes, align, stack;
    uint32_t program; /* the op of the program on the device that is executed; or NO_OP */
};
struct rebuilt_facts {
    struct fact_request request;
    struct fact_regions regions;
    struct fact_block *blocks; /* by op, then by address; the caller frees them */
    size_t block_count;
    bool hides_kept; /* set by the caller: what is kept is left out */
};

/* Returns what the op asks for if granule and rounding are those.  Of an execute it omits the bytes
 * and the program: those depend on the state.  The op is a request; an execute names a load. */
struct fact_request request_of_op(const struct list *list, size_t op, uint64_t granule,
                                  const struct rounding *rounding);
/* Rebuilds all facts at that op, of which the log has a line and the list no lanes.  Refuted: the
 * log goes against the list.  Unreadable: there is no memory.  The reason says so. */
enum certificate_result facts_rebuild(const struct certificate_history *history, size_t op,
                                      struct rebuilt_facts *facts,
                                      char reason[CERTIFICATE_REASON_BYTES]);

#endif
