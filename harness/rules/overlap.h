/* What is written down while calls of several lanes overlap: the calls, and how far the device had
 * come at each begin and each return.  judge_overlap() judges it.
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
/* Forgets the calls; their memory is kept for the next overlap. */
void overlap_clear(struct overlap *overlap);

/* Returns the number of the call in this overlap.  The host must outlive it. */
uint32_t overlap_begin(struct overlap *overlap, const struct judge *judge, struct host *host,
                       uint8_t lane);
/* The call answer->number, which is under way, has returned.  Call and message are copied. */
void overlap_end(struct overlap *overlap, const struct judge *judge,
                 const struct overlap_answer *answer);
/* What completed since the last return counts as before it: the lanes were called no more, but the
 * device went on. Some call has begun. */
void overlap_stretch(struct overlap *overlap, const struct judge *judge);

/* The error text of a call that has returned, to be asked by the thread that made it, before its
 * next one, until which it is the target's; "" = none. */
const char *overlap_message(struct host *host, const struct call *call);

#endif
