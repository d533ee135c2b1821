#include "cli/arguments.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/wrap.h"

#include <string.h>

/* One option of the command line alone; the others are rows of campaign/plan/run_options.h.  set
 * returns NULL, or what is wrong with the value, to follow the value in quotes. */
struct option_row {
    const char *name;
    const char *alias;    /* one letter; NULL = none */
    const char *argument; /* NULL: takes none */
    const char *summary;
    const char *(*set)(struct arguments *arguments, const char *value);
};

static const char *set_output(struct arguments *arguments, const char *value)
{
    const char *wrong = option_set_text(&arguments->output, value);
    if (strcmp(value, "-") == 0) {
        arguments->output = NULL; /* standard output, as without it */
    }
    return wrong;
}

static const char *set_format(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->format, value);
}

static const char *set_at(struct arguments *arguments, const char *value)
{
    uint64_t op = 0;
    if (strcmp(value, "peak") != 0 && strcmp(value, "failure") != 0 &&
        (!number_parse(value, strlen(value), &op) || op >= OP_NONE)) {
        return "is not peak, failure, or the number of an op";
    }
    return option_set_text(&arguments->at, value);
}

/* 2^40 bytes, and a token each nanosecond, are beyond what anybody serves. */
static const char *set_kv_bytes_per_token(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->kv_bytes_per_token, value, 1, UINT64_C(1) << 40,
                             "is not a number from 1 to 2^40");
}

static const char *set_kv_tokens_per_second(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->kv_tokens_per_second, value, 1, UINT64_C(1000000000),
                             "is not a number from 1 to 10^9");
}

static const char *set_times(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->replay_count, value, 1, UINT64_MAX - 1,
                             "is not a number of at least 1");
}

static const char *set_certificates(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->certificates, value);
}

static const char *set_language(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->language, value);
}

static const char *set_returns(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->returns, value);
}

static const char *set_list(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->list, value);
}

static const char *set_observations(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->observations, value);
}

static const char *set_resume(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->resume, value);
}

static const char *set_sweep(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_sweep = true;
    return NULL;
}

static const char *set_after(struct arguments *arguments, const char *value)
{
    if (arguments->after_count == ARGUMENTS_AFTER_COUNT_MAX) {
        return "is one file too many: 4096 can run before the list";
    }
    return option_set_text(&arguments->after[arguments->after_count++], value);
}

static const char *set_compare(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_compare = true;
    return NULL;
}

static const char *set_what_if(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_what_if = true;
    return NULL;
}

static const char *set_what_if_out(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->what_if_out, value);
}

static const char *set_checkpoint_tags(struct arguments *arguments, const char *value)
{
    arguments->has_what_if = true;
    return option_set_text(&arguments->checkpoint_tags, value);
}

static const char *set_timeline(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_timeline = true;
    return NULL;
}

static const char *set_svg(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->svg, value);
}

static const char *set_alarm(struct arguments *arguments, const char *value)
{
    const size_t length = strlen(value);
    const bool has_sign = length > 0 && value[length - 1] == '%';
    uint64_t percent;
    if (!number_parse(value, length - has_sign, &percent) || percent < 1 || percent > 100) {
        return "is not a percentage from 1% to 100%, such as 90%";
    }
    arguments->alarm_percent = percent;
    return NULL;
}

static const char *set_contract(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->contract, value);
}

static const char *set_refused_max(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->refused_max, value, 0, UINT64_MAX / 2, "is not a number");
}

/* A percentage, with or without its sign. */
static const char *set_percent(uint64_t *percent, const char *value)
{
    const size_t length = strlen(value);
    const bool has_sign = length > 0 && value[length - 1] == '%';
    return number_parse(value, length - has_sign, percent) && *percent <= 1000000
               ? NULL
               : "is not a percentage such as 5%";
}

static const char *set_premature_max(struct arguments *arguments, const char *value)
{
    return set_percent(&arguments->premature_max, value);
}

static const char *set_capacity_max(struct arguments *arguments, const char *value)
{
    return set_percent(&arguments->capacity_max, value);
}

static const char *set_cost_max(struct arguments *arguments, const char *value)
{
    arguments->has_cost_max = true;
    return set_percent(&arguments->cost_max, value);
}

