/* The rows of scale, what is read of a stored run, and what counts as an alarm.  What a run of it
 * prints: tests/snap/scale.snap, and scale_refused.snap. */
#include "cli/subcommands.h"
#include "ladder/scale/scale.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024, WORD_COUNT_MAX = 16, GIBIBYTE = 1 << 30 };

static struct scale scale;
static struct arguments arguments;
static struct scale_options given;
static const char *words[WORD_COUNT_MAX];

/* Plans a ladder from the words of a command line, separated by blanks. */
static void plan(const char *line)
{
    static char text[MESSAGE_BYTES];
    char *argv[WORD_COUNT_MAX];
    size_t count = 0;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        ck_assert_uint_lt(count, WORD_COUNT_MAX);
        argv[count++] = word;
    }
    scale_deinit(&scale);
    scale = (struct scale){.options = &given};
    ck_assert_int_eq(arguments_parse(&subcommand_scale, argv, count, words, &arguments), EXIT_KEPT);
    given = arguments_scaling(&arguments);
    ck_assert_int_eq(scale_plan(&scale), EXIT_KEPT);
}

static void show_rows(const char *line)
{
    char name[SCALE_NAME_BYTES];
    plan(line);
    show("%s:\n", line);
    for (size_t i = 0; i < scale.row_count; i++) {
        scale_name(&scale, &scale.rows[i].point, scale.axis_count, name);
        show("  %s\n", name);
    }
}

static void begin(void)
{
    folder_enter("scale");
}

static void end(void)
{
    snap_rest();
    scale_deinit(&scale);
    scale = (struct scale){.options = NULL};
    folder_leave();
}

EVERY_TEST(.timeout_s = 60, .setup = begin, .teardown = end);

TEST(rows_are_all_combinations_or_one_axis_at_a_time)
{
    show_rows("");
    show_rows("--hosts 1,2 --chip v4,v5e -S batch=8,16");
    show_rows("training --hosts 1,2 --chip v4,v5e -S batch=8,16 --one-axis");
    show_rows("--capacity 8G -S leak=none");
}

/* Whether the row can be, and what it is. */
static void show_setup(size_t row)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    if (!scale_make_setup(&scale, &scale.rows[row].point, &setup, reason)) {
        show("row %zu cannot be: %s\n", row, reason);
        return;
    }
    SHOW(row, setup.capacity_bytes, setup.host_count);
    for (size_t i = 0; i < setup.scenario_option_count; i++) {
        const struct setup_option *option = &setup.scenario_options[i];
        SHOW(option->key, option->value);
    }
}

TEST(a_row_keeps_the_sizes_of_the_first_device)
{
    plan("--hosts 4 --capacity 8G,16G -S batch=8");
    show_setup(0);
    show_setup(1);
}

/* What none can be is refused: tests/snap/scale_refused.snap. */
TEST(what_some_hosts_cannot_be_is_a_row)
{
    plan("--hosts 1,2 -S tensor=2");
    show_setup(0);
    show_setup(1);
}

/* --- stored runs --- */

static const struct scale_result usual = {.end = SCALE_FITS,
                                          .op = OP_NONE,
                                          .step = SCALE_NO_STEP,
                                          .steps = 300,
                                          .peak_bytes = 10 * (uint64_t)GIBIBYTE,
                                          .image_bytes = 1000,
                                          .stack_bytes = 2000,
                                          .limit = "activations"};

static void plan_two(const char *options)
{
    char line[MESSAGE_BYTES];
    (void)snprintf(line, sizeof line, "--hosts 1,2 --chip v4 %s", options);
    plan(line);
    ck_assert_uint_eq(scale.row_count, 2);
    scale.rows[0].result = scale.rows[1].result = usual;
}

static void print_stored(struct writing *text)
{
    struct facts facts = {0};
    scale_tell_start(&scale, &facts);
    for (size_t i = 0; i < scale.row_count; i++) {
        scale_tell_row(&scale, &scale.rows[i], &facts);
    }
    scale_tell_end(&scale, EXIT_KEPT, &facts);
    writing_init(text);
    facts_print(&facts, FACTS_JSON, text);
    facts_deinit(&facts);
}

/* The caller deinitialises it. */
static enum exit_code read_bytes(const struct writing *bytes, size_t length, struct stored *stored)
{
    folder_write_bytes("stored", bytes->bytes, length);
    enum exit_code code;
    HEAR(code = stored_read(folder_path("stored"), &scale, stored));
    return code;
}

