#include "harness/op/not_checked.h"

#include "explore/accesses.h"
#include "harness/base/check.h"

static const struct not_checked_info infos[NOT_CHECKED_COUNT] = {
#define NOT_CHECKED_ROW(name, text, why) {text, why},
    NOT_CHECKED_LIST(NOT_CHECKED_ROW)
#undef NOT_CHECKED_ROW
};

const struct not_checked_info *not_checked_info(enum not_checked which)
{
    CHECK((unsigned)which < NOT_CHECKED_COUNT);
    return &infos[which];
}

static bool has_open_counter(const struct target_contract *contract)
{
    for (unsigned i = 0; i < TARGET_COUNTER_COUNT; i++) {
        if (contract->counting[i] != TARGET_COUNT_EXACT) {
            return true;
        }
    }
    return false;
}

bool not_checked_by(enum not_checked which, const struct target *target,
                    const struct target_contract *contract)
{
    switch (which) {
    case NOT_CHECKED_SIZES:
        return contract->rounding.kind == ROUNDING_ANY;
    case NOT_CHECKED_TEXTS:
        return !contract->documented_messages;
    case NOT_CHECKED_PLACES:
        return contract->placement != PLACEMENT_RANGES;
    case NOT_CHECKED_CONTENTS:
        return contract->placement != PLACEMENT_RANGES &&
               (target->read == NULL || target->write == NULL);
    case NOT_CHECKED_WOKEN:
        return contract->sleeps == SLEEP_DISCARDS;
    case NOT_CHECKED_COUNTERS:
        return has_open_counter(contract);
    case NOT_CHECKED_OUT_OF_MEMORIES:
        return contract->limit == TARGET_LIMIT_PROCESS;
    case NOT_CHECKED_ACCESSES:
        /* A target that is compiled to count accesses counted some while it opened. */
        return contract->cost.accesses != TARGET_GROWTH_UNDECLARED && accesses_count() == 0;
    case NOT_CHECKED_COUNT:
        break;
    }
    return false;
}
