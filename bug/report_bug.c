#include "bug/report_bug.h"

#include "bug/build.h"
#include "bug/calls.h"
#include "campaign/base/file.h"
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "harness/base/check.h"
#include "harness/op/ops_file.h"
#include "present/bug_program.h"
#include "present/bug_report.h"
#include "present/bug_text.h"
#include "present/version.h"
#include "recording/repeat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OP_COUNT_SHRUNK = 50, NAME_BYTES = 256, COMMAND_NOT_FOUND = 127 };
#define BUILD_DURATION_NS (UINT64_C(600) * 1000000000)

static const char program_name[] = "bug";
static const char report_name[] = "report.md";

/* The report that is made.  The folder gets its name when all is in it. */
struct report {
    const struct bug_options *options;
    const struct recording *recording;
    struct bug bug;
    char folder[FILE_PATH_BYTES], partial[FILE_PATH_BYTES];
    const char *source_name;
    struct writing source, build, output, text;
    struct bug_end end;
    uint64_t duration_ns; /* the program's */
};

/* --- what can be said before anything runs --- */

static enum exit_code check_api(const struct recording *recording)
{
    const struct target_api *api = recording->target->api;
    if (api == NULL) {
        return message_fail(EXIT_USAGE,
                            "target %s has no text of its own API (target_api): no program can be "
                            "written",
                            recording->setup.target);
    }
    if (api->language == NULL || api->build == NULL || api->head == NULL || api->create == NULL ||
        api->alloc == NULL || api->free == NULL ||
        (strcmp(api->language, "c") != 0 && strcmp(api->language, "c++") != 0)) {
        return message_fail(EXIT_USAGE,
                            "target %s: its target_api lacks a text that is required, or its "
                            "language is neither \"c\" nor \"c++\"",
                            recording->setup.target);
    }
    return bug_build_check(recording->setup.target, api->build);
}

/* "report-NAME" for NAME.ops, in the working directory. */
static void choose_folder(struct report *report)
{
    const char *path = report->options->path;
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    const size_t length = strlen(name);
    const bool has_end = length > 4 && strcmp(name + length - 4, ".ops") == 0;
    char cleaned[NAME_BYTES];
    snprintf(cleaned, sizeof cleaned, "%.*s", (int)(has_end ? length - 4 : length), name);
    file_name_clean(cleaned);
    if (report->options->output != NULL) {
        snprintf(report->folder, sizeof report->folder, "%s", report->options->output);
    } else {
        snprintf(report->folder, sizeof report->folder, "report-%s", cleaned);
    }
}

static enum exit_code make_folder(struct report *report)
{
    struct stat status;
    size_t length = strlen(report->folder);
    while (length > 1 && report->folder[length - 1] == '/') {
        report->folder[--length] = '\0';
    }
    if (lstat(report->folder, &status) == 0) {
        return message_fail(EXIT_USAGE, "%s: it is there already; name another folder with -o",
                            report->folder);
    }
    if (length + sizeof ".partial" > sizeof report->partial) {
        return message_fail(EXIT_USAGE, "%s: %s", report->folder, strerror(ENAMETOOLONG));
    }
    memcpy(report->partial, report->folder, length);
    memcpy(report->partial + length, ".partial", sizeof ".partial");
    if (mkdir(report->partial, 0777) != 0) {
        report->partial[0] = '\0';
        return message_fail(EXIT_USAGE, "%s.partial: %s", report->folder, strerror(errno));
    }
    return EXIT_KEPT;
}

/* --- files of the folder --- */

static const char *join(const struct report *report, const char *name, struct writing *path)
{
    writing_clear(path);
    writing_append_format(path, "%s/%s", report->partial, name);
    return writing_string(path);
}

static void remove_file(const struct report *report, const char *name)
{
    struct writing path = {0};
    (void)unlink(join(report, name, &path));
    writing_deinit(&path);
}

static void remove_folder(const struct report *report)
{
    if (report->partial[0] != '\0') {
        remove_file(report, program_name);
        remove_file(report, report->source_name);
        remove_file(report, report_name);
        (void)rmdir(report->partial);
    }
}

