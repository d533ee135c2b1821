#include "cli/arguments.h"

#include "cli/wishes.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <assert.h>
#include <string.h>

/* Capacities above 2^50 are no device's. */
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 50)
enum { WORKER_COUNT_MAX = 256, SHARD_COUNT_MAX = 1000000 };

/* One option.  set returns NULL, or what is wrong with the value, to follow the value in quotes. */
struct option_row {
    const char *name;
    const char *alias;    /* one letter; NULL = none */
    const char *argument; /* NULL: takes none */
    const char *summary;
    const char *(*set)(struct arguments *arguments, const char *value);
};

static const char *set_number(uint64_t *number, const char *value, uint64_t low, uint64_t high,
                              const char *wrong)
{
    uint64_t parsed;
    if (!number_parse(value, strlen(value), &parsed) || parsed < low || parsed > high) {
        return wrong;
    }
    *number = parsed;
    return NULL;
}

static const char *set_text(const char **text, const char *value)
{
    if (value[0] == '\0') {
        return "is empty";
    }
    *text = value;
    return NULL;
}

static const char *set_target(struct arguments *arguments, const char *value)
{
    if (strlen(value) >= SETUP_VALUE_BYTES) {
        return "is longer than 255 bytes";
    }
    return set_text(&arguments->target, value);
}

static const char *set_target_option(struct arguments *arguments, const char *value)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value) {
        return "is not KEY=VALUE";
    }
    size_t length = (size_t)(equals - value);
    if (length >= SETUP_NAME_BYTES || strlen(equals + 1) >= SETUP_NAME_BYTES) {
        return "is longer than 63 bytes a side";
    }
    struct setup_option option = {0};
    memcpy(option.key, value, length);
    strcpy(option.value, equals + 1);
    for (uint32_t i = 0; i < arguments->option_count; i++) {
        if (strcmp(arguments->options[i].key, option.key) == 0) {
            return "sets a key that was set before";
        }
    }
    if (arguments->option_count == SETUP_OPTION_COUNT_MAX) {
        return "is one option too many (16 at most)";
    }
    arguments->options[arguments->option_count++] = option;
    return NULL;
}

static const char *set_chip(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->chip, value);
}

static const char *set_capacity(struct arguments *arguments, const char *value)
{
    uint64_t bytes;
    if (!size_parse(value, strlen(value), &bytes) || bytes == 0 || bytes > CAPACITY_BYTES_MAX) {
        return "is not a size from 1 to 1024T, such as 512, 64M or 16G";
    }
    arguments->capacity_bytes = bytes;
    return NULL;
}

static const char *set_hosts(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->host_count, value, 1, OP_HOST_COUNT_MAX,
                      "is not a number from 1 to 64");
}

static const char *set_seed(struct arguments *arguments, const char *value)
{
    arguments->has_seed = true;
    return set_number(&arguments->seed, value, 0, UINT64_MAX, "is not a number from 0 to 2^64-1");
}

static const char *set_ops(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->op_count_max, value, 1, UINT64_MAX - 1,
                      "is not a number of at least 1");
}

static const char *set_duration(uint64_t *duration_ns, const char *value)
{
    uint64_t duration;
    if (!duration_parse(value, strlen(value), &duration) || duration == 0 ||
        duration > UINT64_MAX / 2) {
        return "is not a duration such as 30s, 10m or 8h";
    }
    *duration_ns = duration;
    return NULL;
}

static const char *set_time(struct arguments *arguments, const char *value)
{
    return set_duration(&arguments->duration_ns, value);
}

static const char *set_trial_timeout(struct arguments *arguments, const char *value)
{
    return set_duration(&arguments->trial_timeout_ns, value);
}

static const char *set_op_timeout(struct arguments *arguments, const char *value)
{
    return set_duration(&arguments->op_timeout_ns, value);
}

static const char *set_workers(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->worker_count, value, 1, WORKER_COUNT_MAX,
                      "is not a number from 1 to 256");
}

static const char *set_job(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->job, value);
}

static const char *set_out(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->out, value);
}

static const char *set_output(struct arguments *arguments, const char *value)
{
    const char *wrong = set_text(&arguments->output, value);
    if (strcmp(value, "-") == 0) {
        arguments->output = NULL; /* standard output, as without it */
    }
    return wrong;
}

