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

/* The arguments that held_make() got last. */
static struct judged_held held_now;
static const struct target *target_now;

static enum target_result open_held(const struct target_setup *setup,
                                    const struct device_services *services,
                                    struct target_instance **instance,
                                    struct target_contract *contract, char *reason,
                                    size_t reason_bytes)
{
    const enum target_result result = target_now->open(setup, services, instance, contract, reason,
                                                       reason_bytes);
    if (result != TARGET_OK) {
        return result;
    }
    if (held_now.kind == HELD_CONTRACT) {
        *contract = held_now.contract;
    } else if (held_now.kind == HELD_NONE) {
        contract->aligns_naturally = false;
    }
    return result;
}

static void set_rounding(struct setup *setup, const struct target_rounding *rounding)
{
    setup->has_rounding = true;
    setup->rounding = *rounding;
}

void held_make(const struct judged_held *held, const struct target *target, struct target *judged,
               struct setup *setup)
{
    held_now = *held;
    target_now = target;
    *judged = *target;
    judged->open = held->kind == HELD_DECLARED ? target->open : open_held;
    if (held->kind == HELD_NONE) {
        set_rounding(setup,
                     &(struct target_rounding){.kind = ROUNDING_GRANULE,
                                               .overhead_bytes = held->contract.header_bytes});
    } else if (held->kind == HELD_ROUNDING) {
        set_rounding(setup, &held->rounding);
    } else if (held->kind == HELD_CONTRACT) {
        set_rounding(setup, &held->contract.rounding);
    }
}

/* Asks for a block of that size and frees it. */
static bool is_served(struct run *run, uint64_t size_bytes)
{
    struct op request = op_make(OP_ALLOC), end = op_make(OP_FREE);
    request.size_bytes = size_bytes;
    end.ref = (uint32_t)run_ops(run)->count;
    (void)run_step(run, &request);
    const struct observation *seen = run_observation(run);
    const bool is_granted = seen->skipped == 0 && seen->result == TARGET_OK;
    if (is_granted && !run_is_broken(run)) {
        (void)run_step(run, &end);
    }
    return is_granted && !run_is_broken(run);
}

static uint64_t find_largest(struct run *run, uint64_t granule_bytes, uint64_t granule_count)
{
    uint64_t low = 0, high = granule_count + 1;
    while (high - low > 1 && !run_is_broken(run)) {
        const uint64_t middle = low + (high - low) / 2;
        if (is_served(run, middle * granule_bytes)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low * granule_bytes;
}

bool room_measure(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  uint32_t last, uint64_t *bytes)
{
    char reason[RUN_REASON_BYTES];
    struct setup bounded = *setup;
    bounded.search_nodes_max = 1; /* why it is refused is not asked */
    struct run *run = run_create(target, &bounded, reason);
    if (run == NULL) {
        return false;
    }
    run_judge_promises_only(run);
    run_go_on(run);
    for (uint32_t i = 0; i <= last && i < ops->count && !run_is_broken(run); i++) {
        (void)run_step(run, &ops->ops[i]);
    }
    const struct model *model = run_model(run, 0);
    const uint64_t granule_bytes = model_granule_bytes(model);
    const uint64_t found_bytes = find_largest(run, granule_bytes,
                                              model_free_bytes(model) / granule_bytes);
    const bool is_sound = !run_is_broken(run);
    run_destroy(run);
    if (is_sound) {
        *bytes = found_bytes;
    }
    return is_sound;
}
