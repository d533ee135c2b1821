#include "formats/common/capacity.h"

#include "harness/base/align.h"

#include <inttypes.h>

uint64_t capacity_granule(uint64_t size_bits)
{
    const uint64_t bits = size_bits | GRANULE_BYTES_DEFAULT;
    return bits & ~(bits - 1);
}

static void set_granule(const struct setup *fixed, uint64_t size_bits, struct setup *setup)
{
    if (setup->granule_bytes == 0) {
        setup->granule_bytes = capacity_granule(size_bits);
    }
    import_apply_fixed(fixed, setup);
}

/* Nobody gives a capacity.  Only moves fit the peak into its own bytes, and while a long log stays
 * near its peak nearly each request would have blocks moved. */
static void assume_capacity(uint64_t peak_bytes, struct import *import)
{
    struct setup *setup = &import->setup;
    const bool is_long = import->ops.count > CAPACITY_TIGHT_OPS_MAX &&
                         peak_bytes <= CAPACITY_BYTES_MAX / 2;
    const uint64_t spare_bytes = is_long ? align_up(peak_bytes / CAPACITY_SPARE_PART,
                                                    setup->granule_bytes)
                                         : 0;
    setup->capacity_bytes = peak_bytes > setup->granule_bytes ? peak_bytes : setup->granule_bytes;
    setup->capacity_bytes += spare_bytes;
    import_suggest_option(setup, "defrag", "repack");
    if (is_long) {
        import_assume(import,
                      "capacity %" PRIu64 ", the peak of live bytes, %" PRIu64
                      " in granules of %" PRIu64 ", and an eighth more: of a log of more than %d "
                      "ops, each request near the peak would have blocks moved otherwise",
                      setup->capacity_bytes, peak_bytes, setup->granule_bytes,
                      CAPACITY_TIGHT_OPS_MAX);
    } else {
        import_assume(import,
                      "capacity %" PRIu64 ", the peak of live bytes in granules of %" PRIu64
                      "; no memory is spare",
                      setup->capacity_bytes, setup->granule_bytes);
    }
}

/* A capacity that the user did not fix is cut to whole granules. */
static void set_capacity(const struct setup *fixed, uint64_t peak_bytes, struct import *import)
{
    struct setup *setup = &import->setup;
    if (setup->capacity_bytes == 0 && setup->chip[0] == '\0') {
        assume_capacity(peak_bytes, import);
        return;
    }
    if (fixed->capacity_bytes == 0) {
        setup->capacity_bytes = align_down(import_fixed_capacity(setup, setup->granule_bytes),
                                           setup->granule_bytes);
    }
    if (setup->capacity_bytes < peak_bytes) {
        import_note(import, "the peak of live bytes is %" PRIu64 ", above the capacity",
                    peak_bytes);
    }
}

enum import_result capacity_choose(const struct import_input *input, uint64_t size_bits,
                                   uint64_t peak_bytes, struct import *import,
                                   struct import_error *error)
{
    set_granule(input->fixed, size_bits, &import->setup);
    set_capacity(input->fixed, peak_bytes, import);
    const uint64_t capacity_bytes = import->setup.capacity_bytes;
    if (capacity_bytes > CAPACITY_BYTES_MAX || capacity_bytes == 0) {
        return import_fail(error, IMPORT_INVALID, 0, 0,
                           "the capacity is %" PRIu64
                           " bytes; accepted: 1 to 2^50 bytes in whole granules",
                           capacity_bytes);
    }
    return IMPORT_OK;
}
