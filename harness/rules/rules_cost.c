/* What ops cost: how it grows over a run, and how much a single one may have the device do. */
#include "harness/base/check.h"
#include "harness/rules/private/cost_history.h"
#include "harness/rules/private/rules.h"

#include <inttypes.h>
#include <stdio.h>

enum { MEAN_BYTES = 32 };

/* "17.5", rounded down. */
static const char *print_mean(const struct cost_class *class, enum cost_measure measure,
                              char text[MEAN_BYTES])
{
    const uint64_t spent = class->spent[measure];
    const uint64_t units = cost_class_units(class, measure);
    CHECK(units > 0);
    (void)snprintf(text, MEAN_BYTES, "%" PRIu64 ".%u", spent / units,
                   (unsigned)((unsigned __int128)(spent % units) * 10 / units));
    return text;
}

static const char *growth_word(enum target_growth growth)
{
    static const char *const words[] = {[TARGET_GROWTH_UNDECLARED] = "undeclared",
                                        [TARGET_GROWTH_CONSTANT] = "constant",
                                        [TARGET_GROWTH_LOGARITHMIC] = "logarithmic",
                                        [TARGET_GROWTH_LINEAR] = "linear"};
    return words[growth];
}

static const char *const measure_words[COST_MEASURE_COUNT] = {[COST_CALLS] = "device calls",
                                                              [COST_MOVED_BYTES] = "moved bytes",
                                                              [COST_ACCESSES] = "memory accesses"};
static const char *const unit_words[COST_MEASURE_COUNT] = {[COST_CALLS] = "op and effect",
                                                           [COST_MOVED_BYTES] = "byte asked for",
                                                           [COST_ACCESSES] = "op and effect"};
static const char *const axis_words[COST_AXIS_COUNT] = {
    [COST_BLOCKS] = "blocks", [COST_HOLES] = "holes"};

bool rules_judge_cost(const struct evidence *evidence)
{
    const struct target_cost *declared = &evidence->host->contract.cost;
    struct cost_growth at;
    if (!cost_history_find_growth(evidence->costs, declared, &at)) {
        return true;
    }
    const struct cost_class *classes = evidence->costs->classes[at.axis];
    char mechanism[VERDICT_MECHANISM_BYTES];
    char from[MEAN_BYTES], to[MEAN_BYTES];
    (void)snprintf(mechanism, sizeof mechanism, "%s against %s", measure_words[at.measure],
                   axis_words[at.axis]);
    const struct evidence named = evidence_named(evidence, mechanism);
    return evidence_break(
        &named, RULE_COST,
        "%s %s for each %s with %" PRIu64 " to %" PRIu64 " %s, but %s with %" PRIu64 " to %" PRIu64
        "; the contract declares %s growth",
        print_mean(&classes[at.from], at.measure, from), measure_words[at.measure],
        unit_words[at.measure], (UINT64_C(1) << at.from) - 1, (UINT64_C(2) << at.from) - 2,
        axis_words[at.axis], print_mean(&classes[at.to], at.measure, to),
        (UINT64_C(1) << at.to) - 1, (UINT64_C(2) << at.to) - 2,
        growth_word(cost_declared(declared, at.measure)));
}

/* "2000 device calls, of which 64 are allowed". */
static void describe_excess(const struct evidence *evidence, bool is_of_calls, char *text,
                            size_t text_bytes)
{
    const struct target_latency *latency = &evidence->host->contract.latency;
    const struct op_cost *cost = &evidence->judge->cost;
    (void)snprintf(text, text_bytes, "%" PRIu64 " %s, of which %" PRIu64 " are allowed",
                   is_of_calls ? cost->calls : cost->moved_bytes,
                   measure_words[is_of_calls ? COST_CALLS : COST_MOVED_BYTES],
                   is_of_calls ? latency->calls_max : latency->moved_bytes_max);
}

bool rules_judge_latency(const struct evidence *evidence)
{
    const struct target_latency *latency = &evidence->host->contract.latency;
    const struct cost_history *costs = evidence->costs;
    const uint64_t beyond_max = cost_history_beyond_max(costs, latency);
    if (!costs->is_beyond || costs->beyond_count <= beyond_max) {
        return true;
    }
    const bool is_of_calls = latency->calls_max > 0 &&
                             evidence->judge->cost.calls > latency->calls_max;
    char excess[96];
    describe_excess(evidence, is_of_calls, excess, sizeof excess);
    const struct evidence named = evidence_named(
        evidence, measure_words[is_of_calls ? COST_CALLS : COST_MOVED_BYTES]);
    return evidence_break(&named, RULE_LATENCY,
                          "it took %s; %" PRIu64 " of %" PRIu64
                          " ops were beyond a bound, and %" PRIu64 " may be",
                          excess, costs->beyond_count, costs->op_count, beyond_max);
}
