/* The counters of a device as JAX's Device.memory_stats() has them (XLA's AllocatorStats), pasted
 * from Python, Julia or JSON: one device after the other. */
#include "formats/common/import.h"
#include "formats/counters/private/counters.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum stats_fact {
    FACT_IN_USE,
    FACT_LIMIT,
    FACT_RESERVED,
    FACT_RESERVABLE,
    FACT_LARGEST_FREE,
    FACT_PEAK,
    FACT_PEAK_RESERVED,
    FACT_LARGEST_ALLOC,
    FACT_ALLOCS,
    FACT_POOL,
    FACT_PEAK_POOL,
    FACT_COUNT
};
static const char *const names[FACT_COUNT] = {"bytes_in_use",
                                              "bytes_limit",
                                              "bytes_reserved",
                                              "bytes_reservable_limit",
                                              "largest_free_block_bytes",
                                              "peak_bytes_in_use",
                                              "peak_bytes_reserved",
                                              "largest_alloc_size",
                                              "num_allocs",
                                              "pool_bytes",
                                              "peak_pool_bytes"};

enum { TOLD_COUNT_MAX = 4 }; /* devices, or the sentences would be too many */

struct stats_device {
    uint64_t facts[FACT_COUNT];
    uint32_t known; /* bit 1 << fact */
    size_t at;      /* of its first counter */
};

struct stats {
    struct stats_device devices[OP_HOST_COUNT_MAX];
    size_t count;
    bool has_more;           /* devices than that */
    uint64_t unusable_count; /* counters below 0 or above 2^50 */
};

static bool has(const struct stats_device *device, enum stats_fact fact)
{
    return (device->known & 1u << fact) != 0;
}

/* A counter that comes again is the next device's.  Plug-ins give what they do not have as -1, or
 * as anything. */
static void take_counter(struct stats *stats, const struct counter *counter, enum stats_fact fact)
{
    struct stats_device *device = &stats->devices[stats->count - (stats->count > 0)];
    if (stats->count == 0 || has(device, fact)) {
        if (stats->count == OP_HOST_COUNT_MAX) {
            stats->has_more = true;
            return;
        }
        device = &stats->devices[stats->count++];
        *device = (struct stats_device){.at = counter->at};
    }
    device->known |= 1u << fact;
    device->facts[fact] = counter->value.bytes;
    if (counter->is_negative || counter->value.bytes > IMPORT_CAPACITY_MAX / 2) {
        device->facts[fact] = 0;
        stats->unusable_count++;
    }
}

static void read_stats(const char *text, size_t length, struct stats *stats)
{
    struct phrase_cursor cursor = {.text = text, .length = length};
    struct counter counter;
    while (!stats->has_more && counter_next(&cursor, &counter)) {
        const size_t fact = text_find_name(names, FACT_COUNT, counter.name, counter.name_length);
        if (fact != FACT_COUNT) {
            take_counter(stats, &counter, (enum stats_fact)fact);
        }
    }
}

/* --- what is told --- */

/* Tells the sums of a device, with the reserved bytes if the counters have them. */
static void tell_sums(const struct stats_device *device, size_t number,
                      const struct counted_device *counted, struct import *import)
{
    const uint64_t taken = counted->in_use_bytes + counted->reserved_bytes;
    const uint64_t free_bytes = counted->limit_bytes - taken;
    const uint64_t percent = counted->limit_bytes == 0 ? 0 : taken * 100 / counted->limit_bytes;
    const struct size_text limit = size_text_of(counted->limit_bytes);
    if (has(device, FACT_RESERVED)) {
        import_tell(import,
                    "device %zu: %s in use and %s reserved, together %s of %s (%" PRIu64
                    " %%); %s free",
                    number, size_text_of(counted->in_use_bytes).text,
                    size_text_of(counted->reserved_bytes).text, size_text_of(taken).text,
                    limit.text, percent, size_text_of(free_bytes).text);
    } else {
        import_tell(import, "device %zu: %s of %s in use (%" PRIu64 " %%); %s free", number,
                    size_text_of(taken).text, limit.text, percent, size_text_of(free_bytes).text);
    }
    if (counted->reserved_bytes > 0) {
        import_tell(
            import,
            "device %zu: what is reserved (temporaries of programs) counts as used, though bytes_in_use leaves it out",
            number);
    }
    if (has(device, FACT_LARGEST_FREE) && counted->largest_free_bytes > 0 && free_bytes > 0) {
        import_tell(import,
                    "device %zu: the largest free block has %s; %" PRIu64
                    " %% of the free memory lies outside of it (fragmentation)",
                    number, size_text_of(counted->largest_free_bytes).text,
                    (free_bytes - counted->largest_free_bytes) * 100 / free_bytes);
    }
    if (has(device, FACT_PEAK)) {
        import_tell(import, "device %zu: at most %s were in use", number,
                    size_text_of(device->facts[FACT_PEAK]).text);
    }
    if (has(device, FACT_PEAK_RESERVED)) {
        import_tell(import, "device %zu: at most %s were reserved, at a moment of its own", number,
                    size_text_of(device->facts[FACT_PEAK_RESERVED]).text);
    }
}

