/* Judges one op list on one target, op by op, as counts: what was served, what was refused, and
 * what the oracle says of the refusals. */
#ifndef MEASURE_JUDGED_H
#define MEASURE_JUDGED_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/oracle/signature.h"
#include "harness/run/run.h"
#include "harness/target.h"

enum judged_end {
    JUDGED_NOT = 0, /* it was not run */
    JUDGED_WHOLE,   /* to its last op */
    JUDGED_BROKEN,  /* a promise broke that ends a run; why */
    JUDGED_DIED,    /* the target took its process with it, or hung; why */
    JUDGED_REFUSED  /* the target does not take the setup; why */
};

/* An answer to one op. */
enum judged_answer { ANSWER_NONE = 0, ANSWER_GRANTED, ANSWER_REFUSED };

/* Plain data; bytes where the name says so, else counts. */
struct judged {
    enum judged_end end;
    uint32_t end_op;   /* of BROKEN and DIED */
    uint64_t op_count; /* run */
    uint64_t requests; /* granted or out of memory */
    uint64_t ooms, justified, premature, unknown, excused;
    uint64_t broken;                                 /* verdicts on other rules */
    uint64_t free_refused_count, free_refused_bytes; /* requests refused while as many bytes were
                                                        free, wherever they lay */
    bool has_addresses;                              /* placement ranges */
    char
        signature[SIGNATURE_BYTES]; /* of the gravest finding that is no out-of-memory; "" = none */
    char why[VERDICT_REASON_BYTES];
};

/* Runs the list in this process.  answers (enum judged_answer) has a place for each op, zeroed.
 * *judged is initialised here. */
void judged_run(const struct target *target, const struct setup *setup, const struct op_list *ops,
                struct judged *judged, uint8_t *answers);

/* Finds the first op of the list whose request the target does not serve, or at which it breaks a
 * promise, on a device of the setup.  Stops there and returns its number; ops->count when all are
 * served; OP_NONE when the target does not accept the setup. */
uint32_t judged_first_refused(const struct target *target, const struct setup *setup,
                              const struct op_list *ops);

/* A target that is judged by another contract than it declares, so that two targets can be judged
 * by the same one. */
enum held_kind {
    HELD_DECLARED = 0, /* by its own */
    HELD_NONE,         /* by its own without size classes: each block has its request rounded up to
                          granules, with its header, at any multiple of the granule */
    HELD_ROUNDING,     /* by its own with another rounding */
    HELD_CONTRACT      /* by another one altogether */
};

struct judged_held {
    enum held_kind kind;
    struct target_rounding rounding; /* HELD_ROUNDING */
    struct target_contract contract; /* HELD_CONTRACT; HELD_NONE reads its header_bytes */
};

/* Makes *judged the same target, and puts into *setup what its contract is to be.  held is copied;
 * target outlives *judged.  One such target can be used at a time, in one thread: open has no other
 * way to know the contract. */
void held_make(const struct judged_held *held, const struct target *target, struct target *judged,
               struct setup *setup);

/* The largest request that a target serves in the middle of a list, found by asking.
 * Runs the list up to op `last`, then asks for blocks and frees each at once: the largest size, in
 * granules, that a bisection finds served (a larger one may be, too: what is served is not monotone
 * in the size).  False: the target did not get there, or broke a promise.  In this process. */
bool room_measure(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  uint32_t last, uint64_t *bytes);

#endif
