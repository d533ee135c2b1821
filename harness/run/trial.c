#include "harness/run/trial.h"

#include "harness/base/check.h"
#include "harness/run/run_state.h"

#include <string.h>

void trial_collect_counts(struct trial *trial, const struct run *run)
{
    trial->totals = *run_totals(run);
    trial->digest = run_digest(run);
    run_findings_copy(&trial->findings, run_findings(run));
    op_list_init(&trial->ops);
    op_list_init(&trial->searched);
    memset(trial->lists, 0, sizeof trial->lists);
    CHECK(trial->totals.justified + trial->totals.premature <= trial->totals.ooms);
    CHECK(trial->ops.count == 0);
}

void trial_collect(struct trial *trial, const struct run *run)
{
    trial_collect_counts(trial, run);
    trial->setup = *run_setup(run);
    op_list_copy(&trial->ops, run_ops(run));
    CHECK(trial->ops.count == run_ops(run)->count);
    CHECK(trial->setup.host_count >= 1);
}

void trial_collect_last(struct trial *trial, struct run *run)
{
    trial_collect_counts(trial, run);
    trial->setup = *run_setup(run);
    if (run->given == NULL) {
        op_list_move(&trial->ops, &run->ops);
    }
    CHECK(trial->setup.host_count >= 1);
}

void trial_name_first(struct trial *trial)
{
    const struct run_finding *gravest = run_findings_gravest(&trial->findings);
    if (trial->first.kind != VERDICT_NONE) {
        run_findings_set(&trial->findings, &trial->first, &trial->ops);
    } else if (gravest != NULL) {
        trial->first = gravest->verdict;
    }
}

bool trial_is_ended(const struct trial *trial)
{
    return trial->first.kind == VERDICT_DISPUTED ||
           (trial->first.kind != VERDICT_NONE && rule_gravity(trial->first.rule) == GRAVITY_HARM);
}

const struct op_list *trial_list(const struct trial *trial, const struct run_finding *finding)
{
    CHECK(finding->list <= RUN_FINDING_COUNT_MAX);
    return finding->list == 0 ? &trial->ops : &trial->lists[finding->list - 1];
}

/* The number of a list that no finding names. */
static uint32_t find_spare_list(const struct trial *trial)
{
    bool is_named[RUN_FINDING_COUNT_MAX + 1] = {true};
    uint32_t list = 0;
    for (size_t i = 0; i < trial->findings.count; i++) {
        is_named[trial->findings.findings[i].list] = true;
    }
    while (list <= RUN_FINDING_COUNT_MAX && is_named[list]) {
        list++;
    }
    return list;
}

/* A list that shows several of them is taken for each: there are few, and most lists show one. */
void trial_take_findings(struct trial *trial, const struct trial *from)
{
    for (size_t i = 0; i < from->findings.count; i++) {
        const struct run_finding *finding = &from->findings.findings[i];
        if (run_findings_take(&trial->findings, finding)) {
            struct run_finding *taken = &trial->findings.findings[trial->findings.count - 1];
            taken->list = find_spare_list(trial);
            CHECK(taken->list <= RUN_FINDING_COUNT_MAX);
            op_list_copy(&trial->lists[taken->list - 1], trial_list(from, finding));
        }
    }
}

void trial_lead(struct trial *trial)
{
    const struct run_finding *gravest = run_findings_gravest(&trial->findings);
    if (gravest == NULL) {
        return;
    }
    trial->first = gravest->verdict;
    if (gravest->list != 0) {
        op_list_copy(&trial->ops, trial_list(trial, gravest));
    }
}

void trial_deinit(struct trial *trial)
{
    op_list_deinit(&trial->ops);
    op_list_deinit(&trial->searched);
    for (size_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        op_list_deinit(&trial->lists[i]);
    }
}
