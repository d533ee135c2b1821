#include "cli/job.h"

#include "harness/base/check.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* 50: inih cuts longer section names. */
enum { REASON_BYTES = 384, SECTION_NAME_BYTES = 50 };

/* One reading of a file.  inih hands over no line numbers, so its reader counts them. */
struct reading {
    struct job *job;
    const char *path;
    FILE *stream;
    size_t line;
    size_t failed_line; /* 0 = nothing is wrong so far */
    char reason[REASON_BYTES];
};

/* Where a key may stand. */
enum scope { ANYWHERE, IN_GLOBAL, IN_SECTION };

/* The keys, and the option of the command line that each stands for; NULL = none does. */
static const struct key {
    const char *key, *option;
    enum scope scope;
} keys[] = {
    {"target", "--target", ANYWHERE},
    {"chip", "--chip", ANYWHERE},
    {"capacity", "--capacity", ANYWHERE},
    {"hosts", "--hosts", ANYWHERE},
    {"ops", "--ops", ANYWHERE},
    {"seeds", "--seeds", ANYWHERE},
    {"faults", "--faults", ANYWHERE},
    {"weights", "--weights", ANYWHERE},
    {"regret_max", "--regret-max", ANYWHERE},
    {"lanes", "--lanes", ANYWHERE},
    {"schedules", "--schedules", ANYWHERE},
    {"strategy", "--strategy", ANYWHERE},
    {"backend", "--backend", ANYWHERE},
    {"check_races", "--check-races", ANYWHERE},
    {"seed", "--seed", IN_GLOBAL},
    {"time", "--time", IN_GLOBAL},
    {"probes", NULL, IN_GLOBAL},
    {"scenario", NULL, IN_SECTION},
};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

static void reading_fail(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void reading_fail(struct reading *reading, const char *format, ...)
{
    if (reading->failed_line != 0) {
        return;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(reading->reason, sizeof reading->reason, format, list);
    va_end(list);
    reading->failed_line = reading->line;
}

static struct job_section *section_find(struct job *job, const char *name)
{
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->sections[i].name, name) == 0) {
            return &job->sections[i];
        }
    }
    return NULL;
}

static struct job_section *section_add(struct reading *reading, const char *name)
{
    struct job *job = reading->job;
    if (strlen(name) >= SECTION_NAME_BYTES) {
        reading_fail(reading, "a section's name has at most %d bytes", SECTION_NAME_BYTES - 1);
        return NULL;
    }
    job->sections = realloc(job->sections, (job->count + 1) * sizeof *job->sections);
    CHECK(job->sections != NULL);
    struct job_section *section = &job->sections[job->count++];
    *section = (struct job_section){.line = reading->line};
    strcpy(section->name, name);
    return section;
}

/* A section without keys never reaches the handler, and one that comes twice looks like one: so
 * the head of a section is taken when its line is read. */
static void take_head(struct reading *reading, const char *line)
{
    const char *end = line[0] == '[' ? strchr(line, ']') : NULL;
    if (end == NULL) {
        return;
    }
    char *name = strndup(line + 1, (size_t)(end - line) - 1);
    CHECK(name != NULL);
    if (name[0] == '\0') {
        reading_fail(reading, "a section without a name");
    } else if (strcmp(name, "global") != 0 && section_find(reading->job, name) != NULL) {
        reading_fail(reading, "section [%s] comes twice", name);
    } else if (strcmp(name, "global") != 0) {
        (void)section_add(reading, name);
    }
    free(name);
}

static char *read_line(char *line, int size, void *context)
{
    struct reading *reading = context;
    char *got = fgets(line, size, reading->stream);
    if (got == NULL) {
        return NULL;
    }
    reading->line++;
    if (strchr(got, '\n') == NULL && strlen(got) + 1 == (size_t)size) {
        reading_fail(reading, "the line is longer than %d bytes", size - 2);
    }
    take_head(reading, got);
    return got;
}

static const char *job_keep(struct job *job, const char *text)
{
    job->texts = realloc(job->texts, (job->text_count + 1) * sizeof *job->texts);
    char *copy = strdup(text);
    CHECK(job->texts != NULL && copy != NULL);
    job->texts[job->text_count++] = copy;
    return copy;
}

static void fail_unknown_key(struct reading *reading, const char *key)
{
    const char *names[KEY_COUNT];
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].key;
    }
    const char *near = message_nearest(key, names, KEY_COUNT);
    if (near != NULL) {
        reading_fail(reading, "unknown key '%s'; did you mean '%s'?", key, near);
    } else {
        reading_fail(
            reading,
            "unknown key '%s'; valid are scenario, target, chip, capacity, hosts, ops, seeds, faults, weights, "
            "regret_max, lanes, schedules, strategy, backend, check_races, option.KEY, and in [global] seed, time and probes",
            key);
    }
}

static void take_option(struct reading *reading, struct arguments *arguments, const char *key,
                        const char *value)
{
    char text[2 * SETUP_NAME_BYTES];
    if (snprintf(text, sizeof text, "%s=%s", key, value) >= (int)sizeof text) {
        reading_fail(reading, "option.%s: key or value is too long", key);
        return;
    }
    const char *wrong = arguments_set(arguments, "--target-option", text);
    if (wrong != NULL) {
        reading_fail(reading, "option.%s: '%s' %s", key, text, wrong);
    }
}

