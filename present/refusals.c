#include "present/refusals.h"

#include "harness/base/json.h"
#include "harness/base/size.h"

#include <inttypes.h>

enum { HUNDREDTHS = 10000 };

uint64_t refusals_judged(const struct run_totals *totals)
{
    return totals->justified + totals->premature;
}

/* In hundredths of a percent, rounded down: integers, so that every machine prints the same. */
static uint64_t count_hundredths(uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        return 0;
    }
    return part > UINT64_MAX / HUNDREDTHS ? part / (whole / HUNDREDTHS) : part * HUNDREDTHS / whole;
}

void refusals_append_share(struct writing *text, const struct run_totals *totals)
{
    const uint64_t judged = refusals_judged(totals);
    const uint64_t hundredths = count_hundredths(totals->premature, judged);
    writing_append_format(text, "%" PRIu64 " of %" PRIu64 " judged %s premature (",
                          totals->premature, judged, totals->premature == 1 ? "was" : "were");
    if (hundredths == 0 && totals->premature > 0) {
        writing_append(text, "less than 0.01 %)");
        return;
    }
    writing_append_format(text, "%" PRIu64 ".%02" PRIu64 " %%)", hundredths / 100,
                          hundredths % 100);
}

void refusals_append_line(struct writing *text, const char *name, const struct run_totals *totals)
{
    if (totals->premature == 0) {
        return;
    }
    if (name != NULL) {
        writing_append_visible(text, name);
        writing_append(text, ": ");
    }
    writing_append(text, "refusals: ");
    refusals_append_share(text, totals);
    writing_append(text, "\n");
}

void refusals_add_share(struct writing *text, const struct run_totals *totals)
{
    json_add_fraction(text, "premature_share", totals->premature, refusals_judged(totals));
}

void refusals_append_largest(struct writing *text, const struct oracle_largest *largest)
{
    char size[SIZE_TEXT_BYTES];
    if (largest->bytes == 0) {
        writing_append(text, largest->is_exact ? "no size would have been served"
                                               : "not found within the budget");
        return;
    }
    size_print_field(largest->bytes, size);
    writing_append_format(text, "%s%s (%" PRIu64 " bytes) would have been served",
                          largest->is_exact ? "" : "at least ", size, largest->bytes);
}

void refusals_add_largest(struct writing *text, const struct oracle_largest *largest)
{
    if (largest == NULL) {
        return;
    }
    json_add_number(text, "largest_served_bytes", largest->bytes);
    if (!largest->is_exact) {
        json_add_boolean(text, "largest_served_at_least", true);
    }
}
