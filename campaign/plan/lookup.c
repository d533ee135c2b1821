#include "campaign/plan/lookup.h"

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/base/target_path.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "scenarios/scenarios.h"
#include "targets/adapters/adapters.h"
#include "targets/plugin.h"
#include "targets/targets.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HINT_BYTES = 1024, PLUGIN_COUNT_MAX = 64, NAME_COUNT_MAX = 256 };

/* Plug-ins stay loaded until the program ends: a plan points into them. */
static struct {
    char path[FILE_PATH_BYTES];
    struct plugin plugin;
} plugins[PLUGIN_COUNT_MAX];
static size_t plugin_count;

/* Loads the plug-in in this process; what it prints meanwhile goes to standard error. */
static enum plugin_result load_beside_output(struct plugin *plugin, const char *path,
                                             char reason[PLUGIN_REASON_BYTES])
{
    (void)fflush(stdout);
    const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (output >= 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    const enum plugin_result result = plugin_load(plugin, path, reason);
    (void)fflush(stdout);
    if (output >= 0) {
        (void)dup2(output, STDOUT_FILENO);
        close(output);
    }
    return result;
}

/* name is how a list names it, path where it lies. */
static enum exit_code lookup_plugin(const char *name, const char *path,
                                    const struct target **target)
{
    for (size_t i = 0; i < plugin_count; i++) {
        if (strcmp(plugins[i].path, path) == 0) {
            *target = plugins[i].plugin.target;
            return EXIT_KEPT;
        }
    }
    if (!ops_file_can_name(name)) {
        return message_fail(
            EXIT_USAGE,
            "'%s': an op list cannot name this plug-in: a path has no blanks at its ends, no "
            "control characters and at most %d bytes",
            name, SETUP_VALUE_BYTES - 1);
    }
    if (plugin_count == PLUGIN_COUNT_MAX) {
        return message_fail(EXIT_USAGE, "%s: at most %d plug-ins can be loaded", path,
                            PLUGIN_COUNT_MAX);
    }
    char reason[PLUGIN_REASON_BYTES];
    if (load_beside_output(&plugins[plugin_count].plugin, path, reason) != PLUGIN_OK) {
        return message_fail(EXIT_USAGE, "%s", reason);
    }
    snprintf(plugins[plugin_count].path, FILE_PATH_BYTES, "%s", path);
    *target = plugins[plugin_count++].plugin.target;
    return EXIT_KEPT;
}

static enum exit_code lookup_library(const char *name, const struct target **target)
{
    char reason[ADAPTER_REASON_BYTES];
    *target = adapter_of_file(name, reason);
    return *target != NULL ? EXIT_KEPT
                           : message_fail(EXIT_USAGE, "cannot use %s: %s", name, reason);
}

static const char *find_nearest_target(const char *name)
{
    const char *names[NAME_COUNT_MAX];
    size_t count = 0;
    for (size_t table = 0; target_tables[table] != NULL; table++) {
        for (size_t i = 0; target_tables[table][i] != NULL && count < NAME_COUNT_MAX; i++) {
            names[count++] = target_tables[table][i]->name;
        }
    }
    return message_nearest(name, names, count);
}

static bool is_source(const char *name)
{
    return file_name_ends_in(name, ".c") || file_name_ends_in(name, ".cc") ||
           file_name_ends_in(name, ".cpp");
}

/* Returns true if a plug-in of that name lies here; no target has the name. */
static bool has_plugin_here(const char *name)
{
    char path[FILE_PATH_BYTES];
    return snprintf(path, sizeof path, "./%s.so", name) < (int)sizeof path &&
           access(path, R_OK) == 0;
}

enum exit_code lookup_target(const char *name, const struct target **target)
{
    if (is_source(name)) {
        return message_fail(EXIT_USAGE,
                            "target '%s' is source: build a shared object of it first, as "
                            "hbmstress new-target shows",
                            name);
    }
    if (plugin_is_named(name)) {
        return lookup_plugin(name, name, target);
    }
    if (adapter_is_file(name)) {
        return lookup_library(name, target);
    }
    const struct target *found = target_find(name);
    if (found == NULL && has_plugin_here(name)) {
        return message_fail(EXIT_USAGE, "unknown target '%s'; did you mean './%s.so'?", name, name);
    }
    if (found == NULL) {
        return message_unknown("target", name, find_nearest_target(name),
                               adapter_is_named(name)
                                   ? "a file is named as malloc:./FILE.so; see docs/allocators.md"
                                   : "see hbmstress list targets");
    }
    *target = found;
    return EXIT_KEPT;
}

enum exit_code lookup_target_of_list(const char *list, const char *name,
                                     const struct target **target)
{
    char path[FILE_PATH_BYTES];
    if (!plugin_is_named(name)) {
        return lookup_target(name, target);
    }
    target_path_find(list, name, path);
    return lookup_plugin(name, path, target);
}

const char *lookup_nearest_scenario(const char *name)
{
    const char *names[NAME_COUNT_MAX];
    size_t count = 0;
    for (; scenarios[count] != NULL && count < NAME_COUNT_MAX; count++) {
        names[count] = scenarios[count]->name;
    }
    return message_nearest(name, names, count);
}

/* A file in the place of a scenario: what it is for.  NULL: it is no such file. */
static const char *find_use_of_file(const char *name)
{
    static const struct {
        const char *ending, *use;
    } uses[] = {{".so", "a plug-in is a target: --target FILE.so"},
                {".ini", "a job file is run with --job FILE.ini"},
                {".ops", "an op list is run with hbmstress replay FILE.ops"}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        if (file_name_ends_in(name, uses[i].ending)) {
            return uses[i].use;
        }
    }
    return is_source(name) ? "build a shared object of it first, as hbmstress new-target shows"
                           : NULL;
}

enum exit_code lookup_scenario(const char *name, const struct scenario **scenario)
{
    const struct scenario *found = scenario_find(name);
    if (found == NULL && find_use_of_file(name) != NULL) {
        return message_fail(EXIT_USAGE, "'%s' is no scenario: %s", name, find_use_of_file(name));
    }
    if (found == NULL) {
        return message_unknown("scenario", name, lookup_nearest_scenario(name),
                               "see hbmstress list scenarios");
    }
    *scenario = found;
    return EXIT_KEPT;
}

enum exit_code lookup_chip(const char *name, const struct chip **chip)
{
    char hint[HINT_BYTES] = "valid chips:";
    for (size_t i = 0; chips[i] != NULL; i++) {
        const size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s %s", i == 0 ? "" : ",", chips[i]->name);
    }
    const struct chip *found = chip_find(name);
    if (found == NULL) {
        return message_unknown("chip", name, NULL, hint); /* the names are too short to be near */
    }
    *chip = found;
    return EXIT_KEPT;
}

/* The granule is also a property of the device: a chip's capacity is rounded to it, and what a file
 * says of it is overridden.  A value that is no size is left for the target to refuse. */
static bool override_option(struct setup *setup, const struct setup_option *option)
{
    uint64_t granule_bytes;
    if (strcmp(option->key, "granule") == 0 &&
        size_parse(option->value, strlen(option->value), &granule_bytes)) {
        setup->granule_bytes = granule_bytes;
    }
    return setup_set_option(setup, option->key, option->value);
}

enum exit_code setup_override(struct setup *setup, const struct run_options *options)
{
    if (options->target != NULL) {
        snprintf(setup->target, sizeof setup->target, "%s", options->target);
    }
    if (options->chip != NULL) {
        const struct chip *chip;
        const enum exit_code code = lookup_chip(options->chip, &chip);
        if (code != EXIT_KEPT) {
            return code;
        }
        snprintf(setup->chip, sizeof setup->chip, "%s", chip->name);
        setup->capacity_bytes = chip->capacity_bytes;
    }
    if (options->capacity_bytes != 0) {
        setup->chip[0] = '\0';
        setup->capacity_bytes = options->capacity_bytes;
    }
    if (options->host_count != 0) {
        setup_set_hosts(setup, (uint32_t)options->host_count);
    }
    if (options->has_seed) {
        setup->seed = options->seed;
    }
    if (options->has_regret_max) {
        setup->has_regret_max = true;
        setup->regret_max = options->regret_max;
    }
    if (options->has_rounding) {
        setup->has_rounding = true;
        setup->rounding = options->rounding;
    }
    if (options->lanes.has_races) {
        setup->checks_races = options->lanes.checks_races;
    }
    for (uint32_t i = 0; i < options->option_count; i++) {
        if (!override_option(setup, &options->options[i])) {
            return message_fail(
                EXIT_USAGE, "--target-option: '%s=%s' is one option too many (%d at most)",
                options->options[i].key, options->options[i].value, SETUP_OPTION_COUNT_MAX);
        }
    }
    return EXIT_KEPT;
}

enum exit_code fail_in_file(const char *path, size_t line, size_t column, const char *reason)
{
    if (line == 0) {
        return message_fail(EXIT_USAGE, "%s: %s", path, reason);
    }
    return column == 0 ? message_fail(EXIT_USAGE, "%s:%zu: %s", path, line, reason)
                       : message_fail(EXIT_USAGE, "%s:%zu:%zu: %s", path, line, column, reason);
}
