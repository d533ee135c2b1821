/* Calls of a target, and the work of a child, as a test makes them up: DEFRAGMENT(name) { ... } is
 * a function of that name.  Its parameters are there to be used, or not. */
#ifndef TESTS_CAMPAIGN_CALLS_H
#define TESTS_CAMPAIGN_CALLS_H

#include "harness/target.h"

#define UNUSED __attribute__((unused))

#define OPEN(name)                                                                               \
    static enum target_result name(                                                              \
        UNUSED const struct target_setup *target_setup,                                          \
        UNUSED const struct device_services *services, UNUSED struct target_instance **instance, \
        UNUSED struct target_contract *contract, UNUSED char *reason, UNUSED size_t reason_bytes)
#define ALLOC(name)                                                             \
    static enum target_result name(UNUSED struct target_instance *instance,     \
                                   UNUSED const struct target_request *request, \
                                   UNUSED struct target_block *block)
#define DEFRAGMENT(name) static enum target_result name(UNUSED struct target_instance *instance)
#define RETIRE(name)                                                        \
    static enum target_result name(UNUSED struct target_instance *instance, \
                                   UNUSED uint64_t address, UNUSED uint64_t size_bytes)

/* In a frame of its own, which a death names. */
#define WORK(name) static __attribute__((noinline)) void name(UNUSED void *context, UNUSED int file)

#endif
