/* The calls that the table of each planted target has. */
#ifndef TARGETS_PLANTS_PRIVATE_CALLS_H
#define TARGETS_PLANTS_PRIVATE_CALLS_H

#include "targets/plants/private/plant.h"

/* The calls of a planted target; open alone must be told the defect. */
enum target_result plant_call_open(const struct plant_defect *defect,
                                   const struct target_setup *setup,
                                   const struct device_services *device,
                                   struct target_instance **out, struct target_contract *contract,
                                   char *reason, size_t reason_bytes);
void plant_call_close(struct target_instance *instance);
enum target_result plant_call_alloc(struct target_instance *instance,
                                    const struct target_request *request,
                                    struct target_block *block);
enum target_result plant_call_free(struct target_instance *instance, uint64_t handle,
                                   uint64_t event);
enum target_result plant_call_use(struct target_instance *instance, uint64_t handle,
                                  uint64_t event);
enum target_result plant_call_hold(struct target_instance *instance, uint64_t handle);
enum target_result plant_call_release(struct target_instance *instance, uint64_t handle);
enum target_result plant_call_donate(struct target_instance *instance, uint64_t handle,
                                     const struct target_request *request,
                                     struct target_block *block);
enum target_result plant_call_load(struct target_instance *instance,
                                   const struct target_program *program,
                                   struct target_block *image);
enum target_result plant_call_execute(struct target_instance *instance, uint64_t handle,
                                      uint64_t event, struct target_block *image);
enum target_result plant_call_unload(struct target_instance *instance, uint64_t handle);
enum target_result plant_call_defragment(struct target_instance *instance);
enum target_result plant_call_retire(struct target_instance *instance, uint64_t address,
                                     uint64_t size_bytes);
enum target_result plant_call_locate(struct target_instance *instance, uint64_t handle,
                                     struct target_block *block);
void plant_call_stats(struct target_instance *instance, struct target_stats *stats);
void plant_call_report(struct target_instance *instance,
                       void (*row)(void *context, const struct target_row *row), void *context);
const char *plant_call_message(struct target_instance *instance);
enum target_result plant_call_sleep(struct target_instance *instance);
enum target_result plant_call_wake(struct target_instance *instance);

/* All of them but open. */
#define PLANT_CALLS                                                                                \
    .close = plant_call_close, .alloc = plant_call_alloc, .free = plant_call_free,                 \
    .use = plant_call_use, .hold = plant_call_hold, .release = plant_call_release,                 \
    .donate = plant_call_donate, .load = plant_call_load, .execute = plant_call_execute,           \
    .unload = plant_call_unload, .defragment = plant_call_defragment, .locate = plant_call_locate, \
    .stats = plant_call_stats, .retire = plant_call_retire, .report = plant_call_report,           \
    .message = plant_call_message, .sleep = plant_call_sleep, .wake = plant_call_wake

#endif
