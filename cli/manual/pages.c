#include "cli/manual/pages.h"

#include <stdlib.h>
#include <string.h>

static void append_words(struct writing *text, const char *words)
{
    mdoc_line(text, words, strlen(words));
}

/* ".Xr hbmstress-run 1", with a comma behind all but the last. */
static void append_reference(struct writing *text, const char *name, int section, bool is_last)
{
    writing_append_format(text, ".Xr %s %d%s\n", name, section, is_last ? "" : " ,");
}

static int compare_names(const void *a, const void *b)
{
    const struct subcommand *const *left = a;
    const struct subcommand *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static void sort_subcommands(const struct subcommand *sorted[SUBCOMMAND_COUNT])
{
    memcpy(sorted, subcommands, SUBCOMMAND_COUNT * sizeof *sorted);
    qsort(sorted, SUBCOMMAND_COUNT, sizeof *sorted, compare_names);
}

static void append_exits(struct writing *text, const char *const meanings[EXIT_MEANING_COUNT])
{
    mdoc_section(text, "EXIT STATUS");
    writing_append(text, ".Bl -tag -width Ds\n");
    for (int i = 0; i < EXIT_MEANING_COUNT; i++) {
        if (meanings[i] != NULL) {
            writing_append_format(text, ".It %d\n", i);
            append_words(text, meanings[i]);
        }
    }
    writing_append(text, ".El\n");
}

/* A command on lines of at most EXAMPLE_COLUMNS, broken before options. */
static void append_command(struct writing *lines, const char *command)
{
    enum { EXAMPLE_COLUMNS = 64 };
    while (strlen(command) > EXAMPLE_COLUMNS && strchr(command, '\n') == NULL) {
        size_t at = EXAMPLE_COLUMNS;
        while (at > 0 && strncmp(command + at, " -", 2) != 0) {
            at--;
        }
        if (at == 0) {
            break;
        }
        writing_append_bytes(lines, command, at);
        writing_append(lines, " \\\n    ");
        command += at + 1;
    }
    writing_append(lines, command);
}

static void append_examples(struct writing *text, const char *const *examples)
{
    mdoc_section(text, "EXAMPLES");
    for (; *examples != NULL; examples++) {
        struct writing lines;
        writing_init(&lines);
        append_command(&lines, *examples);
        mdoc_display(text, writing_string(&lines));
        writing_deinit(&lines);
    }
}

static void append_option(struct writing *text, const struct option_row *option)
{
    writing_append(text, ".It ");
    if (option->alias != NULL) {
        writing_append_format(text, "Fl %s , ", option->alias + 1);
    }
    writing_append(text, "Fl Fl ");
    mdoc_escape(text, option->name + 2, strlen(option->name + 2), true);
    if (option->argument != NULL) {
        writing_append(text, " Ar ");
        mdoc_argument(text, option->argument, strlen(option->argument));
    }
    writing_append(text, "\n");
    append_words(text, option->help);
}

static void append_options(struct writing *text, const struct subcommand *subcommand)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    mdoc_section(text, "OPTIONS");
    writing_append(text, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        append_option(text, options[i]);
    }
    writing_append(text, ".El\n");
}

/* Each line of the usage but the first begins with the program's name, too. */
static void append_synopsis(struct writing *text, const struct subcommand *subcommand)
{
    char begin[64];
    snprintf(begin, sizeof begin, "hbmstress %s ", subcommand->name);
    mdoc_section(text, "SYNOPSIS");
    for (const char *at = subcommand->usage; *at != '\0';) {
        at += strspn(at, " \n");
        at += strncmp(at, begin, strlen(begin)) == 0 ? strlen(begin) : 0;
        const size_t length = strcspn(at, "\n");
        writing_append_format(text, ".Nm hbmstress %s\n", subcommand->name);
        mdoc_line(text, at, length);
        at += length;
    }
}

/* True if "hbmstress NAME" stands in one of the texts of the other one. */
static bool is_mentioned(const struct subcommand *subcommand, const char *name)
{
    char words[64];
    snprintf(words, sizeof words, "hbmstress %s", name);
    bool is_found = strstr(subcommand->description, words) != NULL;
    for (const char *const *example = subcommand->examples; *example != NULL; example++) {
        is_found = is_found || strstr(*example, words) != NULL;
    }
    return is_found;
}

static bool reads_lists(const struct subcommand *subcommand)
{
    return strstr(subcommand->usage, ".ops") != NULL || strstr(subcommand->usage, "FILE") != NULL;
}

