#include "campaign/plan/job.h"

#include "campaign/base/message.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 50: inih cuts longer section names. */
enum { REASON_BYTES = 384, SECTION_NAME_BYTES = 50, KEY_COUNT_MAX = 64 };

/* One reading of a file.  inih hands over no line numbers, so its reader counts them. */
struct job_reading {
    struct job *job;
    const char *path;
    FILE *stream;
    size_t line;
    size_t failed_line; /* 0 = nothing is wrong so far */
    char reason[REASON_BYTES];
};

/* Keys that no option stands for. */
static const char key_scenario[] = "scenario", key_probes[] = "probes";
/* This key belongs in a section, as key_scenario does. */
static const char key_trace[] = "trace";

static void fail_reading(struct job_reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fail_reading(struct job_reading *reading, const char *format, ...)
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

static struct job_section *find_section(struct job *job, const char *name)
{
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->sections[i].name, name) == 0) {
            return &job->sections[i];
        }
    }
    return NULL;
}

static struct job_section *add_section(struct job_reading *reading, const char *name)
{
    struct job *job = reading->job;
    if (strlen(name) >= SECTION_NAME_BYTES) {
        fail_reading(reading, "a section name has at most %d bytes", SECTION_NAME_BYTES - 1);
        return NULL;
    }
    job->sections = array_resized(job->sections, (job->count + 1) * sizeof *job->sections);
    struct job_section *section = &job->sections[job->count++];
    *section = (struct job_section){.line = reading->line};
    strcpy(section->name, name);
    return section;
}

/* A section without keys never reaches the handler, and one that comes twice looks like one: so
 * the head of a section is taken when its line is read. */
static void parse_head(struct job_reading *reading, const char *line)
{
    const char *end = line[0] == '[' ? strchr(line, ']') : NULL;
    if (end == NULL) {
        return;
    }
    char *name = strndup(line + 1, (size_t)(end - line) - 1);
    CHECK(name != NULL);
    if (name[0] == '\0') {
        fail_reading(reading, "the section has no name");
    } else if (strcmp(name, "global") != 0 && find_section(reading->job, name) != NULL) {
        fail_reading(reading, "section [%s] appears twice", name);
    } else if (strcmp(name, "global") != 0) {
        (void)add_section(reading, name);
    }
    free(name);
}

static char *read_line(char *line, int size, void *context)
{
    struct job_reading *reading = context;
    char *got = fgets(line, size, reading->stream);
    if (got == NULL) {
        return NULL;
    }
    reading->line++;
    if (strchr(got, '\n') == NULL && strlen(got) + 1 == (size_t)size) {
        fail_reading(reading, "the line is longer than %d bytes", size - 2);
    }
    parse_head(reading, got);
    return got;
}

static const char *save_text(struct job *job, const char *text)
{
    job->texts = array_resized(job->texts, (job->text_count + 1) * sizeof *job->texts);
    char *copy = strdup(text);
    CHECK(copy != NULL);
    job->texts[job->text_count++] = copy;
    return copy;
}

static void append_key(char text[REASON_BYTES], const char *separator, const char *key)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, REASON_BYTES - used, "%s%s", separator, key);
}

/* Prints all keys as a sentence. */
static void print_keys(char text[REASON_BYTES])
{
    (void)snprintf(text, REASON_BYTES, "valid keys: %s", key_scenario);
    for (size_t i = 0; i < run_option_row_count; i++) {
        if (run_option_rows[i].key != NULL && !run_option_rows[i].is_global) {
            append_key(text, ", ", run_option_rows[i].key);
        }
    }
    append_key(text, ", ", "option.KEY");
    append_key(text, ", ", "scenario.KEY");
    const char *separator = ", and in [global] ";
    for (size_t i = 0; i < run_option_row_count; i++) {
        if (run_option_rows[i].key != NULL && run_option_rows[i].is_global) {
            append_key(text, separator, run_option_rows[i].key);
            separator = ", ";
        }
    }
    append_key(text, " and ", key_probes);
}

