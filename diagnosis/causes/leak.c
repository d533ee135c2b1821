#include "diagnosis/private/leak.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    CONFIDENCE_BOTH = 95,  /* blocks pile up, and the floor of the tag rises */
    CONFIDENCE_ONE = 75,   /* blocks pile up under a total that is too unsteady to show it */
    CONFIDENCE_BESIDE = 40 /* there is a leak, but it is too small to explain the out-of-memory */
};

static void describe_sizes(const struct survivors *survivors, struct diagnosis *diagnosis)
{
    if (survivors->least_bytes == survivors->most_bytes) {
        diagnosis_describe(diagnosis, "of %s", diagnosis_size(survivors->least_bytes).text);
    } else {
        diagnosis_describe(diagnosis, "of %s to %s", diagnosis_size(survivors->least_bytes).text,
                           diagnosis_size(survivors->most_bytes).text);
    }
}

static void describe_trend(enum trend_answer answer, const struct trend *trend,
                           struct diagnosis *diagnosis)
{
    if (answer == TREND_GROWS) {
        diagnosis_describe(
            diagnosis,
            " The least that it falls back to rises as well (z %.1f, and %.1f as a drift; it rose in %u of %u windows).",
            trend->z_order, trend->z_drift, trend->rising_count, trend->window_count);
        diagnosis_number(diagnosis, "trend_z_tenths", (uint64_t)(trend->z_order * 10));
    } else {
        diagnosis_describe(diagnosis, " The total bytes of the tag do not show it (the floor: %s).",
                           trend_answer_name(answer));
    }
}

static void describe_leak(const struct evidence *evidence, uint8_t tag,
                          const struct leak_pile *pile, struct diagnosis *diagnosis)
{
    char name[SETUP_NAME_BYTES];
    const struct survivors *survivors = &pile->survivors;
    diagnosis->has_tag = true;
    diagnosis->tag = tag;
    diagnosis->op = survivors->first_op;
    diagnosis->confidence = pile->answer == TREND_GROWS ? CONFIDENCE_BOTH : CONFIDENCE_ONE;
    diagnosis_number(diagnosis, "leaked_bytes", survivors->bytes);
    diagnosis_number(diagnosis, "leaked_blocks", survivors->count);
    diagnosis_describe(diagnosis, "'%s' piles up: %" PRIu64 " blocks ",
                       evidence_tag_name(evidence, tag, name), survivors->count);
    describe_sizes(survivors, diagnosis);
    diagnosis_describe(diagnosis,
                       ", %s in all, allocated again and again since op %u, were never freed: ",
                       diagnosis_size(survivors->bytes).text, survivors->first_op);
    leak_describe_rate(evidence, survivors->bytes, survivors->first_op, survivors->end_window_op,
                       diagnosis);
    diagnosis_describe(diagnosis, ".");
    describe_trend(pile->answer, &pile->trend, diagnosis);
    if (evidence_has_oom(evidence) && survivors->bytes < evidence->missing_bytes) {
        diagnosis->confidence = CONFIDENCE_BESIDE;
        diagnosis_describe(diagnosis, " That is less than the missing %s.",
                           diagnosis_size(evidence->missing_bytes).text);
    }
}

/* A floor that rises counts for more than bytes. */
static bool is_worse(const struct leak_pile *one, const struct leak_pile *other)
{
    if ((one->answer == TREND_GROWS) != (other->answer == TREND_GROWS)) {
        return one->answer == TREND_GROWS;
    }
    return one->survivors.bytes > other->survivors.bytes;
}

static void find_leak(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct leak_pile worst = {0};
    int leaking = -1;
    uint32_t others = 0;
    if (evidence->history->op_count < LEAK_OP_COUNT_MIN || !leak_life_goes_on(evidence)) {
        return;
    }
    const uint32_t tag_count = leak_tag_count(evidence);
    struct survivors(*survivors)[OP_TAG_COUNT] = leak_survivors(evidence);
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        struct leak_pile pile;
        if (!leak_has_tag(evidence, tag) ||
            !leak_piles_up(evidence, (uint8_t)tag, tag_count, survivors, &pile)) {
            continue;
        }
        others += leaking >= 0;
        if (leaking < 0 || is_worse(&pile, &worst)) {
            worst = pile;
            leaking = tag;
        }
    }
    free(survivors);
    if (leaking < 0) {
        return;
    }
    describe_leak(evidence, (uint8_t)leaking, &worst, diagnosis);
    if (others > 0) {
        diagnosis_describe(diagnosis, " %u other tag%s also seem%s to pile up.", others,
                           others == 1 ? "" : "s", others == 1 ? "s" : "");
    }
}

const struct cause cause_leak = {
    .name = "leak",
    .summary = "blocks of one tag are allocated all the time and never freed",
    .claim = CLAIM_GROWTH,
    .find = find_leak,
};
