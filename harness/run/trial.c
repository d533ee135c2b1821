#include "harness/run/trial.h"

#include "harness/base/check.h"

void trial_collect_counts(struct trial *trial, const struct run *run)
{
    trial->totals = *run_totals(run);
    trial->digest = run_digest(run);
    run_findings_copy(&trial->findings, run_findings(run));
    op_list_init(&trial->ops);
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

void trial_deinit(struct trial *trial)
{
    op_list_deinit(&trial->ops);
}
