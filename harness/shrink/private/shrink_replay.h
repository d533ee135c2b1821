/* Trying a list in this process, for those that ask more than whether it shows the finding. */
#ifndef HARNESS_SHRINK_PRIVATE_SHRINK_REPLAY_H
#define HARNESS_SHRINK_PRIVATE_SHRINK_REPLAY_H

#include "harness/shrink/shrink.h"

/* The answer to the last op. */
struct shrink_answer {
    bool is_granted;
    bool has_mitigation;           /* the target waited, moved or evicted for it */
    bool has_drained, has_evicted; /* in any op of the list */
};

/* Explains as shrink_explain does, for a list without lanes.  answer may be NULL. */
bool shrink_explain_or_answer(struct shrink_replaying *replaying, const struct setup *setup,
                              struct op_list *ops, struct verdict *first,
                              struct shrink_answer *answer);

#endif