static enum exit_code write_file(const struct report *report, const char *name,
                                 const struct writing *text)
{
    struct writing path = {0};
    FILE *stream = fopen(join(report, name, &path), "wex");
    bool is_written = stream != NULL && writing_print(text, stream);
    is_written = (stream == NULL || fclose(stream) == 0) && is_written;
    const enum exit_code code = is_written ? EXIT_KEPT
                                           : message_fail(EXIT_HARNESS, "%s: %s",
                                                          writing_string(&path), strerror(errno));
    writing_deinit(&path);
    return code;
}

/* --- the program --- */

static void write_program_text(struct report *report)
{
    const struct bug_word words[] = {{"source", report->source_name}, {"program", program_name}};
    bug_program_append(&report->bug, &report->source);
    bug_text_append(&report->build, report->bug.api->build, words, sizeof words / sizeof *words);
}

/* EXIT_HARNESS: the command cannot be started. */
static enum exit_code run_command(const struct report *report, const char *command,
                                  uint64_t duration_ns, struct writing *output, struct bug_end *end)
{
    const char *const words[] = {"/bin/sh", "-c", command, NULL};
    if (!bug_build_run(words, report->partial, duration_ns, output, end)) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    return EXIT_KEPT;
}

static enum exit_code build_program(const struct report *report)
{
    struct writing said = {0};
    struct bug_end end;
    char how[BUG_END_TEXT_BYTES];
    enum exit_code code = run_command(report, writing_string(&report->build), BUILD_DURATION_NS,
                                      &said, &end);
    if (code == EXIT_KEPT && (end.is_stopped || end.status != 0)) {
        bug_end_print(&end, BUILD_DURATION_NS, how);
        message_quote("build", &said);
        code = message_fail(EXIT_USAGE, "the program cannot be built (%s): %s", how,
                            writing_string(&report->build));
    }
    writing_deinit(&said);
    return code;
}

static bool has_line(const struct writing *output, const char *start)
{
    const char *text = writing_string(output);
    for (const char *at = text; (at = strstr(at, start)) != NULL; at++) {
        if (at == text || at[-1] == '\n') {
            return true;
        }
    }
    return false;
}

/* An allocator may end the process by exit(), too: then the program has not come to its last line,
 * nor to a return of main, which is 2. */
static bool is_dead(const struct report *report)
{
    const int status = report->end.status;
    return WIFSIGNALED(status) ||
           (WEXITSTATUS(status) != 2 && WEXITSTATUS(status) != COMMAND_NOT_FOUND &&
            !has_line(&report->output, "NOT SHOWN: "));
}

static bool is_shown(const struct report *report)
{
    const struct bug_end *end = &report->end;
    if (end->is_stopped || report->bug.sign == BUG_SIGN_HANG) {
        return end->is_stopped && report->bug.sign == BUG_SIGN_HANG;
    }
    if (report->bug.sign == BUG_SIGN_CRASH) {
        return is_dead(report);
    }
    return WIFEXITED(end->status) && WEXITSTATUS(end->status) == 1 &&
           has_line(&report->output, "SHOWN: ");
}

/* The last line of the program, without its end. */
static void append_last_line(const struct writing *output, struct writing *line)
{
    const char *text = writing_string(output);
    size_t end = output->length;
    while (end > 0 && text[end - 1] == '\n') {
        end--;
    }
    size_t start = end;
    while (start > 0 && text[start - 1] != '\n') {
        start--;
    }
    writing_append_bytes(line, text + start, end - start);
}

static enum exit_code fail_not_shown(const struct report *report, const char *how)
{
    struct writing line = {0};
    append_last_line(&report->output, &line);
    const enum exit_code code = message_fail(
        EXIT_UNKNOWN,
        "%s: the program of the allocator's own calls does not show it (%s; it ends with \"%s\"): "
        "look for it in the adapter; nothing was written",
        report->options->path, how, writing_string(&line));
    writing_deinit(&line);
    return code;
}

