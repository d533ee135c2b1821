#include "infer/claim.h"

#include "harness/base/check.h"

/* Of the target that claim_make() made last. */
static enum claim claim_now;
static const struct target *target_now;

/* The flag that the claim is about. */
static bool *find_flag(enum claim claim, struct target_contract *contract)
{
    switch (claim) {
    case CLAIM_QUEUED_FREES:
        return &contract->queues_frees;
    case CLAIM_MESSAGES:
        return &contract->documented_messages;
    case CLAIM_RESUMES:
        return &contract->resumes;
    case CLAIM_STREAMS:
        return &contract->stream_ordered;
    case CLAIM_RECORDS:
        return &contract->records;
    case CLAIM_ACCESSES:
    case CLAIM_NONE:
        break;
    }
    CHECK(false);
}

bool claim_is_declared(enum claim claim, const struct target_contract *contract)
{
    struct target_contract copy = *contract;
    return claim == CLAIM_ACCESSES ? contract->cost.accesses != TARGET_GROWTH_UNDECLARED
                                   : *find_flag(claim, &copy);
}

static void declare_claim(enum claim claim, struct target_contract *contract)
{
    if (claim == CLAIM_ACCESSES) {
        contract->cost.accesses = TARGET_GROWTH_LINEAR;
    } else {
        *find_flag(claim, contract) = true;
    }
}

static enum target_result open_claiming(const struct target_setup *setup,
                                        const struct device_services *services,
                                        struct target_instance **instance,
                                        struct target_contract *contract, char *reason,
                                        size_t reason_bytes)
{
    const enum target_result result = target_now->open(setup, services, instance, contract, reason,
                                                       reason_bytes);
    if (result == TARGET_OK) {
        declare_claim(claim_now, contract);
    }
    return result;
}

void claim_make(enum claim claim, const struct target *target, struct target *claiming)
{
    CHECK(claim != CLAIM_NONE);
    claim_now = claim;
    target_now = target;
    *claiming = *target;
    claiming->open = open_claiming;
}
