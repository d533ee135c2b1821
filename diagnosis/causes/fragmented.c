#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

#include <inttypes.h>

/* A hole that is large enough is no fragmentation: where it cannot be used, out_of_place says why.
 */
static void find_fragmented(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    if (evidence->missing_bytes > 0 || evidence->largest_hole_bytes >= evidence->requested_bytes) {
        return;
    }
    const bool is_assumed = evidence_placement_is_assumed(evidence);
    strength_set(diagnosis, is_assumed ? STRENGTH_FRAGMENTED_ASSUMED : STRENGTH_FRAGMENTED);
    diagnosis_number(diagnosis, "free_bytes", evidence->free_bytes);
    if (is_assumed) {
        diagnosis_describe(
            diagnosis,
            "%s are free, enough for the requested %s, so they lay in pieces or were of "
            "no use to it. The file has sums only: which blocks lie between is not known.",
            size_text_of(evidence->free_bytes).text, size_text_of(evidence->requested_bytes).text);
        return;
    }
    diagnosis_number(diagnosis, "largest_hole_bytes", evidence->largest_hole_bytes);
    diagnosis_describe(
        diagnosis,
        "%s are free, enough for the requested %s, but in %" PRIu64 " holes; the largest has %s.",
        size_text_of(evidence->free_bytes).text, size_text_of(evidence->requested_bytes).text,
        evidence->hole_count, size_text_of(evidence->largest_hole_bytes).text);
    pins_describe(evidence, diagnosis);
}

const struct cause cause_fragmented = {
    .name = "fragmented",
    .summary = "enough is free, but in pieces, and these blocks separate them",
    .claim = CLAIM_NO_ROOM,
    .find = find_fragmented,
    .remedies = {&remedy_defrag, &remedy_pages},
};
