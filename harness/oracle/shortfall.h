/* Names what a refused request would have needed: the mechanism by which premature out-of-memories
 * are told apart. */
#ifndef HARNESS_ORACLE_SHORTFALL_H
#define HARNESS_ORACLE_SHORTFALL_H

#include "harness/oracle/oracle.h"
#include "harness/oracle/reach.h"
#include "harness/oracle/verdict.h"

#include <stdbool.h>

/* Mitigations, a bit each: of those that the target made for the request before it refused it. */
enum {
    SHORTFALL_DRAIN = 1,
    SHORTFALL_DEFRAGMENT = 2,
    SHORTFALL_EVICT = 4,
    SHORTFALL_TRIM = 8,
    SHORTFALL_GROW = 16
};

/* Names it for an out-of-memory that the oracle found premature: the fewest mitigations after which
 * the request fits ("fits after drain and evict").  Where it needs none, the ones that the target
 * made for it ("fits after its own drain"), and if it made none, how much larger than the request
 * the largest hole is: no rounding explains a hole of twice its size.  It asks the oracle up to 8
 * times, each with a small budget.  reach is scratch. */
void shortfall_name(struct oracle *oracle, const struct oom *oom, struct reach *reach,
                    unsigned done, char mechanism[VERDICT_MECHANISM_BYTES]);

/* True if `name` may stand for `than`, as what is left of the same defect in a shorter list:
 * refused for want of fewer mitigations, or after fewer of its own, or the same kind of request
 * next to a larger hole.  A request that needs a mitigation never becomes one that needs none.
 * Both are names; false for any other text. */
bool shortfall_is_simpler(const char *name, const char *than);

/* True if the refusal `name` of a request explains the refusal `than` of the same one, where less
 * stands in its way: it fits at once, so no mitigation was lacking, or nothing was done for it, or
 * it is refused next to a larger hole or without its alignment, too. */
bool shortfall_explains(const char *name, const char *than);

/* True if `name` says which mitigations the request would have needed, or which were made in vain.
 */
bool shortfall_lacks_mitigation(const char *name);

#endif
