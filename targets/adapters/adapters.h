/* Targets that put allocators of others on trial.  cuda:pool and vulkan are of device memory; all
 * others are of host memory.  Some give the allocator one region of host memory, and a block's
 * address is its offset in the region; those of allocators that accept no region have no addresses.
 * The libraries are loaded when an adapter is opened: the program links none of them. */
#ifndef TARGETS_ADAPTERS_ADAPTERS_H
#define TARGETS_ADAPTERS_ADAPTERS_H

#include "harness/target.h"
#include "targets/adapters/findings.h"

/* One target for each line of list.h; ends with NULL.  target_find() finds them. */
extern const struct target *const adapters[];

/* Returns true when name is that of an adapter, known or not: one of those, or it begins with
 * "malloc:" or "cuda:". */
bool adapter_is_named(const char *name);

/* Returns true when name is a file's, malloc:FILE.so: a '/' or the end tells. */
bool adapter_is_file(const char *name);
/* The target for malloc and free of that library, which is loaded into the process and stays there;
 * the same name gives the same target.  NULL: reason is one line that says why not.  Not
 * thread-safe. */
const struct target *adapter_of_file(const char *name, char reason[ADAPTER_REASON_BYTES]);

/* Describes the library of adapters[index], as far as is known without loading it. */
struct adapter_library {
    const char *file;    /* as the dynamic linker knows it */
    const char *package; /* of Debian, that has it; or a sentence where none does */
    const char *wants;   /* an environment that it has to be loaded in, "NAME=VALUE"; else NULL */
};
struct adapter_library adapter_library(size_t index);

/* Loads the library of adapters[index] and starts its driver, if it is one, in this process.  That
 * may never return, and may end the process; afterwards no target can be run in it. */
void adapter_examine(size_t index, struct adapter_findings *findings);

/* The number of the adapter of that name in adapters; false: there is none. */
bool adapter_find(const char *name, size_t *index);

/* Returns true when the library of adapters[index] can be used on this machine; false: reason is
 * one line that says what is missing.  Loads it, and unloads it again where the library allows
 * that, or asks in a child process. */
bool adapter_is_usable(size_t index, char reason[ADAPTER_REASON_BYTES]);

#endif
