/* run: scenarios against a target, trial by trial, in as many processes as asked for. */
#include "campaign/base/clock.h"
#include "campaign/base/file.h"
#include "campaign/engine/campaign.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/plan/plan.h"
#include "campaign/sweep/sweep_campaign.h"
#include "campaign/trials/trial_result.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum exit_code make_plan(const struct arguments *arguments, uint64_t seed, struct plan *plan)
{
    enum exit_code code = plan_make(&arguments->run, seed, plan);
    if (code != EXIT_KEPT) {
        return code;
    }
    code = plan_check_work(plan, "run");
    if (code != EXIT_KEPT) {
        return code;
    }
    if (arguments->run.job != NULL) {
        canary_add(plan);
    } else {
        plan_widen(&arguments->run, plan);
    }
    return EXIT_KEPT;
}

static const char *get_variable(const char *name)
{
    return getenv(name);
}

/* The shard of this rank, and its folder below that of all. */
static enum exit_code take_rank(struct run_options *options, char out[FILE_PATH_BYTES])
{
    struct rank rank;
    char reason[RANK_REASON_BYTES];
    const char *below = options->out == NULL ? "out" : options->out;
    if (!rank_find(get_variable, &rank, reason)) {
        return message_fail(EXIT_USAGE, "--shard auto: %s", reason);
    }
    if (snprintf(out, FILE_PATH_BYTES, "%s/rank-%" PRIu64, below, rank.index) >= FILE_PATH_BYTES) {
        return message_fail(EXIT_USAGE, "--out: the path is too long");
    }
    options->out = out;
    options->shard_index = rank.index;
    options->shard_count = rank.count;
    return EXIT_KEPT;
}

static enum exit_code run_anew(const struct arguments *given)
{
    struct arguments arguments = *given;
    struct plan plan;
    char out[FILE_PATH_BYTES];
    enum exit_code code = EXIT_KEPT;
    if (arguments.run.has_auto_shard) {
        code = take_rank(&arguments.run, out);
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    code = make_plan(&arguments, arguments.run.has_seed ? arguments.run.seed : clock_seed(), &plan);
    code = code == EXIT_KEPT ? campaign_run(&arguments.run, &plan) : code;
    plan_deinit(&plan);
    return code;
}

/* --- going on --- */

/* These options may be given again: a resumed campaign takes all others from the one before. */
static const char how_options[] = "--resume --workers --annotate --json";

/* The words that the campaign was begun with; they point into description. */
static char **split_words(const struct campaign_description *description)
{
    const size_t count = description->head.argument_count;
    char **words = calloc(count + 1, sizeof *words);
    CHECK(words != NULL);
    char *at = description->arguments.bytes;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1) {
        words[i] = at;
    }
    return words;
}

static enum exit_code resume_with(const struct arguments *arguments,
                                  struct campaign_description *description,
                                  struct checkpoint *checkpoint)
{
    struct plan plan;
    enum exit_code code = make_plan(arguments, description->head.setup.seed, &plan);
    if (code == EXIT_KEPT && !campaign_is_of_plan(description, &plan)) {
        code = message_fail(
            EXIT_USAGE,
            "%s: the job file, a trace or the program has changed since then, so the trials would "
            "differ",
            arguments->resume);
    }
    if (code == EXIT_KEPT && !campaign_can_go_on(&plan, checkpoint)) {
        code = message_fail(
            EXIT_USAGE,
            "%s/checkpoint: the file is damaged: no such campaign comes to where it "
            "stands",
            arguments->resume);
    }
    if (code == EXIT_KEPT) {
        code = campaign_resume(&arguments->run, &plan, arguments->resume, description, checkpoint);
    }
    plan_deinit(&plan);
    return code;
}

static enum exit_code resume_campaign(const struct arguments *arguments)
{
    struct campaign_description description;
    struct checkpoint checkpoint;
    struct arguments begun;
    if (arguments->word_count > 0 || arguments_gave_besides(arguments, how_options) != NULL) {
        return message_fail(
            EXIT_USAGE,
            "--resume reads what to run from %s: only --workers, --annotate and --json may be given with it",
            arguments->resume);
    }
    enum exit_code code = checkpoint_load(arguments->resume, &description, &checkpoint);
    code = code == EXIT_KEPT ? campaign_folder_check(arguments->resume, &checkpoint) : code;
    const uint64_t word_count = code == EXIT_KEPT ? description.head.argument_count
                                                  : 0; /* as many as there are texts */
    char **raw = code == EXIT_KEPT ? split_words(&description) : NULL;
    const char **words = calloc(word_count + 1, sizeof *words);
    CHECK(words != NULL);
    if (code == EXIT_KEPT) {
        code = arguments_parse(&subcommand_run, raw, description.head.argument_count, words,
                               &begun);
    }
    if (code == EXIT_KEPT) {
        begun.resume = arguments->resume;
        begun.run.has_seed = true; /* wherever it came from */
        begun.run.seed = description.head.setup.seed;
        begun.run.shard_index = description.head.shard_index; /* whichever rank goes on with it */
        begun.run.shard_count = description.head.shard_count;
        begun.run.worker_count = arguments->run.worker_count;
        begun.run.is_json = arguments->run.is_json;
        if (arguments->run.annotation != ANNOTATION_NONE) {
            begun.run.annotation = arguments->run.annotation;
        }
        code = resume_with(&begun, &description, &checkpoint);
    }
    free(words);
    free(raw);
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    return code;
}