static void fail_unknown_key(struct job_reading *reading, const char *key)
{
    const char *names[KEY_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < run_option_row_count; i++) {
        if (run_option_rows[i].key != NULL) {
            CHECK(count < KEY_COUNT_MAX - 2);
            names[count++] = run_option_rows[i].key;
        }
    }
    names[count++] = key_probes;
    names[count++] = key_scenario;
    const char *near = message_nearest(key, names, count);
    if (near != NULL) {
        fail_reading(reading, "unknown key '%s'; did you mean '%s'?", key, near);
        return;
    }
    char valid[REASON_BYTES];
    print_keys(valid);
    fail_reading(reading, "unknown key '%s'; %s", key, valid);
}

/* row: --target-option or --scenario-option; prefix: of the key, "option". */
static void set_option(struct job_reading *reading, struct run_options *options, const char *row,
                       const char *prefix, const char *key, const char *value)
{
    char text[2 * SETUP_NAME_BYTES];
    if (snprintf(text, sizeof text, "%s=%s", key, value) >= (int)sizeof text) {
        fail_reading(reading, "%s.%s: key or value is too long", prefix, key);
        return;
    }
    const char *wrong = option_set(run_option_named(row), options, text);
    if (wrong != NULL) {
        fail_reading(reading, "%s.%s: '%s' %s", prefix, key, text, wrong);
    }
}

static void set_key(struct job_reading *reading, struct run_options *options,
                    const struct option_row *row, const char *value)
{
    if (option_is_given(row, options)) {
        fail_reading(reading, "key '%s' appears twice in its section", row->key);
        return;
    }
    const char *wrong = option_set(row, options, save_text(reading->job, value));
    if (wrong != NULL) {
        fail_reading(reading, "%s: '%s' %s", row->key, value, wrong);
    } else if (options->chip != NULL && options->capacity_bytes != 0) {
        fail_reading(reading, "chip and capacity both set the capacity; give one of them");
    }
}

static void set_scenario(struct job_reading *reading, struct job_section *section,
                         const char *value)
{
    if (section->scenario != NULL) {
        fail_reading(reading, "key 'scenario' appears twice in its section");
    } else {
        section->scenario = save_text(reading->job, value);
    }
}

static void set_probes(struct job_reading *reading, const char *value)
{
    if (reading->job->has_required_probes) {
        fail_reading(reading, "key 'probes' appears twice in its section");
    } else if (strcmp(value, "required") != 0) {
        fail_reading(reading, "probes: '%s' is not valid; the only value is 'required'", value);
    }
    reading->job->has_required_probes = true;
}

/* section: NULL in [global]. */
static void set_known_key(struct job_reading *reading, const struct option_row *row,
                          const char *key, struct job_section *section, const char *value)
{
    const bool is_of_section = strcmp(key, key_scenario) == 0 || strcmp(key, key_trace) == 0;
    const bool is_global = row == NULL ? strcmp(key, key_probes) == 0 : row->is_global;
    if (section == NULL && is_of_section) {
        fail_reading(reading, "'%s' belongs in a section, not in [global]", key);
    } else if (section != NULL && is_global) {
        fail_reading(reading, "'%s' applies to the whole run: it belongs in [global]", key);
    } else if (row != NULL) {
        set_key(reading, section == NULL ? &reading->job->global : &section->options, row, value);
    } else if (section != NULL) {
        set_scenario(reading, section, value);
    } else {
        set_probes(reading, value);
    }
}

/* inih's handler: never 0, because failures are kept with their line. */
static int handle_key(void *context, const char *section_name, const char *key, const char *value)
{
    struct job_reading *reading = context;
    struct job *job = reading->job;
    if (reading->failed_line != 0) {
        return 1;
    }
    if (section_name[0] == '\0') {
        fail_reading(reading, "key '%s' comes before the first section", key);
        return 1;
    }
    const bool global = strcmp(section_name, "global") == 0;
    struct job_section *section = global ? NULL : find_section(job, section_name);
    if (!global && section == NULL) {
        fail_reading(
            reading,
            "section [%s] must begin at the start of its line, with a name of at most 49 bytes",
            section_name);
        return 1;
    }
    struct run_options *options = global ? &job->global : &section->options;
    const struct option_row *row = run_option_keyed(key);
    if (strncmp(key, "option.", 7) == 0) {
        set_option(reading, options, "--target-option", "option", key + 7, value);
    } else if (strncmp(key, "scenario.", 9) == 0) {
        set_option(reading, options, "--scenario-option", "scenario", key + 9, value);
    } else if (row != NULL || strcmp(key, key_scenario) == 0 || strcmp(key, key_probes) == 0) {
        set_known_key(reading, row, key, section, value);
    } else {
        fail_unknown_key(reading, key);
    }
    return 1;
}

