#include "infer/inference.h"

#include <string.h>

/* A mitigation that would have made room: how the mechanism of the verdict calls it, how a sight
 * calls the device call that it makes, and whose promise it is. */
static const struct {
    const char *name;
    char letter;
    enum inference_field field, field_of_program;
} mitigations[] = {{"drain", 'w', FIELD_drains, FIELD_drains},
                   {"defragment", 'm', FIELD_defrag, FIELD_defrag},
                   {"evict", 'u', FIELD_evicts, FIELD_program_evicts_program},
                   {"trim", 'g', FIELD_regions, FIELD_regions},
                   {"grow", 't', FIELD_regions, FIELD_regions}};
enum { MITIGATION_COUNT = sizeof mitigations / sizeof *mitigations };

static bool is_of_program(const struct trace *trace, uint32_t op)
{
    const uint8_t kind = op < trace->ops.count ? trace->ops.ops[op].kind : OP_ALLOC;
    return kind == OP_LOAD || kind == OP_EXECUTE;
}

/* A block before was too large: what it has too much of is missing now. */
static bool had_large_blocks(const struct trace *trace, uint32_t op)
{
    for (size_t i = 0; i < trace->findings.count; i++) {
        const struct verdict *verdict = &trace->findings.findings[i].verdict;
        if (verdict->rule == RULE_TOO_LARGE && verdict->op < op) {
            return true;
        }
    }
    return false;
}

/* What the op before it shows of memory that is kept; FIELD_COUNT: nothing. */
static enum inference_field find_kept(const struct trace *trace, uint32_t op)
{
    bool has_waits = false;
    for (size_t i = 0; i < op && i < trace->ops.count; i++) {
        const uint8_t kind = trace->ops.ops[i].kind;
        if (kind == OP_RECORD && trace->sights[i].seen.skipped == 0) {
            return FIELD_records;
        }
        has_waits = has_waits || kind == OP_FREE_AFTER || kind == OP_USE;
    }
    return trace->contract.stream_ordered && has_waits ? FIELD_stream_ordered : FIELD_COUNT;
}

/* "fits after drain and evict": the first that the target did not make; where it made them all, it
 * did not look at what they left. */
static enum inference_field blame_refusal(const struct trace *trace,
                                          const struct run_finding *finding)
{
    const uint32_t op = finding->verdict.op;
    const struct sight *sight = trace_sight(trace, op);
    if (had_large_blocks(trace, op)) {
        return FIELD_rounding;
    }
    const char *after = strstr(finding->verdict.mechanism, "fits after ");
    enum inference_field first = FIELD_COUNT;
    for (size_t i = 0; after != NULL && i < MITIGATION_COUNT; i++) {
        const enum inference_field field = is_of_program(trace, op)
                                               ? mitigations[i].field_of_program
                                               : mitigations[i].field;
        if (strstr(after, mitigations[i].name) == NULL) {
            continue;
        }
        if (sight == NULL || strchr(sight->calls, mitigations[i].letter) == NULL) {
            return field;
        }
        first = first == FIELD_COUNT ? field : first;
    }
    return first != FIELD_COUNT ? first : find_kept(trace, op);
}

static bool is_off_granule(const struct trace *trace, uint32_t op)
{
    const struct sight *sight = trace_sight(trace, op);
    return sight != NULL && sight->seen.address % trace->contract.granule_bytes != 0;
}

/* A call was done in part in the op, and nothing breaks in the same experiment without that. */
static bool is_about_resuming(const struct inference *inference, enum experiment_number number,
                              uint32_t op)
{
    const struct sight *sight = trace_sight(&inference->declared[number], op);
    const struct trace *whole = number == EXPERIMENT_partial_copy
                                    ? &inference->declared[EXPERIMENT_slide]
                                : number == EXPERIMENT_partial_unload
                                    ? &inference->declared[EXPERIMENT_evict]
                                    : NULL;
    return whole != NULL && whole->findings.count == 0 && !whole->is_dead && sight != NULL &&
           sight->partial_count > 0;
}

