/* A plug-in that takes its process down: fails=crash, exit or loop says how, at the second request;
 * fails=open does it before any, fails=free at the first free; fails=message says no with a text
 * that would act on a terminal. The tests of the command line load it. */
#include "harness/target.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILING_REQUEST = 2, GRANULE_BYTES = 512 };
enum failure {
    FAILURE_CRASH,
    FAILURE_EXIT,
    FAILURE_LOOP,
    FAILURE_MESSAGE,
    FAILURE_OPEN,
    FAILURE_FREE
};

/* Blocks go upwards: enough to reach the second request with the right counters. */
struct target_instance {
    enum failure failure;
    uint64_t request_count, next_address, capacity_bytes, largest_bytes;
};

static bool read_option(const struct target_option *option, enum failure *failure)
{
    static const char *const names[] = {"crash", "exit", "loop", "message", "open", "free"};
    for (size_t i = 0; strcmp(option->key, "fails") == 0 && i < sizeof names / sizeof *names; i++) {
        if (strcmp(option->value, names[i]) == 0) {
            *failure = (enum failure)i;
            return true;
        }
    }
    return false;
}

static enum target_result bad_open(const struct target_setup *setup,
                                   const struct device_services *services,
                                   struct target_instance **instance,
                                   struct target_contract *contract, char *reason,
                                   size_t reason_bytes)
{
    (void)services;
    enum failure failure = FAILURE_CRASH;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (!read_option(&setup->options[i], &failure)) {
            snprintf(reason, reason_bytes,
                     "fails=crash|exit|loop|message|open|free is all there is");
            return TARGET_INVALID;
        }
    }
    if (failure == FAILURE_OPEN) {
        abort();
    }
    struct target_instance *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TARGET_FAILED;
    }
    made->failure = failure;
    made->capacity_bytes = setup->capacity_bytes;
    *instance = made;
    *contract = (struct target_contract){.granule_bytes = GRANULE_BYTES};
    return TARGET_OK;
}

static void bad_close(struct target_instance *instance)
{
    free(instance);
}

static void cause_failure(enum failure failure)
{
    switch (failure) {
    case FAILURE_CRASH:
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn it into an exit */
        (void)raise(SIGSEGV);
        break;
    case FAILURE_EXIT:
        _exit(7);
    case FAILURE_LOOP:
        for (;;) {
            (void)pause();
        }
    default:
        break;
    }
}

static enum target_result bad_alloc(struct target_instance *instance,
                                    const struct target_request *request,
                                    struct target_block *block)
{
    if (++instance->request_count == FAILING_REQUEST) {
        cause_failure(instance->failure);
        return TARGET_NO_MEMORY;
    }
    uint64_t bytes = (request->size_bytes + GRANULE_BYTES - 1) / GRANULE_BYTES * GRANULE_BYTES;
    instance->largest_bytes = bytes;
    *block = (struct target_block){
        .handle = instance->request_count, .address = instance->next_address, .size_bytes = bytes};
    instance->next_address += bytes;
    return TARGET_OK;
}

static enum target_result bad_free(struct target_instance *instance, uint64_t handle,
                                   uint64_t event)
{
    (void)handle;
    (void)event;
    if (instance->failure == FAILURE_FREE) {
        abort();
    }
    return TARGET_OK;
}

static void bad_stats(struct target_instance *instance, struct target_stats *stats)
{
    *stats = (struct target_stats){.num_allocs = instance->next_address > 0,
                                   .bytes_in_use = instance->next_address,
                                   .peak_bytes_in_use = instance->next_address,
                                   .largest_alloc_size = instance->largest_bytes,
                                   .bytes_limit = instance->capacity_bytes,
                                   .largest_free_block_bytes = instance->capacity_bytes -
                                                               instance->next_address};
}

static const char *bad_message(struct target_instance *instance)
{
    (void)instance;
    return "\033[31mred\007 and \"quoted\"\n";
}

const struct target hbmstress_target = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "bad",
    .summary = "takes its process down",
    .option_help = "fails=crash|exit|loop|message|open|free\n",
    .open = bad_open,
    .close = bad_close,
    .alloc = bad_alloc,
    .free = bad_free,
    .stats = bad_stats,
    .message = bad_message,
};
