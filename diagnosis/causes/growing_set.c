#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

#include <inttypes.h>
#include <stdlib.h>

static void describe_growth(const struct evidence *evidence, uint8_t tag, const struct trend *trend,
                            struct diagnosis *diagnosis)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    const struct history_sample *first = &host->samples[trend->first];
    const struct history_sample *last = &host->samples[host->count - 1];
    diagnosis_tag(diagnosis, tag);
    const bool is_enough = trend->rise_bytes >= evidence->missing_bytes;
    strength_set(diagnosis, is_enough ? STRENGTH_GROWING_FLOOR : STRENGTH_GROWING_BESIDE);
    diagnosis_number(diagnosis, "risen_bytes", trend->rise_bytes);
    diagnosis_describe(
        diagnosis,
        "'%s' needs more and more: the least that it falls back to rose by %s since op %" PRIu64
        ", ",
        evidence_tag_name(evidence, tag).text, size_text_of(trend->rise_bytes).text,
        first->first_op);
    leak_describe_rate(evidence, trend->rise_bytes, first->first_op, evidence->history->op_count,
                       diagnosis);
    diagnosis_describe(
        diagnosis,
        " (z %.1f), but its blocks are replaced: no leak. It had %u blocks then and has %u now.",
        trend->z_order, first->counts[tag], last->counts[tag]);
}

/* True if the tag got more blocks rather than larger ones.  A cache does that when it takes in more
 * than it releases. */
static bool has_more_blocks(const struct evidence *evidence, uint8_t tag, const struct trend *trend)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    const struct history_sample *first = &host->samples[trend->first];
    const struct history_sample *last = &host->samples[host->count - 1];
    const double by_count = (double)last->counts[tag] / (first->counts[tag] + 1.0);
    const double by_bytes = (double)last->floor_bytes[tag] / ((double)first->floor_bytes[tag] + 1);
    return by_count > 1 && (by_count - 1) * 2 > by_bytes - 1;
}

/* A tag of which each step needs more than the one before: its floor may be zero in every step. */
static void describe_steps(const struct evidence *evidence, const struct rising_tops *rising,
                           struct diagnosis *diagnosis)
{
    const uint64_t rise = rising->rise_bytes;
    diagnosis_tag(diagnosis, rising->tag);
    const bool is_enough = rise >= evidence->missing_bytes || rising->is_requested;
    strength_set(diagnosis, is_enough ? STRENGTH_GROWING_STEPS : STRENGTH_GROWING_BESIDE);
    diagnosis_number(diagnosis, "risen_bytes", rise);
    diagnosis_number(diagnosis, "steps", rising->cycle_count);
    diagnosis_describe(
        diagnosis,
        "'%s' needs more in each step: at most %s in the first of %" PRIu64
        " steps, %s in the last. All that grows so has %s more. Its blocks are freed: no leak.",
        evidence_tag_name(evidence, rising->tag).text, size_text_of(rising->first_bytes).text,
        rising->cycle_count, size_text_of(rising->last_bytes).text, size_text_of(rise).text);
}

static void find_rising_steps(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct cycles cycles;
    struct rising_tops rising;
    cycles_init(&cycles, evidence);
    if (cycles_find_rising_tops(&cycles, evidence, &rising)) {
        describe_steps(evidence, &rising, diagnosis);
    }
    cycles_deinit(&cycles);
}

static void find_growing_set(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const uint32_t tag_count = leak_tag_count(evidence);
    struct trend most = {0};
    int growing = -1;
    if (tag_count == 0 || !leak_life_goes_on(evidence)) {
        return;
    }
    struct survivors(*survivors)[OP_TAG_COUNT] = leak_survivors(evidence);
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        struct leak_pile pile;
        const bool piles_up = leak_piles_up(evidence, (uint8_t)tag, tag_count, survivors, &pile);
        if (!piles_up && pile.answer == TREND_GROWS && pile.trend.rise_bytes > most.rise_bytes &&
            !has_more_blocks(evidence, (uint8_t)tag, &pile.trend)) {
            most = pile.trend;
            growing = tag;
        }
    }
    free(survivors);
    find_rising_steps(evidence, diagnosis);
    if (growing >= 0 &&
        (diagnosis->confidence == 0 || diagnosis->strength == STRENGTH_GROWING_BESIDE)) {
        diagnosis_init(diagnosis, &cause_growing_set);
        describe_growth(evidence, (uint8_t)growing, &most, diagnosis);
    }
}

const struct cause cause_growing_set = {
    .name = "growing_set",
    .summary = "one tag needs more and more, in blocks that are replaced",
    .claim = CLAIM_TIGHT,
    .find = find_growing_set,
    .remedies = {&remedy_bound},
};
