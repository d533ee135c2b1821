/* hbmstress: puts every out-of-memory of a device allocator on trial. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "campaign/process/guest.h"
#include "cli/subcommands.h"
#include "present/screen.h"
#include "present/version.h"
#include "present/wrap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The columns before summaries, and before the meanings of exit codes. */
enum { SUMMARY_INDENT = 14, EXIT_INDENT = 5 };

static void append_summary(const struct subcommand *subcommand, struct writing *text)
{
    writing_append_format(text, "  %-10s  ", subcommand->name);
    wrap_append(text, subcommand->summary, SUMMARY_INDENT, screen_columns());
    writing_append(text, "\n");
}

static void append_help(struct writing *text)
{
    wrap_append(
        text, "hbmstress decides whether each out-of-memory of a device-memory allocator is right.",
        0, screen_columns());
    writing_append(text, "\n\nusage: hbmstress SUBCOMMAND [arguments]\n");
#define GROUP(words) writing_append(text, "\n" words "\n");
#define SUBCOMMAND(word) append_summary(&subcommand_##word, text);
#include "cli/list.h"
#undef GROUP
#undef SUBCOMMAND
    writing_append(
        text, "\nhbmstress SUBCOMMAND --help prints its options; --version prints the version.\n"
              "Exit codes:\n");
    for (int i = 0; i < EXIT_MEANING_COUNT; i++) {
        writing_append_format(text, "  %d  ", i);
        wrap_append(text, exit_meanings[i], EXIT_INDENT, screen_columns());
        writing_append(text, "\n");
    }
    writing_append(text, "\nExample: hbmstress run fragmentation_storm --seed 1\n");
}

static enum exit_code print_help(void)
{
    struct writing text;
    writing_init(&text);
    append_help(&text);
    return output_once(false, &text, EXIT_KEPT);
}

static enum exit_code print_version(void)
{
    struct writing text;
    writing_init(&text);
    writing_append_format(&text, "hbmstress %s\n", version_text());
    return output_once(false, &text, EXIT_KEPT);
}

static enum exit_code print_subcommand_help(const struct subcommand *subcommand)
{
    struct writing text;
    writing_init(&text);
    arguments_help(subcommand, &text);
    return output_once(false, &text, EXIT_KEPT);
}

/* A file in the place of a subcommand: what reads it.  NULL: it is no file. */
static const char *find_use_of_file(const char *name)
{
    static const char *const uses[][2] = {{".so", "run --target FILE.so"},
                                          {".ops", "replay FILE.ops"},
                                          {".ini", "run --job FILE.ini"}};
    const char *dot = strrchr(name, '.');
    struct stat status;
    for (size_t i = 0; dot != NULL && i < sizeof uses / sizeof *uses; i++) {
        if (strcmp(dot, uses[i][0]) == 0) {
            return uses[i][1];
        }
    }
    return stat(name, &status) == 0 ? "explain FILE" : NULL;
}

/* Returns the present form of a former name; NULL: it never was one. */
static const char *find_new_form(const char *name)
{
    static const char *const forms[][2] = {
        {"shrink", "replay FILE.ops --shrink"}, {"import", "convert FILE -o OUT.ops"},
        {"export", "convert FILE -o OUT"},      {"bench", "compare TARGET --blocks N"},
        {"baseline", "report OUT --baseline"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i][0], name) == 0) {
            return forms[i][1];
        }
    }
    return NULL;
}

static enum exit_code fail_unknown_subcommand(const char *name)
{
    const char *form = find_new_form(name);
    if (form != NULL) {
        return message_fail(EXIT_USAGE, "'%s' is now: hbmstress %s", name, form);
    }
    if (name[0] == '-') {
        return message_fail(EXIT_USAGE,
                            "unknown option '%s'; options follow the subcommand; see hbmstress "
                            "--help",
                            name);
    }
    const char *use = find_use_of_file(name);
    if (use != NULL) {
        return message_fail(EXIT_USAGE, "'%s' is no subcommand; for such a file: hbmstress %s",
                            name, use);
    }
    const char *names[SUBCOMMAND_COUNT];
    char hint[256] = "valid subcommands:";
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        names[i] = subcommands[i]->name;
        const size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s %s", i == 0 ? "" : ",", names[i]);
    }
    const char *near = message_nearest(name, names, SUBCOMMAND_COUNT);
    if (near != NULL) {
        return message_fail(EXIT_USAGE, "unknown subcommand '%s'; did you mean '%s'? %s", name,
                            near, hint);
    }
    return message_fail(EXIT_USAGE, "unknown subcommand '%s'; %s", name, hint);
}

static enum exit_code run_subcommand(const struct subcommand *subcommand, char **argv, size_t count)
{
    const char **words = calloc(count + 1, sizeof *words);
    if (words == NULL) {
        return message_fail(EXIT_HARNESS, "cannot allocate memory");
    }
    struct arguments arguments;
    enum exit_code code = arguments_parse(subcommand, argv, count, words, &arguments);
    if (code == EXIT_KEPT && arguments.has_help) {
        code = print_subcommand_help(subcommand);
    } else if (code == EXIT_KEPT && arguments.has_version) {
        code = print_version();
    } else if (code == EXIT_KEPT) {
        code = subcommand->run(&arguments);
    }
    free(words);
    return code;
}

static enum exit_code choose_help(const char *name)
{
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(subcommands[i]->name, name) == 0) {
            return print_subcommand_help(subcommands[i]);
        }
    }
    return fail_unknown_subcommand(name);
}

static enum exit_code choose_subcommand(char **argv, size_t count)
{
    if (count < 2) {
        return message_fail(EXIT_USAGE, "no subcommand; see hbmstress --help");
    }
    const bool is_word = strcmp(argv[1], "help") == 0;
    if (is_word && count > 2) {
        return choose_help(argv[2]);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || is_word) {
        return print_help();
    }
    if (strcmp(argv[1], "--version") == 0) {
        return print_version();
    }
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(subcommands[i]->name, argv[1]) == 0) {
            return run_subcommand(subcommands[i], argv + 2, count - 2);
        }
    }
    return fail_unknown_subcommand(argv[1]);
}

/* A standard file that is closed is opened on nothing: else the next file that is opened takes its
 * number, and gets what is printed. */
static void open_standard_files(void)
{
    int file;
    while ((file = open("/dev/null", O_RDWR)) >= 0 && file <= STDERR_FILENO) {
        continue;
    }
    if (file > STDERR_FILENO) {
        close(file);
    }
}

int main(int argc, char **argv)
{
    open_standard_files();
    interrupt_install();
    strays_want_guard();
    const enum exit_code code = choose_subcommand(argv, (size_t)argc);
    (void)fflush(stdout);
    /* A plug-in may print when it is unloaded; that is no answer of ours. */
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    return (int)code;
}