static enum exit_code end_reading(const struct job_reading *reading, int syntax_line)
{
    const bool syntax_first = syntax_line > 0 && (reading->failed_line == 0 ||
                                                  (size_t)syntax_line < reading->failed_line);
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
    return reading->job->count == 0
               ? message_fail(EXIT_USAGE, "%s: no section, so there is nothing to run",
                              reading->path)
               : EXIT_KEPT;
}

enum exit_code job_read(const char *path, struct job *job)
{
    *job = (struct job){0};
    struct job_reading reading = {.job = job, .path = path, .stream = fopen(path, "re")};
    if (reading.stream == NULL) {
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    }
    const int syntax_line = ini_parse_stream(read_line, &reading, handle_key, &reading);
    const enum exit_code code = end_reading(&reading, syntax_line);
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

static const char job_suffix[] = ".ini";

/* The folders of the job files, relative to the program's own folder: as installed, and as built.
 * The program's bytes do not depend on where it was built, so it knows no build folder. */
static const char *const job_places[] = {HBMSTRESS_JOBS_FROM_PROGRAM, "../../../scenarios/jobs"};

/* The first place that is there; else that of a tree that one stands in. */
static void find_folder(char folder[PATH_MAX])
{
    char program[PATH_MAX], place[PATH_MAX + 64];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof job_places / sizeof *job_places; i++) {
        *slash = '\0';
        (void)snprintf(place, sizeof place, "%s/%s", program, job_places[i]);
        if (realpath(place, folder) != NULL) {
            return;
        }
    }
    strcpy(folder, "scenarios/jobs");
}

bool job_names_path(const char *name, char path[FILE_PATH_BYTES])
{
    char folder[PATH_MAX];
    find_folder(folder);
    return snprintf(path, FILE_PATH_BYTES, "%s/%s%s", folder, name,
                    file_name_ends_in(name, job_suffix) ? "" : job_suffix) < FILE_PATH_BYTES;
}

static int is_job(const struct dirent *entry)
{
    return file_name_ends_in(entry->d_name, job_suffix);
}

void job_names_init(struct job_names *jobs)
{
    char folder[PATH_MAX];
    struct dirent **entries = NULL;
    find_folder(folder);
    const int count = scandir(folder, &entries, is_job, alphasort);
    *jobs = (struct job_names){.count = count < 0 ? 0 : (size_t)count};
    jobs->names = calloc(jobs->count + 1, sizeof *jobs->names);
    CHECK(jobs->names != NULL);
    for (size_t i = 0; i < jobs->count; i++) {
        const char *name = entries[i]->d_name;
        jobs->names[i] = strndup(name, strlen(name) - (sizeof job_suffix - 1));
        CHECK(jobs->names[i] != NULL);
        free(entries[i]);
    }
    free(entries);
}

void job_names_deinit(struct job_names *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        free(jobs->names[i]);
    }
    free(jobs->names);
    *jobs = (struct job_names){0};
}

static enum exit_code fail_unknown_job(const char *name)
{
    struct job_names jobs;
    job_names_init(&jobs);
    const enum exit_code code = message_unknown(
        "job", name, message_nearest(name, (const char *const *)jobs.names, jobs.count),
        "no such file; see hbmstress list jobs");
    job_names_deinit(&jobs);
    return code;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

enum exit_code job_file_find(const char *name, char path[FILE_PATH_BYTES])
{
    if (strchr(name, '/') == NULL && !is_file(name)) {
        return job_names_path(name, path) && is_file(path) ? EXIT_KEPT : fail_unknown_job(name);
    }
    return snprintf(path, FILE_PATH_BYTES, "%s", name) < FILE_PATH_BYTES
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "--job: the path is too long");
}

void job_file_beside(const char *job, const char *name, char *path, size_t path_bytes)
{
    const char *slash = strrchr(job, '/');
    const int length = slash == NULL ? 0 : (int)(slash - job) + 1;
    const int whole = snprintf(path, path_bytes, "%.*s%s", length, job, name);
    if (name[0] == '/' || (size_t)whole >= path_bytes || access(path, F_OK) != 0) {
        (void)snprintf(path, path_bytes, "%s", name);
    }
}
