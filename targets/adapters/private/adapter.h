/* What the files of the adapters share: their declarations, and the calls that the kit supplies. */
#ifndef TARGETS_ADAPTERS_PRIVATE_ADAPTER_H
#define TARGETS_ADAPTERS_PRIVATE_ADAPTER_H

#include "kit/kit.h"
#include "targets/adapters/private/library.h"

#define ADAPTER(name)                                   \
    extern const struct target adapter_##name;          \
    extern const struct kit_allocator allocator_##name; \
    extern const struct library library_##name;
#include "targets/adapters/list.h"
#undef ADAPTER

/* Defines the target of allocator_NAME, all of whose calls are the kit's. */
#define ADAPTER_TARGET(name_, summary_)                                                 \
    static enum target_result target_open(                                              \
        const struct target_setup *setup, const struct device_services *device,         \
        struct target_instance **out, struct target_contract *contract, char *reason,   \
        size_t reason_bytes)                                                            \
    {                                                                                   \
        return kit_open(&allocator_##name_, NULL, setup, device, out, contract, reason, \
                        reason_bytes);                                                  \
    }                                                                                   \
    const struct target adapter_##name_ = {                                             \
        .abi_version = TARGET_ABI_VERSION,                                              \
        .size_bytes = sizeof(struct target),                                            \
        .name = "malloc:" #name_,                                                       \
        .summary = summary_,                                                            \
        .open = target_open,                                                            \
        .close = kit_close,                                                             \
        .alloc = kit_alloc,                                                             \
        .free = kit_free,                                                               \
        .use = kit_use,                                                                 \
        .hold = kit_hold,                                                               \
        .release = kit_release,                                                         \
        .donate = kit_donate,                                                           \
        .locate = kit_locate,                                                           \
        .stats = kit_stats,                                                             \
        .report = kit_report,                                                           \
        .message = kit_message,                                                         \
    }

/* Both allocators align what they return to 16 bytes. */
enum { ADAPTER_GRANULE_BYTES = 16 };

#endif
