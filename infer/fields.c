/* The lines of what is declared and inferred: one for each row of infer/field_list.h. */
#include "infer/private/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- what rows share --- */

enum mitigation_answer field_answer(const struct lab_trace *trace, char letter)
{
    const struct lab_sight *sight = trace_asked(trace);
    if (sight == NULL || sight->seen.skipped != 0 || trace->why[0] != '\0') {
        return ANSWER_OPEN;
    }
    if (sight->seen.result == TARGET_NO_MEMORY) {
        return ANSWER_NO;
    }
    return sight->seen.result == TARGET_OK && strchr(sight->calls, letter) != NULL ? ANSWER_YES
                                                                                   : ANSWER_OPEN;
}

const char *field_print_flag(bool value)
{
    return value ? "true" : "false";
}

void field_infer(struct inference_line *line, const char *text)
{
    (void)snprintf(line->inferred, sizeof line->inferred, "%s", text);
}

void field_see(struct inference_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line->seen, sizeof line->seen, format, arguments);
    va_end(arguments);
}

void field_keep_declared(struct inference_line *line)
{
    field_infer(line, line->declared);
    line->verdict = INFERENCE_KEPT;
}

void field_compare(struct inference_line *line, enum mitigation_answer answer)
{
    const bool is_declared = strcmp(line->declared, "true") == 0;
    if (answer == ANSWER_OPEN) {
        line->verdict = INFERENCE_OPEN;
        return;
    }
    field_infer(line, field_print_flag(answer == ANSWER_YES));
    line->verdict = answer == ANSWER_YES && !is_declared ? INFERENCE_UNDECLARED : INFERENCE_KEPT;
}

enum mitigation_answer field_join(enum mitigation_answer first, enum mitigation_answer second)
{
    if (first == ANSWER_NO || second == ANSWER_NO) {
        return ANSWER_NO;
    }
    return first == ANSWER_YES || second == ANSWER_YES ? ANSWER_YES : ANSWER_OPEN;
}

bool field_claim_is_kept(const struct lab_trace *trace)
{
    return trace->is_opened && !trace->is_dead && trace->why[0] == '\0' &&
           trace->findings.count == 0;
}

const struct lab_trace *field_trace(const struct inference *inference,
                                    enum experiment_number number)
{
    return inference->claimed[number].is_opened ? &inference->claimed[number]
                                                : &inference->declared[number];
}

/* --- what is declared --- */

void declare_granule_bytes(const struct target_contract *contract, char *text)
{
    (void)snprintf(text, INFERENCE_TEXT_BYTES, "%" PRIu64, contract->granule_bytes);
}

void declare_defrag(const struct target_contract *contract, char *text)
{
    static const char *const names[] = {[DEFRAG_NONE] = "DEFRAG_NONE",
                                        [DEFRAG_SLIDE] = "DEFRAG_SLIDE",
                                        [DEFRAG_REPACK] = "DEFRAG_REPACK"};
    (void)snprintf(text, INFERENCE_TEXT_BYTES, "%s", names[contract->defrag]);
}

void field_print_order(const enum mitigation *order, char text[INFERENCE_TEXT_BYTES])
{
    static const char *const names[] = {[MITIGATION_NONE] = "MITIGATION_NONE",
                                        [MITIGATION_DRAIN] = "MITIGATION_DRAIN",
                                        [MITIGATION_DEFRAGMENT] = "MITIGATION_DEFRAGMENT",
                                        [MITIGATION_EVICT] = "MITIGATION_EVICT"};
    size_t used = (size_t)snprintf(text, INFERENCE_TEXT_BYTES, "{");
    for (size_t i = 0; i < MITIGATION_ORDER_COUNT && order[i] != MITIGATION_NONE; i++) {
        used += (size_t)snprintf(text + used, INFERENCE_TEXT_BYTES - used, "%s%s",
                                 i == 0 ? "" : ", ", names[order[i]]);
    }
    (void)snprintf(text + used, INFERENCE_TEXT_BYTES - used, "%s}", used == 1 ? "0" : "");
}

size_t field_print_amount(char text[INFERENCE_TEXT_BYTES], size_t used, const char *name,
                          uint64_t amount)
{
    return amount == 0 ? 0
                       : (size_t)snprintf(text + used, INFERENCE_TEXT_BYTES - used,
                                          ", .%s = %" PRIu64, name, amount);
}

void field_print_rounding(const struct target_rounding *rounding, char text[INFERENCE_TEXT_BYTES])
{
    static const char *const names[] = {[ROUNDING_GRANULE] = "ROUNDING_GRANULE",
                                        [ROUNDING_ANY] = "ROUNDING_ANY",
                                        [ROUNDING_CLASSES] = "ROUNDING_CLASSES"};
    size_t used = (size_t)snprintf(text, INFERENCE_TEXT_BYTES, "{.kind = %s",
                                   names[rounding->kind]);
    if (rounding->kind == ROUNDING_CLASSES) {
        used += (size_t)snprintf(text + used, INFERENCE_TEXT_BYTES - used, ", .steps = %" PRIu32,
                                 rounding->steps);
    }
    used += field_print_amount(text, used, "smallest_bytes", rounding->smallest_bytes);
    used += field_print_amount(text, used, "overhead_bytes", rounding->overhead_bytes);
    (void)snprintf(text + used, INFERENCE_TEXT_BYTES - used, "}");
}

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

