/* Other orders of the effects of calls that overlap.  The order of overlap_effects.h leaves least
 * room as long as nobody gets the place of what a call under way gives back: then room was made and
 * taken, and more may be taken than was given. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_ORDERS_H
#define HARNESS_RULES_PRIVATE_OVERLAP_ORDERS_H

#include "harness/rules/private/overlap_pass.h"

enum { OVERLAP_ORDERS_TAKER_COUNT_MAX = 6 };

/* Calls under way on one host that take memory, and do not in the model, because
 * something lies there or speaks against it. */
struct overlap_orders {
    uint32_t takers[OVERLAP_ORDERS_TAKER_COUNT_MAX];
    uint32_t taker_count;
    bool has_more; /* than are looked at */
};

/* Those that may have been before the call `number`, which is under way, was answered. */
struct overlap_orders overlap_orders_find(const struct pass *pass, uint32_t number);

/* Puts into *oom, the state as the model has it, what the takers of the set got (bit per taker), in
 * the place of what may have gone for them.  False: those may not have been there together, and
 * *oom is of no use. */
bool overlap_orders_apply(const struct pass *pass, const struct overlap_orders *orders,
                          uint32_t set, struct oom *oom);

/* Puts the block into *oom, where nothing lies in its range: at its place among the others. */
void overlap_orders_put(struct oom *oom, const struct oom_block *block);

#endif
