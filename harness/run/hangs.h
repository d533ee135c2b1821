/* Who waited in vain for a collective, and why: a host that does not come lets all of its group
 * wait; for each such host, what became of it.  A hang is the job's doing; it breaks no promise of
 * an allocator.
 *
 * A step of a host counts the executions of its program named HANG_STEP_PROGRAM: an op is of step k
 * when k of them came before it. */
#ifndef HARNESS_RUN_HANGS_H
#define HARNESS_RUN_HANGS_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

#define HANG_STEP_PROGRAM "train_step"
#define HANG_NO_STEP UINT64_MAX /* no execution of such a program so far on any host */

struct call;
struct collectives;
struct hang_watch;
struct host;
struct observation;

/* --- who waits --- */

/* A run with more of them is told of the first ones. */
enum { WAIT_COUNT_MAX = 256 };

struct vain_wait {
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
    struct vain_wait waits[WAIT_COUNT_MAX]; /* count of them, in the order in which they ended */
    size_t count;
    uint64_t total;           /* the others, too */
    struct hang_watch *watch; /* notes why they waited; NULL: nobody does */
};

/* Notes the collectives that the host awaited in this call until the bound.  Costs nothing while
 * none is open. */
void waits_note_call(struct waits *waits, const struct wait_place *place, const struct host *host,
                     const struct call *call);
/* Notes who is waiting now, at the end of a list. */
void waits_note_end(struct waits *waits, const struct wait_place *place);

/* --- why --- */

enum { HANG_COUNT_MAX = 32 }; /* that are told of each run */

/* The causes, in the order in which they are looked for. */
enum hang_cause {
    HANG_OOM = 0,   /* it ran out of memory, and executed nothing from there on */
    HANG_ORDER,     /* it waits itself in another collective, at last for the host that waits */
    HANG_ELSEWHERE, /* it waits itself in another collective, for somebody else */
    HANG_BEHIND,    /* it goes on, and is not there yet */
    HANG_GONE,      /* its ops end there, and those of others go on: it left without a word */
    HANG_LIST_ENDS, /* its ops end there, and so do those of the others: no hang for certain */
    HANG_CAUSE_COUNT
};
const char *hang_cause_name(enum hang_cause cause); /* "out_of_memory", "order", ... */

/* Hosts that wait in one collective, for one host.  Steps: HANG_NO_STEP where none is known. */
struct hang {
    enum hang_cause cause;
    uint16_t group;
    uint64_t waiting;     /* bit per host */
    uint32_t since;       /* the op that joined first */
    uint64_t since_step;  /* of the host of that op */
    uint32_t until;       /* the op in which the first of them gave up; OP_NONE: all still wait */
    bool is_in_request;   /* until is a request: the allocator waited */
    uint64_t waited_ns;   /* until then; UINT64_MAX: still waiting */
    uint8_t missing;      /* the host that does not come */
    uint64_t step;        /* where it was then */
    uint64_t behind;      /* so many steps behind the host that waited, then */
    uint32_t cause_op;    /* OOM: that request; ORDER, ELSEWHERE: the op that joined the other one;
                             otherwise its last op so far, OP_NONE: it had none */
    uint64_t cause_step;  /* of cause_op, for OOM */
    uint16_t other_group; /* ORDER, ELSEWHERE: in which it waits */
    uint64_t other_missing; /* and for whom, bit per host */
    bool is_silent;         /* OOM: nothing follows but what frees memory */
    uint32_t came;          /* the op with which it joined after all; OP_NONE: it never did */
    uint64_t again;         /* so many more collectives in which hosts waited for it alike */
};

struct hangs {
    struct hang hangs[HANG_COUNT_MAX]; /* count of them, in the order in which waits ended */
    size_t count;
    uint64_t more; /* that found no place */
};

/* Listens to a run of several hosts. */
struct hang_watch *hang_watch_create(const struct setup *setup); /* setup outlives it */
void hang_watch_destroy(struct hang_watch *watch);               /* NULL: nothing */

/* After each op of the list, once it is judged.  O(1) but for ops that join what others await. */
void hang_watch_hear(struct hang_watch *watch, const struct collectives *collectives,
                     const struct op_list *ops, const struct observation *observation);
/* Reads what is known now, every cause decided as if the list ended here. */
void hang_watch_read(const struct hang_watch *watch, const struct op_list *ops,
                     struct hangs *hangs);

#endif
