#include "diagnosis/leak.h"

#include "harness/base/check.h"

#include <stdlib.h>

enum {
    PART_COUNT = 16,
    LIVELY_PART_COUNT_MIN = 12,
    STEP_COUNT_MIN = 64,
    CONFIDENCE_BOTH = 95,  /* blocks pile up, and the floor of the tag rises */
    CONFIDENCE_ONE = 75,   /* blocks pile up under a total that is too unsteady to show it */
    CONFIDENCE_BESIDE = 40 /* there is a leak, but it is too small to explain the out-of-memory */
};

static const struct history_host *host_of(const struct evidence *evidence)
{
    return &evidence->history->hosts[evidence->host];
}

static bool was_there(const struct history_host *host, int tag)
{
    for (uint32_t i = 0; i < host->count; i++) {
        if (host->samples[i].top_bytes[tag] > 0) {
            return true;
        }
    }
    return false;
}

uint32_t leak_tag_count(const struct evidence *evidence)
{
    uint32_t count = 0;
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        count += was_there(host_of(evidence), tag);
    }
    return count;
}

enum trend_answer leak_trend(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                             struct trend *trend)
{
    const struct history_host *host = host_of(evidence);
    uint64_t floors[HISTORY_SAMPLE_COUNT_MAX];
    CHECK(tag_count > 0);
    for (uint32_t i = 0; i < host->count; i++) {
        floors[i] = host->samples[i].floor_bytes[tag];
    }
    *trend = (struct trend){0};
    return trend_test(floors, host->count, LEAK_ALPHA / tag_count, trend);
}

bool leak_life_goes_on(const struct evidence *evidence)
{
    const struct history_host *host = host_of(evidence);
    bool is_lively[PART_COUNT] = {false};
    uint32_t lively_count = 0;
    for (uint32_t i = 0; i < host->count; i++) {
        const struct history_sample *sample = &host->samples[i];
        const uint64_t part = sample->first_op * PART_COUNT / evidence->history->op_count;
        if (part < PART_COUNT && sample->freed_count + sample->executed_count > 0) {
            is_lively[part] = true;
        }
    }
    for (int part = 0; part < PART_COUNT; part++) {
        lively_count += is_lively[part];
    }
    return lively_count >= LIVELY_PART_COUNT_MIN;
}

uint64_t leak_step_count(const struct evidence *evidence, uint64_t first_op, uint64_t end_op)
{
    const struct history_host *host = host_of(evidence);
    uint64_t count = 0;
    for (uint32_t i = 0; i < host->count; i++) {
        const uint64_t at = host->samples[i].first_op;
        count += at >= first_op && at < end_op ? host->samples[i].executed_count : 0;
    }
    return count >= STEP_COUNT_MIN ? count : 0;
}

void leak_say_rate(const struct evidence *evidence, uint64_t bytes, uint64_t first_op,
                   uint64_t end_op, struct diagnosis *diagnosis)
{
    const uint64_t op_count = end_op > first_op ? end_op - first_op : 1;
    const uint64_t per_thousand = (uint64_t)((double)bytes * 1000 / (double)op_count);
    const uint64_t steps = leak_step_count(evidence, first_op, end_op);
    diagnosis_say(diagnosis, "%s per 1000 ops", diagnosis_size(per_thousand).text);
    diagnosis_number(diagnosis, "bytes_per_1000_ops", per_thousand);
    if (steps > 0) {
        diagnosis_say(diagnosis, ", %s per execution", diagnosis_size(bytes / steps).text);
        diagnosis_number(diagnosis, "bytes_per_execution", bytes / steps);
    }
}

/* --- the cause --- */

static void say_sizes(const struct survivors *survivors, struct diagnosis *diagnosis)
{
    if (survivors->least_bytes == survivors->most_bytes) {
        diagnosis_say(diagnosis, "of %s", diagnosis_size(survivors->least_bytes).text);
    } else {
        diagnosis_say(diagnosis, "of %s to %s", diagnosis_size(survivors->least_bytes).text,
                      diagnosis_size(survivors->most_bytes).text);
    }
}

