#include "harness/run/trial.h"

#include "harness/base/check.h"

void trial_collect_counts(struct trial *trial, const struct run *run)
{
    trial->totals = *run_totals(run);
    trial->digest = run_digest(run);
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

void trial_deinit(struct trial *trial)
{
    op_list_deinit(&trial->ops);
}