static const char *set_robson(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_robson = true;
    return NULL;
}

static const char *set_follow(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_follow = true;
    return NULL;
}

static const char *set_meet(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->meet, value);
}

static const char *set_rank(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->rank, value, 0, OP_HOST_COUNT_MAX - 1,
                             "is not a rank from 0 to 63");
}

static const char *set_pace(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->pace, value);
}

/* Below half a second nobody can tell a stopped process from one that did not get a processor. */
static const char *set_patience(struct arguments *arguments, const char *value)
{
    return duration_parse(value, strlen(value), &arguments->patience_ns) &&
                   arguments->patience_ns >= UINT64_C(500000000) &&
                   arguments->patience_ns <= UINT64_MAX / 2
               ? NULL
               : "is not a duration of at least 500ms, such as 5s";
}

static const char *set_merge(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->merge, value);
}

static const char *set_host_list(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->host_list, value);
}

static const char *set_chip_list(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->chip_list, value);
}

static const char *set_capacity_list(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->capacity_list, value);
}

static const char *set_batch_list(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->batch_list, value);
}

static const char *set_option_list(struct arguments *arguments, const char *value)
{
    if (arguments->option_list_count == ARGUMENTS_OPTION_LIST_COUNT_MAX) {
        return "is one option too many: 8 can be given";
    }
    return option_set_text(&arguments->option_lists[arguments->option_list_count++], value);
}

static const char *set_one_axis(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->varies_one_axis = true;
    return NULL;
}

static const char *set_search(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->search_count, value, 0, 1000,
                             "is not a number from 0 to 1000 (0 = no search)");
}

static const char *set_against(struct arguments *arguments, const char *value)
{
    return option_set_text(&arguments->against, value);
}

static const char *set_grew(struct arguments *arguments, const char *value)
{
    return set_percent(&arguments->grew_max, value);
}

/* A list of 10^6 blocks takes 300 MB of host memory, and a device as large as a pod. */
static const char *set_blocks(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->block_count, value, 1, 1000000,
                             "is not a number from 1 to 1000000");
}

static const char *set_full(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->full_percent, value, 1, 99,
                             "is not a number from 1 to 99");
}

static const char *set_steps(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->step_count, value, 1, 1000000,
                             "is not a number from 1 to 1000000");
}

static const char *set_size(uint64_t *size_bytes, const char *value, const char *wrong)
{
    uint64_t parsed;
    if (!size_parse(value, strlen(value), &parsed)) {
        return wrong;
    }
    *size_bytes = parsed;
    return NULL;
}

static const char *set_peak(struct arguments *arguments, const char *value)
{
    return set_size(&arguments->peak_max, value, "is not a size such as 30G");
}

static const char *set_growth(struct arguments *arguments, const char *value)
{
    return set_size(&arguments->growth_max, value, "is not a size such as 0 or 4K");
}

static const char *set_fragmentation(struct arguments *arguments, const char *value)
{
    const char *wrong = set_percent(&arguments->fragmentation_max, value);
    return wrong == NULL && arguments->fragmentation_max > 100
               ? "is not a percentage from 0% to 100%"
               : wrong;
}

static const char *set_warmups(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->warmup_count, value, 0, 1000000,
                             "is not a number from 0 to 1000000");
}

static const char *set_ooms(struct arguments *arguments, const char *value)
{
    return option_set_number(&arguments->oom_max, value, 0, UINT32_MAX, "is not a number");
}

/* A name may have the sign, too. */
static const char *set_tag_peak(struct arguments *arguments, const char *value)
{
    const char *equals = strrchr(value, '=');
    struct tag_peak peak = {.name = value};
    if (equals == NULL || equals == value ||
        !size_parse(equals + 1, strlen(equals + 1), &peak.bytes)) {
        return "is not NAME=SIZE, such as activations=2G";
    }
    if (arguments->tag_peak_count == ARGUMENTS_TAG_PEAK_COUNT_MAX) {
        return "is one tag too many: 16 can be given";
    }
    peak.name_length = (size_t)(equals - value);
    arguments->tag_peaks[arguments->tag_peak_count++] = peak;
    return NULL;
}

