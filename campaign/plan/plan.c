#include "campaign/plan/plan.h"

#include "campaign/base/clock.h"
#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/plan/job.h"
#include "campaign/plan/lookup.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/generate/scenario_option.h"
#include "scenarios/scenarios.h"

#include <stdlib.h>
#include <string.h>

/* A target may take this long to open even when the time of the run is over. */
#define OPEN_NS_MIN UINT64_C(1000000000)

/* Returns how long a target may take to open: the rest of the run's time, but a second at least. */
static uint64_t find_time_to_open(const struct run_options *options, const struct plan *plan)
{
    const uint64_t spent_ns = clock_now_ns() - plan->begin_ns;
    uint64_t left_ns = plan->duration_ns > spent_ns ? plan->duration_ns - spent_ns : 0;
    left_ns = left_ns > OPEN_NS_MIN ? left_ns : OPEN_NS_MIN;
    return left_ns < options->trial_timeout_ns ? left_ns : options->trial_timeout_ns;
}

/* Each part opens its target once. */
static enum exit_code try_targets(const struct run_options *options, struct plan *plan)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; code == EXIT_KEPT && i < plan->count; i++) {
        const uint64_t spent_ns = clock_now_ns() - plan->begin_ns;
        if (plan->duration_ns < UINT64_MAX - OPEN_NS_MIN &&
            spent_ns > plan->duration_ns + OPEN_NS_MIN) {
            return message_fail(EXIT_HARNESS,
                                "the time of the run was over before target %s was "
                                "opened for each scenario; give it more time",
                                plan->parts[i].setup.target);
        }
        code = part_try_target(&plan->parts[i], find_time_to_open(options, plan));
    }
    return code;
}

static bool is_wanted(const struct run_options *options, const char *name, const char *scenario)
{
    for (size_t i = 0; i < options->name_count; i++) {
        if (strcmp(options->names[i], name) == 0 || strcmp(options->names[i], scenario) == 0) {
            return true;
        }
    }
    return options->name_count == 0;
}

struct part *plan_add_part(struct plan *plan)
{
    plan->parts = array_resized(plan->parts, (plan->count + 1) * sizeof *plan->parts);
    return &plan->parts[plan->count++];
}

/* Opens the trace that the options name; it is the plan's.  NULL: reason says why, unless it was
 * said ("").  */
static const struct trace *add_trace(struct plan *plan, const struct run_options *options,
                                     char reason[TRACE_REASON_BYTES])
{
    struct trace *trace = trace_open(options, reason);
    if (trace == NULL) {
        return NULL;
    }
    plan->traces = array_resized(plan->traces, (plan->trace_count + 1) * sizeof *plan->traces);
    plan->traces[plan->trace_count++] = trace;
    return trace;
}

/* Options of lanes and of scenarios do not go with a trace.  Returns why; NULL: none is given. */
static const char *why_no_trace(const struct run_options *options)
{
    if (options->lanes.lane_count != 0) {
        return "a trace is run by one client; lanes = none leaves lanes out";
    }
    return options->has_weights ? "a trace accepts no weights: none of its ops is drawn" : NULL;
}

static enum exit_code plan_trace(const struct run_options *options, uint64_t seed,
                                 struct plan *plan)
{
    char reason[TRACE_REASON_BYTES];
    const char *slash = strrchr(options->trace, '/');
    if (options->name_count > 0) {
        return message_fail(EXIT_USAGE, "--trace runs in place of scenarios; leave out '%s'",
                            options->names[0]);
    }
    if (why_no_trace(options) != NULL) {
        return message_fail(EXIT_USAGE, "--trace: %s", why_no_trace(options));
    }
    const struct trace *trace = add_trace(plan, options, reason);
    if (trace == NULL) {
        return reason[0] == '\0' ? EXIT_USAGE : message_fail(EXIT_USAGE, "--trace: %s", reason);
    }
    const struct part_wish wish = {
        .scenario = &scenario_trace, .trace = trace, .options = options, .seed = seed};
    struct part *part = plan_add_part(plan);
    const enum exit_code code = part_init(part, slash == NULL ? options->trace : slash + 1, &wish);
    if (code == EXIT_KEPT) {
        part_bound(part, options);
    }
    return code;
}

/* A section of a job file, and what is said for it: global, then the section, then the command
 * line. */
struct section_plan {
    const struct run_options *options;
    const struct job_section *section; /* NULL: of the command line, which says what options say */
    struct run_options merged;
    const struct trace *trace; /* NULL: it runs a scenario */
    uint64_t seed;
};

