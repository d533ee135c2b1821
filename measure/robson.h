/* Robson's adversary: how much memory a target needs where the sizes are chosen against it, and how
 * much every allocator needs that moves nothing. */
#ifndef MEASURE_ROBSON_H
#define MEASURE_ROBSON_H

#include "harness/generate/scenario.h"
#include "harness/run/run.h"
#include "measure/smallest.h"

/* The requests of the adversary: blocks of smallest bytes, of twice as many, and so on up to
 * largest, with live bytes of them at once.  largest is smallest times a power of two; live is a
 * multiple of twice largest. */
struct robson_game {
    uint64_t smallest_bytes, largest_bytes, live_bytes;
};

/* The game of docs/allocators.md: 1024 blocks of 16 KiB, up to 64 of them in one. */
extern const struct robson_game robson_published;

/* The adversary forces each allocator that moves nothing to use so much: M * (1 + log2(n / s) / 2)
 * - n + granule, where M is live, n largest and s smallest.  Why: docs/allocators.md.
 * granule_bytes: addresses are multiples of it. */
uint64_t robson_bound_bytes(const struct robson_game *game, uint64_t granule_bytes);

enum robson_end {
    ROBSON_WHOLE = 0, /* every request was granted */
    ROBSON_REFUSED,   /* one was not */
    ROBSON_BROKEN,    /* the target broke a promise */
    ROBSON_NOT        /* it was not opened */
};

struct robson_play {
    enum robson_end end;
    uint32_t op_count;
    /* Blocks that are live in the end: no two of them cover the same multiple of the largest size
     * (shifted), which is why so much is used. */
    size_t live_count;
    uint64_t granule_bytes;
    /* From the lowest byte to the highest that a granted block had, moves not counted; of a
     * contract that grows, the most that its regions had together; 0 where the contract tells no
     * addresses. */
    uint64_t used_bytes;
    bool has_addresses; /* the contract tells where blocks lie; otherwise the adversary guesses */
    bool may_move;      /* by its contract: then the bound is not its own */
    char why[RUN_REASON_BYTES];
};

/* Plays one game, with that scenario, which chooses by where the blocks are.  setup: target,
 * options, capacity, seed.  Ends at the first refusal.  In this process. */
void robson_play(const struct target *target, const struct scenario *scenario,
                 const struct setup *setup, const struct robson_game *game,
                 struct robson_play *play);

#endif
