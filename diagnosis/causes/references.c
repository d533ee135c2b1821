#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include <inttypes.h>
#include <string.h>

enum { OLD_AGE_MIN = 8 };

struct kept_by_tag {
    uint64_t freed_bytes, freed_count; /* freed, and kept by references alone */
    uint64_t live_bytes, live_count;   /* live, and held since more than half of the list ago */
    const struct evidence_block *largest;
};

static bool is_old(const struct evidence *evidence, const struct evidence_block *block)
{
    const uint64_t op_count = evidence->ops->count;
    return block->hold_op != OP_NONE && op_count - block->hold_op >= OLD_AGE_MIN &&
           block->hold_op < op_count / 2;
}

/* Whose hold is the importer's: nobody could release it. */
static bool is_stand_in(const struct evidence *evidence, const struct evidence_block *block)
{
    const char *name = evidence->setup->tags[block->tag];
    return strcmp(name, SETUP_RESERVED_NAME) == 0 || strcmp(name, SETUP_BEFORE_NAME) == 0 ||
           setup_is_assumed_name(name) || setup_is_outside_name(name);
}

static void note_block(const struct evidence *evidence, const struct evidence_block *block,
                       struct kept_by_tag *held)
{
    const bool is_freed = block->state == BLOCK_DYING && block->event_op == OP_NONE;
    const bool is_live = block->state == BLOCK_LIVE && is_old(evidence, block);
    if (block->hold_count == 0 || block->kind == BLOCK_RETIRED || (!is_freed && !is_live) ||
        is_stand_in(evidence, block)) {
        return;
    }
    held->freed_bytes += is_freed ? block->size_bytes : 0;
    held->freed_count += is_freed;
    held->live_bytes += is_live ? block->size_bytes : 0;
    held->live_count += is_live;
    if (held->largest == NULL || block->size_bytes > held->largest->size_bytes) {
        held->largest = block;
    }
}

static bool is_enough(const struct evidence *evidence, const struct kept_by_tag *held)
{
    return evidence->missing_bytes == 0 ||
           held->freed_bytes + held->live_bytes >= evidence->missing_bytes;
}

static enum strength find_strength(const struct evidence *evidence, const struct kept_by_tag *held)
{
    if (evidence->missing_bytes == 0) {
        return STRENGTH_REFERENCES_PIECES;
    }
    return held->freed_bytes >= evidence->missing_bytes ? STRENGTH_REFERENCES
                                                        : STRENGTH_REFERENCES_LIVE;
}

static void describe_count(struct diagnosis *diagnosis, uint64_t bytes, uint64_t count,
                           const char *what)
{
    if (count > 0) {
        diagnosis_describe(diagnosis, "%s in %" PRIu64 " block%s %s. ", size_text_of(bytes).text,
                           count, count == 1 ? "" : "s", what);
    }
}

static void find_references(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct kept_by_tag held = {0};
    for (size_t i = 0; i < evidence->block_count; i++) {
        note_block(evidence, &evidence->blocks[i], &held);
    }
    if (held.largest == NULL || !is_enough(evidence, &held)) {
        return;
    }
    strength_set(diagnosis, find_strength(evidence, &held));
    diagnosis->op = held.largest->op;
    diagnosis_tag(diagnosis, held.largest->tag);
    diagnosis_number(diagnosis, "freed_but_held_bytes", held.freed_bytes);
    diagnosis_number(diagnosis, "long_held_bytes", held.live_bytes);
    describe_count(diagnosis, held.freed_bytes, held.freed_count,
                   "were freed, but references still hold them");
    describe_count(diagnosis, held.live_bytes, held.live_count,
                   "have been held for more than half of the list");
    diagnosis_describe(diagnosis, "The largest is the block of op %u ('%s', %s)", held.largest->op,
                       evidence_tag_name(evidence, held.largest->tag).text,
                       size_text_of(held.largest->size_bytes).text);
    if (held.largest->hold_op != OP_NONE) {
        diagnosis_describe(diagnosis, ", held by op %u, %zu ops ago", held.largest->hold_op,
                           evidence->ops->count - 1 - held.largest->hold_op);
    }
    diagnosis_describe(diagnosis, ".");
}

const struct cause cause_references = {
    .name = "references",
    .summary = "a reference holds blocks that are no longer needed",
    .claim = CLAIM_TIGHT,
    .find = find_references,
    .remedies = {&remedy_release_references},
};