static enum exit_code fail_in_section(const struct section_plan *section_plan, const char *reason)
{
    return section_plan->section == NULL
               ? message_fail(EXIT_USAGE, "%s", reason)
               : fail_in_file(section_plan->options->job, section_plan->section->line, 0, reason);
}

static enum exit_code fail_unknown_scenario(const struct section_plan *section_plan,
                                            const char *name)
{
    char reason[RUN_REASON_BYTES];
    const char *near = lookup_nearest_scenario(name);
    snprintf(reason, sizeof reason, "unknown scenario '%s'; %s%s%s", name,
             near == NULL ? "" : "did you mean '",
             near == NULL ? "see hbmstress list scenarios" : near, near == NULL ? "" : "'?");
    return fail_in_section(section_plan, reason);
}

/* Returns true if the files of two parts would have the same names. */
static bool is_same_in_files(const char *name, const char *other)
{
    char a[SETUP_NAME_BYTES], b[SETUP_NAME_BYTES];
    snprintf(a, sizeof a, "%s", name);
    snprintf(b, sizeof b, "%s", other);
    file_name_clean(a);
    file_name_clean(b);
    return strcmp(a, b) == 0;
}

/* Checks that a part's files do not take the place of another part's. */
static enum exit_code check_name(const struct section_plan *section_plan, const char *name,
                                 const struct plan *plan)
{
    char reason[RUN_REASON_BYTES];
    for (size_t i = 0; i < plan->count; i++) {
        if (!is_same_in_files(name, plan->parts[i].name)) {
            continue;
        }
        snprintf(
            reason, sizeof reason,
            "the files of '%s' would be called the same as those of '%s'; give it another name",
            name, plan->parts[i].name);
        return fail_in_section(section_plan, reason);
    }
    return EXIT_KEPT;
}

static enum exit_code plan_one(const struct section_plan *section_plan, const char *name,
                               const struct scenario *scenario, struct plan *plan)
{
    char reason[RUN_REASON_BYTES];
    const struct job_section *section = section_plan->section;
    if (!is_wanted(section_plan->options, name, scenario->name) &&
        (section == NULL || !is_wanted(section_plan->options, section->name, scenario->name))) {
        return EXIT_KEPT;
    }
    if (!part_check_weights(scenario, &section_plan->merged, reason)) {
        return section == NULL ? message_fail(EXIT_USAGE, "--weights: %s", reason)
                               : fail_in_section(section_plan, reason);
    }
    if (section_plan->merged.lanes.lane_count != 0 &&
        lane_options_wrong(&section_plan->merged.lanes) != NULL) {
        return fail_in_section(section_plan, lane_options_wrong(&section_plan->merged.lanes));
    }
    enum exit_code code = check_name(section_plan, name, plan);
    if (code != EXIT_KEPT) {
        return code;
    }
    const struct part_wish wish = {.scenario = scenario,
                                   .trace = section_plan->trace,
                                   .options = &section_plan->merged,
                                   .seed = section_plan->seed};
    struct part *part = plan_add_part(plan);
    code = part_init(part, name, &wish);
    part->job = section_plan->options->job;
    part->job_line = section == NULL ? 0 : section->line;
    if (code == EXIT_KEPT && !scenario_options_check(scenario, &part->setup, reason)) {
        return fail_in_section(section_plan, reason);
    }
    if (code == EXIT_KEPT) {
        part_bound(part, &section_plan->merged);
    }
    return code;
}

static enum exit_code plan_scenarios(const struct run_options *options, uint64_t seed,
                                     struct plan *plan)
{
    const struct scenario *found;
    const char *how = lane_options_how(&options->lanes);
    if (options->lanes.lane_count == 0 && how != NULL) {
        return message_fail(EXIT_USAGE,
                            "%s applies to lanes, and there are none; also give --lanes N", how);
    }
    const char *wrong = lane_options_wrong(&options->lanes);
    if (wrong != NULL) {
        return message_fail(EXIT_USAGE, "--schedules: %s", wrong);
    }
    if (options->trace != NULL) {
        return plan_trace(options, seed, plan);
    }
    if (options->has_vary) {
        return message_fail(EXIT_USAGE, "--vary applies to a trace; also give --trace FILE");
    }
    for (size_t i = 0; i < options->name_count; i++) {
        const enum exit_code code = lookup_scenario(options->names[i], &found);
        if (code != EXIT_KEPT) {
            return code;
        }
    }
    const struct section_plan section_plan = {.options = options, .merged = *options, .seed = seed};
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; scenarios[i] != NULL && code == EXIT_KEPT; i++) {
        code = plan_one(&section_plan, scenarios[i]->name, scenarios[i], plan);
    }
    return code;
}