static enum exit_code run_program(struct report *report)
{
    char how[BUG_END_TEXT_BYTES], command[sizeof program_name + 2];
    snprintf(command, sizeof command, "./%s", program_name);
    const char *const words[] = {command, NULL};
    report->duration_ns = report->bug.sign == BUG_SIGN_HANG
                              ? report->options->reading.run->op_timeout_ns
                              : report->options->reading.run->trial_timeout_ns;
    if (!bug_build_run(words, report->partial, report->duration_ns, &report->output,
                       &report->end)) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: nothing was written");
    }
    bug_end_print(&report->end, report->duration_ns, how);
    return is_shown(report) ? EXIT_KEPT : fail_not_shown(report, how);
}

/* --- the report --- */

static void append_list(const struct recording *recording, struct writing *text)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&bytes, &length);
    CHECK(stream != NULL);
    ops_file_print(stream, &recording->setup, &recording->ops, NULL);
    CHECK(fclose(stream) == 0);
    writing_append_bytes(text, bytes, length);
    free(bytes);
}

/* The first line of `COMPILER --version`; nothing where there is none. */
static void append_compiler(const struct report *report, struct writing *line)
{
    char word[BUG_WORD_BYTES], command[BUG_WORD_BYTES + 16];
    struct writing said = {0};
    struct bug_end end;
    bug_build_compiler(report->bug.api->build, word);
    snprintf(command, sizeof command, "%s --version", word);
    const char *const words[] = {"/bin/sh", "-c", command, NULL};
    if (bug_build_run(words, report->partial, BUILD_DURATION_NS, &said, &end) && end.status == 0) {
        writing_append_bytes(line, writing_string(&said), strcspn(writing_string(&said), "\n"));
    }
    writing_deinit(&said);
}

