/* Where blocks are while calls overlap.  A copy alone does not say that its block moved: the target
 * may have thought better of it.  Afterwards it says where each block is, and the copies that lead
 * there are the moves. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_MOVES_H
#define HARNESS_RULES_PRIVATE_OVERLAP_MOVES_H

#include "harness/rules/judge.h"
#include "harness/rules/private/overlap_sequence.h"
#include "harness/rules/private/overlap_stages.h"

struct young {
    const struct host *host;
    uint32_t slot;
};

/* What an op made, of which so many bytes keep their contents, at an address. */
struct overlap_thing {
    uint32_t op;
    uint64_t bytes, address;
};

/* Zero is a valid start, but for let_go. */
struct overlap_moves {
    /* a held block moves: it was released before if it could be */
    void (*let_go)(void *context, const struct host *host, uint32_t slot);
    void *context;
    bool has_moved;      /* something was copied or staged */
    struct young *young; /* blocks that came into being meanwhile; young_count of them */
    size_t young_count, young_capacity;
    uint32_t *copied; /* the slots of the copy that is taken in */
    size_t copied_capacity;
    struct overlap_stages stages;
    struct overlap_sequence sequence;
};
void overlap_moves_deinit(struct overlap_moves *moves);

void overlap_moves_add_young(struct overlap_moves *moves, const struct host *host, uint32_t slot);
/* The next device call of the log, a copy or stage that was granted.  False: a promise is broken.
 */
bool overlap_moves_take(struct overlap_moves *moves, struct judge *judge, struct host *host,
                        const struct device_call *made);
/* Whether what the op made is somewhere else than at address in the end, as far as it can be asked.
 */
bool overlap_moves_ends_elsewhere(const struct host *host, uint32_t op, uint64_t address);
/* Whether it is there in the end, as far as it can be asked. */
bool overlap_moves_ends_at(const struct host *host, uint32_t op, uint64_t address);
/* Whether the copy or stage of the log, which begins with the thing's address, can have taken it to
 * where it is in the end; true if that cannot be asked. */
bool overlap_moves_may_have_taken(const struct host *host, const struct device_call *made,
                                  const struct overlap_thing *thing);
/* Whether the copy or stage of the log took the thing away from its address, as far as it can be
 * asked: it leads to where that is in the end, and no later one leads there. */
bool overlap_moves_took_away(const struct host *host, const struct device_call *made,
                             const struct overlap_thing *thing);
/* What came into being is written to the stages that were taken out of it and have not ended;
 * before places are looked for.  It may be in host memory alone though nothing was copied over its
 * place: that is kept for another block. */
void overlap_moves_stamp_staged(const struct overlap_moves *moves, const struct host *host);
/* Every block has its place: those that came into being are written where they are. */
void overlap_moves_stamp(const struct overlap_moves *moves, const struct host *host);

#endif