static const char *set_help(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_help = true;
    return NULL;
}

static const char *set_version(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->has_version = true;
    return NULL;
}

static const struct option_row option_rows[] = {
    {"--kv-bytes-per-token", NULL, "N",
     "request traces: bytes of KV cache per token (default 327680)", set_kv_bytes_per_token},
    {"--kv-tokens-per-second", NULL, "N",
     "request traces: tokens that a request generates per second (default 25)",
     set_kv_tokens_per_second},
    {"--output", "-o", "FILE",
     "write to FILE (default: standard output; of report: report.html); report-bug: the new "
     "directory to write",
     set_output},
    {"--format", "-f", "FORMAT",
     "the format of FILE (default auto; list formats); for export, the format to write",
     set_format},
    {"--at", NULL, "MOMENT",
     "the moment that a profile shows: peak (default), failure (the first out-of-memory), or after "
     "the op of a number",
     set_at},
    {"--sweep", NULL, NULL,
     "fail each device call of one op list per scenario: the 1st, the 2nd ... (default 400 ops)",
     set_sweep},
    {"--times", NULL, "N",
     "replay the list N times and check that each replay gives the same result", set_times},
    {"--after", NULL, "FILE",
     "run this list first, in the same process, without judging it; may be repeated", set_after},
    {"--compare", NULL, NULL, "FILE is a log of any format: report where the run differs from it",
     set_compare},
    {"--certificates", NULL, "DIR", "write the certificate of each out-of-memory to DIR",
     set_certificates},
    {"--list", NULL, "FILE", "each certificate must be about an out-of-memory of this op list",
     set_list},
    {"--observations", NULL, "FILE",
     "with --list: all facts of each certificate must follow from the list and this log",
     set_observations},
    {"--resume", NULL, "DIR", "continue the campaign in DIR, whatever ended it", set_resume},
    {"--what-if", NULL, NULL, "run the list under each change that might help, and print a table",
     set_what_if},
    {"--what-if-out", NULL, "DIR",
     "--what-if, and write the op list of each change to DIR; other files there stay",
     set_what_if_out},
    {"--checkpoint-tags", NULL, "TAGS",
     "--what-if, with checkpointing of these tags (names or numbers, separated by commas)",
     set_checkpoint_tags},
    {"--timeline", NULL, NULL, "print the numbers over time: each step when it was fullest",
     set_timeline},
    {"--svg", NULL, "FILE", "draw memory over time and the heap to FILE", set_svg},
    {"--alarm", NULL, "PERCENT",
     "report each peak that fills this share of its device or more, such as 90%", set_alarm},
    {"--contract", NULL, "old|new|declared|inferred|none",
     "judge refusals by the contract of old or new, of each itself (declared, inferred), or without "
     "size classes (none)",
     set_contract},
    {"--refused-max", NULL, "N",
     "requests that NEW may refuse more than OLD on one list (default 0)", set_refused_max},
    {"--premature-max", NULL, "PERCENT",
     "points by which the premature share of NEW may be higher (default 0)", set_premature_max},
    {"--capacity-max", NULL, "PERCENT",
     "by how much the smallest capacity of NEW may be larger (default 1%)", set_capacity_max},
    {"--cost-max", NULL, "PERCENT",
     "by how much NEW may take more instructions per op (default: not judged)", set_cost_max},
    {"--robson", NULL, NULL,
     "in place of op lists, play Robson's adversary (its options: list scenarios, robson)",
     set_robson},
    {"--follow", NULL, NULL,
     "for the DIR of a campaign: update the display until the campaign ends, or ctrl-C",
     set_follow},
    {"--lang", NULL, "c|c++", "the language of the plug-in, c or c++ (default c)", set_language},
    {"--returns", NULL, "offsets|pointers",
     "what your allocate returns: offsets into the device, or pointers into an arena (default "
     "offsets)",
     set_returns},
    {"--meet", NULL, "WHERE",
     "run one rank, which meets the others at HOST:PORT or at the path of a socket", set_meet},
    {"--rank", NULL, "R", "with --meet: which one (default: as mpirun or srun says)", set_rank},
    {"--pace", NULL, "N", "seconds that really pass for each second of the list (default 0.001)",
     set_pace},
    {"--patience", NULL, "DURATION",
     "how long a rank may make no progress before others stop waiting for it (default 5s)",
     set_patience},
    {"--merge", NULL, "DIR", "write what the ranks left in DIR as one list for replay", set_merge},
    {"--hosts", NULL, "LIST", "simulated hosts, 1 to 64 (default 1,2,4,8 if nothing is varied)",
     set_host_list},
    {"--chip", NULL, "LIST",
     "chips of the device (list chips); the sizes of the job are for the first one", set_chip_list},
    {"--capacity", "-c", "LIST",
     "capacities of the device, such as 8G,16G; the sizes of the job are for the first one",
     set_capacity_list},
    {"--scenario-option", "-S", "KEY=LIST",
     "values of an option of the scenario (list scenarios); may be repeated", set_option_list},
    {"--batch", NULL, "LIST",
     "of an op list: batches in percent of its own, 1 to 6400, such as 50,100,200; an estimate",
     set_batch_list},
    {"--one-axis", NULL, NULL,
     "vary one option at a time, the others at their first value (default: all combinations)",
     set_one_axis},
    {"--search", NULL, "N",
     "runs that each search for the value that just fits may use (default 20, 0 = do not search)",
     set_search},
    {"--against", NULL, "PATH",
     "scale: what --out wrote before, to report what changed, and fail if something grew; report: "
     "the campaign or the trace before",
     set_against},
    {"--grew", NULL, "PERCENT",
     "with --against: by how much peaks and programs may grow (default 1%)", set_grew},
    {"--blocks", NULL, "N",
     "measure devices with N live blocks, 1 to 1000000 (default: 1000, 10000 and 100000)",
     set_blocks},
    {"--full", NULL, "PERCENT",
     "measure devices that are so full, 1 to 99 (default: 70, 95 and 99)", set_full},
    {"--steps", NULL, "N",
     "each repeat frees and allocates N times, 1 to 1000000, however long it takes (default: as often "
     "as --time allows, 250000 times at most)",
     set_steps},
    {"--peak", NULL, "SIZE", "the most bytes that each host may have in use", set_peak},
    {"--tag-peak", NULL, "NAME=SIZE",
     "the most bytes that blocks of this tag may have on each host; may be repeated", set_tag_peak},
    {"--growth-per-step", NULL, "SIZE",
     "by how much the least that is in use may rise from step to step, such as 0 or 4K",
     set_growth},
    {"--fragmentation", NULL, "PERCENT",
     "the share of what is free that may lie outside the largest hole, such as 5%",
     set_fragmentation},
    {"--ooms", NULL, "N", "requests that may be refused (default 0)", set_ooms},
    {"--warmups", NULL, "N",
     "steps that --growth-per-step and --fragmentation leave out at the beginning (default 1)",
     set_warmups},
    {"--help", "-h", NULL, "print this text", set_help},
    {"--version", NULL, NULL, "print the version", set_version},
};
enum {
    OWN_ROW_COUNT = sizeof option_rows / sizeof *option_rows,
    ROW_COUNT_MAX = ARGUMENTS_ROW_COUNT_MAX
};
/* Of --help: the column of the summaries, and where their lines end. */
enum { HELP_INDENT = 34, HELP_WIDTH = 100 };

