#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/rules/cost_class.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>

/* --- classes --- */

/* A mean of fewer ops, or a lower class, says little: constant costs outweigh what grows. */
enum { CLASS_FIRST = 3, CLASSES_APART_MIN = 3, CLASS_OPS_MIN = 8 };
/* Twice is chance, and a tree is twice as deep as the best one. */
enum { GROWTH_FACTOR = 4 };

uint64_t cost_class_units(const struct cost_class *class, enum cost_measure measure)
{
    return measure == COST_MOVED_BYTES ? class->asked_bytes : class->op_count + class->effects;
}

/* Returns what any op may spend, however few blocks there are: it is no growth. */
static uint64_t floor_of(enum cost_measure measure)
{
    static const uint64_t floors[COST_MEASURE_COUNT] = {
        [COST_CALLS] = 1, [COST_MOVED_BYTES] = 1, [COST_ACCESSES] = 64};
    return floors[measure];
}

/* True if the class has enough ops.  A cost of as many ops as there are blocks, as the growth of a
 * table, is no cost of one: so many ops are enough to spread it over. */
static bool has_enough_ops(const struct cost_class *class, uint32_t index)
{
    const uint64_t half = (UINT64_C(1) << index) / 2;
    return class->op_count >= CLASS_OPS_MIN && class->op_count >= half;
}

typedef unsigned __int128 wide;

/* *product *= factor; false: it is too large, and nobody can say. */
static bool multiply(wide *product, wide factor)
{
    return !__builtin_mul_overflow(*product, factor, product);
}

/* True if mean(to) > GROWTH_FACTOR * growth * max(mean(from), floor), without a division. */
static bool grows_faster(const struct cost_class *classes, enum cost_measure measure,
                         enum target_growth growth, uint32_t from_index, uint32_t to_index)
{
    const struct cost_class *from = &classes[from_index];
    const struct cost_class *to = &classes[to_index];
    const uint64_t from_units = cost_class_units(from, measure);
    const uint64_t to_units = cost_class_units(to, measure);
    const bool is_log = growth == TARGET_GROWTH_LOGARITHMIC;
    wide least = from_units;
    wide left = to->spent[measure];
    wide right = GROWTH_FACTOR;
    if (from_units == 0 || to_units == 0 || !multiply(&least, floor_of(measure))) {
        return false;
    }
    const wide from_spent = from->spent[measure] > least ? from->spent[measure] : least;
    const wide factor = growth == TARGET_GROWTH_LINEAR ? (wide)1 << (to_index - from_index)
                        : is_log                       ? to_index + 1
                                                       : 1;
    return multiply(&left, from_units) && multiply(&left, is_log ? from_index + 1 : 1) &&
           multiply(&right, factor) && multiply(&right, from_spent) && multiply(&right, to_units) &&
           left > right;
}

bool cost_classes_exceed(const struct cost_class classes[COST_CLASS_COUNT],
                         enum cost_measure measure, enum target_growth growth, uint32_t to,
                         uint32_t *from)
{
    CHECK_COSTLY(to < COST_CLASS_COUNT);
    if (growth == TARGET_GROWTH_UNDECLARED || !has_enough_ops(&classes[to], to)) {
        return false;
    }
    for (uint32_t i = CLASS_FIRST; i + CLASSES_APART_MIN <= to; i++) {
        if (has_enough_ops(&classes[i], i) && grows_faster(classes, measure, growth, i, to)) {
            *from = i;
            return true;
        }
    }
    return false;
}

/* --- which growth fits --- */

/* Two classes that can be compared are enough ops, far enough apart. */
static bool can_compare(const struct cost_class *classes, enum cost_measure measure)
{
    uint32_t first = COST_CLASS_COUNT, last = 0;
    for (uint32_t i = CLASS_FIRST; i < COST_CLASS_COUNT; i++) {
        if (has_enough_ops(&classes[i], i) && cost_class_units(&classes[i], measure) > 0) {
            first = first == COST_CLASS_COUNT ? i : first;
            last = i;
        }
    }
    return first + CLASSES_APART_MIN <= last;
}

static bool is_within(const struct cost_class *classes, enum cost_measure measure,
                      enum target_growth growth)
{
    uint32_t from;
    for (uint32_t to = CLASS_FIRST; to < COST_CLASS_COUNT; to++) {
        if (cost_classes_exceed(classes, measure, growth, to, &from)) {
            return false;
        }
    }
    return true;
}

enum cost_fit cost_classes_fit(const struct cost_class classes[COST_CLASS_COUNT],
                               enum cost_measure measure)
{
    if (!can_compare(classes, measure)) {
        return COST_FIT_UNSEEN;
    }
    return is_within(classes, measure, TARGET_GROWTH_CONSTANT)      ? COST_FIT_CONSTANT
           : is_within(classes, measure, TARGET_GROWTH_LOGARITHMIC) ? COST_FIT_LOGARITHMIC
           : is_within(classes, measure, TARGET_GROWTH_LINEAR)      ? COST_FIT_LINEAR
                                                                    : COST_FIT_FASTER;
}

