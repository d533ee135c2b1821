/* Notes who waited in vain for a collective: a host that does not come lets all of its group wait.
 * That is the job's doing, and no promise of an allocator; why a host did not come is another
 * question (diagnosis/). */
#ifndef HARNESS_RUN_WAITS_H
#define HARNESS_RUN_WAITS_H

#include "harness/op/op.h"

struct collectives;
struct host;
struct call;
struct op_list;
struct collective;

/* A run with more of them is told of the first ones. */
enum { WAIT_COUNT_MAX = 256 };

struct wait {
    uint8_t host;   /* that waited */
    uint16_t group; /* for this one */
    uint32_t since; /* the op of that host which joined it */
    uint32_t until; /* the op in whose call it waited until the bound; OP_NONE: still waiting */
    uint64_t since_ns, until_ns; /* by its host's time; UINT64_MAX: still waiting */
    uint64_t missing;            /* bit per host: did not come */
};

/* Whose waits are noted: hosts of them all, ops so far. */
struct wait_place {
    const struct collectives *collectives;
    const struct host *hosts; /* host_count of them */
    uint32_t host_count;
    const struct op_list *ops;
};

/* An open value; zero is a valid start. */
struct waits {
    struct wait waits[WAIT_COUNT_MAX]; /* count of them, in the order in which they ended */
    size_t count;
    uint64_t total; /* the others, too */
    /* Told of all of them, with the collective, which is open; NULL: nobody is. */
    void (*noted)(void *context, const struct wait_place *place,
                  const struct collective *collective, const struct wait *wait);
    void *context;
};

/* Notes the collectives that the host awaited in this call until the bound.  Costs nothing while
 * none is open. */
void waits_note_call(struct waits *waits, const struct wait_place *place, const struct host *host,
                     const struct call *call);
/* Notes who is waiting now, at the end of a list. */
void waits_note_end(struct waits *waits, const struct wait_place *place);

#endif