/* Plans one part for each scenario, named after both. */
static enum exit_code plan_all(const struct section_plan *section_plan, struct plan *plan)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; scenarios[i] != NULL && code == EXIT_KEPT; i++) {
        char name[SETUP_NAME_BYTES];
        if (snprintf(name, sizeof name, "%s.%s", scenarios[i]->name, section_plan->section->name) >=
            (int)sizeof name) {
            return fail_in_section(section_plan,
                                   "the section's name is too long for 'scenario = all'");
        }
        code = plan_one(section_plan, name, scenarios[i], plan);
    }
    return code;
}

/* Adds the traces that a section names: files beside its job, or of the working directory. */
static const struct trace *add_trace_of_job(const struct section_plan *section_plan,
                                            struct plan *plan, char reason[TRACE_REASON_BYTES])
{
    char path[FILE_PATH_BYTES];
    const struct run_options *merged = &section_plan->merged;
    struct run_options found = *merged;
    job_file_beside(section_plan->options->job, merged->trace, path, sizeof path);
    found.trace = path;
    if (merged->has_vary && trace_vary_names_file(&merged->vary)) {
        job_file_beside(section_plan->options->job, merged->vary.interleave, found.vary.interleave,
                        sizeof found.vary.interleave);
    }
    return add_trace(plan, &found, reason);
}

/* A section that names a trace, which it may not run. */
static enum exit_code plan_traced(struct section_plan *section_plan, struct plan *plan)
{
    char reason[TRACE_REASON_BYTES];
    const struct job_section *section = section_plan->section;
    const char *why = section->scenario != NULL
                          ? "scenario and trace both say what is run; give one"
                          : why_no_trace(&section_plan->merged);
    if (why != NULL) {
        return fail_in_section(section_plan, why);
    }
    if (!is_wanted(section_plan->options, section->name, scenario_trace.name)) {
        return EXIT_KEPT;
    }
    section_plan->trace = add_trace_of_job(section_plan, plan, reason);
    if (section_plan->trace == NULL) {
        return reason[0] == '\0' ? EXIT_USAGE : fail_in_section(section_plan, reason);
    }
    return plan_one(section_plan, section->name, &scenario_trace, plan);
}

static enum exit_code plan_section(const struct run_options *options, uint64_t seed,
                                   const struct job *job, const struct job_section *section,
                                   struct plan *plan)
{
    struct section_plan section_plan = {
        .options = options, .section = section, .merged = job->global, .seed = seed};
    if (!run_options_merge(&section_plan.merged, &section->options) ||
        !run_options_merge(&section_plan.merged, options)) {
        return fail_in_section(&section_plan, "too many options in all");
    }
    if (section_plan.merged.trace != NULL) {
        return plan_traced(&section_plan, plan);
    }
    if (section->options.has_vary) {
        return fail_in_section(&section_plan,
                               "vary applies to a trace, and the section names none");
    }
    if (section->scenario != NULL && strcmp(section->scenario, "all") == 0) {
        return plan_all(&section_plan, plan);
    }
    const char *name = section->scenario != NULL ? section->scenario : section->name;
    const struct scenario *scenario = scenario_find(name);
    return scenario == NULL ? fail_unknown_scenario(&section_plan, name)
                            : plan_one(&section_plan, section->name, scenario, plan);
}

/* Returns true if the word names a section, a part or a scenario of the job. */
static bool job_has(const struct job *job, const struct plan *plan, const char *word)
{
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->sections[i].name, word) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->parts[i].name, word) == 0 ||
            strcmp(plan->parts[i].scenario->name, word) == 0) {
            return true;
        }
    }
    return false;
}

static enum exit_code plan_job(const struct run_options *options, uint64_t seed,
                               const struct job *job, struct plan *plan)
{
    for (size_t i = 0; i < job->count; i++) {
        const enum exit_code code = plan_section(options, seed, job, &job->sections[i], plan);
        if (code != EXIT_KEPT) {
            return code;
        }
    }
    for (size_t i = 0; i < options->name_count; i++) {
        if (!job_has(job, plan, options->names[i])) {
            return message_unknown(
                "scenario", options->names[i], NULL,
                "no section of the job file has this name or runs this scenario");
        }
    }
    return EXIT_KEPT;
}

