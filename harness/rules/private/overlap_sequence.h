/* In which order blocks lie while calls overlap, under a contract by which none moves past another:
 * those that are there from the first move to the end keep it, whatever happens in between. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_SEQUENCE_H
#define HARNESS_RULES_PRIVATE_OVERLAP_SEQUENCE_H

#include "harness/rules/judge.h"

struct sequence_member {
    const struct host *host;
    uint32_t slot; /* SLOT_NONE: it is no member any more */
};

/* Zero is a valid start. */
struct overlap_sequence {
    struct sequence_member *members; /* of each host in the order in which they lay */
    size_t count, capacity;
    uint64_t noted_hosts; /* bit for each */
};
void overlap_sequence_deinit(struct overlap_sequence *sequence);

/* Something is about to move on the host: where everything was until then.  O(blocks) once; false:
 * it was known. */
bool overlap_sequence_note(struct overlap_sequence *sequence, const struct host *host);
/* What is in the slot came into being meanwhile, or anew: it says nothing of the order. */
void overlap_sequence_drop(const struct overlap_sequence *sequence, const struct host *host,
                           uint32_t slot);
/* Every block has its place.  False: a promise is broken. */
bool overlap_sequence_judge(const struct overlap_sequence *sequence, struct judge *judge,
                            const struct host *host);

#endif
