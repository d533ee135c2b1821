/* What the experiments show of regions: whether a target takes them, how large they are for the
 * block that needs them, and whether it gives them back to make room. */
#include "infer/private/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_regions(const struct target_regions *regions, char *text)
{
    (void)snprintf(
        text, INFERENCE_TEXT_BYTES, "{.grows = %s, .trims = %s, .step_bytes = %" PRIu64 "}",
        field_print_flag(regions->grows), field_print_flag(regions->trims), regions->step_bytes);
}

void declare_regions(const struct target_contract *contract, char *text)
{
    print_regions(&contract->regions, text);
}

/* --- what was seen --- */

/* The region for a request, and the block that it got there. */
struct region_sight {
    uint64_t block_bytes, region_bytes;
    enum experiment_number experiment;
    uint32_t op;
};

/* The next one after *at, which begins as {0}.  False: there is no more. */
static bool find_region(const struct inference *inference, struct region_sight *at, bool is_first)
{
    size_t op = is_first ? 0 : at->op + 1;
    for (size_t i = is_first ? 0 : at->experiment; i < EXPERIMENT_COUNT; i++, op = 0) {
        const struct lab_trace *trace = &inference->declared[i];
        for (; op < trace->ops.count; op++) {
            const struct lab_sight *sight = &trace->sights[op];
            if (sight->region_bytes > 0 && sight->seen.size_bytes > 0 &&
                sight->seen.result == TARGET_OK) {
                *at = (struct region_sight){sight->seen.size_bytes, sight->region_bytes,
                                            (enum experiment_number)i, (uint32_t)op};
                return true;
            }
        }
    }
    return false;
}

bool inference_takes_regions(const struct inference *inference)
{
    struct region_sight taken;
    return find_region(inference, &taken, true);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The step of all regions that were seen; where there is none, the least size that allows them. */
static uint64_t find_step(const struct inference *inference)
{
    struct region_sight taken;
    uint64_t step = 0, slack_bytes = 0, largest = 0;
    for (bool found = find_region(inference, &taken, true); found;
         found = find_region(inference, &taken, false)) {
        const uint64_t beyond = taken.region_bytes > taken.block_bytes
                                    ? taken.region_bytes - taken.block_bytes
                                    : 0;
        step = common_divisor(taken.region_bytes, step);
        slack_bytes = beyond > slack_bytes ? beyond : slack_bytes;
        largest = taken.region_bytes > largest ? taken.region_bytes : largest;
    }
    return slack_bytes < step ? step : largest;
}

/* --- what follows --- */

static uint64_t find_unit(const struct target_contract *contract)
{
    const uint64_t step = contract->regions.step_bytes;
    return step == 0 ? contract->granule_bytes : step;
}

static uint64_t promised_bytes(const struct target_contract *contract, uint64_t block_bytes)
{
    const uint64_t unit = find_unit(contract);
    return (block_bytes + unit - 1) / unit * unit;
}

/* A region that is larger than the contract says. */
static void refute_size(const struct inference *inference, struct inference_line *line)
{
    const struct target_contract *contract = inference_contract(inference);
    struct region_sight taken;
    bool found = find_region(inference, &taken, true);
    while (found && taken.region_bytes <= promised_bytes(contract, taken.block_bytes)) {
        found = find_region(inference, &taken, false);
    }
    if (found) {
        line->verdict = INFERENCE_REFUTED;
        line->experiment = taken.experiment;
        line->op = taken.op;
        (void)snprintf(line->expected, sizeof line->expected,
                       "the region for a block of %" PRIu64 " bytes has %" PRIu64,
                       taken.block_bytes, promised_bytes(contract, taken.block_bytes));
        field_see(line, "it took one of %" PRIu64, taken.region_bytes);
    }
}

/* Whether it gave regions back where only that made room. */
static enum mitigation_answer read_trimming(const struct inference *inference)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_trim];
    const struct lab_sight *asked = trace_asked(trace);
    for (size_t op = 0; op < trace->ops.count; op++) {
        const struct lab_sight *sight = &trace->sights[op];
        const char *give = strchr(sight->calls, 'g');
        if (trace->ops.ops[op].kind == OP_ALLOC && sight->seen.result == TARGET_OK &&
            give != NULL && strchr(give, 't') != NULL) {
            return ANSWER_YES;
        }
    }
    return asked != NULL && asked->seen.result == TARGET_NO_MEMORY ? ANSWER_NO : ANSWER_OPEN;
}

static struct target_regions read_regions(const struct inference *inference)
{
    const struct target_contract *contract = inference_contract(inference);
    const enum mitigation_answer trims = read_trimming(inference);
    const uint64_t step_bytes = find_step(inference);
    return (struct target_regions){
        .grows = true,
        .trims = trims == ANSWER_YES || (trims == ANSWER_OPEN && contract->regions.trims),
        .step_bytes = step_bytes == find_unit(contract) && contract->regions.grows
                          ? contract->regions.step_bytes
                          : step_bytes};
}

void infer_regions(const struct inference *inference, struct inference_line *line)
{
    const struct target_contract *contract = inference_contract(inference);
    const struct target_regions *declared = &contract->regions;
    if (!inference_takes_regions(inference)) {
        field_keep_declared(line);
        line->verdict = declared->grows ? INFERENCE_OPEN : INFERENCE_KEPT;
        line->experiment = EXPERIMENT_grow;
        return;
    }
    const struct target_regions seen = read_regions(inference);
    const bool is_more = (seen.trims && !declared->trims) || seen.step_bytes < declared->step_bytes;
    print_regions(&seen, line->inferred);
    line->verdict = declared->grows && is_more ? INFERENCE_UNDECLARED : INFERENCE_KEPT;
    if (declared->grows) {
        refute_size(inference, line);
    }
}