/* What changed since the run that was stored. */
static void show_changes(const struct writing *text)
{
    struct stored stored;
    struct writing changes = {0};
    ck_assert_int_eq(read_bytes(text, text->length, &stored), EXIT_KEPT);
    ck_assert_uint_eq(stored.row_count, 2);
    stored_compare(&stored, &scale);
    facts_print(&scale.changes, FACTS_WORDS, &changes);
    SHOW(scale.change_count, scale.alarm_count);
    show("%s", writing_string(&changes));
    writing_deinit(&changes);
    stored_deinit(&stored);
}

/* Stores the two rows, of which the second is that; then the second is the other one. */
static void compare(const char *options, struct scale_result before, struct scale_result after)
{
    struct writing text;
    plan_two(options);
    scale.rows[1].result = before;
    print_stored(&text);
    scale.rows[1].result = after;
    show_changes(&text);
    writing_deinit(&text);
}

/* The result that the second row has, but that it ran out in that step. */
static struct scale_result run_out(uint64_t step)
{
    struct scale_result result = usual;
    result.end = SCALE_NO_MEMORY;
    result.step = step;
    result.host = 1;
    result.op = 5;
    (void)snprintf(result.limit, sizeof result.limit, "leak logged_metrics");
    return result;
}

TEST(what_grew_or_stopped_to_fit_is_an_alarm)
{
    struct scale_result little = usual, grown = usual, shrunk = usual, programs = usual;
    const struct scale_result dead = {.end = SCALE_DIED, .op = 3, .why = "SIGSEGV"};
    little.peak_bytes += usual.peak_bytes / 100;
    grown.peak_bytes = little.peak_bytes + 2;
    shrunk.peak_bytes /= 2;
    shrunk.stack_bytes = 0;
    programs.image_bytes *= 2;
    programs.stack_bytes *= 3;
    compare("", usual, usual);
    compare("", usual, little);
    compare("", usual, grown);
    compare("--grew 2%", usual, grown);
    compare("--grew 0", usual, little);
    compare("", usual, shrunk);
    compare("", usual, programs);
    compare("", usual, run_out(17));
    compare("", usual, dead);
}

TEST(to_run_out_earlier_is_an_alarm_and_later_is_none)
{
    compare("", run_out(17), run_out(17));
    compare("", run_out(17), run_out(16));
    compare("", run_out(17), run_out(18));
}

TEST(rows_that_are_new_or_gone_are_told)
{
    struct writing text;
    plan_two("");
    print_stored(&text);
    plan("--hosts 2,4 --chip v4");
    scale.rows[0].result.end = SCALE_DIED;
    show_changes(&text);
    writing_deinit(&text);
}

TEST(a_file_of_another_job_is_refused)
{
    static const char *const others[] = {"--hosts 1,2 --chip v4 --seed 2",
                                         "--hosts 1,2 --chip v4 --until 9",
                                         "--hosts 1,2 --chip v5e", "slow_leak"};
    struct writing text;
    struct stored stored;
    plan_two("");
    print_stored(&text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        plan(others[i]);
        ck_assert_int_eq(read_bytes(&text, text.length, &stored), EXIT_USAGE);
        stored_deinit(&stored);
    }
    writing_deinit(&text);
}

/* Every prefix of a stored run, and every byte of it changed, is read or refused in one line. */
TEST(a_damaged_file_is_refused_in_one_line)
{
    static const char bytes[] = {'\0', '"', '9', '\n', '\\', '}', (char)0xff};
    struct writing text;
    struct stored stored;
    size_t refused_count = 0;
    plan_two("");
    print_stored(&text);
    for (size_t i = 0; i + 1 < text.length; i += 3) { /* the last newline may be missing */
        ck_assert_int_eq(read_bytes(&text, i, &stored), EXIT_USAGE);
        ck_assert_uint_eq(count_text(shown_take(), "\n"), 1);
        stored_deinit(&stored);
        const char before = text.bytes[i];
        text.bytes[i] = bytes[i / 3 % sizeof bytes];
        const enum exit_code code = read_bytes(&text, text.length, &stored);
        ck_assert(code == EXIT_KEPT || code == EXIT_USAGE);
        ck_assert_int_eq(code == EXIT_USAGE, shown_take()[0] != '\0');
        refused_count += code == EXIT_USAGE;
        stored_deinit(&stored);
        text.bytes[i] = before;
    }
    ck_assert_uint_gt(refused_count, text.length / 3 / 4);
    writing_deinit(&text);
}
