/* Judges one op list on one target, op by op, as counts: what was served, what was refused, and
 * what the oracle says of the refusals. */
#ifndef MEASURE_JUDGED_H
#define MEASURE_JUDGED_H

#include "harness/oracle/signature.h"
#include "harness/run/run.h"

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

#endif
