/* Checks what packing_solve says to prove an answer, from docs/certificate.md alone. */
#ifndef TESTS_HARNESS_PACKING_PACKING_PROOF_H
#define TESTS_HARNESS_PACKING_PACKING_PROOF_H

#include "harness/oracle/packing/packing.h"

/* What is wrong with the proof of the last answer, which was asked for with wants_proof; NULL when
 * it holds. UNKNOWN needs none. */
const char *packing_proof_fault(const struct packing *packing,
                                const struct packing_problem *problem,
                                const struct packing_answer *answer);

#endif
