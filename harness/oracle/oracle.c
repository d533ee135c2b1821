#include "harness/oracle/oracle.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/oracle/plan.h"
#include "harness/oracle/private/layout.h"
#include "harness/oracle/reach.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct oracle {
    struct reach reach; /* the state that decides */
    struct repack repack;
    struct planner *planner;
    struct proof proof;
    uint64_t nodes_each;
    uint64_t nodes_spare; /* left for open questions */
    bool is_terse;        /* no reasons of justified verdicts */
};

struct oracle *oracle_create(void)
{
    struct oracle *oracle = array_zeroed(1, sizeof *oracle);
    oracle->planner = planner_create();
    oracle_reset(oracle, ORACLE_NODES_DEFAULT, ORACLE_NODES_SPARE);
    return oracle;
}

void oracle_reset(struct oracle *oracle, uint64_t nodes_each, uint64_t nodes_spare)
{
    oracle->nodes_each = nodes_each;
    oracle->nodes_spare = nodes_spare;
}

void oracle_set_terse(struct oracle *oracle, bool is_terse)
{
    oracle->is_terse = is_terse;
}

void oracle_destroy(struct oracle *oracle)
{
    reach_deinit(&oracle->reach);
    repack_deinit(&oracle->repack);
    planner_destroy(oracle->planner);
    free(oracle);
}

/* --- in words --- */

static bool is_explained(const struct oracle *oracle, const struct verdict *verdict)
{
    return !oracle->is_terse || verdict->kind != VERDICT_JUSTIFIED;
}

static void append_list(struct verdict *verdict, const char *format, va_list arguments)
{
    const size_t used = strlen(verdict->reason);
    vsnprintf(verdict->reason + used, sizeof verdict->reason - used, format, arguments);
}

static void append_reason(struct verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append_reason(struct verdict *verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_list(verdict, format, arguments);
    va_end(arguments);
}

static void explain_verdict(const struct oracle *oracle, struct verdict *verdict,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));
static void explain_verdict(const struct oracle *oracle, struct verdict *verdict,
                            const char *format, ...)
{
    const struct reach *reach = &oracle->reach;
    va_list arguments;
    if (!is_explained(oracle, verdict)) {
        return;
    }
    verdict->reason[0] = '\0';
    if (reach->frees_awaited > 0 || reach->programs_evicted > 0) {
        append_reason(verdict,
                      "with %" PRIu64 " queued frees awaited and %" PRIu64
                      " idle programs evicted, ",
                      reach->frees_awaited, reach->programs_evicted);
    }
    va_start(arguments, format);
    append_list(verdict, format, arguments);
    va_end(arguments);
}

/* The largest gap without counting blocks in it, and all free bytes: what a reader wants to know.
 */
static void summarise_spans(const struct reach *reach, uint64_t *largest, uint64_t *all)
{
    *largest = *all = 0;
    struct reach_gap gap = reach_before_all;
    while (reach_next_gap(reach, &gap)) {
        uint64_t room = gap.end - gap.start;
        for (size_t i = gap.first; i < gap.last; i++) {
            const uint64_t size = reach->ranges[i].size_bytes;
            room -= size < room ? size : room;
        }
        *largest = room > *largest ? room : *largest;
        *all += room;
    }
}

/* --- why --- */

static void settle_verdict(struct oracle *oracle, struct verdict *verdict, enum verdict_kind kind,
                           enum proof_kind proof)
{
    verdict->kind = kind;
    verdict->rule = kind == VERDICT_PREMATURE ? RULE_PREMATURE : RULE_NONE;
    oracle->proof = (struct proof){.claim = kind, .kind = proof};
}

