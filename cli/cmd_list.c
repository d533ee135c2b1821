/* list: what there is to name on the command line. */
#include "campaign/engine/output.h"
#include "campaign/plan/job.h"
#include "campaign/plan/lookup.h"
#include "cli/subcommands.h"
#include "diagnosis/cause.h"
#include "diagnosis/remedy.h"
#include "explore/strategies/strategies.h"
#include "formats/export/export.h"
#include "formats/formats.h"
#include "harness/base/target_option.h"
#include "harness/generate/scenario_option.h"
#include "harness/oracle/rule.h"
#include "harness/run/probe.h"
#include "present/json_lines.h"
#include "present/table.h"
#include "scenarios/scenarios.h"
#include "targets/adapters/adapters.h"
#include "targets/targets.h"

#include <stdio.h>
#include <string.h>

enum { JOB_SUMMARY_BYTES = 256 };

/* Collects entries in one of both forms. */
struct listing {
    bool is_json;
    struct writing text;
    struct table table;
};

/* The rule that a planted target breaks is the first word of its summary. */
static void put_row(struct listing *listing, const struct report_entry *entry)
{
    struct writing summary;
    writing_init(&summary);
    writing_append(&summary, entry->breaks == NULL ? "" : entry->breaks);
    writing_append(&summary, entry->breaks == NULL ? "" : ": ");
    writing_append(&summary, entry->summary);
    table_put(&listing->table, entry->kind);
    table_put(&listing->table, entry->name);
    table_put(&listing->table, writing_string(&summary));
    writing_deinit(&summary);
}

/* One line each, below their target. */
static void put_options(struct listing *listing, const char *options)
{
    char line[256];
    for (size_t length; *options != '\0'; options += length + (options[length] == '\n')) {
        length = strcspn(options, "\n");
        snprintf(line, sizeof line, "            %.*s", (int)length, options);
        table_put_line(&listing->table, line, true);
    }
}

static void listing_add_entry(struct listing *listing, const struct report_entry *entry)
{
    if (listing->is_json) {
        json_line_entry(&listing->text, entry);
        return;
    }
    put_row(listing, entry);
    if (entry->options != NULL && entry->breaks == NULL) { /* those of plants are all the same */
        put_options(listing, entry->options);
    }
    if (entry->path != NULL) {
        char line[FILE_PATH_BYTES + 12];
        snprintf(line, sizeof line, "            %s", entry->path);
        table_put_line(&listing->table, line, false);
    }
}

static void listing_add(struct listing *listing, const char *kind, const char *name,
                        const char *summary)
{
    const struct report_entry entry = {.kind = kind, .name = name, .summary = summary};
    listing_add_entry(listing, &entry);
}

static void list_target(struct listing *listing, const struct target *target, const char *summary)
{
    struct target_option_shown shown;
    struct writing options;
    writing_init(&options);
    for (size_t at = 0; target_option_next(target, &at, &shown);) {
        writing_append_format(&options, "%.*s=%.*s%s%s\n", (int)shown.key_length, shown.key,
                              (int)shown.values_length, shown.values,
                              shown.help == NULL ? "" : "  ", shown.help == NULL ? "" : shown.help);
    }
    const struct report_entry entry = {.kind = target->breaks == NULL ? "target" : "plant",
                                       .name = target->name,
                                       .summary = summary,
                                       .breaks = target->breaks,
                                       .options = options.length == 0 ? NULL
                                                                      : writing_string(&options)};
    listing_add_entry(listing, &entry);
    writing_deinit(&options);
}

/* Lists the targets that one may want to run, or the planted ones: each breaks one rule. */
static void list_table(struct listing *listing, const struct target *const *table, bool is_planted)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if ((table[i]->breaks != NULL) == is_planted) {
            list_target(listing, table[i], table[i]->summary);
        }
    }
}

/* Lists the adapters; a summary includes what is missing on this machine. */
static void list_adapters(struct listing *listing)
{
    for (size_t i = 0; adapters[i] != NULL; i++) {
        char reason[ADAPTER_REASON_BYTES], summary[2 * ADAPTER_REASON_BYTES];
        const bool is_usable = adapter_is_usable(i, reason);
        (void)snprintf(summary, sizeof summary, "%s%s%s", adapters[i]->summary,
                       is_usable ? "" : "; not usable here: ", is_usable ? "" : reason);
        list_target(listing, adapters[i], summary);
    }
}

static void list_tables(struct listing *listing, bool is_planted)
{
    list_table(listing, targets, is_planted);
    list_table(listing, races, is_planted);
    list_table(listing, segments_plants, is_planted);
    list_table(listing, caching_plants, is_planted);
}

static void list_targets(struct listing *listing)
{
    list_tables(listing, false);
    list_adapters(listing);
}

static void list_plants(struct listing *listing)
{
    list_tables(listing, true);
}

/* One a line, as targets have theirs. */
static void print_scenario_options(const struct scenario *scenario, struct writing *text)
{
    char values[SCENARIO_OPTION_HELP_BYTES];
    const struct scenario_option *option = scenario->options;
    for (; option != NULL && option->name != NULL; option++) {
        scenario_option_print_values(option, values);
        writing_append_format(text, "%s=%s  %s\n", option->name, values, option->summary);
    }
}

static void list_scenarios(struct listing *listing)
{
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        struct writing options;
        writing_init(&options);
        print_scenario_options(scenarios[i], &options);
        const struct report_entry entry = {
            .kind = "scenario",
            .name = scenarios[i]->name,
            .summary = scenarios[i]->summary,
            .options = options.length == 0 ? NULL : writing_string(&options)};
        listing_add_entry(listing, &entry);
        writing_deinit(&options);
    }
}

