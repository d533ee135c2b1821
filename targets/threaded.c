#include "targets/targets.h"

#include "targets/threaded/calls.h"

static enum target_result open_right(const struct target_setup *setup,
                                     const struct device_services *device,
                                     struct target_instance **out, struct target_contract *contract,
                                     char *text, size_t text_bytes)
{
    return threaded_call_open(RACE_NONE, setup, device, out, contract, text, text_bytes);
}

const struct target target_threaded = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "threaded",
    .summary =
        "first fit for any number of threads: one mutex, released to await, to copy and to evict",
    .open = open_right,
    THREADED_CALLS,
};
