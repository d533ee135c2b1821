/* Where blocks are while calls overlap.  A copy alone does not say that its block moved: the target may have thought
 * better of it.  Afterwards it says where each block is, and the copies that lead there are the moves.  Only the
 * judgement on overlaps includes it. */
#ifndef HARNESS_OVERLAP_MOVES_H
#define HARNESS_OVERLAP_MOVES_H

#include "harness/judge.h"

struct young {
    const struct host *host;
    uint32_t slot;
};

/* What a stage that was taken out holds, if a block was there. */
struct staged {
    const struct host *host;
    uint64_t stage;
    uint32_t slot, op; /* a slot is another block's once the first is gone */
    bool may_stay; /* the device did not take it back while nobody kept it in place: from then on it may be in host
                      memory alone, where a hold does not say at which address it is */
};

/* Zero is a valid start. */
struct overlap_moves {
    bool has_moved;        /* something was copied or staged */
    struct young *young;   /* blocks that came into being meanwhile; young_count of them */
    size_t young_count, young_capacity;
    struct staged *staged; /* staged_count of them */
    size_t staged_count, staged_capacity;
};
void overlap_moves_deinit(struct overlap_moves *moves);

void overlap_moves_add_young(struct overlap_moves *moves, const struct host *host, uint32_t slot);
/* The next device call of the log, a copy or stage that was granted.  False: a promise is broken. */
bool overlap_moves_take(struct overlap_moves *moves, struct judge *judge, struct host *host,
                        const struct device_call *made);
/* The next device call of the log, one that was refused. */
void overlap_moves_take_refused(const struct overlap_moves *moves, const struct host *host,
                                const struct device_call *made);
/* The block that lay where the stage was taken out; false: none did. */
bool overlap_moves_find_staged(const struct overlap_moves *moves, const struct host *host, uint64_t stage,
                               uint32_t *slot);
/* Whether a stage of the block was taken out: where its place is overwritten it is in host memory alone. */
bool overlap_moves_was_staged(const struct overlap_moves *moves, const struct host *host, uint32_t slot);
/* Blocks in the range of which a stage was taken out have gone to host memory: something else was placed there. */
void overlap_moves_strand_staged(const struct overlap_moves *moves, struct host *host, uint64_t start, uint64_t end);
/* Whether what the op made is somewhere else than at address in the end, as far as it can be asked. */
bool overlap_moves_ends_elsewhere(const struct host *host, uint32_t op, uint64_t address);
/* What came into being is written to the stages that were taken out of it and have not ended; before places are looked
 * for.  It may be in host memory alone though nothing was copied over its place: that is kept for another block. */
void overlap_moves_stamp_staged(const struct overlap_moves *moves, const struct host *host);
/* What the device did not take back, and of which the target says that it has no address, is in host memory alone:
 * holds that came after the refusal do not speak against it.  After the stages are written, before places are looked
 * for. */
void overlap_moves_strand_refused(const struct overlap_moves *moves, struct host *host);
/* Every block has its place: those that came into being are written where they are. */
void overlap_moves_stamp(const struct overlap_moves *moves, const struct host *host);

#endif