static void tell_checks(const struct stats_device *device, size_t number, struct import *import)
{
    const uint64_t *facts = device->facts;
    if (has(device, FACT_PEAK) && facts[FACT_PEAK] < facts[FACT_IN_USE]) {
        import_tell(import, "device %zu: a check fails: the peak is below what is in use", number);
    }
    if (facts[FACT_IN_USE] + facts[FACT_RESERVED] > facts[FACT_LIMIT]) {
        import_tell(import,
                    "device %zu: a check fails: in use and reserved are together above the limit",
                    number);
    } else if (facts[FACT_LARGEST_FREE] >
               facts[FACT_LIMIT] - facts[FACT_IN_USE] - facts[FACT_RESERVED]) {
        import_tell(import,
                    "device %zu: a check fails: the largest free block is above what is free",
                    number);
    }
    if (has(device, FACT_ALLOCS) && facts[FACT_ALLOCS] == 0 && facts[FACT_IN_USE] == 0) {
        import_tell(
            import,
            "device %zu: nothing was ever allocated: the counters are of a process that did not use it",
            number);
    }
}

/* --- the heap --- */

static struct counted_device count_device(const struct stats_device *device,
                                          const struct setup *fixed)
{
    struct counted_device counted = {.limit_bytes = device->facts[FACT_LIMIT],
                                     .in_use_bytes = device->facts[FACT_IN_USE],
                                     .reserved_bytes = device->facts[FACT_RESERVED]};
    if (!has(device, FACT_LIMIT) || counted.limit_bytes == 0) {
        counted.limit_bytes = import_fixed_capacity(fixed, IMPORT_GRANULE_BYTES);
    }
    const uint64_t taken = counted.in_use_bytes + counted.reserved_bytes;
    counted.limit_bytes = taken > counted.limit_bytes ? taken : counted.limit_bytes;
    const uint64_t free_bytes = counted.limit_bytes - taken;
    counted.largest_free_bytes = device->facts[FACT_LARGEST_FREE];
    if (counted.largest_free_bytes > free_bytes) {
        counted.largest_free_bytes = free_bytes;
    }
    return counted;
}

static enum import_result check_device(const struct import_input *input,
                                       const struct stats_device *device,
                                       struct import_error *error)
{
    const bool has_limit = device->facts[FACT_LIMIT] != 0 ||
                           import_fixed_capacity(input->fixed, 0) != 0;
    if (has(device, FACT_IN_USE) && has_limit) {
        return IMPORT_OK;
    }
    size_t line = 0;
    size_t column = 0;
    import_position(input->text, device->at, &line, &column);
    return import_fail(error, IMPORT_INCOMPLETE, line, column, "these counters lack %s",
                       has_limit ? "'bytes_in_use'" : "'bytes_limit'; give --capacity or --chip");
}

static enum import_result import_device_stats(const struct import_input *input,
                                              struct import *import, struct import_error *error)
{
    struct stats stats = {.count = 0};
    struct counted_device counted[OP_HOST_COUNT_MAX];
    read_stats(input->text, input->length, &stats);
    if (stats.count == 0) {
        return IMPORT_LACKS(error, "no counter of a device is in the text");
    }
    if (stats.has_more) {
        return IMPORT_REFUSE(error, 0, "more than %d devices", OP_HOST_COUNT_MAX);
    }
    for (size_t i = 0; i < stats.count; i++) {
        IMPORT_TRY(check_device(input, &stats.devices[i], error));
        counted[i] = count_device(&stats.devices[i], input->fixed);
    }
    IMPORT_TRY(counted_build(counted, stats.count, "in use", input, import, error));
    for (size_t i = 0; i < stats.count && i < TOLD_COUNT_MAX; i++) {
        tell_sums(&stats.devices[i], i, &counted[i], import);
        tell_checks(&stats.devices[i], i, import);
    }
    if (stats.count > TOLD_COUNT_MAX) {
        import_tell(import, "%zu more devices are in the list, one host each",
                    stats.count - TOLD_COUNT_MAX);
    }
    if (stats.unusable_count > 0) {
        import_note(import, "counters below 0 or above 2^49, taken as absent: %" PRIu64,
                    stats.unusable_count);
    }
    snprintf(import->setup.system, sizeof import->setup.system, "%s",
             has(&stats.devices[0], FACT_POOL)         ? "xla_gpu"
             : has(&stats.devices[0], FACT_RESERVABLE) ? "xla_tpu"
                                                       : "");
    return IMPORT_OK;
}

static unsigned recognise_device_stats(const char *text, size_t length)
{
    return text_has(text, length, "bytes_in_use") && text_has(text, length, "bytes_limit") ? 60 : 0;
}

const struct format format_device_stats = {
    .name = "device_stats",
    .summary = "the memory counters of JAX devices (Device.memory_stats()), within any text",
    .recognise = recognise_device_stats,
    .import = import_device_stats,
};
