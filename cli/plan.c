#include "cli/plan.h"

#include "cli/job.h"
#include "cli/lookup.h"
#include "cli/probe.h"
#include "harness/check.h"
#include "scenarios/scenarios.h"

#include <stdlib.h>
#include <string.h>

uint64_t plan_trial_seed(const struct part *part, uint64_t trial)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, 64 bits */
    for (const char *name = part->scenario->name; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return random_derive(random_derive(part->setup.seed, hash), trial);
}

/* A scenario's own chip, when the user leaves the device open. */
static enum exit_code part_choose_device(struct part *part)
{
    part->capacity_is_free = part->setup.capacity_bytes == 0;
    if (!part->capacity_is_free)
        return EXIT_KEPT;
    const struct chip *chip;
    enum exit_code code = lookup_chip(part->scenario->chip == NULL ? "v5e" : part->scenario->chip, &chip);
    if (code != EXIT_KEPT)
        return code;
    snprintf(part->setup.chip, sizeof part->setup.chip, "%s", chip->name);
    part->setup.capacity_bytes = chip->capacity_bytes;
    return EXIT_KEPT;
}

static enum exit_code part_init(struct part *part, const char *name, const struct scenario *scenario,
                                const struct arguments *arguments, uint64_t seed)
{
    *part = (struct part){.scenario = scenario};
    snprintf(part->name, sizeof part->name, "%s", name);
    setup_init(&part->setup);
    part->setup.seed = seed;
    enum exit_code code = setup_override(&part->setup, arguments);
    if (code != EXIT_KEPT)
        return code;
    code = lookup_target(part->setup.target, &part->target);
    if (code != EXIT_KEPT)
        return code;
    snprintf(part->setup.scenario, sizeof part->setup.scenario, "%s", scenario->name);
    return part_choose_device(part);
}

/* Opens the target as the first trial will. */
static enum exit_code part_probe(struct part *part, uint64_t duration_ns)
{
    struct probe probe;
    enum exit_code code = probe_target(part->target, &part->setup, NULL, duration_ns, &probe);
    if (code == EXIT_KEPT && part->scenario->needs_programs && !probe.has_programs)
        snprintf(part->note, sizeof part->note, "skipped: it needs programs, and target %s has none", part->target->name);
    return code;
}

static struct part *plan_add(struct plan *plan)
{
    plan->parts = realloc(plan->parts, (plan->count + 1) * sizeof *plan->parts);
    CHECK(plan->parts != NULL);
    return &plan->parts[plan->count++];
}

static void part_bound(struct part *part, const struct arguments *arguments, bool time_bounds_all)
{
    uint64_t unbounded = time_bounds_all ? UINT64_MAX : PLAN_OP_COUNT_DEFAULT;
    part->op_count_max = arguments->op_count_max != 0 ? arguments->op_count_max : unbounded;
    part->duration_ns = UINT64_MAX;
}

static bool is_wanted(const struct arguments *arguments, const char *name, const char *scenario)
{
    for (size_t i = 0; i < arguments->word_count; i++)
        if (strcmp(arguments->words[i], name) == 0 || strcmp(arguments->words[i], scenario) == 0)
            return true;
    return arguments->word_count == 0;
}

static enum exit_code plan_scenarios(const struct arguments *arguments, uint64_t seed, struct plan *plan)
{
    const struct scenario *found;
    for (size_t i = 0; i < arguments->word_count; i++) {
        enum exit_code code = lookup_scenario(arguments->words[i], &found);
        if (code != EXIT_KEPT)
            return code;
    }
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        const char *name = scenarios[i]->name;
        if (!is_wanted(arguments, name, name))
            continue;
        struct part *part = plan_add(plan);
        enum exit_code code = part_init(part, name, scenarios[i], arguments, seed);
        if (code != EXIT_KEPT)
            return code;
        part_bound(part, arguments, arguments->duration_ns != 0);
    }
    return EXIT_KEPT;
}

