#include "bug/report_bug.h"

#include "campaign/base/file.h"
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "campaign/process/program.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "present/bug.h"
#include "present/version.h"
#include "recording/recording.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OP_COUNT_SHRUNK = 50,
    NAME_BYTES = 256,
    COMMAND_NOT_FOUND = 127,
    VARIABLE_COUNT_MAX = 16,
    WORD_BYTES = 256,
    END_TEXT_BYTES = 96
};
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
    struct program_end end;
    uint64_t duration_ns; /* the program's */
};

/* --- the command that builds the program --- */

static bool is_of_name(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

/* The next $NAME or ${NAME} from *at on, which moves behind it.  False: there is none. */
static bool next_variable(const char **at, char name[WORD_BYTES])
{
    const char *found = strchr(*at, '$');
    size_t length = 0;
    if (found == NULL) {
        return false;
    }
    found += found[1] == '{' ? 2 : 1;
    while (is_of_name(found[length]) && length + 1 < WORD_BYTES) {
        length++;
    }
    memcpy(name, found, length);
    name[length] = '\0';
    *at = found + length;
    return true;
}

/* The first word of the command. */
static void find_compiler(const char *command, char word[WORD_BYTES])
{
    command += strspn(command, " \t\n");
    snprintf(word, WORD_BYTES, "%.*s", (int)strcspn(command, " \t\n"), command);
}

/* Checks that the command can be run: each $NAME of it is set, and the compiler, its first word, is
 * on the PATH. */
static enum exit_code check_build(const char *target, const char *command)
{
    char name[WORD_BYTES], place[PATH_MAX];
    for (const char *at = command; next_variable(&at, name);) {
        const char *value = name[0] == '\0' ? NULL : getenv(name);
        if (value == NULL || value[0] == '\0') {
            return message_fail(EXIT_USAGE,
                                "%s is not set in the environment; target %s builds its program "
                                "with: %s",
                                name, target, command);
        }
    }
    find_compiler(command, name);
    if (name[0] != '$' && !program_find(NULL, name, place)) {
        return message_fail(EXIT_USAGE,
                            "there is no %s on this machine; target %s builds its "
                            "program with: %s",
                            name, target, command);
    }
    return EXIT_KEPT;
}

/* Appends "NAME=VALUE\n" for each variable of the command, once, the value as a shell reads it. */
static void append_variables(const char *command, struct writing *text)
{
    char names[VARIABLE_COUNT_MAX][WORD_BYTES], name[WORD_BYTES];
    size_t count = 0;
    for (const char *at = command; count < VARIABLE_COUNT_MAX && next_variable(&at, name);) {
        size_t i = 0;
        while (i < count && strcmp(names[i], name) != 0) {
            i++;
        }
        if (i == count) {
            const char *value = getenv(name);
            char *word = malloc(SHELL_WORD_BYTES(value == NULL ? 0 : strlen(value)));
            CHECK(word != NULL);
            memcpy(names[count++], name, sizeof name);
            writing_append_format(text, "%s=%s\n", name,
                                  shell_word(value == NULL ? "" : value, word));
            free(word);
        }
    }
}

/* "exit status 1", "signal 11 (Segmentation fault)", "no end within 20s" */
static void print_end(const struct program_end *end, uint64_t duration_ns,
                      char text[END_TEXT_BYTES])
{
    char duration[SIZE_TEXT_BYTES];
    duration_print(duration_ns, duration);
    if (end->is_stopped) {
        snprintf(text, END_TEXT_BYTES, "no end within %s", duration);
    } else if (WIFSIGNALED(end->status)) {
        snprintf(text, END_TEXT_BYTES, "signal %d (%s)", WTERMSIG(end->status),
                 strsignal(WTERMSIG(end->status)));
    } else {
        snprintf(text, END_TEXT_BYTES, "exit status %d", WEXITSTATUS(end->status));
    }
}

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
    return check_build(recording->setup.target, api->build);
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

static void remove_file(const struct report *report, const char *name)
{
    char path[FILE_PATH_BYTES + NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", report->partial, name);
    (void)unlink(path);
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
    char path[FILE_PATH_BYTES + NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", report->partial, name);
    FILE *stream = fopen(path, "wex");
    bool is_written = stream != NULL && writing_print(text, stream);
    is_written = (stream == NULL || fclose(stream) == 0) && is_written;
    return is_written ? EXIT_KEPT : message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
}

/* --- the program --- */

static enum exit_code fail_start(void)
{
    return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
}

static enum exit_code build_program(const struct report *report)
{
    const char *command = writing_string(&report->build);
    struct writing said = {0};
    struct program_end end;
    char how[END_TEXT_BYTES];
    enum exit_code code = EXIT_KEPT;
    if (!program_run((const char *[]){"/bin/sh", "-c", command, NULL}, report->partial,
                     BUILD_DURATION_NS, &said, &end)) {
        code = fail_start();
    } else if (end.is_stopped || end.status != 0) {
        print_end(&end, BUILD_DURATION_NS, how);
        message_quote("build", &said);
        code = message_fail(EXIT_USAGE, "the program cannot be built (%s): %s", how, command);
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
    const struct program_end *end = &report->end;
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
    char how[END_TEXT_BYTES], command[sizeof program_name + 2];
    snprintf(command, sizeof command, "./%s", program_name);
    const char *const words[] = {command, NULL};
    report->duration_ns = report->bug.sign == BUG_SIGN_HANG
                              ? report->options->reading.run->op_timeout_ns
                              : report->options->reading.run->trial_timeout_ns;
    if (!program_run(words, report->partial, report->duration_ns, &report->output, &report->end)) {
        return fail_start();
    }
    if (interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: nothing was written");
    }
    print_end(&report->end, report->duration_ns, how);
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

/* Appends before, and the first line that a shell command prints; nothing where it fails. */
static void append_said(const struct report *report, const char *command, const char *before,
                        struct writing *line)
{
    struct writing said = {0};
    struct program_end end;
    if (program_run((const char *[]){"/bin/sh", "-c", command, NULL}, report->partial,
                    BUILD_DURATION_NS, &said, &end) &&
        end.status == 0) {
        writing_append(line, before);
        writing_append_bytes(line, writing_string(&said), strcspn(writing_string(&said), "\n"));
    }
    writing_deinit(&said);
}

/* Appends the commit and its date for each variable of the command that names a clone. */
static void append_commits(const struct report *report, const struct writing *variables,
                           struct writing *line)
{
    for (const char *at = writing_string(variables); *at != '\0';) {
        char command[2 * WORD_BYTES + 64], before[WORD_BYTES + 16];
        const int length = (int)strcspn(at, "=");
        snprintf(command, sizeof command,
                 "test -e \"$%.*s/.git\" && git -C \"$%.*s\" log -1 --format='%%h (%%cs)'", length,
                 at, length, at);
        snprintf(before, sizeof before, "%s%.*s is commit ", line->length > 0 ? ", " : "", length,
                 at);
        append_said(report, command, before, line);
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

static void make_report_text(struct report *report)
{
    struct writing compiler = {0}, system = {0}, variables = {0}, sources = {0}, repeat = {0},
                   list = {0};
    char how[END_TEXT_BYTES], word[WORD_BYTES], command[WORD_BYTES + 16];
    print_end(&report->end, report->duration_ns, how);
    find_compiler(report->bug.api->build, word);
    snprintf(command, sizeof command, "%s --version", word);
    append_said(report, command, "", &compiler);
    append_system(&system);
    append_variables(report->bug.api->build, &variables);
    append_commits(report, &variables, &sources);
    append_list(report->recording, &list);
    writing_append(&repeat, "hbmstress replay");
    repeat_word(&repeat, report->options->path);
    repeat_setup(&repeat, report->options->reading.run);
    const struct bug_circumstances circumstances = {
        .hbmstress = version_text(),
        .compiler = writing_string(&compiler),
        .system = writing_string(&system),
        .sources = writing_string(&sources),
        .program = writing_string(&report->source),
        .file = report->source_name,
        .build = writing_string(&report->build),
        .variables = writing_string(&variables),
        .run = "./bug",
        .output = writing_string(&report->output),
        .end = how,
        .repeat = writing_string(&repeat),
        .list = writing_string(&list),
    };
    bug_report_append(&report->bug, &circumstances, &report->text);
    writing_deinit(&compiler);
    writing_deinit(&system);
    writing_deinit(&variables);
    writing_deinit(&sources);
    writing_deinit(&repeat);
    writing_deinit(&list);
}

static enum exit_code print_result(const struct report *report)
{
    struct facts facts = {0};
    struct writing line = {0};
    struct output output;
    char how[END_TEXT_BYTES];
    print_end(&report->end, report->duration_ns, how);
    append_last_line(&report->output, &line);
    facts_line(&facts, "shown: %s; the program ends with %s, after \"%s\"",
               bug_sign_title(report->bug.sign), how, writing_string(&line));
    facts_line(&facts, "wrote %s/%s", report->folder, report_name);
    facts_line(&facts, "wrote %s/%s", report->folder, report->source_name);
    output_init(&output, false);
    output_facts(&output, &facts);
    facts_deinit(&facts);
    writing_deinit(&line);
    return output.is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

/* --- all of it --- */

static enum exit_code make_files(struct report *report)
{
    const struct bug_word words[] = {{"source", report->source_name}, {"program", program_name}};
    bug_program_append(&report->bug, &report->source);
    bug_text_append(&report->build, report->bug.api->build, words, sizeof words / sizeof *words);
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
