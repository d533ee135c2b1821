/* A target sleeps with these: the contents of its blocks go to host memory, all memory goes back to
 * the device, and a wake brings both back or leaves everything as it was. */
#ifndef TARGETS_PRIVATE_SLEEPER_H
#define TARGETS_PRIVATE_SLEEPER_H

#include "harness/target.h"

struct sleeper_block;

/* blocks is host memory, block_count of them saved; it is kept for the next sleep. */
struct sleeper {
    struct device_services device;
    uint64_t capacity_bytes;
    struct sleeper_block *blocks;
    size_t block_count, block_capacity;
};

/* Memory for nothing is taken before the first sleep. */
void sleeper_init(struct sleeper *sleeper, const struct device_services *device,
                  uint64_t capacity_bytes);
/* Frees the sleeper, and drops what is saved. */
void sleeper_deinit(struct sleeper *sleeper);

/* Saves the contents of a block.  False: the device or host memory refused; sleeper_drop is next.
 */
bool sleeper_save(struct sleeper *sleeper, uint64_t address, uint64_t bytes);
/* Forgets what is saved. */
void sleeper_drop(struct sleeper *sleeper);
/* Gives all memory of the device back. */
void sleeper_release(struct sleeper *sleeper);
/* Takes all of it again and restores what is saved, which is forgotten then.  False: the device
 * refused, and all is as before. */
bool sleeper_restore(struct sleeper *sleeper);

#endif
