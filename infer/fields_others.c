/* What the experiments show of sizes, words, failures and limits, and members that the rules of the
 * harness alone judge. */
#include "infer/private/fields.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/op/rounding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* --- what a claim shows --- */

void infer_documented_messages(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = field_trace(inference, EXPERIMENT_error_texts);
    const struct lab_sight *sight = trace_asked(trace);
    if (sight == NULL || sight->seen.result != TARGET_NO_MEMORY) {
        line->verdict = INFERENCE_OPEN;
        return;
    }
    field_see(line, "\"%.400s\"", sight->message);
    field_compare(line, field_claim_is_kept(trace) ? ANSWER_YES : ANSWER_NO);
}

void infer_thread_safe(const struct inference *inference, struct inference_line *line)
{
    (void)inference;
    line->verdict = INFERENCE_OPEN;
    field_see(line, "one client makes every call: hbmstress run --lanes interleaves several");
}

/* Whether a call was done in part in the op that is asked about, and gone on with. */
static enum mitigation_answer read_resuming(const struct lab_trace *trace)
{
    const struct lab_sight *sight = trace_asked(trace);
    if (trace->is_dead) {
        return ANSWER_NO;
    }
    if (sight == NULL || sight->partial_count == 0) {
        return ANSWER_OPEN;
    }
    return trace->findings.count == 0 && sight->seen.result == TARGET_OK ? ANSWER_YES : ANSWER_NO;
}

void infer_resumes(const struct inference *inference, struct inference_line *line)
{
    const enum mitigation_answer copy = read_resuming(
        field_trace(inference, EXPERIMENT_partial_copy));
    const enum mitigation_answer unload = read_resuming(
        field_trace(inference, EXPERIMENT_partial_unload));
    if (copy == ANSWER_OPEN) {
        line->experiment = EXPERIMENT_partial_unload;
    }
    field_compare(line, field_join(copy, unload));
    if (line->verdict == INFERENCE_OPEN) {
        field_see(line, "it made no copy and no unload that could be done in part");
    }
}

/* --- sizes --- */

enum { STEPS_MAX = 64 };

/* The least overhead with which the rounding allows every pair. */
static uint64_t find_overhead(const struct target_rounding *plain, const struct size_pair *pairs,
                              size_t count, uint64_t granule_bytes)
{
    uint64_t overhead = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t class_bytes = rounding_bytes_max(plain, 1, pairs[i].asked_bytes);
        /* up(class + overhead) reaches the block from here on. */
        const uint64_t low = pairs[i].block_bytes > granule_bytes - 1
                                 ? pairs[i].block_bytes - (granule_bytes - 1)
                                 : 0;
        if (low > class_bytes && low - class_bytes > overhead) {
            overhead = low - class_bytes;
        }
    }
    return overhead;
}

/* What the rounding allows beyond the blocks: in all, and at most. */
struct size_slack {
    double sum;
    uint64_t most_bytes;
};

static struct size_slack measure_slack(const struct target_rounding *rounding,
                                       const struct size_pair *pairs, size_t count,
                                       uint64_t granule_bytes)
{
    struct size_slack slack = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t most = rounding_bytes_max(rounding, granule_bytes, pairs[i].asked_bytes);
        const uint64_t beyond = most - pairs[i].block_bytes;
        slack.sum += (double)beyond;
        slack.most_bytes = beyond > slack.most_bytes ? beyond : slack.most_bytes;
    }
    return slack;
}

/* The best by now. */
struct fit_search {
    const struct size_pair *pairs;
    size_t count;
    uint64_t granule_bytes, limit_bytes;
    double sum; /* of the slack of best; below 0: there is none */
    struct size_fit best;
};

static void try_rounding(struct fit_search *search, struct target_rounding rounding)
{
    rounding.overhead_bytes = find_overhead(&rounding, search->pairs, search->count,
                                            search->granule_bytes);
    if (rounding.overhead_bytes >= search->limit_bytes || rounding_flaw(&rounding) != NULL) {
        return;
    }
    const struct size_slack slack = measure_slack(&rounding, search->pairs, search->count,
                                                  search->granule_bytes);
    if (search->sum < 0 || slack.sum < search->sum) {
        search->sum = slack.sum;
        search->best = (struct size_fit){rounding, slack.most_bytes};
    }
}

struct size_fit size_fit_find(const struct size_pair *pairs, size_t count, uint64_t granule_bytes,
                              uint64_t limit_bytes)
{
    struct fit_search search = {.pairs = pairs,
                                .count = count,
                                .granule_bytes = granule_bytes,
                                .limit_bytes = limit_bytes,
                                .sum = -1,
                                .best.rounding.kind = ROUNDING_ANY};
    uint64_t smallest = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        smallest = pairs[i].block_bytes < smallest ? pairs[i].block_bytes : smallest;
    }
    if (count == 0) {
        return search.best;
    }
    try_rounding(&search, (struct target_rounding){.kind = ROUNDING_GRANULE});
    for (uint32_t steps = 1; steps <= STEPS_MAX; steps *= 2) {
        try_rounding(&search, (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = steps});
        try_rounding(&search, (struct target_rounding){.kind = ROUNDING_CLASSES,
                                                       .steps = steps,
                                                       .smallest_bytes = smallest});
    }
    return search.best;
}

