/* The targets of this folder share this code, most of it for their options, the rows of
 * target.options. */
#ifndef TARGETS_PRIVATE_OPTION_H
#define TARGETS_PRIVATE_OPTION_H

#include "harness/base/option.h"
#include "harness/base/target_option.h"
#include "harness/target.h"

/* The buffer for the text of a refusal: text[bytes], always ended with NUL. */
struct option_reason {
    char *text;
    size_t bytes;
};

/* The allocators of this folder can do this much; real ones use 512 or 1024. */
#define GRANULE_BYTES_MAX UINT64_C(65536)
/* Rows that several have, kept in a member of type. */
#define OPTION_GRANULE(type, member)                                                       \
    {                                                                                      \
        "granule", TARGET_OPTION_POWER, "N", 1, GRANULE_BYTES_MAX, OPTION_AT(type, member) \
    }
#define OPTION_YES_NO(key, type, member)                           \
    {                                                              \
        key, TARGET_OPTION_FLAG, "yes|no", OPTION_AT(type, member) \
    }
/* Values are those of the enumeration. */
#define OPTION_WORDS(key, values, type, member)                  \
    {                                                            \
        key, TARGET_OPTION_WORD, values, OPTION_AT(type, member) \
    }
#define OPTION_GROWTHS "undeclared|constant|logarithmic|linear" /* enum target_growth */

/* Defines a target's open() of that name, which answers what the call answers: open() is not told
 * which target it opens, so each of several has one of its own.  The call names the arguments
 * setup, device, instance, contract, reason and reason_bytes. */
#define DEFINE_OPEN(function, call)                                                        \
    static enum target_result function(                                                    \
        const struct target_setup *setup, const struct device_services *device,            \
        struct target_instance **instance, struct target_contract *contract, char *reason, \
        size_t reason_bytes)                                                               \
    {                                                                                      \
        return call;                                                                       \
    }

/* Counts a block that has come. */
static inline void count_block(struct target_stats *stats, uint64_t size_bytes)
{
    stats->num_allocs++;
    stats->bytes_in_use += size_bytes;
    stats->peak_bytes_in_use = stats->bytes_in_use > stats->peak_bytes_in_use
                                   ? stats->bytes_in_use
                                   : stats->peak_bytes_in_use;
    stats->largest_alloc_size = size_bytes > stats->largest_alloc_size ? size_bytes
                                                                       : stats->largest_alloc_size;
}

/* Returns true when capacity and granule of a device go together; explains if not. */
bool option_check_device(uint64_t capacity_bytes, uint64_t granule_bytes,
                         const struct option_reason *reason);

#endif
