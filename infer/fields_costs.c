/* What ops cost: how device calls, moved bytes and memory accesses grow with the blocks, and how
 * many device calls one op makes. */
#include "infer/private/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- in C --- */

static void print_cost(const struct target_cost *cost, char *text)
{
    static const char *const names[] = {[TARGET_GROWTH_UNDECLARED] = "UNDECLARED",
                                        [TARGET_GROWTH_CONSTANT] = "CONSTANT",
                                        [TARGET_GROWTH_LOGARITHMIC] = "LOGARITHMIC",
                                        [TARGET_GROWTH_LINEAR] = "LINEAR"};
    const struct {
        const char *name;
        enum target_growth growth;
    } members[] = {
        {"calls", cost->calls}, {"moved_bytes", cost->moved_bytes}, {"accesses", cost->accesses}};
    size_t used = (size_t)snprintf(text, INFERENCE_TEXT_BYTES, "{");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (members[i].growth != TARGET_GROWTH_UNDECLARED) {
            used += (size_t)snprintf(text + used, INFERENCE_TEXT_BYTES - used,
                                     "%s.%s = TARGET_GROWTH_%s", used == 1 ? "" : ", ",
                                     members[i].name, names[members[i].growth]);
        }
    }
    (void)snprintf(text + used, INFERENCE_TEXT_BYTES - used, "%s}", used == 1 ? "0" : "");
}

void declare_cost(const struct target_contract *contract, char *text)
{
    print_cost(&contract->cost, text);
}

static void print_latency(const struct target_latency *latency, char *text)
{
    if (latency->per_mille == 0) {
        (void)snprintf(text, INFERENCE_TEXT_BYTES, "{0}");
        return;
    }
    size_t used = (size_t)snprintf(text, INFERENCE_TEXT_BYTES, "{.per_mille = %" PRIu32,
                                   latency->per_mille);
    used += field_print_amount(text, used, "calls_max", latency->calls_max);
    used += field_print_amount(text, used, "moved_bytes_max", latency->moved_bytes_max);
    (void)snprintf(text + used, INFERENCE_TEXT_BYTES - used, "}");
}

void declare_latency(const struct target_contract *contract, char *text)
{
    print_latency(&contract->latency, text);
}

/* --- growth --- */

/* Some experiment broke what is declared of the measure: in between, if not by all of its ops. */
static bool is_refuted(const struct inference *inference, enum cost_measure measure)
{
    static const char *const words[COST_MEASURE_COUNT] = {[COST_CALLS] = "device calls",
                                                          [COST_MOVED_BYTES] = "moved bytes",
                                                          [COST_ACCESSES] = "memory accesses"};
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const struct run_findings *findings = &inference->declared[i].findings;
        for (size_t k = 0; k < findings->count; k++) {
            const struct verdict *verdict = &findings->findings[k].verdict;
            if (verdict->rule == RULE_COST &&
                strncmp(verdict->mechanism, words[measure], strlen(words[measure])) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The slowest growth that was seen, or what is declared if that allows more and is not refuted;
 * what was not measured stays as it is declared. */
static enum target_growth infer_growth(const struct inference *inference,
                                       const struct op_costs *costs, enum cost_measure measure,
                                       enum target_growth declared)
{
    const enum cost_fit fit = cost_classes_fit(costs->classes, measure);
    uint64_t spent = 0;
    for (unsigned i = 0; i < COST_CLASS_COUNT; i++) {
        spent += costs->classes[i].spent[measure];
    }
    /* A target without device calls promises no less than one call an op. */
    if (fit == COST_FIT_UNSEEN || (spent == 0 && measure != COST_CALLS)) {
        return declared;
    }
    const enum target_growth seen = fit == COST_FIT_CONSTANT      ? TARGET_GROWTH_CONSTANT
                                    : fit == COST_FIT_LOGARITHMIC ? TARGET_GROWTH_LOGARITHMIC
                                    : fit == COST_FIT_LINEAR      ? TARGET_GROWTH_LINEAR
                                                                  : TARGET_GROWTH_UNDECLARED;
    if (seen == TARGET_GROWTH_UNDECLARED || seen > declared) {
        return seen;
    }
    return is_refuted(inference, measure) ? TARGET_GROWTH_UNDECLARED : declared;
}

/* Measured where the experiment was made to its end. */
static bool is_measured(const struct lab_trace *trace)
{
    return trace->is_opened && trace->why[0] == '\0' &&
           cost_classes_fit(trace->costs.classes, COST_CALLS) != COST_FIT_UNSEEN;
}

void infer_cost(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_many_blocks];
    const struct lab_trace *claimed = field_trace(inference, EXPERIMENT_many_blocks);
    const struct target_cost *declared = &inference_contract(inference)->cost;
    if (!is_measured(trace)) {
        line->verdict = INFERENCE_OPEN;
        field_see(line, "%s",
                  trace->why[0] != '\0' ? trace->why
                                        : "the device has too few blocks for a growth");
        return;
    }
    const struct target_cost seen = {
        .calls = infer_growth(inference, &trace->costs, COST_CALLS, declared->calls),
        .moved_bytes = infer_growth(inference, &trace->costs, COST_MOVED_BYTES,
                                    declared->moved_bytes),
        .accesses = infer_growth(inference, &claimed->costs, COST_ACCESSES, declared->accesses)};
    const bool is_more = (declared->calls == 0 && seen.calls != 0) ||
                         (declared->moved_bytes == 0 && seen.moved_bytes != 0) ||
                         (declared->accesses == 0 && seen.accesses != 0);
    print_cost(&seen, line->inferred);
    line->verdict = is_more ? INFERENCE_UNDECLARED : INFERENCE_KEPT;
}

/* --- single ops --- */

/* In the experiments with few blocks. */
static uint64_t few_calls_max(const struct inference *inference)
{
    uint64_t most = 1; /* a bound of 0 is none */
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const uint64_t calls = inference->declared[i].costs.calls.max;
        most = i != EXPERIMENT_many_blocks && calls > most ? calls : most;
    }
    return most;
}

/* A bound of device calls is one only if many blocks need no more.  One of moved bytes would be
 * that of the capacity. */
void infer_latency(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_many_blocks];
    const uint64_t few = few_calls_max(inference), many = trace->costs.calls.max;
    if (inference_contract(inference)->latency.per_mille > 0) {
        field_keep_declared(line);
    } else if (!is_measured(trace)) {
        line->verdict = INFERENCE_OPEN;
        field_see(line, "%s", trace->why[0] != '\0' ? trace->why : "the device has too few blocks");
    } else if (many > few) {
        line->verdict = INFERENCE_OPEN;
        field_see(line,
                  "one op made %" PRIu64 " device calls with few blocks, %" PRIu64
                  " with many: a bound would be that of one capacity",
                  few, many);
    } else {
        line->verdict = INFERENCE_UNDECLARED;
        print_latency(&(const struct target_latency){.per_mille = 1000, .calls_max = few},
                      line->inferred);
    }
}
