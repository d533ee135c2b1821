/* The record of calls of several lanes that overlap: the calls, and how far the device had come at
 * each begin and each return.  judge_overlap() judges it.
 *
 * The calls of an overlap are those from the first that began while none was under way to the
 * instant at which none is any more.  For one thread at a time, except overlap_message(). */
#ifndef HARNESS_RULES_OVERLAP_H
#define HARNESS_RULES_OVERLAP_H

#include "harness/rules/judge.h"

/* One call of the overlap. */
struct overlap_call {
    struct call call;
    struct host *host;
    char *message; /* its error text; "" when it has none.  The overlap's */
    uint8_t lane;
    bool is_over;
};

/* A begin or a return, and how far the rest had come. */
struct overlap_mark {
    uint32_t call;
    bool is_return;
    uint64_t completed_count;                       /* completions before it */
    uint32_t device_call_counts[OP_HOST_COUNT_MAX]; /* device calls before it, by host */
};

/* The outcome of a call. */
struct overlap_answer {
    uint32_t number; /* of the call in the overlap */
    const struct call *call;
    const char *message;
};

/* Zero is a valid start. */
struct overlap {
    struct overlap_call *calls; /* call_count of them, in the order in which they began */
    size_t call_count, call_capacity;
    struct overlap_mark *marks;
    size_t mark_count, mark_capacity;
    uint32_t under_way_count;
};
void overlap_deinit(struct overlap *overlap);
/* Forgets the calls; their memory is kept for the next overlap. */
void overlap_clear(struct overlap *overlap);

/* Returns the number of the call in this overlap.  The host must outlive it. */
uint32_t overlap_begin(struct overlap *overlap, const struct judge *judge, struct host *host,
                       uint8_t lane);
/* The call answer->number, which is under way, has returned.  Call and message are copied. */
void overlap_end(struct overlap *overlap, const struct judge *judge,
                 const struct overlap_answer *answer);
/* Counts what completed since the last return as before it: the lanes were called no more, but the
 * device went on.  Some call has begun. */
void overlap_stretch(struct overlap *overlap, const struct judge *judge);

/* The error text of a call that has returned, to be asked by the thread that made it, before its
 * next one, until which it is the target's; "" = none. */
const char *overlap_message(struct host *host, const struct call *call);

/* --- judging --- */

/* Judges calls of several lanes that overlapped: for each there must be an instant between its call
 * and its return at which its answer was right (linearizability: Herlihy and Wing, TOPLAS 1990).
 *
 * Device calls and completions have their place in the time of an overlap (struct overlap_mark); of
 * a call's own effect only the bounds are known.  What takes memory takes effect as soon as its
 * range is free, what gives memory back as late as the others' answers allow.  That order leaves
 * the least room at every instant, but for one thing: who gets the place of what is given back may
 * get more than that.  So an out-of-memory that it does not excuse is held against those orders,
 * too (overlap_orders.c), and premature only if none excuses it. */

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
