/* Carries a plan out step by step on an out-of-memory, as docs/certificate.md says under "Claim
 * premature": plainly, and without the harness's own notion of a reached state. */
#ifndef TESTS_HARNESS_ORACLE_PLAN_SIMULATOR_H
#define TESTS_HARNESS_ORACLE_PLAN_SIMULATOR_H

#include "harness/oracle/oom.h"
#include "harness/oracle/proof.h"

#include <stdbool.h>

enum { PLAN_SIMULATOR_REASON_BYTES = 160 };

/* Whether every statement of the plan holds and the request has its place at the end; else reason
 * says which one fails.  Only until_ns, evicted, moves and address count; the sums that a plan has
 * beside them do not.  The blocks may be in any order and overlap: then no plan is good. */
bool plan_simulate(const struct oom *oom, const struct proof_plan *plan,
                   char reason[PLAN_SIMULATOR_REASON_BYTES]);

/* What the contract and the refused calls leave of the mitigations; T of the document. */
enum defrag_contract plan_defrag(const struct oom *oom);
bool plan_may_evict(const struct oom *oom);
uint64_t plan_drain_ns(const struct oom *oom);

#endif
