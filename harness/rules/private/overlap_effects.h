/* When calls that overlap take effect in the model: what takes memory as soon as its range is free
 * and nothing speaks against it, what gives memory back as late as the others' answers allow. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_EFFECTS_H
#define HARNESS_RULES_PRIVATE_OVERLAP_EFFECTS_H

#include "harness/rules/private/overlap_pass.h"

/* Whether the call gives memory back, now or when an event is done. */
bool overlap_effects_gives_back(const struct call *call);
/* Whether the call takes a range of the device, whatever lies there now. */
bool overlap_effects_is_taking(const struct pass *pass, uint32_t number);

/* Something changed: whoever can take effect does.  False: a promise is broken, by the call
 * pass->current. */
bool overlap_effects_take(struct pass *pass);
/* The device was asked to write where made->to is: calls under way that give back what lies there
 * do so now. */
void overlap_effects_give_way(struct pass *pass, const struct host *host,
                              const struct device_call *made);
/* The call returns: at the latest now it has its effect.  False: a promise is broken. */
bool overlap_effects_finish(struct pass *pass, uint32_t number);

/* The log says that a call under way has had its effect: the program that the op loads is evicted;
 * what is copied is nothing that the model knows; a held block in the slot moves (context: the
 * pass), so that it was released.  False: a promise is broken. */
bool overlap_effects_bring(struct pass *pass, const struct host *host, uint64_t op);
bool overlap_effects_bring_source(struct pass *pass, const struct host *host,
                                  const struct device_call *made);
void overlap_effects_let_go(void *context, const struct host *host, uint32_t slot);

#endif
