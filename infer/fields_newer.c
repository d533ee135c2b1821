/* Members of the contract that the rules of the harness alone judge: each is kept as long as no
 * experiment breaks its rule. */
#include "infer/private/fields.h"

#include "harness/op/setup.h"

#include <inttypes.h>
#include <stdio.h>

/* --- what is declared --- */

void declare_placement(const struct target_contract *contract, char *text)
{
    static const char *const names[] = {"PLACEMENT_RANGES", "PLACEMENT_HIDDEN", "PLACEMENT_PAGES"};
    (void)snprintf(text, INFERENCE_TEXT_BYTES, "%s", names[contract->placement]);
}

void declare_header_bytes(const struct target_contract *contract, char *text)
{
    (void)snprintf(text, INFERENCE_TEXT_BYTES, "%" PRIu64, contract->header_bytes);
}

void declare_sleeps(const struct target_contract *contract, char *text)
{
    static const char *const names[] = {"SLEEP_NONE", "SLEEP_KEEPS", "SLEEP_DISCARDS"};
    (void)snprintf(text, INFERENCE_TEXT_BYTES, "%s", names[contract->sleeps]);
}

void declare_counting(const struct target_contract *contract, char *text)
{
    size_t used = (size_t)snprintf(text, INFERENCE_TEXT_BYTES, "{%u", contract->counting[0]);
    for (unsigned i = 1; i < TARGET_COUNTER_COUNT; i++) {
        used += (size_t)snprintf(text + used, INFERENCE_TEXT_BYTES - used, ", %u",
                                 contract->counting[i]);
    }
    (void)snprintf(text + used, INFERENCE_TEXT_BYTES - used, "}");
}

void declare_limit(const struct target_contract *contract, char *text)
{
    (void)snprintf(text, INFERENCE_TEXT_BYTES, "%s",
                   contract->limit == TARGET_LIMIT_DEVICE ? "TARGET_LIMIT_DEVICE"
                                                          : "TARGET_LIMIT_PROCESS");
}

/* --- what is inferred --- */

#define INFER_DECLARED(name)                                                          \
    void infer_##name(const struct inference *inference, struct inference_line *line) \
    {                                                                                 \
        (void)inference;                                                              \
        field_keep_declared(line);                                                    \
    }
INFER_DECLARED(placement)
INFER_DECLARED(header_bytes)
INFER_DECLARED(counting)
INFER_DECLARED(limit)
INFER_DECLARED(order_binds)
INFER_DECLARED(evicts_until_fits)
INFER_DECLARED(counts_owners)

/* Every block that was granted lies at a multiple of what it has. */
static bool is_aligned_throughout(const struct trace *trace)
{
    for (size_t i = 0; i < trace->ops.count; i++) {
        const struct observation *seen = &trace->sights[i].seen;
        const uint8_t kind = trace->ops.ops[i].kind;
        if ((kind == OP_ALLOC || kind == OP_OUTPUT) && seen->skipped == 0 &&
            seen->result == TARGET_OK && seen->size_bytes > 0 &&
            seen->address % seen->size_bytes != 0) {
            return false;
        }
    }
    return true;
}

/* The hole that is no multiple of its size from the bottom is refused, and the next one is not.  It
 * goes with size classes that are the powers of two alone. */
void infer_aligns_naturally(const struct inference *inference, struct inference_line *line)
{
    const struct trace *trace = &inference->declared[EXPERIMENT_unaligned_hole];
    const struct target_rounding *rounding = &inference_contract(inference)->rounding;
    const struct sight *asked = trace_asked(trace);
    const bool has_powers = rounding->kind == ROUNDING_CLASSES && rounding->steps == 1 &&
                            rounding->overhead_bytes == 0;
    if (!has_powers || (asked != NULL && asked->seen.result == TARGET_OK)) {
        field_compare(line, ANSWER_NO);
        return;
    }
    const struct sight *later = asked == NULL ? NULL : trace_sight(trace, trace->asked + 2);
    const bool is_kept = later != NULL && later->seen.result == TARGET_OK &&
                         is_aligned_throughout(trace) &&
                         is_aligned_throughout(&inference->declared[EXPERIMENT_sizes]);
    field_compare(line, is_kept ? ANSWER_YES : ANSWER_OPEN);
}

void infer_sleeps(const struct inference *inference, struct inference_line *line)
{
    const struct trace *trace = &inference->declared[EXPERIMENT_sleep];
    const struct sight *asked = trace_asked(trace);
    if (inference_contract(inference)->sleeps == SLEEP_NONE) {
        field_keep_declared(line);
        line->experiment = EXPERIMENT_COUNT;
        (void)snprintf(line->seen, sizeof line->seen, "what never sleeps is not put to sleep");
    } else if (asked == NULL || asked->seen.skipped != 0 || trace->why[0] != '\0') {
        line->verdict = INFERENCE_OPEN;
    } else {
        field_keep_declared(line);
    }
}
