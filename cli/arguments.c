#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <assert.h>
#include <string.h>

static const char *set_output(void *base, const char *value)
{
    struct arguments *arguments = base;
    if (value[0] == '\0') {
        return "is empty";
    }
    /* "-" is standard output, as without it. */
    arguments->output = strcmp(value, "-") == 0 ? NULL : value;
    return NULL;
}

static const char *set_at(void *base, const char *value)
{
    struct arguments *arguments = base;
    uint64_t op = 0;
    if (strcmp(value, "peak") != 0 && strcmp(value, "failure") != 0 &&
        (!number_parse(value, strlen(value), &op) || op >= OP_NONE)) {
        return "is not peak, failure, or the number of an op";
    }
    arguments->at = value;
    return NULL;
}

/* Gives a value above 100 another reason than one that is no percentage at all. */
static const char *set_fragmentation(void *base, const char *value)
{
    static const struct option_row row = {
        .kind = OPTION_PERCENT, OPTION_AT(struct arguments, fragmentation_max), .most = 1000000};
    struct arguments *arguments = base;
    const char *wrong = option_set(&row, arguments, value);
    return wrong == NULL && arguments->fragmentation_max > 100
               ? "is not a percentage from 0% to 100%"
               : wrong;
}

/* A name may have the sign, too. */
static const char *set_tag_peak(void *base, const char *value)
{
    struct arguments *arguments = base;
    const char *equals = strrchr(value, '=');
    struct budget_tag_peak peak = {.name = value};
    if (equals == NULL || equals == value ||
        !size_parse(equals + 1, strlen(equals + 1), &peak.bytes)) {
        return "is not NAME=SIZE, such as activations=2G";
    }
    if (arguments->tag_peak_count == BUDGET_TAG_PEAK_COUNT_MAX) {
        return "is one tag too many: 16 can be given";
    }
    peak.name_length = (size_t)(equals - value);
    arguments->tag_peaks[arguments->tag_peak_count++] = peak;
    return NULL;
}

