/* Targets that put allocators of others on trial.  cuda:pool and vulkan are of device memory; all
 * others are of host memory.  Some give the allocator one region of host memory, and a block's
 * address is its offset in the region; those of allocators that accept no region have no addresses.
 * The libraries are loaded when an adapter is opened: the program links none of them. */
#ifndef TARGETS_ADAPTERS_ADAPTERS_H
#define TARGETS_ADAPTERS_ADAPTERS_H

#include "harness/target.h"

enum { ADAPTER_REASON_BYTES = 256 };

/* One target for each line of list.h; ends with NULL.  target_find() finds them. */
extern const struct target *const adapters[];

/* Whether name is that of an adapter, known or not: one of those, or it begins with "malloc:" or
 * "cuda:". */
bool adapter_is_named(const char *name);

/* Whether it names a file, malloc:FILE.so: a '/' or the end tells. */
bool adapter_is_file(const char *name);
/* The target for malloc and free of that library, which is loaded into the process and stays there;
 * the same name gives the same target.  NULL: reason is one line that says why not.  Not
 * thread-safe. */
const struct target *adapter_of_file(const char *name, char reason[ADAPTER_REASON_BYTES]);

/* Whether the library of adapters[index] can be used on this machine; false: reason is one line
 * that says what is missing.  Loads it, and unloads it again where the library allows that, or asks
 * in a child process. */
bool adapter_is_usable(size_t index, char reason[ADAPTER_REASON_BYTES]);

#endif
