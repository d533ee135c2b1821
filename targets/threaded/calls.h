/* The target threaded and its variants: they differ in struct threaded_heap.race alone, which is
 * chosen at open. */
#ifndef TARGETS_THREADED_CALLS_H
#define TARGETS_THREADED_CALLS_H

#include "targets/private/option.h"
#include "targets/threaded/private/heap.h"

/* A target's open() of the variant. */
enum target_result threaded_call_open(enum threaded_race race, const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *text,
                                      size_t text_bytes);

/* All calls of the table but open; each may be made by any thread at any time. */
void threaded_call_close(struct target_instance *instance); /* when no other is under way */
enum target_result threaded_call_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block);
enum target_result threaded_call_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event);
enum target_result threaded_call_use(struct target_instance *instance, uint64_t handle,
                                     uint64_t event);
enum target_result threaded_call_hold(struct target_instance *instance, uint64_t handle);
enum target_result threaded_call_release(struct target_instance *instance, uint64_t handle);
enum target_result threaded_call_donate(struct target_instance *instance, uint64_t handle,
                                        const struct target_request *request,
                                        struct target_block *block);
enum target_result threaded_call_load(struct target_instance *instance,
                                      const struct target_program *program,
                                      struct target_block *image);
enum target_result threaded_call_execute(struct target_instance *instance, uint64_t handle,
                                         uint64_t event, struct target_block *image);
enum target_result threaded_call_unload(struct target_instance *instance, uint64_t handle);
enum target_result threaded_call_defragment(struct target_instance *instance);
enum target_result threaded_call_locate(struct target_instance *instance, uint64_t handle,
                                        struct target_block *block);
void threaded_call_stats(struct target_instance *instance, struct target_stats *stats);
void threaded_call_report(struct target_instance *instance,
                          void (*row)(void *context, const struct target_row *row), void *context);
const char *threaded_call_message(struct target_instance *instance);

/* Kept in its contract. */
#define THREADED_OPTION_ROWS                                              \
    OPTION_WORDS("defrag", "none|slide", struct target_contract, defrag), \
        OPTION_GRANULE(struct target_contract, granule_bytes),            \
        OPTION_YES_NO("program_evicts_program", struct target_contract, program_evicts_program)
extern const struct target_option_row threaded_option_rows[];

#define THREADED_CALLS                                                                            \
    .options = threaded_option_rows, .close = threaded_call_close, .alloc = threaded_call_alloc,  \
    .free = threaded_call_free, .use = threaded_call_use, .hold = threaded_call_hold,             \
    .release = threaded_call_release, .donate = threaded_call_donate, .load = threaded_call_load, \
    .execute = threaded_call_execute, .unload = threaded_call_unload,                             \
    .defragment = threaded_call_defragment, .locate = threaded_call_locate,                       \
    .stats = threaded_call_stats, .report = threaded_call_report, .message = threaded_call_message

/* What open.c makes and the calls use. */
struct target_instance {
    struct threaded_heap heap;
    pthread_key_t message; /* the text of the thread's last failure */
};

#endif
