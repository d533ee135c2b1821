/* Where a block is after an op, as far as the target and the log of the device can say. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_PLACE_H
#define HARNESS_RULES_PRIVATE_JUDGE_PLACE_H

#include "harness/rules/judge.h"

enum place {
    PLACE_DEVICE, /* at an address */
    PLACE_HOST,   /* in host memory alone: the block is absent */
    PLACE_NONE    /* the target says of no place that it is there, and it is not in host memory */
};

/* at->address is set for PLACE_DEVICE alone; so is at->size_bytes: 0 = the target was not asked, or
 * does not say. */
enum place judge_find_place(const struct judge *judge, const struct host *host,
                            const struct call *call, uint32_t slot, struct target_block *at);

/* The op took the handle of the block that it names. */
bool judge_ended_handle(const struct call *call, uint32_t slot);

#endif
