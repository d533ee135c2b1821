#include "targets/threaded/races.h"

#include "targets/threaded/calls.h"

#define RACE(noun, variant, rule, text)                                                         \
    static enum target_result open_##noun(                                                      \
        const struct target_setup *setup, const struct device_services *device,                 \
        struct target_instance **out, struct target_contract *contract, char *reason,           \
        size_t reason_bytes)                                                                    \
    {                                                                                           \
        return threaded_call_open(variant, setup, device, out, contract, reason, reason_bytes); \
    }                                                                                           \
    static const struct target race_##noun = {                                                  \
        .abi_version = TARGET_ABI_VERSION,                                                      \
        .size_bytes = sizeof(struct target),                                                    \
        .name = "race_" #noun,                                                                  \
        .summary = text,                                                                        \
        .breaks = rule,                                                                         \
        .open = open_##noun,                                                                    \
        THREADED_CALLS,                                                                         \
    };
#include "targets/threaded/list.h"
#undef RACE

const struct target *const races[] = {
#define RACE(noun, variant, rule, text) &race_##noun,
#include "targets/threaded/list.h"
#undef RACE
    NULL,
};