/* One section: global, then the section, then the command line. */
static enum exit_code plan_section(const struct arguments *arguments, uint64_t seed, const struct job *job,
                                   const struct job_section *section, struct plan *plan)
{
    const char *name = section->scenario != NULL ? section->scenario : section->name;
    const struct scenario *scenario = scenario_find(name);
    if (scenario == NULL) {
        char reason[RUN_REASON_BYTES];
        const char *near = lookup_nearest_scenario(name);
        snprintf(reason, sizeof reason, "unknown scenario '%s'; %s%s%s", name, near == NULL ? "" : "did you mean '",
                 near == NULL ? "see hbmstress list scenarios" : near, near == NULL ? "" : "'?");
        return fail_in_file(arguments->job, section->line, 0, reason);
    }
    if (!is_wanted(arguments, section->name, name))
        return EXIT_KEPT;
    struct arguments said = job->global;
    if (!arguments_merge(&said, &section->arguments) || !arguments_merge(&said, arguments))
        return fail_in_file(arguments->job, section->line, 0, "more than 16 target options in all");
    struct part *part = plan_add(plan);
    enum exit_code code = part_init(part, section->name, scenario, &said, seed);
    if (code != EXIT_KEPT)
        return code;
    part_bound(part, &said, said.duration_ns != 0);
    if (section->arguments.duration_ns != 0)
        part->duration_ns = section->arguments.duration_ns;
    return EXIT_KEPT;
}

static bool plan_has(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->parts[i].name, name) == 0 || strcmp(plan->parts[i].scenario->name, name) == 0)
            return true;
    return false;
}

static enum exit_code plan_job(const struct arguments *arguments, uint64_t seed, const struct job *job, struct plan *plan)
{
    for (size_t i = 0; i < job->count; i++) {
        enum exit_code code = plan_section(arguments, seed, job, &job->sections[i], plan);
        if (code != EXIT_KEPT)
            return code;
    }
    for (size_t i = 0; i < arguments->word_count; i++)
        if (!plan_has(plan, arguments->words[i]))
            return message_unknown("scenario", arguments->words[i], NULL, "no section of the job file has or runs it");
    return EXIT_KEPT;
}

/* What holds for all parts: the command line over [global]. */
static enum exit_code plan_common(const struct arguments *arguments, const struct job *job, uint64_t seed, struct plan *plan)
{
    struct arguments said = job->global;
    if (!arguments_merge(&said, arguments))
        return message_fail(EXIT_USAGE, "%s: more than 16 target options in all", arguments->job);
    plan->duration_ns = said.duration_ns == 0 ? UINT64_MAX : said.duration_ns;
    setup_init(&plan->setup);
    plan->setup.seed = seed;
    return setup_override(&plan->setup, &said);
}

static enum exit_code plan_fill(const struct arguments *arguments, uint64_t seed, struct job *job, struct plan *plan)
{
    enum exit_code code = arguments->job == NULL ? EXIT_KEPT : job_read(arguments->job, job);
    if (code != EXIT_KEPT)
        return code;
    code = plan_common(arguments, job, seed, plan);
    if (code != EXIT_KEPT)
        return code;
    uint64_t common_seed = plan->setup.seed;
    code = arguments->job == NULL ? plan_scenarios(arguments, common_seed, plan)
                                  : plan_job(arguments, common_seed, job, plan);
    for (size_t i = 0; code == EXIT_KEPT && i < plan->count; i++)
        code = part_probe(&plan->parts[i], arguments->trial_timeout_ns);
    return code;
}

enum exit_code plan_make(const struct arguments *arguments, uint64_t seed, struct plan *plan)
{
    *plan = (struct plan){0};
    struct job job = {0};
    enum exit_code code = plan_fill(arguments, seed, &job, plan);
    job_deinit(&job);
    return code;
}

void plan_deinit(struct plan *plan)
{
    free(plan->parts);
    *plan = (struct plan){0};
}
