#include "campaign/plan/run_options.h"

#include "campaign/plan/op_options.h"
#include "harness/base/size.h"
#include "harness/op/rounding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Capacities above 2^50 are no device's. */
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 50)
enum { WORKER_COUNT_MAX = 256, SHARD_COUNT_MAX = 1000000, UNTIL_STEP_MAX = 10000000 };

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){.replay_sample = 32,
                                    .shrink_budget = 20000,
                                    .results_limit_bytes = UINT64_C(64) << 20,
                                    .trial_timeout_ns = UINT64_C(600) * 1000000000,
                                    .op_timeout_ns = UINT64_C(20) * 1000000000};
}

const char *option_set_number(uint64_t *number, const char *value, uint64_t low, uint64_t high,
                              const char *wrong)
{
    uint64_t parsed;
    if (!number_parse(value, strlen(value), &parsed) || parsed < low || parsed > high) {
        return wrong;
    }
    *number = parsed;
    return NULL;
}

const char *option_set_text(const char **text, const char *value)
{
    if (value[0] == '\0') {
        return "is empty";
    }
    *text = value;
    return NULL;
}

static const char *set_target(struct run_options *options, const char *value)
{
    if (strlen(value) >= SETUP_VALUE_BYTES) {
        return "is longer than 255 bytes";
    }
    return option_set_text(&options->target, value);
}

/* Adds KEY=VALUE to *count options, of at most count_max. */
static const char *add_option(struct setup_option *options, uint32_t *count, uint32_t count_max,
                              const char *value)
{
    static char many[48];
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value) {
        return "is not KEY=VALUE";
    }
    const size_t length = (size_t)(equals - value);
    if (length >= SETUP_NAME_BYTES || strlen(equals + 1) >= SETUP_NAME_BYTES) {
        return "has a key or a value of more than 63 bytes";
    }
    struct setup_option option = {0};
    memcpy(option.key, value, length);
    strcpy(option.value, equals + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(options[i].key, option.key) == 0) {
            return "sets a key that was set before";
        }
    }
    if (*count == count_max) {
        (void)snprintf(many, sizeof many, "is one option too many (%" PRIu32 " at most)",
                       count_max);
        return many;
    }
    options[(*count)++] = option;
    return NULL;
}

static const char *set_target_option(struct run_options *options, const char *value)
{
    return add_option(options->options, &options->option_count, SETUP_OPTION_COUNT_MAX, value);
}

static const char *set_scenario_option(struct run_options *options, const char *value)
{
    return add_option(options->scenario_options, &options->scenario_option_count,
                      SETUP_SCENARIO_OPTION_COUNT_MAX, value);
}

static const char *set_until(struct run_options *options, const char *value)
{
    return option_set_number(&options->until_step, value, 1, UNTIL_STEP_MAX,
                             "is not a number of steps from 1 to 10000000");
}

static const char *set_chip(struct run_options *options, const char *value)
{
    return option_set_text(&options->chip, value);
}

static const char *set_capacity(struct run_options *options, const char *value)
{
    uint64_t bytes;
    if (!size_parse(value, strlen(value), &bytes) || bytes == 0 || bytes > CAPACITY_BYTES_MAX) {
        return "is not a size from 1 to 1024T, such as 512, 64M or 16G";
    }
    options->capacity_bytes = bytes;
    return NULL;
}

static const char *set_hosts(struct run_options *options, const char *value)
{
    return option_set_number(&options->host_count, value, 1, OP_HOST_COUNT_MAX,
                             "is not a number from 1 to 64");
}

static const char *set_seed(struct run_options *options, const char *value)
{
    options->has_seed = true;
    return option_set_number(&options->seed, value, 0, UINT64_MAX,
                             "is not a number from 0 to 2^64-1");
}

static const char *set_ops(struct run_options *options, const char *value)
{
    return option_set_number(&options->op_count_max, value, 1, UINT64_MAX - 1,
                             "is not a number of at least 1");
}

static const char *set_duration(uint64_t *duration_ns, const char *value)
{
    uint64_t duration;
    if (!duration_parse(value, strlen(value), &duration) || duration == 0 ||
        duration > UINT64_MAX / 2) {
        return "is not a duration such as 30s, 10m or 8h";
    }
    *duration_ns = duration;
    return NULL;
}

static const char *set_time(struct run_options *options, const char *value)
{
    return set_duration(&options->duration_ns, value);
}