#define FIELD(member) OPTION_AT(struct arguments, member)
#define FLAG(member) .flag_offset = offsetof(struct arguments, member)
#define OPTION(kind_, member, name_, ...) \
    {.name = (name_), .kind = OPTION_##kind_, FIELD(member), __VA_ARGS__},
#define OPTION_ROW(name_, ...) {.name = (name_), __VA_ARGS__},
static const struct option_row own_rows[] = {
#include "cli/option_list.h"
};
enum { OWN_ROW_COUNT = sizeof own_rows / sizeof *own_rows };
static_assert(offsetof(struct arguments, run) == 0, "rows of a run begin at it");
/* The columns of --help: that of the summaries, and that of the meanings of exit codes. */
enum { HELP_INDENT = 34, EXIT_INDENT = 5 };

/* Counts all rows: those of a run, then those of the command line alone. */
static size_t count_rows(void)
{
    CHECK(run_option_row_count + OWN_ROW_COUNT <= ARGUMENTS_ROW_COUNT_MAX);
    return run_option_row_count + OWN_ROW_COUNT;
}

static const struct option_row *get_row(size_t i)
{
    return i < run_option_row_count ? &run_option_rows[i] : &own_rows[i - run_option_row_count];
}

/* names: with a blank between them. */
static bool is_among(const char *name, const char *names)
{
    const size_t length = strlen(name);
    while (*names != '\0' && (strncmp(names, name, length) != 0 || strcspn(names, " ") != length)) {
        names += strcspn(names, " ");
        names += strspn(names, " ");
    }
    return *names != '\0';
}

/* An own row of the name of a row of a run is another form of it. */
static bool has_own_form(const char *name)
{
    return option_find(own_rows, OWN_ROW_COUNT, name) != NULL && run_option_named(name) != NULL;
}

static bool is_accepted(const struct subcommand *subcommand, size_t i)
{
    const char *name = get_row(i)->name;
    if (strcmp(name, "--help") == 0 || strcmp(name, "--version") == 0) {
        return true;
    }
    const bool is_own = i >= run_option_row_count;
    return is_among(name, subcommand->options) &&
           (!has_own_form(name) || is_own == subcommand->takes_own_forms);
}

static bool is_named(const char *name, const char *word, size_t length)
{
    return name != NULL && strlen(name) == length && strncmp(word, name, length) == 0;
}

/* The row of the first length bytes of word, when the subcommand takes it; count_rows(): none. */
static size_t find_row(const struct subcommand *subcommand, const char *word, size_t length)
{
    size_t i = 0;
    while (i < count_rows() && !((is_named(get_row(i)->name, word, length) ||
                                  is_named(get_row(i)->alias, word, length)) &&
                                 is_accepted(subcommand, i))) {
        i++;
    }
    return i;
}

static enum exit_code fail_unknown_option(const struct subcommand *subcommand, const char *word,
                                          size_t length)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const char *names[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    for (size_t i = 0; i < count; i++) {
        names[i] = options[i]->name + 2; /* the dashes are common to all: no likeness */
    }
    char name[SETUP_VALUE_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             word);
    char hint[SETUP_VALUE_BYTES];
    snprintf(hint, sizeof hint, "see hbmstress %s --help", subcommand->name);
    const char *near = message_nearest(name + strspn(name, "-"), names, count);
    return message_unknown("option", name, near == NULL ? NULL : near - 2, hint);
}

/* Takes the option at argv[*i], and its value. */
static enum exit_code parse_option(const struct subcommand *subcommand, char **argv, size_t count,
                                   size_t *i, struct arguments *arguments)
{
    const char *word = argv[*i];
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    const size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const size_t index = find_row(subcommand, word, length);
    if (index == count_rows()) {
        return fail_unknown_option(subcommand, word, length);
    }
    const struct option_row *row = get_row(index);
    if (row->argument == NULL && equals != NULL) {
        return message_fail(EXIT_USAGE, "%s takes no value", row->name);
    }
    const char *value = equals == NULL ? NULL : equals + 1;
    if (row->argument != NULL && value == NULL) {
        if (*i + 1 == count) {
            return message_fail(EXIT_USAGE, "%s needs a value: %s %s", row->name, row->name,
                                row->argument);
        }
        value = argv[++*i];
    }
    const char *wrong = option_set(row, arguments, value);
    if (wrong != NULL) {
        return message_fail(EXIT_USAGE, "%s: '%s' %s", row->name, value, wrong);
    }
    arguments->given[index] = true;
    return EXIT_KEPT;
}

static enum exit_code check_words(const struct subcommand *subcommand,
                                  const struct arguments *arguments)
{
    if (arguments->word_count < subcommand->word_count_min) {
        return message_fail(EXIT_USAGE, "%s needs a %s%s; see hbmstress %s --help",
                            subcommand->name, subcommand->word_name,
                            subcommand->word_hint == NULL ? "" : subcommand->word_hint,
                            subcommand->name);
    }
    if (arguments->word_count > subcommand->word_count_max) {
        return message_fail(EXIT_USAGE, "%s: '%s' is one word too many; see hbmstress %s --help",
                            subcommand->name, arguments->words[subcommand->word_count_max],
                            subcommand->name);
    }
    if (arguments->run.chip != NULL && arguments->run.capacity_bytes != 0) {
        return message_fail(EXIT_USAGE,
                            "--chip and --capacity both set the capacity; give one of them");
    }
    return EXIT_KEPT;
}

enum exit_code arguments_parse(const struct subcommand *subcommand, char **argv, size_t count,
                               const char **words, struct arguments *arguments)
{
    *arguments = (struct arguments){.words = words};
    run_options_init(&arguments->run);
    option_set_usual(own_rows, OWN_ROW_COUNT, arguments);
    arguments->run.raw = argv;
    arguments->run.raw_count = count;
    bool only_words = false;
    for (size_t i = 0; i < count; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            continue;
        }
        if (only_words || argv[i][0] != '-' || argv[i][1] == '\0') {
            words[arguments->word_count++] = argv[i];
            continue;
        }
        const enum exit_code code = parse_option(subcommand, argv, count, &i, arguments);
        if (code != EXIT_KEPT) {
            return code;
        }
        if (arguments->has_help || arguments->has_version) {
            return EXIT_KEPT;
        }
    }
    arguments->run.names = words;
    arguments->run.name_count = arguments->word_count;
    return check_words(subcommand, arguments);
}

const char *arguments_gave_besides(const struct arguments *arguments, const char *names)
{
    for (size_t i = 0; i < count_rows(); i++) {
        if (arguments->given[i] && !is_among(get_row(i)->name, names)) {
            return get_row(i)->name;
        }
    }
    return NULL;
}