void declare_order(const struct target_contract *contract, char *text)
{
    field_print_order(contract->order, text);
}

void declare_rounding(const struct target_contract *contract, char *text)
{
    field_print_rounding(&contract->rounding, text);
}

/* --- which line a finding refutes --- */

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

static bool is_of_program(const struct lab_trace *trace, uint32_t op)
{
    const uint8_t kind = op < trace->ops.count ? trace->ops.ops[op].kind : OP_ALLOC;
    return kind == OP_LOAD || kind == OP_EXECUTE;
}

/* A block before was too large: what it has too much of is missing now. */
static bool had_large_blocks(const struct lab_trace *trace, uint32_t op)
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
static enum inference_field find_kept(const struct lab_trace *trace, uint32_t op)
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
static enum inference_field blame_refusal(const struct lab_trace *trace,
                                          const struct run_finding *finding)
{
    const uint32_t op = finding->verdict.op;
    const struct lab_sight *sight = trace_sight(trace, op);
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

static bool is_off_granule(const struct lab_trace *trace, uint32_t op)
{
    const struct lab_sight *sight = trace_sight(trace, op);
    return sight != NULL && sight->seen.address % trace->contract.granule_bytes != 0;
}

/* A call was done in part in the op, and nothing breaks in the same experiment without that. */
static bool is_about_resuming(const struct inference *inference, enum experiment_number number,
                              uint32_t op)
{
    const struct lab_sight *sight = trace_sight(&inference->declared[number], op);
    const struct lab_trace *whole = number == EXPERIMENT_partial_copy
                                        ? &inference->declared[EXPERIMENT_slide]
                                    : number == EXPERIMENT_partial_unload
                                        ? &inference->declared[EXPERIMENT_evict]
                                        : NULL;
    return whole != NULL && whole->findings.count == 0 && !whole->is_dead && sight != NULL &&
           sight->partial_count > 0;
}

static bool is_about_sleeping(const struct lab_trace *trace, uint32_t op)
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
static enum inference_field blame_rule(const struct lab_trace *trace,
                                       const struct run_finding *finding)
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

/* The field; FIELD_COUNT: the promise of the rule has no field of its own, every target makes it.
 * The finding is one of the experiment, under the declared contract. */
static enum inference_field find_blamed(const struct inference *inference,
                                        enum experiment_number number,
                                        const struct run_finding *finding)
{
    const struct lab_trace *trace = &inference->declared[number];
    if (is_about_resuming(inference, number, finding->verdict.op)) {
        return FIELD_resumes;
    }
    if (is_about_sleeping(trace, finding->verdict.op)) {
        return FIELD_sleeps;
    }
    const enum inference_field undeclared = find_undeclared(inference, finding->verdict.rule);
    return undeclared != FIELD_COUNT ? undeclared : blame_rule(trace, finding);
}

/* Whether the finding says that a promise is broken: the refusals of an experiment that looks for a
 * limit do not. */
static bool counts_as_broken(enum experiment_number number, const struct run_finding *finding)
{
    return finding->verdict.kind != VERDICT_DISPUTED &&
           !((experiments[number].needs & EXPERIMENT_FINDS_LIMITS) != 0 &&
             finding->verdict.rule == RULE_PREMATURE);
}

/* --- lines --- */

/* A flag is declared by itself; a fact by nobody. */
enum { NO_OFFSET = -1 };
static const struct {
    const char *name;
    ptrdiff_t flag_offset; /* of a flag, in the contract; NO_OFFSET */
    void (*declare)(const struct target_contract *contract, char *text);
    void (*infer)(const struct inference *inference, struct inference_line *line);
    enum experiment_number experiment;
} fields[] = {
#define FLAG(name, experiment) \
    {#name, offsetof(struct target_contract, name), NULL, infer_##name, EXPERIMENT_##experiment},
#define FIELD(name, experiment) \
    {#name, NO_OFFSET, declare_##name, infer_##name, EXPERIMENT_##experiment},
#define FACT(name, experiment) {#name, NO_OFFSET, NULL, infer_##name, EXPERIMENT_##experiment},
#include "infer/field_list.h"
#undef FLAG
#undef FIELD
#undef FACT
};

static bool is_member(enum inference_field field)
{
    return fields[field].flag_offset != NO_OFFSET || fields[field].declare != NULL;
}

void inference_declared(enum inference_field field, const struct target_contract *contract,
                        char text[INFERENCE_TEXT_BYTES])
{
    if (fields[field].declare != NULL) {
        fields[field].declare(contract, text);
    } else if (fields[field].flag_offset != NO_OFFSET) {
        bool flag;
        memcpy(&flag, (const char *)contract + fields[field].flag_offset, sizeof flag);
        (void)snprintf(text, INFERENCE_TEXT_BYTES, "%s", field_print_flag(flag));
    }
}

const struct target_contract *inference_contract(const struct inference *inference)
{
    size_t i = 0;
    while (i + 1 < EXPERIMENT_COUNT && !inference->declared[i].is_opened) {
        i++;
    }
    return &inference->declared[i].contract;
}

const char *inference_field_name(enum inference_field field)
{
    return fields[field].name;
}

const char *inference_verdict_name(enum inference_verdict verdict)
{
    static const char *const names[] = {"kept", "refuted", "undeclared", "open"};
    return names[verdict];
}

static bool is_against(const struct inference *inference, enum experiment_number number,
                       const struct run_finding *finding, enum inference_field field,
                       enum rule rule)
{
    return counts_as_broken(number, finding) && find_blamed(inference, number, finding) == field &&
           (field != FIELD_COUNT || finding->verdict.rule == rule);
}

/* The first of the gravest findings against the field, or against the rule where that has no field;
 * NULL: none. */
static const struct run_finding *find_refutation(const struct inference *inference,
                                                 enum inference_field field, enum rule rule,
                                                 enum experiment_number *number)
{
    const struct run_finding *found = NULL;
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const struct lab_trace *trace = &inference->declared[i];
        for (size_t j = 0; j < trace->findings.count; j++) {
            const struct run_finding *finding = &trace->findings.findings[j];
            const bool is_graver = found == NULL || rule_gravity(finding->verdict.rule) >
                                                        rule_gravity(found->verdict.rule);
            if (is_graver &&
                is_against(inference, (enum experiment_number)i, finding, field, rule)) {
                *number = (enum experiment_number)i;
                found = finding;
            }
        }
    }
    return found;
}

static void refute(struct inference_line *line, enum experiment_number number,
                   const struct run_finding *finding)
{
    line->verdict = INFERENCE_REFUTED;
    line->experiment = number;
    line->op = finding->verdict.op;
    (void)snprintf(line->expected, sizeof line->expected, "%s",
                   rule_info(finding->verdict.rule)->summary);
    field_see(line, "%s: %s", rule_info(finding->verdict.rule)->name, finding->verdict.reason);
}

/* What is left of a promise that was refuted though the experiment made for it saw nothing wrong.
 */
static void weaken(struct inference_line *line, enum inference_field field)
{
    static const char *const least[FIELD_COUNT] = {[FIELD_defrag] = "DEFRAG_NONE",
                                                   [FIELD_rounding] = "{.kind = ROUNDING_ANY}",
                                                   [FIELD_granule_bytes] = "1",
                                                   [FIELD_header_bytes] = "0",
                                                   [FIELD_regions] = "{.grows = false}",
                                                   [FIELD_sleeps] = "SLEEP_NONE",
                                                   [FIELD_cost] = "{0}",
                                                   [FIELD_latency] = "{0}"};
    const bool is_same = strcmp(line->inferred, line->declared) == 0 || line->inferred[0] == '\0';
    if (is_same && is_member(field)) {
        field_infer(line, least[field] != NULL ? least[field] : "false");
    } else if (field == FIELD_survives_failures) {
        field_infer(line, "not all");
    }
}

void inference_read(const struct inference *inference, enum inference_field field,
                    struct inference_line *line)
{
    enum experiment_number number = EXPERIMENT_COUNT;
    *line = (struct inference_line){.name = fields[field].name,
                                    .is_member = is_member(field),
                                    .experiment = fields[field].experiment,
                                    .op = OP_NONE};
    inference_declared(field, inference_contract(inference), line->declared);
    fields[field].infer(inference, line);
    if (line->op == OP_NONE && line->experiment != EXPERIMENT_COUNT) {
        line->op = inference->declared[line->experiment].asked;
    }
    if (line->verdict == INFERENCE_OPEN && line->seen[0] == '\0' &&
        line->experiment != EXPERIMENT_COUNT) {
        field_see(line, "%s", inference->declared[line->experiment].why);
    }
    const struct run_finding *finding = find_refutation(inference, field, RULE_NONE, &number);
    if (finding != NULL) {
        refute(line, number, finding);
        weaken(line, field);
    }
}

void inference_read_rule(const struct inference *inference, enum rule rule,
                         struct inference_line *line)
{
    enum experiment_number number = EXPERIMENT_COUNT;
    *line = (struct inference_line){
        .name = rule_info(rule)->name, .experiment = EXPERIMENT_COUNT, .op = OP_NONE};
    const struct run_finding *finding = find_refutation(inference, FIELD_COUNT, rule, &number);
    (void)snprintf(line->declared, sizeof line->declared, "%s", rule_info(rule)->summary);
    if (finding != NULL) {
        refute(line, number, finding);
    }
}

const char *inference_value(const struct inference_line *line)
{
    const bool is_better = line->verdict == INFERENCE_REFUTED ||
                           line->verdict == INFERENCE_UNDECLARED;
    return is_better && line->inferred[0] != '\0' ? line->inferred : line->declared;
}
