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

/* The members of a target that the kit plays; open is the adapter's own. */
#define ADAPTER_CALLS                                                                           \
    .abi_version = TARGET_ABI_VERSION, .size_bytes = sizeof(struct target), .close = kit_close, \
    .alloc = kit_alloc, .free = kit_free, .use = kit_use, .hold = kit_hold,                     \
    .release = kit_release, .donate = kit_donate, .locate = kit_locate, .stats = kit_stats,     \
    .report = kit_report, .message = kit_message

/* Both allocators align what they return to 16 bytes. */
enum { ADAPTER_GRANULE_BYTES = 16 };

#endif