static void append_see_also(struct writing *text, const struct subcommand *subcommand)
{
    const struct subcommand *sorted[SUBCOMMAND_COUNT];
    const bool has_lists = reads_lists(subcommand);
    sort_subcommands(sorted);
    mdoc_section(text, "SEE ALSO");
    writing_append(text, ".Xr hbmstress 1");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        const bool is_list = strcmp(sorted[i]->name, "list") == 0;
        if (sorted[i] != subcommand && (is_list || is_mentioned(subcommand, sorted[i]->name))) {
            writing_append_format(text, " ,\n.Xr hbmstress-%s 1", sorted[i]->name);
        }
    }
    writing_append(text, has_lists ? " ,\n.Xr hbmstress-ops 5\n" : "\n");
}

void page_subcommand(struct writing *text, const struct subcommand *subcommand, const char *date,
                     const char *version)
{
    char name[64];
    snprintf(name, sizeof name, "hbmstress-%s", subcommand->name);
    const struct mdoc_page page = {name, subcommand->summary, 1, date, version};
    mdoc_begin(text, &page);
    append_synopsis(text, subcommand);
    mdoc_section(text, "DESCRIPTION");
    mdoc_paragraphs(text, subcommand->description);
    append_options(text, subcommand);
    append_exits(text, subcommand->exits[EXIT_KEPT] == NULL ? exit_meanings : subcommand->exits);
    append_examples(text, subcommand->examples);
    append_see_also(text, subcommand);
}

static void append_subcommands(struct writing *text)
{
    writing_append(text, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        writing_append_format(text, ".It Xr hbmstress-%s 1\n", subcommands[i]->name);
        append_words(text, subcommands[i]->summary);
    }
    writing_append(text, ".El\n");
}

static const char *const program_examples[] = {"hbmstress run fragmentation_storm --seed 1",
                                               "hbmstress help run", NULL};

void page_program(struct writing *text, const char *date, const char *version)
{
    const struct subcommand *sorted[SUBCOMMAND_COUNT];
    const struct mdoc_page page = {
        "hbmstress", "decide whether each out-of-memory of a device-memory allocator is right", 1,
        date, version};
    mdoc_begin(text, &page);
    mdoc_section(text, "SYNOPSIS");
    writing_append(text, ".Nm\n.Ar SUBCOMMAND\n.Op Ar arguments\n.Nm\n.Fl Fl version\n");
    mdoc_section(text, "DESCRIPTION");
    append_words(text, "Each subcommand has a page of its own.");
    append_words(text, "hbmstress SUBCOMMAND --help prints the same options.");
    append_subcommands(text);
    append_exits(text, exit_meanings);
    append_examples(text, program_examples);
    mdoc_section(text, "SEE ALSO");
    append_reference(text, "hbm-certificate-check", 1, false);
    sort_subcommands(sorted);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "hbmstress-%s", sorted[i]->name);
        append_reference(text, name, 1, false);
    }
    append_reference(text, "hbmstress-target", 3, false);
    append_reference(text, "hbmstress-job", 5, false);
    append_reference(text, "hbmstress-ops", 5, true);
}

void page_job(struct writing *text, const char *date, const char *version)
{
    const struct mdoc_page page = {"hbmstress-job", "job files of hbmstress run", 5, date, version};
    mdoc_begin(text, &page);
    mdoc_section(text, "DESCRIPTION");
    mdoc_paragraphs(
        text,
        "A job file is an ini file, which hbmstress run --job reads.  Each section is one part of the\n"
        "campaign; keys in [global] hold for all of them.  The command line overrides the file.\n\n"
        "These keys are options of run with the same values:");
    writing_append(text, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < run_option_row_count; i++) {
        const struct option_row *row = &run_option_rows[i];
        if (row->key == NULL) {
            continue;
        }
        writing_append_format(text, ".It Ic %s Ns = Ns Ar ", row->key);
        const char *argument = row->argument == NULL ? "yes" : row->argument;
        mdoc_argument(text, argument, strlen(argument));
        writing_append(text, "\n");
        append_words(text, row->help);
        if (row->is_global) {
            append_words(text, "In [global] alone.");
        }
    }
    writing_append(text, ".El\n.Pp\nThese are keys of job files alone:\n");
    mdoc_paragraphs(
        text, "  scenario=NAME       the scenario of the section (default: the section's name)\n"
              "  probes=required     the campaign must reach the probes (hbmstress list probes)\n"
              "  option.KEY=VALUE    an option of the target\n"
              "  scenario.KEY=VALUE  an option of the scenario");
    mdoc_section(text, "EXAMPLES");
    mdoc_display(text, "[global]\ntime=1m\n\n[fragmentation_storm]\ntarget=hbm\ncapacity=64M");
    mdoc_section(text, "SEE ALSO");
    append_reference(text, "hbmstress-list", 1, false);
    append_reference(text, "hbmstress-run", 1, true);
}