/* --- a sweep --- */

/* --faults: none alone, over what a job says. */
static const char taken_options[] =
    "--sweep --job --target --target-option --chip --capacity --hosts --seed --ops "
    "--workers --out --json --shrink-budget --trial-timeout --op-timeout --regret-max "
    "--rounding --weights --faults";

static enum exit_code check_options(const struct arguments *arguments)
{
    if (arguments->run.lanes.lane_count != 0 || lane_options_how(&arguments->run.lanes) != NULL) {
        return message_fail(
            EXIT_USAGE,
            "--sweep fails the device calls of one client, one by one; it accepts no lanes");
    }
    if (arguments->run.duration_ns != 0) {
        return message_fail(
            EXIT_USAGE,
            "--sweep ends when it has failed every call; bound it with --ops, not with --time");
    }
    if (arguments->run.faults.kinds != 0) {
        return message_fail(EXIT_USAGE,
                            "--sweep arms every fault itself; it accepts only --faults none");
    }
    const char *other = arguments_gave_besides(arguments, taken_options);
    if (other != NULL) {
        return message_fail(EXIT_USAGE, "%s applies to a campaign; --sweep does not accept it",
                            other);
    }
    return arguments->run.op_count_max > LAST_OP_COUNT_MAX
               ? message_fail(EXIT_USAGE, "--ops: a sweep accepts at most %d", LAST_OP_COUNT_MAX)
               : EXIT_KEPT;
}

/* The exit codes of run; EXIT_UNKNOWN also when a call could not be failed. */
static enum exit_code run_sweep(const struct arguments *arguments)
{
    const enum exit_code code = check_options(arguments);
    return code == EXIT_KEPT ? sweeping_run(&arguments->run) : code;
}

static enum exit_code run_subcommand(const struct arguments *arguments)
{
    if (arguments->resume != NULL) {
        return resume_campaign(arguments);
    }
    return arguments->has_sweep ? run_sweep(arguments) : run_anew(arguments);
}

const struct subcommand subcommand_run = {
    .name = "run",
    .summary = "drive a target through scenarios and judge every out-of-memory",
    .usage = "[SCENARIO ...] [options]",
    .description =
        "Runs the named scenarios, or all of them, against one target.  Trials go round robin.\n"
        "Each out-of-memory is judged.  A broken promise is shrunk and saved in DIR/repros.\n"
        "DIR/certificates gets the proofs of premature and unknown out-of-memories, and of some justified\n"
        "ones.  If the judges of hbmstress itself disagree, the run saves DIR/disputes and ends with exit 4.\n"
        "With --keep N, DIR/kept gets the op lists of the first N trials of each part, and results.jsonl why\n"
        "they ran out of memory.\n"
        "The same seed and options give the same results with any number of workers.\n\n"
        "Without --job, every second trial gets faults, some have a small device, and each scenario runs a\n"
        "second time with 3 client threads (docs/campaigns.md).  --faults none --lanes none leaves faults\n"
        "and threads out.\n\n"
        "With --lanes, each trial deals its ops to N client threads and runs them under many schedules\n"
        "(docs/interleavings.md).  The repro records the schedule that broke the promise.\n\n"
        "With --trace, a field trace runs in place of scenarios: as it is in the first trial, then repeated,\n"
        "interleaved and in other sizes, with --hosts N on hosts that start one after the other\n"
        "(docs/campaigns.md).\n\n"
        "With --job, a planted defect runs next to the jobs.  If it is not reported, the run ends with\n"
        "exit 4.  After any end, kill -9 included, --resume DIR continues the campaign: no trial is lost,\n"
        "and none counts twice.",
    .examples =
        {"hbmstress run fragmentation_storm --target first_fit --capacity 64M --seed 1",
         "hbmstress run --job smoke", "hbmstress run --job smoke --annotate github",
         "hbmstress run queued_free_race --lanes 3 --strategy pct=3 --schedules 500",
         "hbmstress run --trace profile.pickle --seeds 200 --vary 'amplify=10 scale=50,130'",
         "hbmstress run training --hosts 4 --chip v4 --until 2000 --seed 1 --out story",
         "hbmstress run --resume out", "hbmstress run --job nightly --shard 2/8 --out out-2",
         "mpirun -n 8 hbmstress run --seed 1 --seeds 100 --shard auto --out out"},
    .options =
        "--job --trace --vary --target --target-option --scenario-option --chip --capacity "
        "--hosts --seed --ops --until --time --workers --out --baseline --annotate --json "
        "--replay-sample --shrink-budget --keep --results-limit --trial-timeout --op-timeout "
        "--regret-max --rounding --unknown-rate --allow-unrepeated --seeds --faults --weights "
        "--lanes --schedules --strategy --backend --free-running --check-races --resume --shard "
        "--sweep",
    .word_count_max = SIZE_MAX,
    .word_name = "SCENARIO",
    .run = run_subcommand,
};