/* All rows: those of a run, then those of the command line alone. */
static size_t count_rows(void)
{
    CHECK(run_option_row_count + OWN_ROW_COUNT <= ROW_COUNT_MAX);
    return run_option_row_count + OWN_ROW_COUNT;
}

/* Row i of all, without what sets it when it is one of a run. */
static struct option_row get_row(size_t i)
{
    if (i >= run_option_row_count) {
        return option_rows[i - run_option_row_count];
    }
    const struct run_option_row *row = &run_option_rows[i];
    return (struct option_row){row->name, row->alias, row->argument, row->summary, NULL};
}

static const char *set_row(struct arguments *arguments, size_t i, const char *value)
{
    return i < run_option_row_count ? run_option_rows[i].set(&arguments->run, value)
                                    : option_rows[i - run_option_row_count].set(arguments, value);
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* An own row of the name of a row of a run is its form for several values. */
static bool has_list_form(const char *name)
{
    for (size_t i = 0; i < OWN_ROW_COUNT; i++) {
        if (strcmp(option_rows[i].name, name) == 0) {
            return run_option_named(name) != NULL;
        }
    }
    return false;
}

static bool is_accepted(const struct subcommand *subcommand, size_t i)
{
    const char *name = get_row(i).name;
    if (strcmp(name, "--help") == 0 || strcmp(name, "--version") == 0) {
        return true;
    }
    const bool is_own = i >= run_option_row_count;
    return is_among(name, subcommand->options) &&
           (!has_list_form(name) || is_own == subcommand->takes_lists);
}

/* The row of the first length bytes of word, when the subcommand takes it; count_rows(): none. */
static size_t find_row(const struct subcommand *subcommand, const char *word, size_t length)
{
    for (size_t i = 0; i < count_rows(); i++) {
        const struct option_row row = get_row(i);
        const bool is_named = strlen(row.name) == length && strncmp(word, row.name, length) == 0;
        const bool is_aliased = row.alias != NULL && strlen(row.alias) == length &&
                                strncmp(word, row.alias, length) == 0;
        if ((is_named || is_aliased) && is_accepted(subcommand, i)) {
            return i;
        }
    }
    return count_rows();
}

static enum exit_code fail_unknown_option(const struct subcommand *subcommand, const char *word,
                                          size_t length)
{
    const char *names[ROW_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < count_rows(); i++) {
        if (is_accepted(subcommand, i)) {
            names[count++] = get_row(i).name + 2; /* the dashes are common to all: no likeness */
        }
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
    const struct option_row found = get_row(index);
    const struct option_row *row = &found;
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
    const char *wrong = set_row(arguments, index, value);
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
    *arguments = (struct arguments){
        .words = words, .capacity_max = 1, .grew_max = 1, .search_count = 20};
    run_options_init(&arguments->run);
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

const char *arguments_gave_besides(const struct arguments *arguments, const char *const *names)
{
    for (size_t i = 0; i < count_rows(); i++) {
        if (arguments->given[i] && !is_among(get_row(i).name, names)) {
            return get_row(i).name;
        }
    }
    return NULL;
}

bool arguments_has(const struct arguments *arguments, const char *name)
{
    for (size_t i = 0; i < count_rows(); i++) {
        if (strcmp(get_row(i).name, name) == 0) {
            return arguments->given[i];
        }
    }
    CHECK(false);
}

size_t arguments_options(const struct subcommand *subcommand,
                         struct option_shown options[ARGUMENTS_ROW_COUNT_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < count_rows(); i++) {
        if (is_accepted(subcommand, i)) {
            const struct option_row row = get_row(i);
            options[count++] = (struct option_shown){row.name, row.alias, row.argument,
                                                     row.summary};
        }
    }
    return count;
}

static void append_option(const struct option_shown *option, struct writing *text)
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
    wrap_append(text, option->summary, HELP_INDENT, HELP_WIDTH);
    writing_append(text, "\n");
}

/* Only those that are not what they are everywhere, which hbmstress --help prints. */
static void append_exits(const struct subcommand *subcommand, struct writing *text)
{
    if (subcommand->exits == NULL) {
        return;
    }
    writing_append(text, "\nExit codes:\n");
    for (int i = 0; i < EXIT_MEANING_COUNT; i++) {
        if (subcommand->exits[i] != NULL) {
            writing_append_format(text, "  %d  %s\n", i, subcommand->exits[i]);
        }
    }
}

void arguments_help(const struct subcommand *subcommand, struct writing *text)
{
    struct option_shown options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    writing_append_format(text, "hbmstress %s %s\n\n%s\n\n", subcommand->name, subcommand->usage,
                          subcommand->description);
    for (const char *const *example = subcommand->examples; *example != NULL; example++) {
        writing_append_format(text, "Example: %s\n", *example);
    }
    writing_append(text, "\n");
    for (size_t i = 0; i < count; i++) {
        append_option(&options[i], text);
    }
    append_exits(subcommand, text);
}
