#include "diagnosis/cause.h"
#include "diagnosis/strength.h"
#include "harness/op/rounding.h"

/* Returns the rounding that the run holds the target to: the list's, if it has one. */
static const struct target_rounding *find_rounding(const struct evidence *evidence)
{
    return evidence->setup->has_rounding ? &evidence->setup->rounding
                                         : &evidence->contract->rounding;
}

static void describe_class(const struct target_rounding *rounding, uint64_t needed_bytes,
                           uint64_t asked_bytes, struct diagnosis *diagnosis)
{
    char text[ROUNDING_TEXT_BYTES];
    rounding_print(rounding, text);
    diagnosis_number(diagnosis, "needed_bytes", needed_bytes);
    diagnosis_describe(diagnosis,
                       "The request is for %s; by the contract's rounding (%s) its block may have "
                       "%s, %s more, and no hole has that.",
                       size_text_of(asked_bytes).text, text, size_text_of(needed_bytes).text,
                       size_text_of(needed_bytes - asked_bytes).text);
}

/* A hole has the size that was asked for, so that no other cause of a full device has a word. */
static void find_rounded_up(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct op *op = evidence->op;
    if (op == NULL || op->size_bytes == 0 || op->size_bytes > ROUNDING_BYTES_MAX) {
        return;
    }
    const struct target_rounding *rounding = find_rounding(evidence);
    const uint64_t needed = rounding_bytes_needed(rounding, evidence->contract->granule_bytes,
                                                  op->size_bytes);
    const uint64_t largest = evidence->largest_hole_bytes;
    if (needed <= largest || op->size_bytes > largest) {
        return;
    }
    strength_set(diagnosis, STRENGTH_ROUNDED_UP);
    diagnosis->op = evidence->verdict->op;
    diagnosis_number(diagnosis, "largest_hole_bytes", largest);
    describe_class(rounding, needed, op->size_bytes, diagnosis);
    diagnosis_describe(diagnosis,
                       " The largest hole has %s: the request itself would fit. Remedy: sizes that "
                       "fill their class, or an allocator with finer classes.",
                       size_text_of(largest).text);
}

const struct cause cause_rounded_up = {
    .name = "rounded_up",
    .summary = "a hole takes the request, but not its size class",
    .claim = CLAIM_NO_ROOM,
    .find = find_rounded_up,
};
