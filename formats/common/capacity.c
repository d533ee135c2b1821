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

/* A capacity that the user did not fix is cut to whole granules. */
static void set_capacity(const struct setup *fixed, uint64_t peak_bytes, struct import *import)
{
    struct setup *setup = &import->setup;
    if (setup->capacity_bytes == 0 && setup->chip[0] == '\0') {
        setup->capacity_bytes = peak_bytes > setup->granule_bytes ? peak_bytes
                                                                  : setup->granule_bytes;
        import_note(import,
                    "capacity %" PRIu64 ": assumed, the peak of live bytes in granules of %" PRIu64
                    "; no memory is spare",
                    setup->capacity_bytes, setup->granule_bytes);
        import_suggest_option(setup, "defrag", "repack");
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
