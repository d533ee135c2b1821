#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include <inttypes.h>

enum { PART_DIVISOR = 4, LANE_COUNT = 128 };

struct loss {
    uint64_t by_tag[OP_TAG_COUNT];
    uint64_t bytes;
    uint64_t own_bytes; /* of the request that failed */
    /* loses most; NULL: the request does, or nothing is lost */
    const struct evidence_block *largest;
};

static uint64_t count_lost_bytes(const struct evidence_block *block)
{
    return block->requested_bytes > block->unpadded_bytes
               ? block->requested_bytes - block->unpadded_bytes
               : 0;
}

static void add_losses(const struct evidence *evidence, struct loss *loss)
{
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_GONE || block->kind == BLOCK_PROGRAM) {
            continue;
        }
        loss->by_tag[block->tag] += count_lost_bytes(block);
        loss->bytes += count_lost_bytes(block);
        if (count_lost_bytes(block) > 0 &&
            (loss->largest == NULL || count_lost_bytes(block) > count_lost_bytes(loss->largest))) {
            loss->largest = block;
        }
    }
    const struct op *op = evidence->op;
    if (op != NULL && op_kind_info((enum op_kind)op->kind)->has_unpadded &&
        op->unpadded_bytes > 0 && op->unpadded_bytes < op->size_bytes) {
        loss->own_bytes = op->size_bytes - op->unpadded_bytes;
        loss->by_tag[op->tag] += loss->own_bytes;
        loss->bytes += loss->own_bytes;
    }
}

/* The shape is not known; but when a size is a power of two times what is in it, one dimension
 * explains it. */
static void describe_layout(uint64_t padded_bytes, uint64_t unpadded_bytes,
                            struct diagnosis *diagnosis)
{
    const uint64_t factor = unpadded_bytes > 0 ? padded_bytes / unpadded_bytes : 0;
    const bool is_whole = factor > 1 && padded_bytes % unpadded_bytes == 0;
    if (is_whole && (factor & (factor - 1)) == 0 && factor <= LANE_COUNT) {
        diagnosis_describe(
            diagnosis,
            " Padding makes it %" PRIu64 " times as large, as when a last dimension of %" PRIu64
            " is padded to %d. With a last dimension of %d or more, nothing would be lost (a guess: the list has no shapes).",
            factor, LANE_COUNT / factor, LANE_COUNT, LANE_COUNT);
    } else {
        diagnosis_describe(diagnosis,
                           " The list has no shapes, so a better layout cannot be named.");
    }
}

static void describe_padding(const struct evidence *evidence, const struct loss *loss,
                             struct diagnosis *diagnosis)
{
    const uint8_t most = diagnosis_largest_tag(loss->by_tag);
    diagnosis_tag(diagnosis, most);
    diagnosis_number(diagnosis, "padding_bytes", loss->bytes);
    diagnosis_number(diagnosis, "padding_bytes_of_tag", loss->by_tag[most]);
    diagnosis_describe(diagnosis, "%s are padding, most of it (%s) in '%s'.",
                       size_text_of(loss->bytes).text, size_text_of(loss->by_tag[most]).text,
                       evidence_tag_name(evidence, most).text);
    if (loss->largest == NULL || loss->own_bytes > count_lost_bytes(loss->largest)) {
        diagnosis->op = evidence->verdict->op;
        diagnosis_describe(diagnosis, " The request itself is %s, of which %s are contents.",
                           size_text_of(evidence->op->size_bytes).text,
                           size_text_of(evidence->op->unpadded_bytes).text);
        describe_layout(evidence->op->size_bytes, evidence->op->unpadded_bytes, diagnosis);
        return;
    }
    diagnosis->op = loss->largest->op;
    diagnosis_describe(diagnosis, " Op %u loses most: it takes %s for %s of contents.",
                       diagnosis->op, size_text_of(loss->largest->requested_bytes).text,
                       size_text_of(loss->largest->unpadded_bytes).text);
    describe_layout(loss->largest->requested_bytes, loss->largest->unpadded_bytes, diagnosis);
}

static void find_padding(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct loss loss = {0};
    add_losses(evidence, &loss);
    const bool would_do = evidence->missing_bytes > 0 && loss.bytes >= evidence->missing_bytes;
    if (loss.bytes == 0 || (!would_do && loss.bytes < evidence->in_use_bytes / PART_DIVISOR)) {
        return;
    }
    strength_set(diagnosis, would_do ? STRENGTH_PADDING : STRENGTH_PADDING_PART);
    describe_padding(evidence, &loss, diagnosis);
}

const struct cause cause_padding = {
    .name = "padding",
    .summary = "padding takes memory that the request could use",
    .claim = CLAIM_TIGHT,
    .find = find_padding,
    .remedies = {&remedy_layout, &remedy_no_padding},
};
