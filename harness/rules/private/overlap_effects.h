/* When calls that overlap take effect in the model: what takes memory as soon as its range is free
 * and nothing speaks against it, what gives memory back as late as the others' answers allow. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_EFFECTS_H
#define HARNESS_RULES_PRIVATE_OVERLAP_EFFECTS_H

#include "harness/rules/private/overlap_pass.h"

/* Something changed: whoever can take effect does.  False: a promise is broken, by the call
 * pass->current. */
bool overlap_effects_take(struct pass *pass);
/* The device was asked to write where made->to is: calls under way that give back what lies there
 * do so now. */
void overlap_effects_give_way(struct pass *pass, const struct host *host,
                              const struct device_call *made);
/* The call returns: at the latest now it has its effect.  False: a promise is broken. */
bool overlap_effects_finish(struct pass *pass, uint32_t number);

#endif