static void list_rules(struct listing *listing)
{
    for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        listing_add(listing, "rule", rule_info((enum rule)rule)->name,
                    rule_info((enum rule)rule)->summary);
    }
}

static void list_faults(struct listing *listing)
{
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        listing_add(listing, "fault", fault_info((enum fault_kind)i)->name,
                    fault_info((enum fault_kind)i)->summary);
    }
}

static void list_probes(struct listing *listing)
{
    for (int i = 0; i < PROBE_COUNT; i++) {
        listing_add(listing, "probe", probe_info((enum probe)i)->name,
                    probe_info((enum probe)i)->summary);
    }
}

static void list_chips(struct listing *listing)
{
    for (size_t i = 0; chips[i] != NULL; i++) {
        const struct report_entry entry = {.kind = "chip",
                                           .name = chips[i]->name,
                                           .summary = chips[i]->summary,
                                           .capacity_bytes = chips[i]->capacity_bytes};
        listing_add_entry(listing, &entry);
    }
}

static void list_formats(struct listing *listing)
{
    for (size_t i = 0; formats[i] != NULL; i++) {
        listing_add(listing, "format", formats[i]->name, formats[i]->summary);
    }
}

static void list_causes(struct listing *listing)
{
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        listing_add(listing, "cause", causes[i]->name, causes[i]->summary);
    }
}

static void list_remedies(struct listing *listing)
{
    for (size_t i = 0; remedies[i] != NULL; i++) {
        listing_add(listing, "remedy", remedies[i]->name, remedies[i]->summary);
    }
}

static void list_exporters(struct listing *listing)
{
    for (size_t i = 0; exporters[i] != NULL; i++) {
        listing_add(listing, "exporter", exporters[i]->name, exporters[i]->summary);
    }
}

static void list_strategies(struct listing *listing)
{
    for (size_t i = 0; strategies[i] != NULL; i++) {
        if (lane_strategy_is_search(strategies[i])) {
            listing_add(listing, "strategy", strategies[i]->name, strategies[i]->summary);
        }
    }
}

/* The first line, a comment. */
static void read_summary(const char *path, char line[JOB_SUMMARY_BYTES])
{
    line[0] = '\0';
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return;
    }
    if (fgets(line, JOB_SUMMARY_BYTES, stream) == NULL || (line[0] != ';' && line[0] != '#')) {
        line[0] = '\0';
    }
    fclose(stream);
    line[strcspn(line, "\n")] = '\0';
}

static void list_jobs(struct listing *listing)
{
    struct job_names jobs;
    job_names_init(&jobs);
    for (size_t i = 0; i < jobs.count; i++) {
        char path[FILE_PATH_BYTES], line[JOB_SUMMARY_BYTES];
        if (job_names_path(jobs.names[i], path)) {
            read_summary(path, line);
            const struct report_entry entry = {.kind = "job",
                                               .name = jobs.names[i],
                                               .summary = line + strspn(line, ";# "),
                                               .path = path};
            listing_add_entry(listing, &entry);
        }
    }
    job_names_deinit(&jobs);
}

static const struct {
    const char *name;
    void (*list)(struct listing *listing);
} kinds[] = {
    {"targets", list_targets},       {"plants", list_plants},       {"scenarios", list_scenarios},
    {"rules", list_rules},           {"faults", list_faults},       {"causes", list_causes},
    {"remedies", list_remedies},     {"probes", list_probes},       {"chips", list_chips},
    {"formats", list_formats},       {"exporters", list_exporters}, {"jobs", list_jobs},
    {"strategies", list_strategies},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static enum exit_code check_kind(const struct arguments *arguments)
{
    const char *names[KIND_COUNT];
    for (size_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
    }
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (arguments->word_count == 0 || strcmp(arguments->words[0], names[i]) == 0) {
            return EXIT_KEPT;
        }
    }
    return message_unknown(
        "kind", arguments->words[0], message_nearest(arguments->words[0], names, KIND_COUNT),
        "valid kinds: targets, plants, scenarios, rules, faults, causes, remedies, probes, "
        "chips, formats, exporters, jobs, strategies");
}

static enum exit_code list_subcommand(const struct arguments *arguments)
{
    const enum exit_code code = check_kind(arguments);
    if (code != EXIT_KEPT) {
        return code;
    }
    struct listing listing = {.is_json = arguments->run.is_json};
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (arguments->word_count == 0 || strcmp(arguments->words[0], kinds[i].name) == 0) {
            table_init(&listing.table, 3, 3);
            kinds[i].list(&listing);
            table_print(&listing.table, 0, &listing.text);
            table_deinit(&listing.table);
        }
    }
    return output_once(listing.is_json, &listing.text, EXIT_KEPT);
}

const struct subcommand subcommand_list = {
    .name = "list",
    .summary = "print the targets, scenarios, rules and all else that has a name",
    .usage = "[KIND] [--json]",
    .description =
        "KIND is targets, plants, scenarios, rules, faults, causes, remedies, probes, chips, formats,\n"
        "exporters, jobs or strategies; without it all are printed.  Prints kind, name and summary of each.\n"
        "A target is listed with its options.  A plant is a target with one deliberate defect, and is listed\n"
        "with the rule that must catch it.",
    .exits = EXIT_MEANINGS_OF_WORK,
    .examples = {"hbmstress list targets", "hbmstress list strategies"},
    .options = "--json",
    .word_count_max = 1,
    .word_name =
        "targets|plants|scenarios|rules|faults|causes|remedies|probes|chips|formats|exporters|"
        "jobs|strategies",
    .run = list_subcommand,
};