const char *cost_fit_name(enum cost_fit fit)
{
    static const char *const names[COST_FIT_COUNT] = {"unseen", "constant", "logarithmic", "linear",
                                                      "faster"};
    CHECK(fit < COST_FIT_COUNT);
    return names[fit];
}

enum { LOOK_OPS_MIN = 64, LOOK_BLOCKS_PER_OP = 8 };
/* The first 1000 ops may have all that 1000 ops may. */
enum { LATENCY_OPS = 1000 };

/* --- adding --- */

bool cost_history_wants_holes(const struct cost_history *costs)
{
    return costs->op_count >= costs->look_due;
}

void cost_history_see_holes(struct cost_history *costs, uint64_t hole_count, uint64_t block_count)
{
    const uint64_t spread = block_count / LOOK_BLOCKS_PER_OP;
    costs->hole_count = hole_count;
    costs->look_due = costs->op_count + (spread > LOOK_OPS_MIN ? spread : LOOK_OPS_MIN);
}

void cost_history_add(struct cost_history *costs, const struct cost_sample *sample)
{
    costs->classes_now[COST_BLOCKS] = cost_class_of(sample->block_count);
    costs->classes_now[COST_HOLES] = cost_class_of(costs->hole_count);
    for (unsigned axis = 0; axis < COST_AXIS_COUNT; axis++) {
        cost_class_add(&costs->classes[axis][costs->classes_now[axis]], &sample->cost);
    }
    costs->op_count++;
    costs->is_beyond = sample->is_beyond;
    costs->beyond_count += sample->is_beyond;
    CHECK_COSTLY(costs->beyond_count <= costs->op_count);
}

/* --- growth --- */

enum target_growth cost_declared(const struct target_cost *declared, enum cost_measure measure)
{
    return measure == COST_CALLS         ? declared->calls
           : measure == COST_MOVED_BYTES ? declared->moved_bytes
                                         : declared->accesses;
}

bool cost_history_find_growth(struct cost_history *costs, const struct target_cost *declared,
                              struct cost_growth *found)
{
    for (unsigned measure = 0; measure < COST_MEASURE_COUNT; measure++) {
        for (unsigned axis = 0; axis < COST_AXIS_COUNT; axis++) {
            struct cost_growth at = {.measure = (enum cost_measure)measure,
                                     .axis = (enum cost_axis)axis,
                                     .to = costs->classes_now[axis]};
            if (!costs->has_grown[measure] &&
                cost_classes_exceed(costs->classes[axis], at.measure,
                                    cost_declared(declared, at.measure), at.to, &at.from)) {
                costs->has_grown[measure] = true;
                *found = at;
                return true;
            }
        }
    }
    return false;
}

uint64_t cost_history_beyond_max(const struct cost_history *costs,
                                 const struct target_latency *latency)
{
    CHECK_COSTLY(latency->per_mille <= LATENCY_OPS);
    const uint64_t count = costs->op_count > LATENCY_OPS ? costs->op_count : LATENCY_OPS;
    return count * (LATENCY_OPS - latency->per_mille) / LATENCY_OPS;
}

/* --- what it cost --- */

/* A wait in which nothing completed did nothing. */
static bool has_completed(const struct host *host, const struct device_call *calls, size_t count,
                          size_t wait)
{
    const uint64_t after = wait + 1 < count ? calls[wait + 1].completed_before
                                            : timeline_completed_count(host->timeline);
    return after > calls[wait].completed_before;
}

static uint64_t asked_bytes(const struct call *call)
{
    return call->result == TARGET_OK && judge_is_request(&call->op) ? call->op.size_bytes : 0;
}

void judge_take_plain_cost(struct judge *judge, const struct call *call)
{
    judge->cost = (struct op_cost){.calls = judge->cost.calls, .asked_bytes = asked_bytes(call)};
    judge->is_cost_counted = true;
}

void judge_note_cost(struct judge *judge, const struct host *host, const struct call *call)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    judge->cost = (struct op_cost){.calls = device_call_total(host->device),
                                   .accesses = host->has_cost ? host->access_count : 0,
                                   .asked_bytes = asked_bytes(call)};
    for (size_t i = 0; i < count; i++) {
        const enum device_call_kind kind = calls[i].kind;
        const bool is_move = kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_OUT;
        if (calls[i].result != DEVICE_OK) {
            continue;
        }
        judge->cost.moved_bytes += is_move ? calls[i].bytes : 0;
        judge->cost.effects += is_move || kind == DEVICE_CALL_UNLOAD ||
                               (kind == DEVICE_CALL_WAIT && has_completed(host, calls, count, i));
    }
    CHECK_COSTLY(judge->cost.effects <= count);
}