bool arguments_has(const struct arguments *arguments, const char *names)
{
    bool has = false, is_known = false;
    for (size_t i = 0; i < count_rows(); i++) {
        const bool is_one = is_among(get_row(i)->name, names);
        is_known |= is_one;
        has |= is_one && arguments->given[i];
    }
    CHECK(is_known);
    return has;
}

size_t arguments_options(const struct subcommand *subcommand,
                         const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < count_rows(); i++) {
        if (is_accepted(subcommand, i)) {
            options[count++] = get_row(i);
        }
    }
    return count;
}

static void append_option(const struct option_row *option, struct writing *text)
{
    const size_t begin = text->length;
    writing_append_format(text, "  %s%s%s%s%s", option->alias == NULL ? "    " : option->alias,
                          option->alias == NULL ? "" : ", ", option->name,
                          option->argument == NULL ? "" : " ",
                          option->argument == NULL ? "" : option->argument);
    const size_t used = text->length - begin;
    if (used > HELP_INDENT - 1) {
        writing_append_format(text, "\n%*s", HELP_INDENT, "");
    } else {
        writing_append_format(text, "%*s", (int)(HELP_INDENT - used), "");
    }
    wrap_append(text, option->help, HELP_INDENT, screen_columns());
    writing_append(text, "\n");
}

/* Appends only the codes that differ from the usual ones, which hbmstress --help prints. */
static void append_exits(const struct subcommand *subcommand, struct writing *text)
{
    if (subcommand->exits[EXIT_KEPT] == NULL) {
        return;
    }
    writing_append(text, "\nExit codes:\n");
    for (int i = 0; i < EXIT_MEANING_COUNT; i++) {
        if (subcommand->exits[i] != NULL) {
            writing_append_format(text, "  %d  ", i);
            wrap_append(text, subcommand->exits[i], EXIT_INDENT, screen_columns());
            writing_append(text, "\n");
        }
    }
}

void arguments_help(const struct subcommand *subcommand, struct writing *text)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    writing_append_format(text, "hbmstress %s %s\n\n", subcommand->name, subcommand->usage);
    wrap_since(text, 0);
    wrap_paragraphs(text, subcommand->description);
    writing_append(text, "\n\n");
    for (const char *const *example = subcommand->examples; *example != NULL; example++) {
        writing_append_format(text, "Example: %s\n", *example);
    }
    writing_append(text, "\n");
    for (size_t i = 0; i < count; i++) {
        append_option(options[i], text);
    }
    append_exits(subcommand, text);
}

struct explain_options arguments_explaining(const struct arguments *arguments)
{
    return (struct explain_options){
        .reading = arguments_reading(arguments),
        .paths = {arguments->words[0], arguments->word_count == 2 ? arguments->words[1] : NULL},
        .svg = arguments->svg,
        .what_if_out = arguments->what_if_out,
        .checkpoint_tags = arguments->checkpoint_tags,
        .alarm_percent = arguments->alarm_percent,
        .is_json = arguments->run.is_json,
        .has_what_if = arguments->has_what_if,
        .has_timeline = arguments->has_timeline,
        .changes_setup = arguments_has(arguments, "--capacity --chip --target --target-option "
                                                  "--rounding --hosts")};
}

struct scale_options arguments_scaling(const struct arguments *arguments)
{
    return (struct scale_options){.run = &arguments->run,
                                  .words = arguments->words,
                                  .word_count = arguments->word_count,
                                  .host_list = arguments->host_list,
                                  .chip_list = arguments->chip_list,
                                  .capacity_list = arguments->capacity_list,
                                  .batch_list = arguments->batch_list,
                                  .option_lists = arguments->option_lists,
                                  .option_list_count = arguments->option_list_count,
                                  .against = arguments->against,
                                  .grew_max = arguments->grew_max,
                                  .search_count = arguments->search_count,
                                  .has_grew_max = arguments_has(arguments, "--grew"),
                                  .varies_one_axis = arguments->varies_one_axis};
}

const struct subcommand *const subcommands[] = {
#define GROUP(words)
#define SUBCOMMAND(name) &subcommand_##name,
#include "cli/list.h"
#undef GROUP
#undef SUBCOMMAND
    NULL,
};

const char *const exit_meanings[EXIT_MEANING_COUNT] = {
    "every promise kept, or nothing but known findings",
    "a promise was broken",
    "bad usage or input",
    "an out-of-memory stayed unknown, a verdict was not repeated or a trial was not modelled",
    "hbmstress itself failed or its judges disagree",
};
