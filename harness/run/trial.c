#include "harness/run/trial.h"

void trial_collect_counts(struct trial *trial, const struct run *run)
{
    trial->totals = *run_totals(run);
    trial->digest = run_digest(run);
    op_list_init(&trial->ops);
}

void trial_collect(struct trial *trial, const struct run *run)
{
    trial_collect_counts(trial, run);
    trial->setup = *run_setup(run);
    op_list_copy(&trial->ops, run_ops(run));
}

void trial_deinit(struct trial *trial)
{
    op_list_deinit(&trial->ops);
}