static const char *set_trial_timeout(struct run_options *options, const char *value)
{
    return set_duration(&options->trial_timeout_ns, value);
}

static const char *set_op_timeout(struct run_options *options, const char *value)
{
    return set_duration(&options->op_timeout_ns, value);
}

static const char *set_workers(struct run_options *options, const char *value)
{
    return option_set_number(&options->worker_count, value, 1, WORKER_COUNT_MAX,
                             "is not a number from 1 to 256");
}

static const char *set_job(struct run_options *options, const char *value)
{
    return option_set_text(&options->job, value);
}

static const char *set_out(struct run_options *options, const char *value)
{
    return option_set_text(&options->out, value);
}

static const char *set_baseline(struct run_options *options, const char *value)
{
    return option_set_text(&options->baseline, value);
}

static const char *set_annotate(struct run_options *options, const char *value)
{
    options->annotation = annotation_form_find(value);
    return options->annotation == ANNOTATION_NONE ? "is not github or gitlab" : NULL;
}

static const char *set_replay_sample(struct run_options *options, const char *value)
{
    return option_set_number(&options->replay_sample, value, 0, UINT64_MAX,
                             "is not a number (0 = never)");
}

static const char *set_shrink_budget(struct run_options *options, const char *value)
{
    return option_set_number(&options->shrink_budget, value, 0, UINT64_MAX,
                             "is not a number (0 = keep the whole list)");
}

static const char *set_results_limit(struct run_options *options, const char *value)
{
    return size_parse(value, strlen(value), &options->results_limit_bytes)
               ? NULL
               : "is not a size such as 64M";
}

static const char *set_regret_max(struct run_options *options, const char *value)
{
    options->has_regret_max = true;
    return option_set_number(&options->regret_max, value, 0, UINT64_MAX,
                             "is not a number from 0 to 2^64-1 (0 = none is allowed)");
}

static const char *set_rounding(struct run_options *options, const char *value)
{
    static char wrong[ROUNDING_REASON_BYTES + 16];
    struct rounding_error error;
    options->has_rounding = true;
    if (rounding_parse(value, strlen(value), &options->rounding, &error)) {
        return NULL;
    }
    (void)snprintf(wrong, sizeof wrong, "is wrong: %s", error.reason);
    return wrong;
}

static const char *set_unknown_rate(struct run_options *options, const char *value)
{
    options->has_unknown_rate = true;
    return allowance_parse_rates(value, options->unknown_rates);
}

static const char *set_allow_unrepeated(struct run_options *options, const char *value)
{
    return option_set_number(&options->unrepeated_max, value, 0, UINT64_MAX,
                             "is not a number from 0 to 2^64-1 (0 = none is allowed)");
}

static const char *set_keep(struct run_options *options, const char *value)
{
    options->has_keep = true;
    return option_set_number(&options->keep_count, value, 0, UINT64_MAX,
                             "is not a number from 0 to 2^64-1 (0 = no list is kept)");
}

static const char *set_seeds(struct run_options *options, const char *value)
{
    return option_set_number(&options->trial_count_max, value, 1, UINT64_MAX - 1,
                             "is not a number of at least 1");
}

static const char *set_faults(struct run_options *options, const char *value)
{
    options->has_faults = true;
    return op_options_parse_faults(value, &options->faults);
}

static const char *set_weights(struct run_options *options, const char *value)
{
    options->has_weights = true;
    return op_options_parse_weights(value, options->weights);
}

static const char *set_lanes(struct run_options *options, const char *value)
{
    return lane_options_set_lanes(&options->lanes, value);
}

static const char *set_schedules(struct run_options *options, const char *value)
{
    return lane_options_set_schedules(&options->lanes, value);
}

static const char *set_strategy(struct run_options *options, const char *value)
{
    return lane_options_set_strategy(&options->lanes, value);
}

static const char *set_backend(struct run_options *options, const char *value)
{
    return lane_options_set_backend(&options->lanes, value);
}

static const char *set_free_running(struct run_options *options, const char *value)
{
    (void)value;
    return lane_options_set_backend(&options->lanes, "free");
}

static const char *set_check_races(struct run_options *options, const char *value)
{
    return lane_options_set_races(&options->lanes, value);
}

static const char *set_trace(struct run_options *options, const char *value)
{
    if (strlen(value) >= TRACE_PATH_BYTES) {
        return "is longer than 1023 bytes";
    }
    return option_set_text(&options->trace, value);
}

