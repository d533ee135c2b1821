#include "diagnosis/private/leak.h"

#include <inttypes.h>
#include <stdlib.h>

/* The rank is above that of exhausted, of which this says more, and below that of all that is told
 * apart. */
enum {
    CONFIDENCE = 58,
    OP_COUNT_MIN = 32,
    PART_COUNT = 4,
    BLOCK_COUNT_MIN = 4,
    SHARE_DIVISOR = 16
};

/* What a tag gained in the second half of the list. */
struct gain {
    uint64_t bytes, block_count;
};

/* The part of the list, of PART_COUNT equal ones, in which the op lies. */
static uint64_t find_part(const struct evidence *evidence, uint64_t op)
{
    const uint64_t part = op * PART_COUNT / evidence->history->op_count;
    return part < PART_COUNT ? part : PART_COUNT - 1;
}

/* By how much it grew since the first half, where it was never as large as in the third quarter,
 * nor there as in the fourth, at whose end it still is; 0: it was. */
static uint64_t count_grown_bytes(const struct evidence *evidence, int tag)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    uint64_t tops[PART_COUNT] = {0};
    for (uint32_t i = 0; i < host->count; i++) {
        const struct history_sample *sample = &host->samples[i];
        uint64_t *top = &tops[find_part(evidence, sample->first_op)];
        *top = sample->top_bytes[tag] > *top ? sample->top_bytes[tag] : *top;
    }
    const uint64_t before = tops[0] > tops[1] ? tops[0] : tops[1];
    const bool grows = host->count > 0 && tops[2] > before && tops[3] > tops[2] &&
                       host->samples[host->count - 1].floor_bytes[tag] > tops[2];
    return grows ? tops[3] - before : 0;
}

/* How many blocks of each tag are there, by the part of the list in which they came. */
static void count_blocks(const struct evidence *evidence, uint64_t counts[OP_TAG_COUNT][PART_COUNT])
{
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_LIVE && block->kind != BLOCK_RETIRED) {
            counts[block->tag][find_part(evidence, block->op)]++;
        }
    }
}

/* How many of them came in the second half and stayed; 0 when they came in one of its halves alone:
 * that is a step and not gain. */
static uint64_t count_grown_blocks(const uint64_t counts[PART_COUNT])
{
    return counts[2] > 0 && counts[3] > 0 ? counts[2] + counts[3] : 0;
}

/* Whether leak or growing_set says what the tag does. */
static bool is_told_apart(const struct evidence *evidence, int tag,
                          struct survivors survivors[SURVIVORS_PART_COUNT][OP_TAG_COUNT])
{
    struct leak_pile pile;
    const bool piles_up = leak_piles_up(evidence, (uint8_t)tag, leak_tag_count(evidence), survivors,
                                        &pile);
    return piles_up ? evidence->history->op_count >= LEAK_OP_COUNT_MIN : pile.answer == TREND_GROWS;
}

static void describe_gain(const struct evidence *evidence, int tag, const struct gain *gain,
                          struct diagnosis *diagnosis)
{
    char name[SETUP_NAME_BYTES];
    diagnosis->confidence = CONFIDENCE;
    diagnosis->has_tag = true;
    diagnosis->tag = (uint8_t)tag;
    diagnosis_number(diagnosis, "grown_bytes", gain->bytes);
    diagnosis_number(diagnosis, "grown_blocks", gain->block_count);
    diagnosis_describe(
        diagnosis,
        "'%s' is still growing at the end. It grew by %s in the second half of the list, and %" PRIu64
        " blocks from there are still live. It was never as large before. The list is too short to distinguish a leak from a warm-up or a cache that fills; a longer list would show it.",
        evidence_tag_name(evidence, (uint8_t)tag, name), diagnosis_size(gain->bytes).text,
        gain->block_count);
}

static void find_still_growing(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    uint64_t counts[OP_TAG_COUNT][PART_COUNT] = {{0}};
    struct gain most = {0};
    int growing = -1;
    if (evidence->missing_bytes == 0 || evidence->history->op_count < OP_COUNT_MIN ||
        !leak_life_goes_on(evidence)) {
        return;
    }
    count_blocks(evidence, counts);
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        const struct gain gain = {count_grown_bytes(evidence, tag),
                                  count_grown_blocks(counts[tag])};
        if (gain.bytes > most.bytes && gain.block_count >= BLOCK_COUNT_MIN) {
            most = gain;
            growing = tag;
        }
    }
    if (most.bytes < evidence->missing_bytes ||
        most.bytes < evidence->capacity_bytes / SHARE_DIVISOR) {
        return;
    }
    struct survivors(*survivors)[OP_TAG_COUNT] = leak_survivors(evidence);
    if (!is_told_apart(evidence, growing, survivors)) {
        describe_gain(evidence, growing, &most, diagnosis);
    }
    free(survivors);
}

const struct cause cause_still_growing = {
    .name = "still_growing",
    .summary = "one tag grows to the end, and the op list is too short to show why",
    .claim = CLAIM_TIGHT,
    .find = find_still_growing,
};