static const char *set_format(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->format, value);
}

/* 2^40 bytes, and a token each nanosecond, are beyond what anybody serves. */
static const char *set_kv_bytes_per_token(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->kv_bytes_per_token, value, 1, UINT64_C(1) << 40,
                      "is not a number from 1 to 2^40");
}

static const char *set_kv_tokens_per_second(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->kv_tokens_per_second, value, 1, UINT64_C(1000000000),
                      "is not a number from 1 to 10^9");
}

static const char *set_replay_sample(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->replay_sample, value, 0, UINT64_MAX,
                      "is not a number (0 = never)");
}

static const char *set_shrink_budget(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->shrink_budget, value, 0, UINT64_MAX,
                      "is not a number (0 = keep the whole list)");
}

static const char *set_results_limit(struct arguments *arguments, const char *value)
{
    return size_parse(value, strlen(value), &arguments->results_limit_bytes)
               ? NULL
               : "is not a size such as 64M";
}

static const char *set_regret_max(struct arguments *arguments, const char *value)
{
    arguments->has_regret_max = true;
    return set_number(&arguments->regret_max, value, 0, UINT64_MAX,
                      "is not a number from 0 to 2^64-1 (0 = none is allowed)");
}

static const char *set_seeds(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->trial_count_max, value, 1, UINT64_MAX - 1,
                      "is not a number of at least 1");
}

static const char *set_faults(struct arguments *arguments, const char *value)
{
    arguments->has_faults = true;
    return wishes_parse_faults(value, &arguments->faults);
}

static const char *set_weights(struct arguments *arguments, const char *value)
{
    arguments->has_weights = true;
    return wishes_parse_weights(value, arguments->weights);
}

static const char *set_lanes(struct arguments *arguments, const char *value)
{
    return lane_wish_set_lanes(&arguments->lanes, value);
}

static const char *set_schedules(struct arguments *arguments, const char *value)
{
    return lane_wish_set_schedules(&arguments->lanes, value);
}

static const char *set_strategy(struct arguments *arguments, const char *value)
{
    return lane_wish_set_strategy(&arguments->lanes, value);
}

static const char *set_backend(struct arguments *arguments, const char *value)
{
    return lane_wish_set_backend(&arguments->lanes, value);
}

static const char *set_free_running(struct arguments *arguments, const char *value)
{
    (void)value;
    return lane_wish_set_backend(&arguments->lanes, "free");
}

static const char *set_check_races(struct arguments *arguments, const char *value)
{
    return lane_wish_set_races(&arguments->lanes, value);
}

static const char *set_times(struct arguments *arguments, const char *value)
{
    return set_number(&arguments->replay_count, value, 1, UINT64_MAX - 1,
                      "is not a number of at least 1");
}

static const char *set_certificates(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->certificates, value);
}

static const char *set_resume(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->resume, value);
}

static const char *set_shard(struct arguments *arguments, const char *value)
{
    static const char wrong[] = "is not I/N with I from 1 to N, such as 2/8";
    const char *slash = strchr(value, '/');
    uint64_t number, count;
    if (slash == NULL || !number_parse(value, (size_t)(slash - value), &number) ||
        !number_parse(slash + 1, strlen(slash + 1), &count) || number < 1 || number > count ||
        count > SHARD_COUNT_MAX) {
        return wrong;
    }
    arguments->shard_index = number - 1;
    arguments->shard_count = count;
    return NULL;
}

static const char *set_sweep(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->sweep = true;
    return NULL;
}

static const char *set_compare(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->compare = true;
    return NULL;
}

static const char *set_what_if(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->what_if = true;
    return NULL;
}

static const char *set_what_if_out(struct arguments *arguments, const char *value)
{
    return set_text(&arguments->what_if_out, value);
}

static const char *set_checkpoint_tags(struct arguments *arguments, const char *value)
{
    arguments->what_if = true;
    return set_text(&arguments->checkpoint_tags, value);
}

static const char *set_alarm(struct arguments *arguments, const char *value)
{
    const size_t length = strlen(value);
    const bool has_sign = length > 0 && value[length - 1] == '%';
    uint64_t percent;
    if (!number_parse(value, length - has_sign, &percent) || percent < 1 || percent > 100) {
        return "is not a share from 1% to 100%, such as 90%";
    }
    arguments->alarm_percent = percent;
    return NULL;
}