static const char *set_vary(struct run_options *options, const char *value)
{
    options->has_vary = true;
    return trace_vary_parse(value, &options->vary);
}

static const char *set_shard(struct run_options *options, const char *value)
{
    static const char wrong[] = "is not I/N with I from 1 to N, such as 2/8, nor auto";
    options->has_auto_shard = strcmp(value, "auto") == 0;
    if (options->has_auto_shard) {
        return NULL;
    }
    const char *slash = strchr(value, '/');
    uint64_t number, count;
    if (slash == NULL || !number_parse(value, (size_t)(slash - value), &number) ||
        !number_parse(slash + 1, strlen(slash + 1), &count) || number < 1 || number > count ||
        count > SHARD_COUNT_MAX) {
        return wrong;
    }
    options->shard_index = number - 1;
    options->shard_count = count;
    return NULL;
}

static const char *set_json(struct run_options *options, const char *value)
{
    (void)value;
    options->is_json = true;
    return NULL;
}

#define FIELD_AT(member) \
    offsetof(struct run_options, member), sizeof((struct run_options *)0)->member
#define FIELD(member)       \
    {                       \
        FIELD_AT(member), 0 \
    }
#define FLAGGED(member, flag)                                \
    {                                                        \
        FIELD_AT(member), offsetof(struct run_options, flag) \
    }

