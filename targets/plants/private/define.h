/* Defines the planted targets of one file, which includes this after its functions: its own rows of
 * targets/plants/list.h become targets, those of the other files nothing.  The file says which it
 * is by `#define PLANT_IN_<file> DEFINE_PLANT`. */
#ifndef TARGETS_PLANTS_PRIVATE_DEFINE_H
#define TARGETS_PLANTS_PRIVATE_DEFINE_H

#include "targets/plants/private/calls.h"

/* open() is not told which target it opens, so each row has one of its own. */
#define DEFINE_PLANT(noun, rule, text, ...)                                                \
    extern const struct plant_defect plant_defect_##noun;                                  \
    const struct plant_defect plant_defect_##noun = {__VA_ARGS__};                         \
    static enum target_result open_##noun(                                                 \
        const struct target_setup *setup, const struct device_services *device,            \
        struct target_instance **out, struct target_contract *contract, char *reason,      \
        size_t reason_bytes)                                                               \
    {                                                                                      \
        return plant_call_open(&plant_defect_##noun, setup, device, out, contract, reason, \
                               reason_bytes);                                              \
    }                                                                                      \
    extern const struct target plant_##noun;                                               \
    const struct target plant_##noun = {                                                   \
        .abi_version = TARGET_ABI_VERSION,                                                 \
        .size_bytes = sizeof(struct target),                                               \
        .name = "plant_" #noun,                                                            \
        .summary = text,                                                                   \
        .breaks = rule,                                                                    \
        .option_help = PLANT_OPTION_HELP,                                                  \
        .open = open_##noun,                                                               \
        PLANT_CALLS,                                                                       \
    };

/* Those of libhbm that do not change what is planted. */
#define PLANT_OPTION_HELP                                                                                \
    "defrag=none|slide|repack\ngranule=N\norder=drain,defragment,evict\nprogram_evicts_program=yes|no\n" \
    "log_allocations_on_oom=yes|no\nmessage_code=yes|no\nsearch_nodes=N\nwith=PLANT,...\n"

/* A file's own one is defined by now. */
#ifndef PLANT_IN_answers
#define PLANT_IN_answers(...)
#endif
#ifndef PLANT_IN_classes
#define PLANT_IN_classes(...)
#endif
#ifndef PLANT_IN_clients
#define PLANT_IN_clients(...)
#endif
#ifndef PLANT_IN_costs
#define PLANT_IN_costs(...)
#endif
#ifndef PLANT_IN_deaths
#define PLANT_IN_deaths(...)
#endif
#ifndef PLANT_IN_deep
#define PLANT_IN_deep(...)
#endif
#ifndef PLANT_IN_failures
#define PLANT_IN_failures(...)
#endif
#ifndef PLANT_IN_local
#define PLANT_IN_local(...)
#endif
#ifndef PLANT_IN_moves
#define PLANT_IN_moves(...)
#endif
#ifndef PLANT_IN_numbers
#define PLANT_IN_numbers(...)
#endif
#ifndef PLANT_IN_promises
#define PLANT_IN_promises(...)
#endif
#ifndef PLANT_IN_refusals
#define PLANT_IN_refusals(...)
#endif
#ifndef PLANT_IN_regrets
#define PLANT_IN_regrets(...)
#endif
#ifndef PLANT_IN_sleeps
#define PLANT_IN_sleeps(...)
#endif

#define PLANT(file, ...) PLANT_IN_##file(__VA_ARGS__)
#include "targets/plants/list.h"
#undef PLANT

#endif