static bool is_about_sleeping(const struct trace *trace, uint32_t op)
{
    const uint8_t kind = op < trace->ops.count ? trace->ops.ops[op].kind : OP_ALLOC;
    return kind == OP_SLEEP || kind == OP_WAKE;
}

/* The rule breaks where a target orders frees by streams, or grows in regions, and declares
 * nothing of that; FIELD_COUNT. */
static enum inference_field find_undeclared(const struct inference *inference, enum rule rule)
{
    const struct target_contract *contract = inference_contract(inference);
    const bool is_of_counters = rule == RULE_COUNTERS || rule == RULE_NOT_COALESCED;
    if ((rule == RULE_REUSED_EARLY || is_of_counters) && !contract->stream_ordered &&
        inference_is_stream_ordered(inference)) {
        return FIELD_stream_ordered;
    }
    return (rule == RULE_PREMATURE || is_of_counters) && !contract->regions.grows &&
                   inference_takes_regions(inference)
               ? FIELD_regions
               : FIELD_COUNT;
}

/* By the rule alone. */
static enum inference_field blame_rule(const struct trace *trace, const struct run_finding *finding)
{
    const uint32_t op = finding->verdict.op;
    switch (finding->verdict.rule) {
    case RULE_PREMATURE:
        return blame_refusal(trace, finding);
    case RULE_TOO_LARGE:
        return FIELD_rounding;
    case RULE_MISALIGNED:
        return is_off_granule(trace, op)          ? FIELD_granule_bytes
               : trace->contract.aligns_naturally ? FIELD_aligns_naturally
                                                  : FIELD_COUNT;
    case RULE_MOVED_UNASKED:
        return FIELD_defrag;
    case RULE_WRONG_EVICTION:
        return is_of_program(trace, op) ? FIELD_program_evicts_program : FIELD_evicts;
    case RULE_REUSED_EARLY:
        return trace->contract.stream_ordered ? FIELD_stream_ordered : FIELD_queues_frees;
    case RULE_RECORDED:
        return FIELD_records;
    case RULE_NOT_RELEASED:
    case RULE_WAKE_GROWS:
        return FIELD_sleeps;
    case RULE_MESSAGE:
        return trace->contract.documented_messages ? FIELD_documented_messages : FIELD_COUNT;
    case RULE_ORDER:
        return trace->contract.order_binds ? FIELD_order_binds : FIELD_evicts_until_fits;
    case RULE_OWNERSHIP:
        return FIELD_counts_owners;
    case RULE_REGION:
        return FIELD_regions;
    case RULE_OUTSIDE:
        return trace->contract.header_bytes > 0 ? FIELD_header_bytes : FIELD_COUNT;
    case RULE_COST:
        return FIELD_cost;
    case RULE_LATENCY:
        return FIELD_latency;
    case RULE_FAILED_CHANGED:
        return FIELD_survives_failures;
    default:
        return FIELD_COUNT;
    }
}

enum inference_field blame_find(const struct inference *inference, enum experiment_number number,
                                const struct run_finding *finding)
{
    const struct trace *trace = &inference->declared[number];
    if (is_about_resuming(inference, number, finding->verdict.op)) {
        return FIELD_resumes;
    }
    if (is_about_sleeping(trace, finding->verdict.op)) {
        return FIELD_sleeps;
    }
    const enum inference_field undeclared = find_undeclared(inference, finding->verdict.rule);
    return undeclared != FIELD_COUNT ? undeclared : blame_rule(trace, finding);
}

bool blame_counts(enum experiment_number number, const struct run_finding *finding)
{
    return finding->verdict.kind != VERDICT_DISPUTED &&
           !((experiments[number].needs & EXPERIMENT_FINDS_LIMITS) != 0 &&
             finding->verdict.rule == RULE_PREMATURE);
}
