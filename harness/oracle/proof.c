#include "harness/oracle/proof.h"

#include "harness/base/check.h"

const char *proof_kind_name(enum proof_kind kind)
{
    static const char *const names[PROOF_KIND_COUNT] = {
        [PROOF_NONE] = "none",         [PROOF_STACK] = "stack",   [PROOF_SPANS] = "spans",
        [PROOF_ROUNDING] = "rounding", [PROOF_SEARCH] = "search", [PROOF_TABLE] = "table",
        [PROOF_SUM] = "sum",           [PROOF_FILLS] = "fills",   [PROOF_PATTERNS] = "patterns",
        [PROOF_PLAN] = "plan",         [PROOF_BUDGET] = "budget", [PROOF_ASSUMED] = "assumed",
    };
    CHECK(kind < PROOF_KIND_COUNT);
    return names[kind];
}