static const char *set_follow(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->follow = true;
    return NULL;
}

static const char *set_json(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->json = true;
    return NULL;
}

static const char *set_help(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->help = true;
    return NULL;
}

static const char *set_version(struct arguments *arguments, const char *value)
{
    (void)value;
    arguments->version = true;
    return NULL;
}

static const struct option_row option_rows[] = {
    {"--target", "-t", "NAME|FILE.so",
     "the allocator under test, a listed target or a plug-in (default: the file's, with its options, or hbm)",
     set_target},
    {"--target-option", "-O", "KEY=VALUE", "an option of the target; may be repeated",
     set_target_option},
    {"--chip", NULL, "NAME", "the chip whose capacity the device has (list chips)", set_chip},
    {"--capacity", "-c", "SIZE", "the device's capacity: 512, 64M, 16G", set_capacity},
    {"--hosts", NULL, "N",
     "simulated hosts, 1 to 64 (default: the file's or the scenario's choice)", set_hosts},
    {"--seed", "-s", "N",
     "what all chance comes from (default: the file's, the commit's with --job, or from the clock)",
     set_seed},
    {"--ops", "-n", "N", "ops per scenario (default 20000, or no bound with --time or --seeds)",
     set_ops},
    {"--seeds", NULL, "N",
     "trials of each scenario; each has a seed of its own (default: as many as --ops and --time allow)",
     set_seeds},
    {"--time", NULL, "DURATION", "wall time of the whole run: 30s, 10m, 8h", set_time},
    {"--workers", "-j", "N",
     "processes that share the trials, 1 to 256 (default: one per processor, at most 64)",
     set_workers},
    {"--job", NULL, "FILE", "what to run, from an ini file", set_job},
    {"--out", NULL, "DIR",
     "where results.jsonl, repros/ and certificates/ go (of run: default out)", set_out},
    {"--kv-bytes-per-token", NULL, "N",
     "of a trace of requests: bytes of KV cache that a token takes (default 327680)",
     set_kv_bytes_per_token},
    {"--kv-tokens-per-second", NULL, "N",
     "of a trace of requests: tokens that a request generates a second (default 25)",
     set_kv_tokens_per_second},
    {"--output", "-o", "FILE", "where it is written (default: standard output)", set_output},
    {"--format", "-f", "NAME",
     "the format of FILE (default auto; list formats); export: the one that is written",
     set_format},
    {"--replay-sample", NULL, "N", "run every N-th trial twice and compare (default 16, 0 = never)",
     set_replay_sample},
    {"--shrink-budget", NULL, "N",
     "replays that shrinking may take (default 20000, 0 = do not shrink)", set_shrink_budget},
    {"--results-limit", NULL, "SIZE",
     "leave justified verdicts out of results.jsonl beyond this (default 64M)", set_results_limit},
    {"--trial-timeout", NULL, "DURATION", "a trial that takes longer is a hang (default 10m)",
     set_trial_timeout},
    {"--op-timeout", NULL, "DURATION",
     "a call of the target that takes more processor time is a hang (default 20s)", set_op_timeout},
    {"--regret-max", NULL, "N",
     "more regretted requests than N in a trial break the promise 'regret'", set_regret_max},
    {"--faults", NULL, "LIST",
     "faults slipped in between ops: none, all, or names by commas (list faults, and retire; default none)",
     set_faults},
    {"--weights", NULL, "LIST",
     "KIND:PERCENT,... how often the generator draws a kind of op (100 = as it is, 0 = never)",
     set_weights},
    {"--sweep", NULL, NULL,
     "fail every device call of one list a scenario, the 1st, the 2nd ... (default 400 ops)",
     set_sweep},
    {"--lanes", NULL, "N",
     "client threads, 2 to 16, whose calls are interleaved (docs/interleavings.md)", set_lanes},
    {"--schedules", NULL, "N",
     "interleavings that are tried of each list (default 200; 0 = all, with exhaustive)",
     set_schedules},
    {"--strategy", NULL, "NAME[=N]",
     "who decides which lane goes on (list strategies; default portfolio)", set_strategy},
    {"--backend", NULL, "NAME",
     "what lanes run on: fibers, threads, free or auto (default: threads for plug-ins)",
     set_backend},
    {"--free-running", NULL, NULL,
     "let lanes run on all cores without a schedule: not exactly replayable", set_free_running},
    {"--check-races", NULL, NULL, "hold plain accesses of an explored target to happens-before",
     set_check_races},
    {"--times", NULL, "N", "replay the list N times and demand the same each time", set_times},
    {"--compare", NULL, NULL,
     "FILE has any format: say where the run differs from what it says happened", set_compare},
    {"--certificates", NULL, "DIR", "where the certificate of each out-of-memory goes",
     set_certificates},
    {"--resume", NULL, "DIR", "go on with the campaign that left DIR, whatever ended it",
     set_resume},
    {"--shard", NULL, "I/N",
     "run the I-th of N parts of the campaign; hbmstress merge joins their DIRs", set_shard},
    {"--what-if", NULL, NULL,
     "run the list under each change that might have helped, and print the table", set_what_if},
    {"--what-if-out", NULL, "DIR",
     "the same, and where the list of each change goes, to be replayed; what else is there stays",
     set_what_if_out},
    {"--checkpoint-tags", NULL, "TAGS",
     "--what-if, with checkpointing of these tags (names or numbers, by commas)",
     set_checkpoint_tags},
    {"--alarm", NULL, "PERCENT",
     "tell when a peak fills that share of its device or more, such as 90%", set_alarm},
    {"--follow", NULL, NULL,
     "of a campaign's DIR: show it again and again until it ends, or ctrl-C", set_follow},
    {"--json", NULL, NULL, "JSON lines on standard output and nothing else", set_json},
    {"--help", "-h", NULL, "this text", set_help},
    {"--version", NULL, NULL, "the version", set_version},
};
enum { OPTION_ROW_COUNT = sizeof option_rows / sizeof *option_rows };
static_assert(OPTION_ROW_COUNT <= 64, "arguments.given has a bit per row");

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_taken(const struct subcommand *subcommand, const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "--version") == 0) {
        return true;
    }
    return is_among(name, subcommand->options);
}

