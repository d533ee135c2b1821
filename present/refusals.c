#include "present/refusals.h"

#include "harness/base/json.h"
#include "harness/base/size.h"

#include <inttypes.h>

uint64_t refusals_judged(const struct run_totals *totals)
{
    return totals->justified + totals->premature;
}

void refusals_append_share(struct writing *text, const struct run_totals *totals)
{
    const uint64_t judged = refusals_judged(totals);
    writing_append_format(text, "%" PRIu64 " of %" PRIu64 " judged %s premature (%s)",
                          totals->premature, judged, plural(totals->premature, "was", "were"),
                          share_text_of(totals->premature, judged).text);
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
    if (largest->bytes == 0) {
        writing_append(text, largest->is_exact ? "no size would have been served"
                                               : "not found within the budget");
        return;
    }
    writing_append_format(text, "%s%s (%" PRIu64 " bytes) would have been served",
                          largest->is_exact ? "" : "at least ", size_text_of(largest->bytes).text,
                          largest->bytes);
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
