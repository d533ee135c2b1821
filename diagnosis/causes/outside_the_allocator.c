#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include <string.h>

/* A context alone is what every process has: little can be done about it. */
enum { SMALL_DIVISOR = 20 };

struct outside {
    uint64_t by_tag[OP_TAG_COUNT];
    uint64_t bytes;       /* all */
    uint64_t other_bytes; /* of other processes */
};

static void add_blocks(const struct evidence *evidence, struct outside *outside)
{
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        const char *name = evidence->setup->tags[block->tag];
        if (block->state == BLOCK_GONE || block->kind == BLOCK_RETIRED ||
            !setup_is_outside_name(name)) {
            continue;
        }
        outside->by_tag[block->tag] += block->size_bytes;
        outside->bytes += block->size_bytes;
        outside->other_bytes += strncmp(name, SETUP_OTHER_PROCESS_NAME,
                                        sizeof SETUP_OTHER_PROCESS_NAME - 1) == 0
                                    ? block->size_bytes
                                    : 0;
    }
}

/* If nothing moves, free memory outside the largest hole does not count.  If holes are assumed, no
 * free memory counts. */
static uint64_t find_missing(const struct evidence *evidence)
{
    if (evidence_placement_is_assumed(evidence)) {
        return evidence->requested_bytes;
    }
    const bool stays = evidence->contract->defrag == DEFRAG_NONE;
    const uint64_t usable = stays ? evidence->largest_hole_bytes : evidence->free_bytes;
    return evidence->requested_bytes > usable ? evidence->requested_bytes - usable : 0;
}

static void find_outside(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct outside outside = {0};
    const uint64_t missing_bytes = find_missing(evidence);
    add_blocks(evidence, &outside);
    if (missing_bytes == 0 || outside.bytes < missing_bytes) {
        return;
    }
    const bool is_small = outside.bytes < evidence->capacity_bytes / SMALL_DIVISOR;
    strength_set(diagnosis, outside.other_bytes >= missing_bytes ? STRENGTH_OUTSIDE_PROCESSES
                            : is_small                           ? STRENGTH_OUTSIDE_SMALL
                                                                 : STRENGTH_OUTSIDE);
    diagnosis->op = evidence->verdict->op;
    diagnosis_number(diagnosis, "outside_bytes", outside.bytes);
    diagnosis_number(diagnosis, "other_process_bytes", outside.other_bytes);
    diagnosis_number(diagnosis, "missing_bytes", missing_bytes);
    diagnosis_describe(
        diagnosis, "%s of the device's %s are not the allocator's, and %s of them would have done",
        size_text_of(outside.bytes).text, size_text_of(evidence->capacity_bytes).text,
        size_text_of(missing_bytes).text);
    (void)diagnosis_holders(diagnosis, evidence, outside.by_tag, ": ", OP_TAG_COUNT);
    diagnosis_describe(diagnosis, outside.other_bytes > 0
                                      ? ". Processes that share the device can be ended or moved; "
                                        "nvidia-smi or rocm-smi lists them."
                                      : ". Contexts, communicators (NCCL) and other libraries of "
                                        "this process take it.");
}

const struct cause cause_outside_the_allocator = {
    .name = "outside_the_allocator",
    .summary = "memory that other processes, contexts or libraries hold would have been enough",
    .claim = CLAIM_TIGHT,
    .find = find_outside,
};