/* The kind of proof of each method that refutes. */
static enum proof_kind proof_kind_of(enum packing_method method)
{
    static const enum proof_kind kinds[] = {
        [PACKING_BY_VOLUME] = PROOF_ROUNDING,       [PACKING_BY_LARGEST_ITEM] = PROOF_ROUNDING,
        [PACKING_BY_ROUNDING] = PROOF_ROUNDING,     [PACKING_BY_SEARCH] = PROOF_SEARCH,
        [PACKING_BY_SEARCH_ALIGNED] = PROOF_SEARCH, [PACKING_BY_TABLE] = PROOF_TABLE,
        [PACKING_BY_FILLS] = PROOF_FILLS,           [PACKING_BY_PATTERNS] = PROOF_PATTERNS,
    };
    CHECK(method < sizeof kinds / sizeof kinds[0]);
    CHECK(kinds[method] != PROOF_NONE);
    return kinds[method];
}

/* Volume is rounding by the granule; an item that is larger than every span, rounding by its size.
 */
static uint64_t rounding_unit(const struct oracle *oracle, const struct packing_answer *answer)
{
    switch (answer->method) {
    case PACKING_BY_VOLUME:
        return oracle->reach.oom->granule_bytes;
    case PACKING_BY_LARGEST_ITEM:
        return repack_largest_item(&oracle->repack);
    default:
        return answer->number;
    }
}

static void fill_need_and_have(struct oracle *oracle, uint64_t unit)
{
    struct proof *proof = &oracle->proof;
    proof->unit = unit;
    proof->need = repack_item_sum(&oracle->repack, unit);
    proof->have = repack_bin_sum(&oracle->repack, unit);
}

/* Fills in the proof that a refuted packing has: numbers, or a log. */
static void fill_refutation(struct oracle *oracle, const struct packing_answer *answer)
{
    struct proof *proof = &oracle->proof;
    if (proof->kind == PROOF_TABLE || proof->kind == PROOF_PATTERNS) {
        proof->sets = answer->number;
        return;
    }
    if (proof->kind == PROOF_FILLS) {
        proof->spans = answer->fills.bins;
        proof->unit = answer->fills.unit_bytes;
        proof->lost = answer->fills.lost_bytes;
        return;
    }
    if (proof->kind != PROOF_ROUNDING) {
        proof->is_plain = answer->method == PACKING_BY_SEARCH;
        proof->least = answer->number;
        proof->log = packing_log(oracle->repack.packing, &proof->log_length);
        return;
    }
    fill_need_and_have(oracle, rounding_unit(oracle, answer));
    CHECK(proof->need > proof->have);
}

/* --- the verdict --- */

/* Classifies the state that decides: a block that is gone, or need not stay, makes nothing hard. */
static enum oom_class classify_oom(const struct reach *reach)
{
    const struct oom *oom = reach->oom;
    bool is_aligned = reach->need > 0 && reach->align > oom->granule_bytes;
    bool is_held = false;
    for (size_t i = 0; i < reach->range_count; i++) {
        const struct reach_range *range = &reach->ranges[i];
        is_aligned = is_aligned || (range->is_movable && range->align_bytes > oom->granule_bytes);
        is_held = is_held || (!range->is_movable && range->block != REACH_FENCE &&
                              oom->blocks[range->block].hold_count > 0);
    }
    return is_aligned ? OOM_ALIGNED : is_held ? OOM_HELD : OOM_PLAIN;
}

static void fill_effort(struct oracle *oracle, const struct packing_answer *answer,
                        uint64_t nodes_max)
{
    struct proof *proof = &oracle->proof;
    proof->nodes = answer->nodes;
    proof->effort = (struct proof_effort){.nodes_max = nodes_max,
                                          .until_ns = oracle->reach.until_ns,
                                          .oom_class = classify_oom(&oracle->reach)};
    memcpy(proof->effort.nodes, answer->effort, sizeof proof->effort.nodes);
}