static void say_trend(enum trend_answer answer, const struct trend *trend,
                      struct diagnosis *diagnosis)
{
    if (answer == TREND_GROWS) {
        diagnosis_say(
            diagnosis,
            " The least that it ever falls back to rises, too (z %.1f, and %.1f as a drift; it rose in %u of "
            "%u windows).",
            trend->z_order, trend->z_drift, trend->rising_count, trend->window_count);
        diagnosis_number(diagnosis, "trend_z_tenths", (uint64_t)(trend->z_order * 10));
    } else {
        diagnosis_say(diagnosis, " The bytes of the tag as a whole do not show it (the floor: %s).",
                      trend_answer_name(answer));
    }
}

static void say_leak(const struct evidence *evidence, uint8_t tag, const struct leak_pile *pile,
                     struct diagnosis *diagnosis)
{
    char name[SETUP_NAME_BYTES];
    const struct survivors *survivors = &pile->survivors;
    diagnosis->has_tag = true;
    diagnosis->tag = tag;
    diagnosis->op = survivors->first_op;
    diagnosis->confidence = pile->answer == TREND_GROWS ? CONFIDENCE_BOTH : CONFIDENCE_ONE;
    diagnosis_number(diagnosis, "leaked_bytes", survivors->bytes);
    diagnosis_number(diagnosis, "leaked_blocks", survivors->count);
    diagnosis_say(diagnosis, "'%s' piles up: %llu blocks ", evidence_tag_name(evidence, tag, name),
                  (unsigned long long)survivors->count);
    say_sizes(survivors, diagnosis);
    diagnosis_say(diagnosis, ", %s in all, made again and again since op %u, were never freed: ",
                  diagnosis_size(survivors->bytes).text, survivors->first_op);
    leak_say_rate(evidence, survivors->bytes, survivors->first_op, survivors->end_window_op,
                  diagnosis);
    diagnosis_say(diagnosis, ".");
    say_trend(pile->answer, &pile->trend, diagnosis);
    if (evidence_has_oom(evidence) && survivors->bytes < evidence->missing_bytes) {
        diagnosis->confidence = CONFIDENCE_BESIDE;
        diagnosis_say(diagnosis, " That is less than the %s that are missing.",
                      diagnosis_size(evidence->missing_bytes).text);
    }
}

struct survivors (*leak_survivors(const struct evidence *evidence))[OP_TAG_COUNT]
{
    struct survivors(*survivors)[OP_TAG_COUNT] = calloc(SURVIVORS_PART_COUNT, sizeof *survivors);
    CHECK(survivors != NULL);
    for (int i = 0; i < SURVIVORS_PART_COUNT; i++) {
        survivors_take(evidence, survivors_parts[i], survivors[i]);
    }
    return survivors;
}

bool leak_piles_up(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                   struct survivors survivors[SURVIVORS_PART_COUNT][OP_TAG_COUNT],
                   struct leak_pile *pile)
{
    pile->answer = leak_trend(evidence, tag, tag_count, &pile->trend);
    for (int i = 0; i < SURVIVORS_PART_COUNT; i++) {
        if (survivors_pile_up(&survivors[i][tag], pile->answer == TREND_GROWS)) {
            pile->survivors = survivors[i][tag];
            return true;
        }
    }
    return false;
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
        if (!was_there(host_of(evidence), tag) ||
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
    say_leak(evidence, (uint8_t)leaking, &worst, diagnosis);
    if (others > 0) {
        diagnosis_say(diagnosis, " %u other tag%s seem%s to pile up, too.", others,
                      others == 1 ? "" : "s", others == 1 ? "s" : "");
    }
}

const struct cause cause_leak = {
    .name = "leak",
    .summary = "blocks of one tag are made all the time and never freed",
    .needs_oom = false,
    .find = find_leak,
};