const struct run_option_row run_option_rows[] = {
    {.name = "--target",
     .alias = "-t",
     .argument = "NAME|FILE.so",
     .summary =
         "the allocator under test: a listed target or a plug-in (default: the file's, with its options, or hbm)",
     .set = set_target,
     .key = "target",
     .field = FIELD(target)},
    {.name = "--target-option",
     .alias = "-O",
     .argument = "KEY=VALUE",
     .summary = "an option of the target; may be repeated",
     .set = set_target_option},
    {.name = "--scenario-option",
     .alias = "-S",
     .argument = "KEY=VALUE",
     .summary = "an option of the scenario (list scenarios); may be repeated",
     .set = set_scenario_option},
    {.name = "--chip",
     .argument = "CHIP",
     .summary = "give the device the capacity of this chip (list chips)",
     .set = set_chip,
     .key = "chip",
     .field = FIELD(chip)},
    {.name = "--capacity",
     .alias = "-c",
     .argument = "SIZE",
     .summary = "the capacity of the device, such as 512, 64M or 16G",
     .set = set_capacity,
     .key = "capacity",
     .field = FIELD(capacity_bytes)},
    {.name = "--hosts",
     .argument = "N",
     .summary = "simulated hosts, 1 to 64 (default: the file's or the scenario's choice)",
     .set = set_hosts,
     .key = "hosts",
     .field = FIELD(host_count)},
    {.name = "--seed",
     .alias = "-s",
     .argument = "N",
     .summary =
         "the seed of all random choices (default: the file's, the commit's with --job, or the clock's)",
     .set = set_seed,
     .key = "seed",
     .is_global = true,
     .field = FLAGGED(seed, has_seed)},
    {.name = "--ops",
     .alias = "-n",
     .argument = "N",
     .summary =
         "ops per scenario, and as many with lanes (default 20000, slow_leak 230000; no bound with "
         "--time or --seeds)",
     .set = set_ops,
     .key = "ops",
     .field = FIELD(op_count_max)},
    {.name = "--seeds",
     .argument = "N",
     .summary =
         "trials of each scenario, each with its own seed (default: as many as --ops and --time allow)",
     .set = set_seeds,
     .key = "seeds",
     .field = FIELD(trial_count_max)},
    {.name = "--until",
     .argument = "STEP",
     .summary =
         "the last step of the job, its first being 1; run, for a scenario that counts them (training): one trial, unless --seeds says more, with the logs of its hosts in DIR/logs",
     .set = set_until,
     .key = "until",
     .field = FIELD(until_step)},
    {.name = "--time",
     .argument = "DURATION",
     .summary = "wall time of the whole run, such as 30s, 10m or 8h",
     .set = set_time,
     .key = "time",
     .is_global = true,
     .field = FIELD(duration_ns)},
    {.name = "--workers",
     .alias = "-j",
     .argument = "N",
     .summary =
         "processes that share the trials, 1 to 256 (default: one per processor, at most 64)",
     .set = set_workers},
    {.name = "--job",
     .argument = "JOB",
     .summary = "read what to run from an ini file: its path, or a name of hbmstress list jobs",
     .set = set_job},
    {.name = "--out",
     .argument = "DIR",
     .summary = "the folder to write to (of run: results.jsonl, repros/ and certificates/, default "
                "out); of scale the file of its rows",
     .set = set_out},
    {.name = "--baseline",
     .argument = "FILE",
     .summary = "known findings, from hbmstress baseline: only others make the run red",
     .set = set_baseline},
    {.name = "--replay-sample",
     .argument = "N",
     .summary = "run one trial in N of each part twice and compare (default 32, 0 = never)",
     .set = set_replay_sample},
    {.name = "--shrink-budget",
     .argument = "N",
     .summary = "replays that shrinking may use (default 20000, 0 = do not shrink)",
     .set = set_shrink_budget},
    {.name = "--keep",
     .argument = "N",
     .summary =
         "save the op lists of the first N trials of each part in DIR/kept, whatever came of them (default 0)",
     .set = set_keep,
     .key = "keep",
     .field = FLAGGED(keep_count, has_keep)},
    {.name = "--results-limit",
     .argument = "SIZE",
     .summary =
         "beyond this size of results.jsonl and kept lists, keep no more and list no justified verdicts (default 64M)",
     .set = set_results_limit},
    {.name = "--trial-timeout",
     .argument = "DURATION",
     .summary = "a trial that takes longer is a hang (default 10m)",
     .set = set_trial_timeout},
    {.name = "--op-timeout",
     .argument = "DURATION",
     .summary =
         "a call of the target that uses more processor time, or waits longer, is a hang (default 20s)",
     .set = set_op_timeout},
    {.name = "--faults",
     .argument = "FAULTS",
     .summary =
         "faults to insert between ops: none, all, or names separated by commas (list faults, and retire; default: all in every second trial; in a job file none)",
     .set = set_faults,
     .key = "faults",
     .field = FLAGGED(faults, has_faults)},
    {.name = "--weights",
     .argument = "LIST",
     .summary =
         "KIND:PERCENT,...: how often the generator draws each kind of op (100 = unchanged, 0 = never)",
     .set = set_weights,
     .key = "weights",
     .field = FLAGGED(weights, has_weights)},
    {.name = "--regret-max",
     .argument = "N",
     .summary = "a trial with more than N regretted requests breaks the promise 'regret'",
     .set = set_regret_max,
     .key = "regret_max",
     .field = FLAGGED(regret_max, has_regret_max)},
    {.name = "--rounding",
     .argument = "ROUNDING",
     .summary =
         "how large blocks may be: granule, any or classes=N [smallest=SIZE] [overhead=SIZE] (default: the file's or the target's contract)",
     .set = set_rounding,
     .key = "rounding",
     .field = FLAGGED(rounding, has_rounding)},
    {.name = "--unknown-rate",
     .argument = "LIST",
     .summary =
         "CLASS:RATE,...: which share of all out-of-memories may stay unknown (plain, aligned, held; default none)",
     .set = set_unknown_rate,
     .key = "unknown_rate",
     .is_global = true,
     .field = FLAGGED(unknown_rates, has_unknown_rate)},
    {.name = "--allow-unrepeated",
     .argument = "N",
     .summary = "verdicts that cannot be repeated and are no failure (default 0)",
     .set = set_allow_unrepeated,
     .key = "allow_unrepeated",
     .is_global = true,
     .field = FIELD(unrepeated_max)},
    {.name = "--trace",
     .argument = "FILE",
     .summary =
         "run a field trace (list formats) in place of scenarios: as it is, then varied by seed",
     .set = set_trace,
     .key = "trace",
     .field = FIELD(trace)},
    {.name = "--vary",
     .argument = "LIST",
     .summary =
         "what trials make of a trace: none, or any of amplify=N interleave=self|none|FILE scale=PERCENT,... skew=DURATION format=NAME (default amplify=3 interleave=self scale=50,200 skew=1s format=auto)",
     .set = set_vary,
     .key = "vary",
     .field = FLAGGED(vary, has_vary)},
    {.name = "--lanes",
     .argument = "N",
     .summary =
         "client threads, 2 to 16, whose calls are interleaved, or none (default: some trials have 3; in a job file none)",
     .set = set_lanes,
     .key = "lanes",
     .field = FLAGGED(lanes.lane_count, lanes.has_lanes)},
    {.name = "--schedules",
     .argument = "N",
     .summary = "interleavings to try of each op list (default 200; 0 = all, with exhaustive)",
     .set = set_schedules,
     .key = "schedules",
     .field = FLAGGED(lanes.schedule_count, lanes.has_schedules)},
    {.name = "--strategy",
     .argument = "STRATEGY[=N]",
     .summary = "what decides which lane runs next (list strategies; default portfolio)",
     .set = set_strategy,
     .key = "strategy",
     .field = FIELD(lanes.strategy)},
    {.name = "--backend",
     .argument = "fibers|threads|free|auto",
     .summary = "what lanes run on: fibers, threads, free or auto (default: threads for plug-ins)",
     .set = set_backend,
     .key = "backend",
     .field = FLAGGED(lanes.backend, lanes.has_backend)},
    {.name = "--free-running",
     .summary = "run lanes on all cores without a schedule: not exactly replayable",
     .set = set_free_running},
    {.name = "--check-races",
     .summary = "check plain accesses of an explored target against happens-before",
     .set = set_check_races,
     .key = "check_races",
     .field = FLAGGED(lanes.checks_races, lanes.has_races)},
    {.name = "--shard",
     .argument = "I/N|auto",
     .summary =
         "run the I-th of N parts of the campaign; hbmstress merge joins their DIRs; auto: the "
         "part of this rank of mpirun or srun, in DIR/rank-I",
     .set = set_shard},
    {.name = "--annotate",
     .argument = "github|gitlab",
     .summary =
         "show findings beside the change under review: by workflow commands, or by a Code Quality "
         "report in the DIR of --out",
     .set = set_annotate},
    {.name = "--json",
     .summary = "print JSON lines to standard output, and nothing else",
     .set = set_json},
};
const size_t run_option_row_count = sizeof run_option_rows / sizeof run_option_rows[0];