static void judge_repack(struct oracle *oracle, uint64_t nodes_max, bool wants_proof,
                         struct verdict *verdict)
{
    struct packing_answer answer;
    repack_decide(&oracle->repack, &oracle->reach, nodes_max, wants_proof, &answer);
    verdict->nodes = answer.nodes;
    const char *method = packing_method_name(answer.method);
    if (answer.result == PACKING_FITS) {
        settle_verdict(oracle, verdict, VERDICT_PREMATURE, PROOF_PLAN);
        explain_verdict(
            oracle, verdict,
            "the movable blocks and the request fit into the spans between unmovable blocks (%s)",
            method);
        return;
    }
    if (answer.result == PACKING_UNKNOWN) {
        settle_verdict(oracle, verdict, VERDICT_UNKNOWN, PROOF_BUDGET);
        fill_effort(oracle, &answer, nodes_max);
        verdict->oom_class = oracle->proof.effort.oom_class;
        fill_need_and_have(oracle, 1);
        explain_verdict(oracle, verdict,
                        "the search found no packing within %" PRIu64
                        " nodes and did not refute one (%s)",
                        nodes_max, method);
        return;
    }
    settle_verdict(oracle, verdict, VERDICT_JUSTIFIED, proof_kind_of(answer.method));
    if (wants_proof) {
        fill_refutation(oracle, &answer);
    }
    explain_verdict(oracle, verdict, "no packing of the movable blocks and the request exists (%s)",
                    method);
}

enum { ALIGNMENT_TEXT_BYTES = 80 };

/* Prints that a hole is large enough but lies in the wrong place; "" if none is, or blocks move. */
static const char *print_alignment(const struct reach *reach, uint64_t largest_bytes,
                                   char text[ALIGNMENT_TEXT_BYTES])
{
    char size[SIZE_TEXT_BYTES];
    text[0] = '\0';
    if (reach->defrag == DEFRAG_NONE && largest_bytes >= reach->need) {
        size_print_field(reach->align, size);
        (void)snprintf(text, ALIGNMENT_TEXT_BYTES, ", and none has room at a multiple of %s", size);
    }
    return text;
}

static void explain_spans(const struct oracle *oracle, struct verdict *verdict)
{
    const struct reach *reach = &oracle->reach;
    uint64_t largest = 0;
    uint64_t all = 0;
    char largest_text[SIZE_TEXT_BYTES];
    char all_text[SIZE_TEXT_BYTES];
    char align_text[ALIGNMENT_TEXT_BYTES];
    if (!is_explained(oracle, verdict)) {
        return;
    }
    summarise_spans(reach, &largest, &all);
    size_print_field(largest, largest_text);
    size_print_field(all, all_text);
    explain_verdict(oracle, verdict, "no %s offers more than %s of the %s free%s",
                    reach->oom->promised.grows      ? "hole of a region, and no new region,"
                    : reach->defrag == DEFRAG_SLIDE ? "span between unmovable blocks"
                                                    : "hole",
                    largest_text, all_text, print_alignment(reach, largest, align_text));
}

/* Decides without moving a block between spans; true when that settles it. */
static bool judge_in_place(struct oracle *oracle, struct verdict *verdict)
{
    const struct reach *reach = &oracle->reach;
    struct reach_gap where = {0};
    /* A block in host memory has no place next to others. */
    if (reach->absent_count > 0) {
        return false;
    }
    if (reach_slides(reach, &where)) {
        settle_verdict(oracle, verdict, VERDICT_PREMATURE, PROOF_PLAN);
        explain_verdict(oracle, verdict,
                        "the request fits into [0x%" PRIx64 ", 0x%" PRIx64
                        ") next to the movable blocks there "
                        "(%zu)",
                        where.start, where.end, where.last - where.first);
        return true;
    }
    if (reach->defrag == DEFRAG_REPACK) {
        return false;
    }
    settle_verdict(oracle, verdict, VERDICT_JUSTIFIED, PROOF_SPANS);
    explain_spans(oracle, verdict);
    return true;
}

/* The stack does not fit below the lowest unmovable block, or not at all; true when that settles
 * it. */
static bool judge_stack(struct oracle *oracle, struct verdict *verdict)
{
    const struct reach *reach = &oracle->reach;
    const struct reach_range *fixed = reach_fixed_below(reach);
    if (reach->bottom > reach->oom->capacity_bytes) {
        settle_verdict(oracle, verdict, VERDICT_JUSTIFIED, PROOF_STACK);
        explain_verdict(oracle, verdict, "the stack is larger than the device");
        return true;
    }
    if (fixed != NULL) {
        settle_verdict(oracle, verdict, VERDICT_JUSTIFIED, PROOF_STACK);
        explain_verdict(oracle, verdict,
                        "an unmovable block lies at 0x%" PRIx64
                        ", below the end of the stack at 0x%" PRIx64,
                        fixed->start, reach->bottom);
        return true;
    }
    return false;
}

