/* The files of the wrapper itself share these; defects need none of them. */
#ifndef TARGETS_PLANTS_PRIVATE_WRAPPER_H
#define TARGETS_PLANTS_PRIVATE_WRAPPER_H

#include "targets/plants/private/plant.h"

/* A target's open() of what has the defect. */
enum target_result plant_open(const struct plant_defect *defect, const struct target_setup *setup,
                              const struct device_services *device, struct target_instance **out,
                              struct target_contract *contract, char *reason, size_t reason_bytes);

/* The device as libhbm sees it; plant outlives it. */
struct device_services plant_make_services(struct plant *plant);

/* A block or program that the client can name from now on, and no more. */
void plant_add_block(struct plant *plant, const struct plant_block *block);
void plant_remove_block(struct plant *plant, uint64_t handle);
/* Renames the block: from now on the client names it by that handle. */
void plant_rename_block(struct plant *plant, struct plant_block *block, uint64_t handle);
/* A freed block, until its event is done. */
void plant_add_dying(struct plant *plant, const struct plant_dying *dying);

/* libhbm's name for what the client names; 0: libhbm does not know it. */
uint64_t plant_find_inner_handle(struct plant *plant, uint64_t handle);

/* The option with which a plant wraps others. */
#define PLANT_WITH "with"

/* The target that a plant wraps.  `rest` is for the option `with` of target; NULL: no option. */
struct plant_inside {
    const struct target *target;
    const char *rest;
};

/* Reads the option `with` of a plant, which lists others, outermost first.  Without it a plant
 * wraps hbm.  False, with one line in reason: it names no plant, one twice, or one that bends the
 * same place as another. */
bool plant_find_inside(const struct plant_defect *outer, const struct target_setup *setup,
                       struct plant_inside *inside, char *reason, size_t reason_bytes);
#endif
