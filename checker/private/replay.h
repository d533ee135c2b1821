/* The state of one host, op by op as the observations of a list have it. */
#ifndef CHECKER_PRIVATE_REPLAY_H
#define CHECKER_PRIVATE_REPLAY_H
#include "checker/private/fact.h"
#include "checker/private/history.h"

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
struct wait {
    size_t next; /* 0: there is none; the first wait is 1 */
    uint32_t event;
    bool is_use;
};
/* An event, by the op that made it. */
struct event {
    uint64_t due;
    uint32_t before; /* enqueued on the same stream; NO_OP */
    bool has_other_due, is_done;
};
struct held {
    uint64_t address, size, align, stack, most; /* most: what its size may be */
    size_t waits;
    uint32_t holds, recording; /* the op that began it; or NO_OP */
    uint8_t kind, stream;      /* kind: of its op */
    bool is_there, is_dying, is_evicted;
};
/* The state of a recording, by the op that began it. */
enum recording { RECORDING_NONE, RECORDING_OPEN, RECORDING_ENDED, RECORDING_DROPPED };
struct replay {
    const struct list *list;
    const struct log *log;
    const struct promise *promise;
    struct held *blocks;
    struct event *events;
    struct wait *waits;
    size_t wait_count;
    uint8_t *recordings; /* enum recording */
    uint32_t open_recording;
    uint32_t last_events[STREAM_COUNT]; /* enqueued there; NO_OP */
    struct fact_regions regions;        /* of the host */
    size_t region_capacity;
    uint64_t now_before;      /* when the op at hand began */
    uint64_t nows[HOSTS_MAX]; /* by host: when its last op ended; 0 where all have one time */
    char *reason;
};

/* Writes why, and is false. */
__attribute__((format(printf, 2, 3))) bool replay_fail(struct replay *replay, const char *format,
                                                       ...);
/* Takes in what the op at number did, if it is of that host, and what its line says of others.
 * False: it goes against the list. */
bool replay_take_line(struct replay *replay, size_t number, uint8_t host);

/* Returns true when the freed block has left, as far as its own stream goes. */
bool replay_is_gone(const struct replay *replay, const struct held *block);
/* Returns true when the block's recording was not dropped. */
bool replay_is_recorded(const struct replay *replay, const struct held *block);
/* Returns true when the request may not have what the block left. */
bool replay_is_kept(const struct replay *replay, const struct held *block, size_t request);

#endif