/* Appends the commit and its date for each variable of the command that names a clone. */
static void append_commits(const struct report *report, const struct writing *variables,
                           struct writing *line)
{
    for (const char *at = writing_string(variables); *at != '\0';) {
        char command[2 * BUG_WORD_BYTES + 64];
        const int length = (int)strcspn(at, "=");
        struct bug_end end;
        snprintf(command, sizeof command,
                 "test -e \"$%.*s/.git\" && git -C \"$%.*s\" log -1 --format='%%h (%%cs)'", length,
                 at, length, at);
        const char *const words[] = {"/bin/sh", "-c", command, NULL};
        struct writing said = {0};
        if (bug_build_run(words, report->partial, BUILD_DURATION_NS, &said, &end) &&
            end.status == 0) {
            writing_append_format(line, "%s%.*s is commit ", line->length > 0 ? ", " : "", length,
                                  at);
            writing_append_bytes(line, writing_string(&said), strcspn(writing_string(&said), "\n"));
        }
        writing_deinit(&said);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
}

static void append_system(struct writing *line)
{
    struct utsname name;
    if (uname(&name) == 0) {
        writing_append_format(line, "%s %s %s", name.sysname, name.release, name.machine);
    }
}

/* The texts of the circumstances. */
struct circumstances {
    struct writing compiler, system, variables, sources, repeat, list;
};

static void write_report_text(struct report *report, struct circumstances *texts)
{
    char how[BUG_END_TEXT_BYTES];
    bug_end_print(&report->end, report->duration_ns, how);
    append_compiler(report, &texts->compiler);
    append_system(&texts->system);
    bug_build_append_variables(report->bug.api->build, &texts->variables);
    append_commits(report, &texts->variables, &texts->sources);
    append_list(report->recording, &texts->list);
    writing_append(&texts->repeat, "hbmstress replay");
    repeat_word(&texts->repeat, report->options->path);
    repeat_setup(&texts->repeat, report->options->reading.run);
    const struct bug_circumstances circumstances = {
        .hbmstress = version_text(),
        .compiler = writing_string(&texts->compiler),
        .system = writing_string(&texts->system),
        .sources = writing_string(&texts->sources),
        .program = writing_string(&report->source),
        .file = report->source_name,
        .build = writing_string(&report->build),
        .variables = writing_string(&texts->variables),
        .run = "./bug",
        .output = writing_string(&report->output),
        .end = how,
        .repeat = writing_string(&texts->repeat),
        .list = writing_string(&texts->list),
    };
    bug_report_append(&report->bug, &circumstances, &report->text);
}

static void make_report_text(struct report *report)
{
    struct circumstances texts = {0};
    writing_init(&texts.compiler);
    writing_init(&texts.system);
    writing_init(&texts.variables);
    writing_init(&texts.sources);
    writing_init(&texts.repeat);
    writing_init(&texts.list);
    write_report_text(report, &texts);
    writing_deinit(&texts.compiler);
    writing_deinit(&texts.system);
    writing_deinit(&texts.variables);
    writing_deinit(&texts.sources);
    writing_deinit(&texts.repeat);
    writing_deinit(&texts.list);
}

static enum exit_code print_result(const struct report *report)
{
    struct writing text = {0}, line = {0};
    struct output output;
    char how[BUG_END_TEXT_BYTES];
    bug_end_print(&report->end, report->duration_ns, how);
    append_last_line(&report->output, &line);
    writing_append_format(&text, "shown: %s; the program ends with %s, after \"",
                          bug_sign_title(report->bug.sign), how);
    writing_append_visible(&text, writing_string(&line));
    writing_append(&text, "\"\nwrote ");
    writing_append_visible(&text, report->folder);
    writing_append_format(&text, "/%s\nwrote ", report_name);
    writing_append_visible(&text, report->folder);
    writing_append_format(&text, "/%s\n", report->source_name);
    output_init(&output, false);
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&line);
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

/* --- all of it --- */

static enum exit_code make_files(struct report *report)
{
    write_program_text(report);
    enum exit_code code = write_file(report, report->source_name, &report->source);
    code = code == EXIT_KEPT ? build_program(report) : code;
    code = code == EXIT_KEPT ? run_program(report) : code;
    remove_file(report, program_name);
    if (code == EXIT_KEPT) {
        make_report_text(report);
        code = write_file(report, report_name, &report->text);
    }
    if (code == EXIT_KEPT && rename(report->partial, report->folder) != 0) {
        code = message_fail(EXIT_HARNESS, "%s: %s", report->folder, strerror(errno));
    }
    return code;
}

static enum exit_code write_report(struct report *report)
{
    const char *flaw = bug_program_flaw(&report->bug);
    if (flaw != NULL) {
        return message_fail(EXIT_USAGE, "%s: no program can show it: %s", report->options->path,
                            flaw);
    }
    choose_folder(report);
    enum exit_code code = make_folder(report);
    code = code == EXIT_KEPT ? make_files(report) : code;
    if (code != EXIT_KEPT) {
        remove_folder(report);
        return code;
    }
    return print_result(report);
}

static enum exit_code report_recording(const struct bug_options *options,
                                       const struct recording *recording)
{
    struct report report = {.options = options, .recording = recording};
    struct bug_calls *calls = bug_calls_create(recording->ops.count);
    if (calls == NULL) {
        return message_fail(EXIT_HARNESS, "cannot allocate memory");
    }
    enum exit_code code = bug_calls_replay(options->path, options->reading.run, recording, calls,
                                           &report.bug);
    report.bug.api = recording->target->api;
    report.bug.target = recording->target->name;
    report.source_name = strcmp(report.bug.api->language, "c") == 0 ? "bug.c" : "bug.cpp";
    writing_init(&report.source);
    writing_init(&report.build);
    writing_init(&report.output);
    writing_init(&report.text);
    if (code == EXIT_KEPT && report.bug.call_count > OP_COUNT_SHRUNK) {
        message_note("%s: %zu calls lead to it; hbmstress replay --shrink may find fewer",
                     options->path, report.bug.call_count);
    }
    code = code == EXIT_KEPT ? write_report(&report) : code;
    writing_deinit(&report.source);
    writing_deinit(&report.build);
    writing_deinit(&report.output);
    writing_deinit(&report.text);
    bug_calls_destroy(calls);
    return code;
}

enum exit_code bug_report_write(const struct bug_options *options)
{
    struct recording recording;
    enum exit_code code = recording_read(options->path, options->reading, false, &recording);
    code = code == EXIT_KEPT ? check_api(&recording) : code;
    code = code == EXIT_KEPT ? report_recording(options, &recording) : code;
    recording_deinit(&recording);
    return code;
}
