/* The findings of a run, one entry for each signature: a run goes on after what does no harm, so
 * that there may be several. */
#ifndef HARNESS_RUN_RUN_FINDINGS_H
#define HARNESS_RUN_RUN_FINDINGS_H

#include "harness/call/call.h"
#include "harness/oracle/signature.h"

#include <stdint.h>

/* A run with more different findings than this is told of the first ones. */
enum { RUN_FINDING_COUNT_MAX = 16 };

struct run_finding {
    struct verdict verdict; /* the first with this signature */
    uint32_t list;          /* which of the trial's lists shows it: see struct trial */
    uint64_t count;         /* verdicts with this signature; at least 1 */
    char signature[SIGNATURE_BYTES];
    char message[OBSERVATION_MESSAGE_BYTES]; /* the target's words to it */
};

/* An open value; zero is a valid start. */
struct run_findings {
    struct run_finding
        findings[RUN_FINDING_COUNT_MAX]; /* count of them, in the order of their ops */
    size_t count;
};

/* Notes a verdict that is premature, broken or disputed, unless it was found before or there are
 * too many: then a graver one takes the place of the last.  ops is the list as recorded so far. */
void run_findings_add(struct run_findings *findings, const struct verdict *verdict,
                      const struct op_list *ops, const char *message);
/* Notes a finding of another run by the same rules, its verdicts counted.  True: it is the last one
 * now; its list is 0. */
bool run_findings_take(struct run_findings *findings, const struct run_finding *finding);
/* Does the same as the first for the verdict that ended the run, in the words that are reported.
 * It replaces the one with its signature, or the last if there are too many. */
void run_findings_set(struct run_findings *findings, const struct verdict *verdict,
                      const struct op_list *ops);
/* Copies what there is, and no more. */
void run_findings_copy(struct run_findings *to, const struct run_findings *from);

/* The one that shows the finding of that signature (signature_stands_for); NULL: none does. */
const struct run_finding *run_findings_find(const struct run_findings *findings,
                                            const char *signature);
/* The gravest, of equally grave ones the first; NULL: there is none. */
const struct run_finding *run_findings_gravest(const struct run_findings *findings);
/* Leaves what is to be told of a trial, the gravest first: a wrong counter that came before harm is
 * its first sign, and no finding of its own. */
void run_findings_settle(struct run_findings *findings);

#endif