/* Otherwise a reader would hold the reason against the bytes that were asked. */
static void explain_need(const struct oom_request *request, struct verdict *verdict)
{
    char size[SIZE_TEXT_BYTES];
    if (request->asked_bytes > 0 && request->size_bytes > request->asked_bytes) {
        size_print_field(request->size_bytes, size);
        append_reason(verdict, "; by its contract's rounding the request needs %s", size);
    }
}

/* Judges where nobody learns where blocks lie.  What depends on that is open: no verdict at all. */
static void judge_sums(struct oracle *oracle, struct verdict *verdict)
{
    const struct reach *reach = &oracle->reach;
    char need[SIZE_TEXT_BYTES];
    char have[SIZE_TEXT_BYTES];
    const uint64_t free_bytes = sums_free_bytes(reach);
    size_print_field(reach->need, need);
    size_print_field(free_bytes, have);
    switch (sums_judge(reach)) {
    case SUMS_FIT:
        settle_verdict(oracle, verdict, VERDICT_PREMATURE, PROOF_PLAN);
        explain_verdict(oracle, verdict, "the request needs %s of the %s free", need, have);
        return;
    case SUMS_LACK:
        settle_verdict(oracle, verdict, VERDICT_JUSTIFIED, PROOF_SUM);
        oracle->proof.need = sums_taken_bytes(reach) + reach->need;
        oracle->proof.have = reach->oom->capacity_bytes;
        explain_verdict(oracle, verdict, "the request needs %s, and no more than %s is free", need,
                        have);
        return;
    case SUMS_OPEN:
        settle_verdict(oracle, verdict, VERDICT_NONE, PROOF_NONE);
        explain_verdict(oracle, verdict,
                        "the request needs %s of the %s free in %zu blocks whose places are hidden",
                        need, have, reach->range_count);
    }
}

static void judge_state(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                        bool wants_proof, struct verdict *verdict)
{
    reach_decide_fully(&oracle->reach, oom);
    verdict->nodes = 0;
    verdict->nodes_max = nodes_max;
    if (oom->placement != PLACEMENT_RANGES) {
        judge_sums(oracle, verdict);
    } else if (!judge_stack(oracle, verdict) && !judge_in_place(oracle, verdict)) {
        judge_repack(oracle, nodes_max, wants_proof, verdict);
    }
    CHECK(oracle->reach.need <= oom->capacity_bytes || verdict->kind == VERDICT_JUSTIFIED);
    if (!is_explained(oracle, verdict)) {
        verdict->reason[0] = '\0'; /* a shorter search may have left one */
        return;
    }
    if (oracle->reach.need > oom->capacity_bytes) {
        snprintf(verdict->reason, sizeof verdict->reason, "the request is larger than the device");
    }
    explain_need(&oom->request, verdict);
}

/* Takes from what is spare, and no more than there is: the sum over a run has a bound. */
static void judge_longer(struct oracle *oracle, const struct oom *oom, struct verdict *verdict)
{
    const uint64_t nodes_before = verdict->nodes;
    const uint64_t nodes_max = oracle->nodes_spare;
    if (nodes_max <= oracle->nodes_each) {
        return;
    }
    judge_state(oracle, oom, nodes_max, false, verdict);
    CHECK(verdict->nodes <= nodes_max);
    oracle->nodes_spare -= verdict->nodes;
    verdict->nodes += nodes_before;
}

void oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                  struct verdict *verdict)
{
    const uint64_t first_max = nodes_max == 0 ? oracle->nodes_each : nodes_max;
    judge_state(oracle, oom, first_max, false, verdict);
    /* An unknown verdict below the budget means a state that is too large for any budget. */
    if (nodes_max == 0 && verdict->kind == VERDICT_UNKNOWN && verdict->nodes == first_max) {
        judge_longer(oracle, oom, verdict);
    }
}

