/* Judges calls of several lanes that overlapped: for each there must be an instant between its call
 * and its return at which its answer was right (linearizability: Herlihy and Wing, TOPLAS 1990).
 *
 * Device calls and completions have their place in the time of an overlap
 * (harness/rules/overlap.h); of a call's own effect only the bounds are known.  What takes memory
 * takes effect as soon as its range is free, what gives memory back as late as the others' answers
 * allow.  That order leaves the least room at every instant, but for one thing: who gets the place
 * of what is given back may get more than that.  So an out-of-memory that it does not excuse is
 * held against those orders, too (harness/rules/private/overlap_orders.h), and premature only if
 * none excuses it. */
#ifndef HARNESS_RULES_JUDGE_OVERLAP_H
#define HARNESS_RULES_JUDGE_OVERLAP_H

#include "harness/rules/overlap.h"

/* Told of each call in the order of their returns, with the verdict on it in *judge->verdict.
 * False: stop. */
struct overlap_teller {
    void *context;
    bool (*judged)(void *context, const struct overlap_call *call);
};
/* No call is under way, and at least one was made.  Brings the models up to date and judges; at the
 * end the state of every host is looked at as after one call, and what is wrong then is told for
 * the last call.  What breaks a rule without harm is told for its call, and a judge that goes on
 * does.  False: a broken promise that ends the run was told, or the teller stopped it.  Each device
 * call and each completion costs a look at all calls under way, and a search for each of them that
 * is an out-of-memory not excused yet. */
bool judge_overlap(struct judge *judge, struct overlap *overlap,
                   const struct overlap_teller *teller);

#endif
