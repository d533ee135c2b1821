/* The end of an input at which hbmstress contradicts itself: two answers that should agree do not.
 * Like a broken rule (fuzz/finding.h), each check ends the process in a function of its own, so
 * that engines tell one from another. */
#ifndef FUZZ_FINDING_CHECK_H
#define FUZZ_FINDING_CHECK_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

enum finding_check {
    FINDING_JUDGES_DIFFER = 0,    /* the oracle says another verdict than trying everything */
    FINDING_VERDICT_UNSTABLE,     /* the oracle, asked for its proof, comes to another verdict */
    FINDING_CONTRACT_LOSES_ROOM,  /* who promises more finds no place where who promises less found
                                     one */
    FINDING_INVALID_DIFFERS,      /* a request is invalid for one target and not for another */
    FINDING_COUNTERS_DIFFER,      /* the same answers at the same time leave other bytes in use */
    FINDING_PROOF_REFUTED,        /* the checker refutes a certificate of ours */
    FINDING_FALSE_CLAIM_ACCEPTED, /* the checker accepts a certificate that claims what is not so */
    FINDING_REASON_UNPRINTABLE,   /* a reason is empty, or not one line of printable text */
    FINDING_POSITION_OUTSIDE,     /* an error is said to be where there is no text */
    FINDING_TEXT_CHANGED,         /* ops, printed and read again, are not the same */
    FINDING_OP_ILLEGAL, /* an importer made an op that names nothing, or nothing of its kind */
    FINDING_MESSAGE_NOT_REPEATED, /* the ops made of an out-of-memory's message do not end in one */
    FINDING_CALLS_CONTRADICT,     /* libhbm, called by its own interface, contradicts itself */
    FINDING_CHECK_COUNT
};
const char *finding_check_name(enum finding_check check); /* "judges_differ" */

/* Prints what was found, and why, as one line each to standard error, and ends the process. Whoever
 * has a list prints it before (finding_print_ops). */
_Noreturn void finding_end_check(const char *fuzz_target, enum finding_check check,
                                 const char *reason, ...) __attribute__((format(printf, 3, 4)));

/* The list as .ops text, for the input that is about to end. */
void finding_print_ops(const char *target_name, const struct setup *setup,
                       const struct op_list *ops);

#endif
