/* Another capacity: the smallest device that does. */
#include "diagnosis/private/variant.h"

#include "harness/base/size.h"

#include <stdio.h>

/* The least that can do: what the buffers alone take. */
static bool capacity_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                               char note[REMEDY_NOTE_BYTES])
{
    const uint64_t granule = given->contract->granule_bytes;
    note[0] = '\0';
    *parameter = given->lives.buffer_peak_bytes < granule ? granule
                                                          : given->lives.buffer_peak_bytes;
    return index == 0;
}

static void capacity_label(const struct remedy_case *given, uint64_t parameter,
                           char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    size_print(parameter, text);
}

static bool capacity_apply(const struct remedy_case *given, uint64_t parameter,
                           struct remedy_result *result)
{
    const uint64_t now = given->setup->capacity_bytes;
    const size_t retired_count = remedy_leave_out_retired(given, result);
    setup_set_capacity(&result->setup, parameter);
    result->setup.chip[0] = '\0';
    remedy_note_retired(
        result,
        snprintf(result->note, sizeof result->note, "%s %s",
                 size_text_of(parameter > now ? parameter - now : now - parameter).text,
                 parameter > now ? "more" : "less"),
        retired_count);
    return true;
}

const struct remedy remedy_capacity = {
    .name = "capacity",
    .summary = "the smallest device on which the list runs",
    .parameter_name = "bytes",
    .assumes = "The job requests the same buffers there.",
    .search = REMEDY_BISECTED,
    .parameter = capacity_parameter,
    .label = capacity_label,
    .apply = capacity_apply,
};
