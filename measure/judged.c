#include "measure/judged.h"

#include "harness/run/run_state.h"

#include <stdio.h>

static bool is_request(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->can_be_refused;
}

static void count_refusal(const struct run *run, const struct op *op, struct judged *judged)
{
    if (model_free_bytes(run_model(run, op->host)) >= op->size_bytes) {
        judged->free_refused_count++;
        judged->free_refused_bytes += op->size_bytes;
    }
}

static void note_answer(const struct run *run, uint32_t i, struct judged *judged, uint8_t *answers)
{
    const struct op *op = &run_ops(run)->ops[i];
    const struct observation *seen = run_observation(run);
    if (!is_request(op) || seen->skipped != 0 ||
        (seen->result != TARGET_OK && seen->result != TARGET_NO_MEMORY)) {
        return;
    }
    judged->requests++;
    answers[i] = seen->result == TARGET_OK ? ANSWER_GRANTED : ANSWER_REFUSED;
    if (seen->result == TARGET_NO_MEMORY) {
        count_refusal(run, op, judged);
    }
}

static void note_finding(const struct run *run, struct judged *judged)
{
    const struct run_findings *findings = run_findings(run);
    for (size_t i = 0; i < findings->count && judged->signature[0] == '\0'; i++) {
        const struct run_finding *finding = &findings->findings[i];
        if (finding->verdict.kind == VERDICT_BROKEN) {
            (void)snprintf(judged->signature, sizeof judged->signature, "%s", finding->signature);
            (void)snprintf(judged->why, sizeof judged->why, "%s", finding->verdict.reason);
        }
    }
}

static void note_totals(const struct run *run, struct judged *judged)
{
    const struct run_totals *totals = run_totals(run);
    judged->op_count = totals->ops;
    judged->ooms = totals->ooms;
    judged->justified = totals->justified;
    judged->premature = totals->premature;
    judged->unknown = totals->unknown;
    judged->excused = totals->excused;
    judged->broken = totals->broken;
}

void judged_run(const struct target *target, const struct setup *setup, const struct op_list *ops,
                struct judged *judged, uint8_t *answers)
{
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(target, setup, reason);
    *judged = (struct judged){.end = JUDGED_WHOLE, .end_op = OP_NONE};
    if (run == NULL) {
        judged->end = JUDGED_REFUSED;
        (void)snprintf(judged->why, sizeof judged->why, "%s", reason);
        return;
    }
    run_go_on(run);
    judged->has_addresses = model_contract(run_model(run, 0))->placement == PLACEMENT_RANGES;
    for (uint32_t i = 0; i < ops->count && !run_is_broken(run); i++) {
        (void)run_step(run, &ops->ops[i]);
        note_answer(run, i, judged, answers);
        judged->end_op = run_is_broken(run) ? i : OP_NONE;
    }
    judged->end = run_is_broken(run) ? JUDGED_BROKEN : JUDGED_WHOLE;
    (void)run_finish(run);
    note_totals(run, judged);
    note_finding(run, judged);
    run_destroy(run);
}

uint32_t judged_first_refused(const struct target *target, const struct setup *setup,
                              const struct op_list *ops)
{
    char reason[RUN_REASON_BYTES];
    struct setup bounded = *setup;
    bounded.search_nodes_max = 1; /* why it is refused is not asked */
    struct run *run = run_create(target, &bounded, reason);
    uint32_t i = 0;
    if (run == NULL) {
        return OP_NONE;
    }
    run_judge_promises_only(run);
    run_go_on(run);
    for (; i < ops->count; i++) {
        (void)run_step(run, &ops->ops[i]);
        const struct observation *seen = run_observation(run);
        const bool is_refused = is_request(&ops->ops[i]) && seen->skipped == 0 &&
                                seen->result != TARGET_OK;
        if (run_is_broken(run) || is_refused) {
            break;
        }
    }
    run_destroy(run);
    return i;
}
