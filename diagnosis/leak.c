#include "diagnosis/private/findings.h"
#include "diagnosis/tag_trend.h"

#include "harness/base/check.h"

#include <stdlib.h>

enum { PART_COUNT = 16, LIVELY_PART_COUNT_MIN = 12, STEP_COUNT_MIN = 64 };

static const struct history_host *find_host(const struct evidence *evidence)
{
    return &evidence->history->hosts[evidence->host];
}

bool leak_has_tag(const struct evidence *evidence, int tag)
{
    const struct history_host *host = find_host(evidence);
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
        count += leak_has_tag(evidence, tag);
    }
    return count;
}

enum trend_answer leak_trend(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                             struct trend *trend)
{
    const struct history_host *host = find_host(evidence);
    uint64_t floors[HISTORY_SAMPLE_COUNT_MAX];
    CHECK(tag_count > 0);
    for (uint32_t i = 0; i < host->count; i++) {
        floors[i] = host->samples[i].floor_bytes[tag];
    }
    *trend = (struct trend){0};
    const struct trend_question question = {floors, host->count, LEAK_FLOOR_COUNT_MIN,
                                            TREND_WINDOW_COUNT_MAX, LEAK_ALPHA / tag_count};
    return trend_test(&question, trend);
}

bool leak_life_goes_on(const struct evidence *evidence)
{
    const struct history_host *host = find_host(evidence);
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
    const struct history_host *host = find_host(evidence);
    uint64_t count = 0;
    for (uint32_t i = 0; i < host->count; i++) {
        const uint64_t at = host->samples[i].first_op;
        count += at >= first_op && at < end_op ? host->samples[i].executed_count : 0;
    }
    return count >= STEP_COUNT_MIN ? count : 0;
}

void leak_describe_rate(const struct evidence *evidence, uint64_t bytes, uint64_t first_op,
                        uint64_t end_op, struct diagnosis *diagnosis)
{
    const uint64_t op_count = end_op > first_op ? end_op - first_op : 1;
    const uint64_t per_thousand = (uint64_t)((double)bytes * 1000 / (double)op_count);
    const uint64_t steps = leak_step_count(evidence, first_op, end_op);
    diagnosis_describe(diagnosis, "%s per 1000 ops", size_text_of(per_thousand).text);
    diagnosis_number(diagnosis, "bytes_per_1000_ops", per_thousand);
    if (steps > 0) {
        diagnosis_describe(diagnosis, ", %s per execution", size_text_of(bytes / steps).text);
        diagnosis_number(diagnosis, "bytes_per_execution", bytes / steps);
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

bool tag_trend_find(const struct history *history, uint32_t host, uint8_t tag,
                    struct tag_trend *trend)
{
    const struct history_host *held = &history->hosts[host];
    const struct evidence evidence = {.history = history, .host = host};
    struct trend found;
    const uint32_t tag_count = leak_tag_count(&evidence);
    if (tag_count == 0 || leak_trend(&evidence, tag, tag_count, &found) != TREND_GROWS) {
        return false;
    }
    *trend = (struct tag_trend){.first_op = held->samples[found.first].first_op,
                                .end_op = history->op_count,
                                .slope_bytes = found.slope_bytes / (double)held->interval,
                                .at_bytes = held->samples[found.first].floor_bytes[tag]};
    return true;
}
