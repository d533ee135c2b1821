#include "measure/held.h"

/* The arguments that held_make() got last. */
static struct held held_now;
static const struct target *target_now;

static enum target_result open_held(const struct target_setup *setup,
                                    const struct device_services *services,
                                    struct target_instance **instance,
                                    struct target_contract *contract, char *reason,
                                    size_t reason_bytes)
{
    const enum target_result result = target_now->open(setup, services, instance, contract, reason,
                                                       reason_bytes);
    if (result != TARGET_OK) {
        return result;
    }
    if (held_now.kind == HELD_CONTRACT) {
        *contract = held_now.contract;
    } else if (held_now.kind == HELD_NONE) {
        contract->aligns_naturally = false;
    }
    return result;
}

static void set_rounding(struct setup *setup, const struct target_rounding *rounding)
{
    setup->has_rounding = true;
    setup->rounding = *rounding;
}

void held_make(const struct held *held, const struct target *target, struct target *judged,
               struct setup *setup)
{
    held_now = *held;
    target_now = target;
    *judged = *target;
    judged->open = held->kind == HELD_DECLARED ? target->open : open_held;
    if (held->kind == HELD_NONE) {
        set_rounding(setup,
                     &(struct target_rounding){.kind = ROUNDING_GRANULE,
                                               .overhead_bytes = held->contract.header_bytes});
    } else if (held->kind == HELD_ROUNDING) {
        set_rounding(setup, &held->rounding);
    } else if (held->kind == HELD_CONTRACT) {
        set_rounding(setup, &held->contract.rounding);
    }
}
