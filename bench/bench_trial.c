/* One trial of a scenario in this process, for a profiler of instructions: without children, files
 * and time.  bench/trial_tables.py prints the tables that it is for. */
#include "harness/base/check.h"
#include "harness/trial/again.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: bench_trial SCENARIO OPS SEED [KEY=VALUE...]\n"
    "Runs a trial of libhbm, with these options, and prints how many ops it had.\n"
    "again=yes: runs its list again, too, as a campaign does with a sample of its trials.\n";

/* False: no option. */
static bool take_option(const char *word, struct setup *setup, bool *is_again)
{
    char key[SETUP_NAME_BYTES];
    const char *value = strchr(word, '=');
    if (value == NULL || (size_t)(value - word) >= sizeof key) {
        return false;
    }
    memcpy(key, word, (size_t)(value - word));
    key[value - word] = '\0';
    if (strcmp(key, "again") == 0) {
        *is_again = strcmp(value + 1, "yes") == 0;
        return true;
    }
    return setup_set_option(setup, key, value + 1);
}

int main(int argc, char **argv)
{
    static struct setup setup;
    static struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    bool is_again = false;
    bool is_good = argc >= 4 && scenario_find(argv[1]) != NULL;
    setup_init(&setup);
    for (int i = 4; i < argc && is_good; i++) {
        is_good = take_option(argv[i], &setup, &is_again);
    }
    if (!is_good) {
        fputs(usage, stderr);
        return 2;
    }
    (void)snprintf(setup.target, sizeof setup.target, "hbm");
    setup.seed = strtoull(argv[3], NULL, 10);
    const struct trial_plan plan = {.target = target_find("hbm"),
                                    .scenario = scenario_find(argv[1]),
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = strtoull(argv[2], NULL, 10)};
    if (!trial_run(&plan, NULL, &trial, reason)) {
        fprintf(stderr, "bench_trial: %s\n", reason);
        return 2;
    }
    struct verdict broken;
    if (is_again && again_breaks_renamed(plan.target, &trial, &broken)) {
        fprintf(stderr, "bench_trial: %s\n", broken.reason);
        return 1;
    }
    printf("%" PRIu64 " ops, %" PRIu64 " OOMs, digest %" PRIu64 "\n", trial.totals.ops,
           trial.totals.ooms, trial.digest);
    trial_deinit(&trial);
    return 0;
}