void oracle_judge_stack(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                        struct verdict *verdict)
{
    CHECK(oom->request.size_bytes == 0);
    const bool is_terse = oracle->is_terse;
    verdict->kind = VERDICT_NONE;
    if (oom->request.stack_bytes > oom_reservable(oom).low_bytes) {
        oracle->is_terse = false; /* that a stack cannot be reserved is held against a load */
        oracle_judge(oracle, oom, nodes_max, verdict);
        oracle->is_terse = is_terse;
    }
}

/* Blocks that were in host memory before. */
static size_t count_returns(const struct proof_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->move_count; i++) {
        count += plan->moves[i].from == PROOF_IN_HOST_MEMORY;
    }
    return count - (size_t)plan->staged_count;
}

/* Names the empty regions to give back, if the request fits into no region that is held. */
static void explain_region(const struct oom *oom, uint64_t address, struct verdict *verdict)
{
    const uint64_t end = address + oom_region_bytes(oom, oom->request.size_bytes);
    size_t given_count = 0;
    if (oom_has_region(oom, address, oom->request.size_bytes)) {
        return;
    }
    for (size_t i = 0; i < oom->region_count; i++) {
        const struct device_region *region = &oom->regions[i];
        given_count += region->address < end && address < region->address + region->size_bytes;
    }
    if (given_count > 0) {
        append_reason(verdict, "give back empty regions (%zu), ", given_count);
    }
    append_reason(verdict, "take a region, ");
}

/* Says what to do, in the order of the plan, without what it does not need. */
static void explain_plan(const struct oom *oom, const struct proof_plan *plan,
                         struct verdict *verdict)
{
    char size[SIZE_TEXT_BYTES];
    const size_t returned_count = count_returns(plan);
    const size_t moved_count = plan->move_count - returned_count -
                               plan->staged_count; /* a staged block is moved in two halves */
    verdict->reason[0] = '\0';
    if (plan->frees_awaited > 0) {
        append_reason(verdict, "await queued frees (%" PRIu64 "), ", plan->frees_awaited);
    }
    if (plan->evicted_count > 0) {
        size_print_field(plan->evicted_bytes, size);
        append_reason(verdict, "evict idle programs (%zu, %s), ", plan->evicted_count, size);
    }
    if (moved_count > 0) {
        size_print_field(plan->moved_bytes, size);
        append_reason(verdict, "move blocks (%zu, %s", moved_count, size);
        if (plan->staged_count > 0) {
            append_reason(verdict, ", %" PRIu64 " of them through host memory", plan->staged_count);
        }
        append_reason(verdict, "), ");
    }
    if (returned_count > 0) {
        append_reason(verdict, "bring blocks back from host memory (%zu), ", returned_count);
    }
    if (oom->promised.grows) {
        explain_region(oom, plan->address, verdict);
    }
    append_reason(verdict, verdict->reason[0] == '\0' ? "with no mitigation " : "then ");
    if (oom->placement != PLACEMENT_RANGES) {
        append_reason(verdict, "the free bytes suffice");
        return;
    }
    if (plan->address == UINT64_MAX) {
        append_reason(verdict, "the stack fits");
        return;
    }
    append_reason(verdict, "the request fits at 0x%" PRIx64, plan->address);
}

/* A placement exists in the state that decides, so the planner, which comes to that state last,
 * finds one. */
static void prove_premature(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                            struct verdict *verdict)
{
    const enum plan_result result = planner_find(oracle->planner, oom, nodes_max,
                                                 &oracle->proof.plan);
    CHECK(result == PLAN_FOUND);
    explain_plan(oom, &oracle->proof.plan, verdict);
}

const struct proof *oracle_prove(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                                 struct verdict *verdict)
{
    const bool is_terse = oracle->is_terse;
    nodes_max = nodes_max == 0 ? oracle->nodes_each : nodes_max;
    oracle->is_terse = false;
    judge_state(oracle, oom, nodes_max, true, verdict);
    oracle->is_terse = is_terse;
    if (verdict->kind == VERDICT_PREMATURE) {
        prove_premature(oracle, oom, nodes_max, verdict);
    }
    return &oracle->proof;
}
