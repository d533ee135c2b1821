#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

#include <inttypes.h>

enum { SHARE_DIVISOR = 32 };

static void describe_rise(const struct evidence *evidence, const struct rising_floor *rising,
                          struct diagnosis *diagnosis)
{
    strength_set(diagnosis, STRENGTH_STILL_GROWING);
    diagnosis_tag(diagnosis, rising->tag);
    diagnosis_number(diagnosis, "grown_bytes", rising->rise_bytes);
    diagnosis_number(diagnosis, "steps", rising->step_count);
    diagnosis_number(diagnosis, "steps_that_grew", rising->high_count);
    diagnosis_describe(
        diagnosis,
        "'%s' is still growing at the end: what it falls back to rose by %s in %" PRIu64
        " steps (or groups of them), and %" PRIu64
        " of these left it higher than any before. Without that the request would fit. A cache without a bound does so, and so does one that is not full yet, or a leak among blocks that are replaced; a longer list would show which.",
        evidence_tag_name(evidence, rising->tag).text, size_text_of(rising->rise_bytes).text,
        rising->step_count, rising->high_count);
}

static void find_still_growing(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct cycles cycles;
    struct rising_floor rising;
    if (evidence->missing_bytes == 0) {
        return;
    }
    cycles_init(&cycles, evidence);
    if (cycles_find_rising_floor(&cycles, evidence, &rising) &&
        rising.rise_bytes >= evidence->missing_bytes &&
        rising.rise_bytes <= evidence->in_use_bytes && /* the list has requests that failed */
        rising.rise_bytes >= evidence->capacity_bytes / SHARE_DIVISOR) {
        describe_rise(evidence, &rising, diagnosis);
    }
    cycles_deinit(&cycles);
}

const struct cause cause_still_growing = {
    .name = "still_growing",
    .summary = "one tag grows to the end, and the op list is too short to show why",
    .claim = CLAIM_TIGHT,
    .yields = true,
    .find = find_still_growing,
    .remedies = {&remedy_bound},
};