/* Chooses the seed: a job without one uses the commit at which it is run. */
static uint64_t choose_seed(const struct run_options *given, uint64_t seed, struct plan *plan)
{
    char hash[COMMIT_BYTES];
    if (given->has_seed || given->job == NULL || !commit_read(".", hash)) {
        return seed;
    }
    snprintf(plan->seed_source, sizeof plan->seed_source, "of commit %s", hash);
    return commit_seed(hash);
}

/* Plans what holds for all parts: the command line comes before [global]. */
static enum exit_code plan_whole_run(const struct run_options *options, const struct job *job,
                                     uint64_t seed, struct plan *plan)
{
    struct run_options given = job->global;
    if (!run_options_merge(&given, options)) {
        return message_fail(EXIT_USAGE, "%s: too many options in all", options->job);
    }
    plan->duration_ns = given.duration_ns == 0 ? UINT64_MAX : given.duration_ns;
    plan->allowance.has_unknown_rate = given.has_unknown_rate;
    memcpy(plan->allowance.unknown_rates, given.unknown_rates, sizeof given.unknown_rates);
    plan->allowance.unrepeated = given.unrepeated_max;
    setup_init(&plan->setup);
    plan->shard_index = (uint32_t)options->shard_index;
    plan->shard_count = options->shard_count == 0 ? 1 : (uint32_t)options->shard_count;
    if (options->has_auto_shard && !given.has_seed) {
        return message_fail(EXIT_USAGE, "--shard auto needs one seed for all ranks: give --seed N, "
                                        "or seed in [global] of the job file");
    }
    given.job = options->job;
    plan->has_required_probes = job->has_required_probes;
    plan->setup.seed = choose_seed(&given, seed, plan);
    return setup_override(&plan->setup, &given);
}

static enum exit_code fill_plan(const struct run_options *options, uint64_t seed, struct job *job,
                                struct plan *plan)
{
    if (options->job != NULL && options->trace != NULL) {
        return message_fail(EXIT_USAGE, "--job and --trace both say what to run; give one of them");
    }
    enum exit_code code = options->job == NULL ? EXIT_KEPT : job_read(options->job, job);
    if (code != EXIT_KEPT) {
        return code;
    }
    code = plan_whole_run(options, job, seed, plan);
    if (code != EXIT_KEPT) {
        return code;
    }
    const uint64_t common_seed = plan->setup.seed;
    code = options->job == NULL ? plan_scenarios(options, common_seed, plan)
                                : plan_job(options, common_seed, job, plan);
    return code == EXIT_KEPT ? try_targets(options, plan) : code;
}

/* options->job, which names a file, becomes its path. */
static enum exit_code find_job(struct run_options *options, struct plan *plan)
{
    char path[FILE_PATH_BYTES];
    if (options->job == NULL) {
        return EXIT_KEPT;
    }
    const enum exit_code code = job_file_find(options->job, path);
    if (code == EXIT_KEPT) {
        plan->job = strdup(path);
        CHECK(plan->job != NULL);
        options->job = plan->job;
    }
    return code;
}

enum exit_code plan_make(const struct run_options *options, uint64_t seed, struct plan *plan)
{
    *plan = (struct plan){.begin_ns = clock_now_ns()};
    struct job job = {0};
    struct run_options found = *options;
    enum exit_code code = find_job(&found, plan);
    code = code == EXIT_KEPT ? fill_plan(&found, seed, &job, plan) : code;
    job_deinit(&job);
    return code;
}

void plan_deinit(struct plan *plan)
{
    for (size_t i = 0; i < plan->trace_count; i++) {
        trace_close(plan->traces[i]);
    }
    free(plan->traces);
    free(plan->parts);
    free(plan->job);
    *plan = (struct plan){0};
}

enum exit_code plan_check_work(const struct plan *plan, const char *done)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->parts[i].note[0] == '\0') {
            return EXIT_KEPT;
        }
    }
    if (plan->parts[0].scenario->has_clocks && plan->parts[0].lanes.lane_count != 0) {
        return message_fail(EXIT_USAGE, "no scenario can %s: %s %s", done, plan->parts[0].name,
                            plan->parts[0].note);
    }
    return message_fail(EXIT_USAGE, "no scenario can %s: %s needs %s and target %s has none", done,
                        plan->parts[0].name,
                        plan->parts[0].scenario->shares_device ? "sleep and wake, or regions,"
                                                               : "programs,",
                        plan->parts[0].target->name);
}
