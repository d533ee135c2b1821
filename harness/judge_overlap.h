/* Judges calls of several lanes that overlapped: for each there must be an instant between its call and its return at
 * which its answer was right (linearizability: Herlihy and Wing, TOPLAS 1990).
 *
 * The calls of an overlap are those from the first that began while none was under way to the instant at which none is
 * any more.  Device calls and completions have their place in that time; of a call's own effect only the bounds are known.
 * What takes memory takes effect as soon as its range is free, what gives memory back as late as the others' answers
 * allow: of all orders that explain the answers this one leaves the least room at every instant, so an out-of-memory
 * that it does not excuse no order excuses. */
#ifndef HARNESS_JUDGE_OVERLAP_H
#define HARNESS_JUDGE_OVERLAP_H

#include "harness/judge.h"

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
    uint64_t completed_count;                      /* completions before it */
    uint32_t device_call_counts[OP_HOST_COUNT_MAX]; /* device calls before it, by host */
};

/* What a call came to. */
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
/* Returns the number of the call in this overlap; hosts: host_count of them. */
uint32_t overlap_begin(struct overlap *overlap, const struct judge *judge, struct host *host, uint8_t lane);
/* The message is copied. */
void overlap_end(struct overlap *overlap, const struct judge *judge, const struct overlap_answer *answer);
/* The error text of a call that has returned, to be asked by the thread that made it, before its next one; "" = none. */
const char *overlap_message(struct host *host, const struct call *call);
/* What completed since the last return counts as before it: the lanes were called no more, but the device went on. */
void overlap_stretch(struct overlap *overlap, const struct judge *judge);
void overlap_clear(struct overlap *overlap);

/* Told of each call in the order of their returns, with the verdict on it in *judge->verdict.  False: stop. */
struct overlap_teller {
    void *context;
    bool (*judged)(void *context, const struct overlap_call *call);
};
/* No call is under way.  Brings the models up to date and judges; at the end the state of every host is looked at as
 * after one call, and what is wrong then is told for the last call.  False: a promise is broken, and was told. */
bool judge_overlap(struct judge *judge, struct overlap *overlap, const struct overlap_teller *teller);

#endif