/* The row of the first length bytes of word, when the subcommand takes it. */
static const struct option_row *row_find(const struct subcommand *subcommand, const char *word,
                                         size_t length)
{
    for (size_t i = 0; i < OPTION_ROW_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        bool named = strlen(row->name) == length && strncmp(word, row->name, length) == 0;
        bool aliased = row->alias != NULL && strlen(row->alias) == length &&
                       strncmp(word, row->alias, length) == 0;
        if ((named || aliased) && is_taken(subcommand, row->name)) {
            return row;
        }
    }
    return NULL;
}

static enum exit_code fail_unknown_option(const struct subcommand *subcommand, const char *word,
                                          size_t length)
{
    const char *names[OPTION_ROW_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < OPTION_ROW_COUNT; i++) {
        if (is_taken(subcommand, option_rows[i].name)) {
            names[count++] = option_rows[i].name +
                             2; /* the dashes are common to all: no likeness */
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
static enum exit_code take_option(const struct subcommand *subcommand, char **argv, size_t count,
                                  size_t *i, struct arguments *arguments)
{
    const char *word = argv[*i];
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const struct option_row *row = row_find(subcommand, word, length);
    if (row == NULL) {
        return fail_unknown_option(subcommand, word, length);
    }
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
    const char *wrong = row->set(arguments, value);
    if (wrong != NULL) {
        return message_fail(EXIT_USAGE, "%s: '%s' %s", row->name, value, wrong);
    }
    arguments->given |= UINT64_C(1) << (row - option_rows);
    return EXIT_KEPT;
}

static enum exit_code words_check(const struct subcommand *subcommand,
                                  const struct arguments *arguments)
{
    if (arguments->word_count < subcommand->word_count_min) {
        return message_fail(EXIT_USAGE, "%s needs a %s; see hbmstress %s --help", subcommand->name,
                            subcommand->word_name, subcommand->name);
    }
    if (arguments->word_count > subcommand->word_count_max) {
        return message_fail(EXIT_USAGE, "%s: '%s' is one word too many; see hbmstress %s --help",
                            subcommand->name, arguments->words[subcommand->word_count_max],
                            subcommand->name);
    }
    if (arguments->chip != NULL && arguments->capacity_bytes != 0) {
        return message_fail(EXIT_USAGE,
                            "--chip and --capacity say the same thing twice; give one of them");
    }
    return EXIT_KEPT;
}

enum exit_code arguments_parse(const struct subcommand *subcommand, char **argv, size_t count,
                               const char **words, struct arguments *arguments)
{
    *arguments = (struct arguments){.words = words,
                                    .raw = argv,
                                    .raw_count = count,
                                    .replay_sample = 16,
                                    .shrink_budget = 20000,
                                    .results_limit_bytes = UINT64_C(64) << 20,
                                    .trial_timeout_ns = UINT64_C(600) * 1000000000,
                                    .op_timeout_ns = UINT64_C(20) * 1000000000};
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
        enum exit_code code = take_option(subcommand, argv, count, &i, arguments);
        if (code != EXIT_KEPT) {
            return code;
        }
        if (arguments->help || arguments->version) {
            return EXIT_KEPT;
        }
    }
    return words_check(subcommand, arguments);
}

const char *arguments_set(struct arguments *arguments, const char *name, const char *value)
{
    for (size_t i = 0; i < OPTION_ROW_COUNT; i++) {
        if (strcmp(option_rows[i].name, name) == 0) {
            return option_rows[i].set(arguments, value);
        }
    }
    CHECK(false);
}

const char *arguments_gave_besides(const struct arguments *arguments, const char *const *names)
{
    for (size_t i = 0; i < OPTION_ROW_COUNT; i++) {
        if ((arguments->given >> i & 1) != 0 && !is_among(option_rows[i].name, names)) {
            return option_rows[i].name;
        }
    }
    return NULL;
}

bool arguments_gave(const struct arguments *arguments, const char *name)
{
    for (size_t i = 0; i < OPTION_ROW_COUNT; i++) {
        if (strcmp(option_rows[i].name, name) == 0) {
            return (arguments->given >> i & 1) != 0;
        }
    }
    CHECK(false);
}

static bool merge_option(struct arguments *base, const struct setup_option *option)
{
    for (uint32_t i = 0; i < base->option_count; i++) {
        if (strcmp(base->options[i].key, option->key) == 0) {
            base->options[i] = *option;
            return true;
        }
    }
    if (base->option_count == SETUP_OPTION_COUNT_MAX) {
        return false;
    }
    base->options[base->option_count++] = *option;
    return true;
}

bool arguments_merge(struct arguments *base, const struct arguments *over)
{
    if (over->target != NULL) {
        base->target = over->target;
    }
    if (over->chip != NULL || over->capacity_bytes != 0) {
        base->chip = over->chip;
        base->capacity_bytes = over->capacity_bytes;
    }
    if (over->host_count != 0) {
        base->host_count = over->host_count;
    }
    if (over->has_seed) {
        base->has_seed = true;
        base->seed = over->seed;
    }
    if (over->has_regret_max) {
        base->has_regret_max = true;
        base->regret_max = over->regret_max;
    }
    if (over->op_count_max != 0) {
        base->op_count_max = over->op_count_max;
    }
    if (over->duration_ns != 0) {
        base->duration_ns = over->duration_ns;
    }
    if (over->trial_count_max != 0) {
        base->trial_count_max = over->trial_count_max;
    }
    if (over->has_faults) {
        base->has_faults = true;
        base->faults = over->faults;
    }
    if (over->has_weights) {
        base->has_weights = true;
        memcpy(base->weights, over->weights, sizeof base->weights);
    }
    lane_wish_merge(&base->lanes, &over->lanes);
    bool fits = true;
    for (uint32_t i = 0; i < over->option_count; i++) {
        fits = merge_option(base, &over->options[i]) && fits;
    }
    return fits;
}

void arguments_help(const struct subcommand *subcommand, struct writing *text)
{
    writing_append_format(text, "hbmstress %s %s\n\n%s\n\n", subcommand->name, subcommand->usage,
                          subcommand->description);
    for (size_t i = 0; i < OPTION_ROW_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        if (!is_taken(subcommand, row->name)) {
            continue;
        }
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s%s", row->alias == NULL ? "    " : row->alias,
                 row->alias == NULL ? "" : ", ", row->name, row->argument == NULL ? "" : " ",
                 row->argument == NULL ? "" : row->argument);
        writing_append_format(text, "  %-32s  %s\n", left, row->summary);
    }
}