static bool is_said(const struct arguments *arguments, const char *option)
{
    return (strcmp(option, "--target") == 0 && arguments->target != NULL) ||
           (strcmp(option, "--chip") == 0 && arguments->chip != NULL) ||
           (strcmp(option, "--capacity") == 0 && arguments->capacity_bytes != 0) ||
           (strcmp(option, "--hosts") == 0 && arguments->host_count != 0) ||
           (strcmp(option, "--seed") == 0 && arguments->has_seed) ||
           (strcmp(option, "--regret-max") == 0 && arguments->has_regret_max) ||
           (strcmp(option, "--seeds") == 0 && arguments->trial_count_max != 0) ||
           (strcmp(option, "--faults") == 0 && arguments->has_faults) ||
           (strcmp(option, "--weights") == 0 && arguments->has_weights) ||
           (strcmp(option, "--lanes") == 0 && arguments->lanes.lane_count != 0) ||
           (strcmp(option, "--schedules") == 0 && arguments->lanes.has_schedules) ||
           (strcmp(option, "--strategy") == 0 && arguments->lanes.strategy != NULL) ||
           (strcmp(option, "--backend") == 0 && arguments->lanes.has_backend) ||
           (strcmp(option, "--check-races") == 0 && arguments->lanes.has_races) ||
           (strcmp(option, "--ops") == 0 && arguments->op_count_max != 0) ||
           (strcmp(option, "--time") == 0 && arguments->duration_ns != 0);
}

static void take_key(struct reading *reading, struct arguments *arguments, const char *option,
                     const char *key, const char *value)
{
    if (is_said(arguments, option)) {
        reading_fail(reading, "key '%s' comes twice in its section", key);
        return;
    }
    const char *wrong = arguments_set(arguments, option, job_keep(reading->job, value));
    if (wrong != NULL) {
        reading_fail(reading, "%s: '%s' %s", key, value, wrong);
    } else if (arguments->chip != NULL && arguments->capacity_bytes != 0) {
        reading_fail(reading, "chip and capacity say the same thing twice; give one of them");
    }
}

static void take_scenario(struct reading *reading, struct job_section *section, const char *value)
{
    if (section->scenario != NULL) {
        reading_fail(reading, "key 'scenario' comes twice in its section");
    } else {
        section->scenario = job_keep(reading->job, value);
    }
}

static void take_probes(struct reading *reading, const char *value)
{
    if (reading->job->probes_required) {
        reading_fail(reading, "key 'probes' comes twice in its section");
    } else if (strcmp(value, "required") != 0) {
        reading_fail(reading, "probes: '%s' is not 'required', the only value", value);
    }
    reading->job->probes_required = true;
}

/* section: NULL in [global]. */
static void take_known(struct reading *reading, const struct key *key, struct job_section *section,
                       const char *value)
{
    struct arguments *arguments = section == NULL ? &reading->job->global : &section->arguments;
    if (section == NULL && key->scope == IN_SECTION) {
        reading_fail(reading, "'%s' belongs in a section, not in [global]", key->key);
    } else if (section != NULL && key->scope == IN_GLOBAL) {
        reading_fail(reading, "'%s' holds for the whole run: it belongs in [global]", key->key);
    } else if (key->option != NULL) {
        take_key(reading, arguments, key->option, key->key, value);
    } else if (section != NULL) {
        take_scenario(reading, section, value);
    } else {
        take_probes(reading, value);
    }
}

/* inih's handler: never 0, because failures are kept with their line. */
static int take(void *context, const char *section_name, const char *key, const char *value)
{
    struct reading *reading = context;
    struct job *job = reading->job;
    if (reading->failed_line != 0) {
        return 1;
    }
    if (section_name[0] == '\0') {
        reading_fail(reading, "key '%s' stands before the first section", key);
        return 1;
    }
    bool global = strcmp(section_name, "global") == 0;
    struct job_section *section = global ? NULL : section_find(job, section_name);
    if (!global && section == NULL) {
        reading_fail(
            reading,
            "section [%s] must begin at the start of its line, with a name of at most 49 bytes",
            section_name);
        return 1;
    }
    struct arguments *arguments = global ? &job->global : &section->arguments;
    if (strncmp(key, "option.", 7) == 0) {
        take_option(reading, arguments, key + 7, value);
        return 1;
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(keys[i].key, key) != 0) {
            continue;
        }
        take_known(reading, &keys[i], section, value);
        return 1;
    }
    fail_unknown_key(reading, key);
    return 1;
}

static enum exit_code reading_end(const struct reading *reading, int syntax_line)
{
    bool syntax_first = syntax_line > 0 &&
                        (reading->failed_line == 0 || (size_t)syntax_line < reading->failed_line);
    if (ferror(reading->stream)) {
        return message_fail(EXIT_USAGE, "%s: %s", reading->path, strerror(errno));
    }
    if (syntax_first) {
        return message_fail(EXIT_USAGE, "%s:%d: neither [section] nor key = value", reading->path,
                            syntax_line);
    }
    if (reading->failed_line != 0) {
        return message_fail(EXIT_USAGE, "%s:%zu: %s", reading->path, reading->failed_line,
                            reading->reason);
    }
    if (reading->job->count == 0) {
        return message_fail(EXIT_USAGE, "%s: no section: nothing to run", reading->path);
    }
    return EXIT_KEPT;
}

enum exit_code job_read(const char *path, struct job *job)
{
    *job = (struct job){0};
    struct reading reading = {.job = job, .path = path, .stream = fopen(path, "re")};
    if (reading.stream == NULL) {
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    }
    int syntax_line = ini_parse_stream(read_line, &reading, take, &reading);
    enum exit_code code = reading_end(&reading, syntax_line);
    fclose(reading.stream);
    return code;
}

void job_deinit(struct job *job)
{
    for (size_t i = 0; i < job->text_count; i++) {
        free(job->texts[i]);
    }
    free(job->texts);
    free(job->sections);
    *job = (struct job){0};
}
