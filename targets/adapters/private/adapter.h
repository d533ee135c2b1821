/* The adapters' files share these declarations, and the calls that the kit supplies. */
#ifndef TARGETS_ADAPTERS_PRIVATE_ADAPTER_H
#define TARGETS_ADAPTERS_PRIVATE_ADAPTER_H

#include "kit/kit.h"
#include "targets/adapters/private/library.h"
#include "targets/private/option.h"

#define ADAPTER(name)                                   \
    extern const struct target adapter_##name;          \
    extern const struct kit_allocator allocator_##name; \
    extern const struct library library_##name;
#include "targets/adapters/list.h"
#undef ADAPTER

/* Defines the target of that name and those rows of options, which are also those of
 * allocator_VARIABLE; all of its calls are the kit's.  What follows are further members of its
 * table. */
#define ADAPTER_TARGET(variable, name_, summary_, options_, ...)                             \
    DEFINE_OPEN(target_open, kit_open(&allocator_##variable, NULL, setup, device, instance,  \
                                      contract, reason, reason_bytes))                       \
    const struct target adapter_##variable = {KIT_TABLE(name_, summary_, NULL, target_open), \
                                              .options = (options_), __VA_ARGS__}

/* Both allocators align what they return to 16 bytes. */
enum { ADAPTER_GRANULE_BYTES = 16 };

#endif