static uint64_t find_granule(const struct inference *inference)
{
    uint64_t all = 0;
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const struct lab_trace *trace = &inference->declared[i];
        for (size_t op = 0; op < trace->ops.count; op++) {
            all |= trace->sights[op].seen.address | trace->sights[op].seen.size_bytes;
        }
    }
    return all & (~all + 1);
}

void infer_granule_bytes(const struct inference *inference, struct inference_line *line)
{
    const uint64_t granule = find_granule(inference);
    if (granule == 0) {
        line->verdict = INFERENCE_OPEN;
        return;
    }
    (void)snprintf(line->inferred, sizeof line->inferred, "%" PRIu64, granule);
    field_see(line, "every address and size is a multiple of %" PRIu64, granule);
}

static bool is_placed(const struct lab_trace *trace, size_t op)
{
    return trace->ops.ops[op].kind == OP_ALLOC && trace->sights[op].seen.skipped == 0 &&
           trace->sights[op].seen.result == TARGET_OK;
}

/* Every block that was seen. */
struct seen_sizes {
    struct size_pair *pairs; /* count of them */
    size_t count;
    uint64_t largest_bytes; /* asked */
};

static size_t count_ops(const struct inference *inference)
{
    size_t count = 0;
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        count += inference->declared[i].ops.count;
    }
    return count;
}

static void collect_sizes(const struct inference *inference, struct seen_sizes *seen)
{
    *seen = (struct seen_sizes){.pairs = calloc(count_ops(inference) + 1, sizeof *seen->pairs)};
    CHECK(seen->pairs != NULL);
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        const struct lab_trace *trace = &inference->declared[i];
        for (size_t op = 0; op < trace->ops.count; op++) {
            const uint64_t asked_bytes = trace->ops.ops[op].size_bytes;
            if (is_placed(trace, op) && asked_bytes > 0 &&
                trace->sights[op].seen.size_bytes >= asked_bytes) {
                seen->pairs[seen->count++] = (struct size_pair){asked_bytes,
                                                                trace->sights[op].seen.size_bytes};
                seen->largest_bytes = asked_bytes > seen->largest_bytes ? asked_bytes
                                                                        : seen->largest_bytes;
            }
        }
    }
}

static struct size_fit fit_sizes(const struct inference *inference, size_t *count)
{
    struct seen_sizes seen;
    collect_sizes(inference, &seen);
    const struct size_fit fit = size_fit_find(seen.pairs, seen.count,
                                              inference_contract(inference)->granule_bytes,
                                              seen.largest_bytes / 2 + 1);
    free(seen.pairs);
    *count = seen.count;
    return fit;
}

bool inference_rounding(const struct inference *inference, struct target_rounding *rounding)
{
    size_t count;
    const struct size_fit fit = fit_sizes(inference, &count);
    if (count > 0) {
        *rounding = fit.rounding;
    }
    return count > 0;
}

void infer_rounding(const struct inference *inference, struct inference_line *line)
{
    const struct target_contract *contract = inference_contract(inference);
    size_t count;
    const struct size_fit fit = fit_sizes(inference, &count);
    if (count == 0) {
        line->verdict = INFERENCE_OPEN;
        return;
    }
    field_print_rounding(&fit.rounding, line->inferred);
    line->verdict = contract->rounding.kind == ROUNDING_ANY && fit.rounding.kind != ROUNDING_ANY
                        ? INFERENCE_UNDECLARED
                        : INFERENCE_KEPT;
    field_see(line, "%zu blocks, each within %" PRIu64 " bytes of what it allows", count,
              fit.slack_bytes);
}

/* --- what the contract has no member for --- */

static void infer_size(struct inference_line *line, uint64_t bytes)
{
    line->verdict = bytes == 0 ? INFERENCE_OPEN : INFERENCE_UNDECLARED;
    if (bytes != 0) {
        size_print(bytes, line->inferred);
    }
}

void infer_largest_request(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_largest_request];
    infer_size(line, trace->measured[MEASURED_LARGEST_REQUEST]);
    field_see(line, "%s",
              trace->measured[MEASURED_LARGEST_REQUEST] == 0 ? "no request was granted" : "");
}

void infer_largest_alignment(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_largest_alignment];
    const struct lab_sight *asked = trace_asked(trace);
    infer_size(line, trace->measured[MEASURED_LARGEST_ALIGN]);
    if (asked != NULL && asked->verdict == VERDICT_JUSTIFIED) {
        field_see(line, "the device has no place for more");
    }
}

void infer_capacities(const struct inference *inference, struct inference_line *line)
{
    const uint64_t *measured = inference->declared[EXPERIMENT_capacities].measured;
    char low[SIZE_TEXT_BYTES], high[SIZE_TEXT_BYTES];
    infer_size(line, measured[MEASURED_SMALLEST_CAPACITY]);
    size_print(measured[MEASURED_SMALLEST_CAPACITY], low);
    size_print(measured[MEASURED_LARGEST_CAPACITY], high);
    if (line->verdict != INFERENCE_OPEN) {
        (void)snprintf(line->inferred, sizeof line->inferred, "%s to %s", low, high);
    }
}

