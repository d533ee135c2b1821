#include "targets/private/option.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_valid_granule(uint64_t granule_bytes)
{
    return granule_bytes > 0 && granule_bytes <= GRANULE_BYTES_MAX &&
           (granule_bytes & (granule_bytes - 1)) == 0;
}

bool option_check_device(uint64_t capacity_bytes, uint64_t granule_bytes,
                         const struct option_reason *reason)
{
    if (!is_valid_granule(granule_bytes)) {
        (void)snprintf(reason->text, reason->bytes,
                       "granule %" PRIu64 ": valid values are the powers of two from 1 to 64K",
                       granule_bytes);
        return false;
    }
    if (capacity_bytes == 0 || capacity_bytes % granule_bytes != 0) {
        (void)snprintf(reason->text, reason->bytes,
                       "capacity %" PRIu64 " is not a positive multiple of the granule, %" PRIu64,
                       capacity_bytes, granule_bytes);
        return false;
    }
    return true;
}