/* --- whether it counts --- */

/* Calls on one block or program: the others are asked to do what costs, or are none of the target.
 */
static bool is_counted_kind(enum op_kind kind)
{
    switch (kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_DONATE:
    case OP_FREE:
    case OP_FREE_AFTER:
    case OP_USE:
    case OP_HOLD:
    case OP_RELEASE:
    case OP_LOAD:
    case OP_EXECUTE:
    case OP_UNLOAD:
        return true;
    default:
        return false;
    }
}

/* True if the call's cost counts.  A device fault costs calls, in that op or in those that bring a
 * block back.  With lanes nobody knows whose call it was. */
static bool is_counted(const struct judge *judge, const struct host *host, const struct call *call)
{
    return is_counted_kind((enum op_kind)call->op.kind) && !call->is_pinned && !call->is_deferred &&
           host->guard == NULL && host->clients == NULL && !judge->had_absent &&
           !judge->cannot_follow && !device_had_fault(host->device);
}

static struct cost_history *find_costs(struct judge *judge, const struct host *host)
{
    if (judge->costs == NULL) {
        judge->costs = array_zeroed(judge->host_count, sizeof *judge->costs);
    }
    return &judge->costs[host->index];
}

/* --- judging --- */

static bool is_beyond(const struct target_latency *latency, const struct op_cost *cost)
{
    return latency->per_mille > 0 &&
           ((latency->calls_max > 0 && cost->calls > latency->calls_max) ||
            (latency->moved_bytes_max > 0 && cost->moved_bytes > latency->moved_bytes_max));
}

static void add_cost(struct cost_history *costs, const struct judge *judge, const struct host *host)
{
    const uint64_t block_count = model_counters(host->model)->block_count;
    if (cost_history_wants_holes(costs)) {
        cost_history_see_holes(costs, model_hole_count(host->model), block_count);
    }
    cost_history_add(costs, &(const struct cost_sample){
                                .cost = judge->cost,
                                .block_count = block_count,
                                .is_beyond = is_beyond(&host->contract.latency, &judge->cost)});
}

void judge_op_cost(struct judge *judge, const struct host *host, const struct call *call)
{
    judge->is_cost_counted = is_counted(judge, host, call);
    if (!judge->is_cost_counted || !host->has_cost) {
        return;
    }
    struct cost_history *costs = find_costs(judge, host);
    add_cost(costs, judge, host);
    if (judge->cost.calls == 0 && judge->cost.accesses == 0) {
        return;
    }
    struct rule_evidence evidence = evidence_of(judge, host, call, SIGHT_COST);
    evidence.costs = costs;
    (void)rule_judge(RULE_LATENCY, &evidence);
    (void)rule_judge(RULE_COST, &evidence);
}

/* These rules judge the cost of ops: its growth over a run, and the device work of a single op. */

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

bool rules_judge_cost(const struct rule_evidence *evidence)
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
    return evidence_break_as(
        evidence, RULE_COST, mechanism,
        "%s %s for each %s with %" PRIu64 " to %" PRIu64 " %s, but %s with %" PRIu64 " to %" PRIu64
        "; the contract declares %s growth",
        print_mean(&classes[at.from], at.measure, from), measure_words[at.measure],
        unit_words[at.measure], (UINT64_C(1) << at.from) - 1, (UINT64_C(2) << at.from) - 2,
        axis_words[at.axis], print_mean(&classes[at.to], at.measure, to),
        (UINT64_C(1) << at.to) - 1, (UINT64_C(2) << at.to) - 2,
        growth_word(cost_declared(declared, at.measure)));
}

/* "2000 device calls, of which 64 are allowed". */
static void describe_excess(const struct rule_evidence *evidence, bool is_of_calls, char *text,
                            size_t text_bytes)
{
    const struct target_latency *latency = &evidence->host->contract.latency;
    const struct op_cost *cost = &evidence->judge->cost;
    (void)snprintf(text, text_bytes, "%" PRIu64 " %s, of which %" PRIu64 " are allowed",
                   is_of_calls ? cost->calls : cost->moved_bytes,
                   measure_words[is_of_calls ? COST_CALLS : COST_MOVED_BYTES],
                   is_of_calls ? latency->calls_max : latency->moved_bytes_max);
}

bool rules_judge_latency(const struct rule_evidence *evidence)
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
    return evidence_break_as(
        evidence, RULE_LATENCY, measure_words[is_of_calls ? COST_CALLS : COST_MOVED_BYTES],
        "it took %s; %" PRIu64 " of %" PRIu64 " ops were beyond a bound, and %" PRIu64 " may be",
        excess, costs->beyond_count, costs->op_count, beyond_max);
}