void infer_coalesces(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_coalesce];
    const struct lab_sight *asked = trace_asked(trace);
    line->verdict = INFERENCE_OPEN;
    if (asked == NULL || asked->seen.skipped != 0) {
        return;
    }
    const struct lab_sight *later = trace_sight(trace, trace->asked + 2);
    line->verdict = INFERENCE_UNDECLARED;
    field_infer(line, asked->seen.result == TARGET_OK && asked->calls[0] == '\0' ? "at once"
                      : asked->seen.result == TARGET_OK                          ? "when it must"
                      : later != NULL && later->seen.result == TARGET_OK ? "late: when asked again"
                                                                         : "no");
}

/* A call failed, and everything was compared after it. */
void infer_survives_failures(const struct inference *inference, struct inference_line *line)
{
    static const enum experiment_number numbers[] = {
        EXPERIMENT_invalid_requests, EXPERIMENT_refused_copy, EXPERIMENT_refused_wait,
        EXPERIMENT_refused_unload, EXPERIMENT_refused_host_memory};
    size_t count = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct lab_trace *trace = &inference->declared[numbers[i]];
        for (size_t op = 0; op < trace->ops.count; op++) {
            count += trace->sights[op].seen.skipped == 0 &&
                     trace->sights[op].seen.result != TARGET_OK;
        }
    }
    line->verdict = count == 0 ? INFERENCE_OPEN : INFERENCE_KEPT;
    field_infer(line, count == 0 ? "" : "places, sizes, contents, counters, report");
    field_see(line, "%zu calls failed", count);
}

static const uint64_t *host_facts(const struct inference *inference)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_host_memory];
    return trace->why[0] == '\0' && trace->measured[MEASURED_BLOCK_COUNT] > 0 ? trace->measured
                                                                              : NULL;
}

void infer_grows(const struct inference *inference, struct inference_line *line)
{
    const uint64_t *measured = host_facts(inference);
    line->verdict = measured == NULL ? INFERENCE_OPEN : INFERENCE_UNDECLARED;
    if (measured != NULL) {
        field_infer(line, measured[MEASURED_HOST_FULL] > measured[MEASURED_HOST_OPEN]
                              ? "its host memory"
                              : "no");
        field_see(line,
                  "host memory of %" PRIu64 " bytes after open, %" PRIu64 " with %" PRIu64
                  " blocks",
                  measured[MEASURED_HOST_OPEN], measured[MEASURED_HOST_FULL],
                  measured[MEASURED_BLOCK_COUNT]);
    }
}

void infer_trims(const struct inference *inference, struct inference_line *line)
{
    const uint64_t *measured = host_facts(inference);
    line->verdict = measured == NULL || measured[MEASURED_HOST_FULL] <= measured[MEASURED_HOST_OPEN]
                        ? INFERENCE_OPEN
                        : INFERENCE_UNDECLARED;
    if (line->verdict != INFERENCE_OPEN) {
        field_infer(line, measured[MEASURED_HOST_END] < measured[MEASURED_HOST_FULL]
                              ? "its host memory"
                              : "no");
        field_see(line,
                  "host memory of %" PRIu64 " bytes with %" PRIu64 " blocks, %" PRIu64
                  " after the last free",
                  measured[MEASURED_HOST_FULL], measured[MEASURED_BLOCK_COUNT],
                  measured[MEASURED_HOST_END]);
    }
}

/* --- what the rules of the harness alone judge --- */

/* Kept as long as no experiment breaks its rule. */
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
static bool is_aligned_throughout(const struct lab_trace *trace)
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
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_unaligned_hole];
    const struct target_rounding *rounding = &inference_contract(inference)->rounding;
    const struct lab_sight *asked = trace_asked(trace);
    const bool has_powers = rounding->kind == ROUNDING_CLASSES && rounding->steps == 1 &&
                            rounding->overhead_bytes == 0;
    if (!has_powers || (asked != NULL && asked->seen.result == TARGET_OK)) {
        field_compare(line, ANSWER_NO);
        return;
    }
    const struct lab_sight *later = asked == NULL ? NULL : trace_sight(trace, trace->asked + 2);
    const bool is_kept = later != NULL && later->seen.result == TARGET_OK &&
                         is_aligned_throughout(trace) &&
                         is_aligned_throughout(&inference->declared[EXPERIMENT_sizes]);
    field_compare(line, is_kept ? ANSWER_YES : ANSWER_OPEN);
}

void infer_sleeps(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_sleep];
    const struct lab_sight *asked = trace_asked(trace);
    if (inference_contract(inference)->sleeps == SLEEP_NONE) {
        field_keep_declared(line);
        line->experiment = EXPERIMENT_COUNT;
        field_see(line, "what never sleeps is not put to sleep");
    } else if (asked == NULL || asked->seen.skipped != 0 || trace->why[0] != '\0') {
        line->verdict = INFERENCE_OPEN;
    } else {
        field_keep_declared(line);
    }
}