const struct run_option_row *run_option_named(const char *name)
{
    for (size_t i = 0; i < run_option_row_count; i++) {
        if (strcmp(run_option_rows[i].name, name) == 0) {
            return &run_option_rows[i];
        }
    }
    return NULL;
}

const struct run_option_row *run_option_keyed(const char *key)
{
    for (size_t i = 0; i < run_option_row_count; i++) {
        if (run_option_rows[i].key != NULL && strcmp(run_option_rows[i].key, key) == 0) {
            return &run_option_rows[i];
        }
    }
    return NULL;
}

bool run_option_is_given(const struct run_options *options, const struct run_option_row *row)
{
    const struct option_field *field = &row->field;
    const char *bytes = (const char *)options + field->offset;
    if (field->flag_offset != 0) {
        return *(const bool *)((const char *)options + field->flag_offset);
    }
    for (size_t i = 0; i < field->size_bytes; i++) {
        if (bytes[i] != 0) {
            return true;
        }
    }
    return false;
}

static bool merge_option(struct setup_option *options, uint32_t *count, uint32_t count_max,
                         const struct setup_option *option)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(options[i].key, option->key) == 0) {
            options[i] = *option;
            return true;
        }
    }
    if (*count == count_max) {
        return false;
    }
    options[(*count)++] = *option;
    return true;
}

static void merge_row(struct run_options *base, const struct run_options *over,
                      const struct run_option_row *row)
{
    const struct option_field *field = &row->field;
    memcpy((char *)base + field->offset, (const char *)over + field->offset, field->size_bytes);
    if (field->flag_offset != 0) {
        *(bool *)((char *)base + field->flag_offset) = true;
    }
}

bool run_options_merge(struct run_options *base, const struct run_options *over)
{
    if (over->chip != NULL || over->capacity_bytes != 0) {
        base->chip = NULL;
        base->capacity_bytes = 0;
    }
    for (size_t i = 0; i < run_option_row_count; i++) {
        const struct run_option_row *row = &run_option_rows[i];
        if (row->key != NULL && run_option_is_given(over, row)) {
            merge_row(base, over, row);
        }
    }
    if (over->lanes.strategy != NULL) {
        base->lanes.argument = over->lanes.argument;
    }
    bool fits = true;
    for (uint32_t i = 0; i < over->option_count; i++) {
        fits = merge_option(base->options, &base->option_count, SETUP_OPTION_COUNT_MAX,
                            &over->options[i]) &&
               fits;
    }
    for (uint32_t i = 0; i < over->scenario_option_count; i++) {
        fits = merge_option(base->scenario_options, &base->scenario_option_count,
                            SETUP_SCENARIO_OPTION_COUNT_MAX, &over->scenario_options[i]) &&
               fits;
    }
    return fits;
}
