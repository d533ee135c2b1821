#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

enum { HOLDER_COUNT_MAX = 3 };

static void describe_holders(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    uint64_t bytes[OP_TAG_COUNT] = {0};
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        const bool holds = block->state != BLOCK_GONE && block->kind != BLOCK_RETIRED;
        bytes[block->tag] += holds ? block->size_bytes : 0;
    }
    if (diagnosis_holders(diagnosis, evidence, bytes, " Most of it is held by ", HOLDER_COUNT_MAX) >
        0) {
        diagnosis_describe(diagnosis, ".");
    }
}

static void find_exhausted(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    if (evidence->missing_bytes == 0) {
        return;
    }
    diagnosis_number(diagnosis, "missing_bytes", evidence->missing_bytes);
    diagnosis_number(diagnosis, "in_use_bytes", evidence->in_use_bytes);
    diagnosis_number(diagnosis, "retired_bytes", evidence->retired_bytes);
    diagnosis->op = evidence->verdict->op;
    if (evidence->requested_bytes > evidence->capacity_bytes) {
        diagnosis->kind = "too_large";
        strength_set(diagnosis, STRENGTH_TOO_LARGE);
        diagnosis_describe(diagnosis, "The request alone (%s) is larger than the device (%s).",
                           size_text_of(evidence->requested_bytes).text,
                           size_text_of(evidence->capacity_bytes).text);
        return;
    }
    const bool is_first = cycles_settled_steps(evidence) == 0;
    diagnosis->kind = is_first ? "first_steps" : "later";
    strength_set(diagnosis, is_first ? STRENGTH_FIRST_STEPS : STRENGTH_EXHAUSTED);
    diagnosis_describe(
        diagnosis,
        "The request needs %s, and %s are free: %s too little. In use: %s of %s; stack: %s",
        size_text_of(evidence->requested_bytes).text, size_text_of(evidence->free_bytes).text,
        size_text_of(evidence->missing_bytes).text, size_text_of(evidence->in_use_bytes).text,
        size_text_of(evidence->capacity_bytes).text, size_text_of(evidence->stack_bytes).text);
    if (evidence->retired_bytes > 0) {
        diagnosis_describe(diagnosis, "; retired: %s", size_text_of(evidence->retired_bytes).text);
    }
    diagnosis_describe(diagnosis, ".");
    describe_holders(evidence, diagnosis);
}

const struct cause cause_exhausted = {
    .name = "exhausted",
    .summary = "the request and the blocks in use need more than the device has",
    .claim = CLAIM_NO_ROOM,
    .find = find_exhausted,
    .remedies = {&remedy_unload, &remedy_accumulation, &remedy_trim, &remedy_batch,
                 &remedy_precision, &remedy_sharding},
};
