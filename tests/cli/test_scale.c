/* The rows of scale, what is read of a stored run, and what counts as an alarm.  What a run of it
 * prints: tests/snap/scale.snap, and scale_refused.snap. */
#include "cli/subcommands.h"
#include "ladder/scale/scale.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 1024, WORD_COUNT_MAX = 16, GIBIBYTE = 1 << 30 };

static struct scale scale;
static struct arguments arguments;
static struct scale_options given;
static const char *words[WORD_COUNT_MAX];
static char message[MESSAGE_BYTES];

/* Plans a ladder from the words of a command line, separated by blanks. */
static enum exit_code plan(const char *line)
{
    static char text[MESSAGE_BYTES];
    char *argv[WORD_COUNT_MAX];
    size_t count = 0;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        ck_assert_uint_lt(count, WORD_COUNT_MAX);
        argv[count++] = word;
    }
    scale = (struct scale){.options = &given};
    const int before = messages_begin();
    enum exit_code code = arguments_parse(&subcommand_scale, argv, count, words, &arguments);
    given = arguments_scaling(&arguments);
    code = code == EXIT_KEPT ? scale_plan(&scale) : code;
    messages_end(before, message, sizeof message);
    return code;
}

static void expect_rows(const char *line, const char *const *names)
{
    char name[SCALE_NAME_BYTES];
    ck_assert_int_eq(plan(line), EXIT_KEPT);
    size_t i = 0;
    for (; i < scale.row_count && names[i] != NULL; i++) {
        scale_name(&scale, &scale.rows[i].point, scale.axis_count, name);
        ck_assert_str_eq(name, names[i]);
    }
    ck_assert_uint_eq(i, scale.row_count);
    ck_assert_ptr_null(names[i]);
    scale_deinit(&scale);
}

EVERY_TEST(.timeout_s = 60);

TEST(rows_are_all_combinations_or_one_axis_at_a_time)
{
    static const char *const alone[] = {"hosts=1 chip=v4", "hosts=2 chip=v4", "hosts=4 chip=v4",
                                        "hosts=8 chip=v4", NULL};
    static const char *const all[] = {
        "hosts=1 chip=v4 batch=8",   "hosts=1 chip=v4 batch=16",  "hosts=1 chip=v5e batch=8",
        "hosts=1 chip=v5e batch=16", "hosts=2 chip=v4 batch=8",   "hosts=2 chip=v4 batch=16",
        "hosts=2 chip=v5e batch=8",  "hosts=2 chip=v5e batch=16", NULL};
    static const char *const one[] = {"hosts=1 chip=v4 batch=8", "hosts=1 chip=v4 batch=16",
                                      "hosts=1 chip=v5e batch=8", "hosts=2 chip=v4 batch=8", NULL};
    static const char *const fixed[] = {"hosts=1 capacity=8G leak=none", NULL};
    expect_rows("", alone);
    expect_rows("--hosts 1,2 --chip v4,v5e -S batch=8,16", all);
    expect_rows("training --hosts 1,2 --chip v4,v5e -S batch=8,16 --one-axis", one);
    expect_rows("--capacity 8G -S leak=none", fixed);
}

TEST(a_row_keeps_the_sizes_of_the_first_device)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    ck_assert_int_eq(plan("--hosts 4 --capacity 8G,16G -S batch=8"), EXIT_KEPT);
    ck_assert(scale_make_setup(&scale, &scale.rows[0].point, &setup, reason));
    ck_assert_uint_eq(setup.capacity_bytes, UINT64_C(8) << 30);
    ck_assert_uint_eq(setup.scenario_option_count, 1); /* the batch */
    ck_assert_uint_eq(setup.host_count, 4);
    ck_assert(scale_make_setup(&scale, &scale.rows[1].point, &setup, reason));
    ck_assert_uint_eq(setup.capacity_bytes, UINT64_C(16) << 30);
    ck_assert_uint_eq(setup.scenario_option_count, 2);
    ck_assert_str_eq(setup.scenario_options[1].key, "sized_for");
    ck_assert_str_eq(setup.scenario_options[1].value, "8388608");
    scale_deinit(&scale);
}

/* What none can be is refused: tests/snap/scale_refused.snap. */
TEST(what_some_hosts_cannot_be_is_a_row)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    ck_assert_int_eq(plan("--hosts 1,2 -S tensor=2"), EXIT_KEPT);
    ck_assert(!scale_make_setup(&scale, &scale.rows[0].point, &setup, reason));
    ck_assert_ptr_nonnull(strstr(reason, "no multiple"));
    ck_assert(scale_make_setup(&scale, &scale.rows[1].point, &setup, reason));
    scale_deinit(&scale);
}

/* --- stored runs --- */

/* Two rows as they were, and one that is another one now. */
static void plan_two(const char *options)
{
    char line[MESSAGE_BYTES];
    (void)snprintf(line, sizeof line, "--hosts 1,2 --chip v4 %s", options);
    ck_assert_int_eq(plan(line), EXIT_KEPT);
    ck_assert_uint_eq(scale.row_count, 2);
    for (size_t i = 0; i < 2; i++) {
        scale.rows[i].result = (struct scale_result){.end = SCALE_FITS,
                                                     .op = OP_NONE,
                                                     .step = SCALE_NO_STEP,
                                                     .steps = 300,
                                                     .peak_bytes = 10 * (uint64_t)GIBIBYTE,
                                                     .image_bytes = 1000,
                                                     .stack_bytes = 2000,
                                                     .limit = "activations"};
    }
}

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, length, stream), length);
    ck_assert_int_eq(fclose(stream), 0);
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

/* The words of what changed; valid until the next call. */
static const char *changes(void)
{
    static struct writing text;
    writing_clear(&text);
    facts_print(&scale.changes, FACTS_WORDS, &text);
    return writing_string(&text);
}

static enum exit_code read_bytes(const char *bytes, size_t length, struct stored *stored)
{
    char path[SCRATCH_PATH_BYTES];
    scratch_name(path, "scale");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    write_file(path, bytes, length);
    const int before = messages_begin();
    const enum exit_code code = stored_read(path, &scale, stored);
    messages_end(before, message, sizeof message);
    (void)unlink(path);
    return code;
}

/* Stores the two rows, makes of the second what change does, and compares. */
static void compare_after(void (*change)(struct scale_result *result), const char *options,
                          size_t change_count, size_t alarm_count, const char *told)
{
    struct writing text;
    struct stored stored;
    plan_two(options);
    print_stored(&text);
    ck_assert_int_eq(read_bytes(text.bytes, text.length, &stored), EXIT_KEPT);
    ck_assert_uint_eq(stored.row_count, 2);
    change(&scale.rows[1].result);
    stored_compare(&stored, &scale);
    ck_assert_msg(scale.change_count == change_count && scale.alarm_count == alarm_count,
                  "%zu changes, %zu alarms: %s", scale.change_count, scale.alarm_count, changes());
    ck_assert_msg(strstr(changes(), told) != NULL, "%s", changes());
    writing_deinit(&text);
    stored_deinit(&stored);
    scale_deinit(&scale);
}

static void keep(struct scale_result *result)
{
    (void)result;
}

static void grow_a_little(struct scale_result *result)
{
    result->peak_bytes += result->peak_bytes / 100;
}

static void grow(struct scale_result *result)
{
    result->peak_bytes += result->peak_bytes / 100 + 2;
}

static void shrink(struct scale_result *result)
{
    result->peak_bytes /= 2;
    result->stack_bytes = 0;
}

static void grow_programs(struct scale_result *result)
{
    result->image_bytes *= 2;
    result->stack_bytes *= 3;
}

static void run_out(struct scale_result *result)
{
    result->end = SCALE_NO_MEMORY;
    result->step = 17;
    result->host = 1;
    result->op = 5;
    (void)snprintf(result->limit, sizeof result->limit, "leak logged_metrics");
}

static void die(struct scale_result *result)
{
    *result = (struct scale_result){.end = SCALE_DIED, .op = 3, .why = "SIGSEGV"};
}

TEST(what_grew_or_stopped_to_fit_is_an_alarm)
{
    compare_after(keep, "", 0, 0, "");
    compare_after(grow_a_little, "", 1, 0, "hosts=2 chip=v4: peak grew by 102.40M, from 10.00G to");
    compare_after(grow, "", 1, 1, "ALARM  hosts=2 chip=v4: peak grew by");
    compare_after(grow, "--grew 2%", 1, 0, "peak grew by");
    compare_after(grow_a_little, "--grew 0", 1, 1, "ALARM  hosts=2 chip=v4: peak grew by");
    compare_after(shrink, "", 2, 0, "peak shrank by 5.00G, from 10.00G to 5.00G");
    compare_after(grow_programs, "", 2, 2, "largest program grew by 1000B, from 1000B to 2.0K");
    compare_after(run_out, "", 2, 1,
                  "ALARM  hosts=2 chip=v4: out of memory in step 17, before: fits");
    compare_after(run_out, "", 2, 1, "limited by leak logged_metrics, before by activations");
    compare_after(die, "", 1, 1, "crashed, before: fits");
}

/* Runs out in so many steps, before and after. */
static void compare_steps(uint64_t before, uint64_t after, size_t alarm_count)
{
    struct writing text;
    struct stored stored;
    plan_two("");
    run_out(&scale.rows[1].result);
    scale.rows[1].result.step = before;
    print_stored(&text);
    ck_assert_int_eq(read_bytes(text.bytes, text.length, &stored), EXIT_KEPT);
    scale.rows[1].result.step = after;
    stored_compare(&stored, &scale);
    ck_assert_uint_eq(scale.alarm_count, alarm_count);
    ck_assert_uint_eq(scale.change_count, before != after);
    writing_deinit(&text);
    stored_deinit(&stored);
    scale_deinit(&scale);
}

TEST(to_run_out_earlier_is_an_alarm_and_later_is_none)
{
    compare_steps(17, 17, 0);
    compare_steps(17, 16, 1);
    compare_steps(17, 18, 0);
}

TEST(rows_that_are_new_or_gone_are_told)
{
    struct writing text;
    struct stored stored;
    plan_two("");
    print_stored(&text);
    scale_deinit(&scale);
    ck_assert_int_eq(plan("--hosts 2,4 --chip v4"), EXIT_KEPT);
    ck_assert_int_eq(read_bytes(text.bytes, text.length, &stored), EXIT_KEPT);
    scale.rows[0].result.end = SCALE_DIED;
    stored_compare(&stored, &scale);
    ck_assert_ptr_nonnull(strstr(changes(), "hosts=4 chip=v4: new row"));
    ck_assert_ptr_nonnull(strstr(changes(), "hosts=1 chip=v4: not run now"));
    ck_assert_uint_eq(scale.change_count, 3);
    ck_assert_uint_eq(scale.alarm_count, 1);
    writing_deinit(&text);
    stored_deinit(&stored);
    scale_deinit(&scale);
}

TEST(a_file_of_another_job_is_refused)
{
    static const char *const others[][2] = {{"--hosts 1,2 --chip v4 --seed 2", "another seed"},
                                            {"--hosts 1,2 --chip v4 --until 9", "another length"},
                                            {"--hosts 1,2 --chip v5e", "none of its 2 rows"},
                                            {"slow_leak", "another scenario"}};
    struct writing text;
    struct stored stored;
    plan_two("");
    print_stored(&text);
    scale_deinit(&scale);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_int_eq(plan(others[i][0]), EXIT_KEPT);
        ck_assert_int_eq(read_bytes(text.bytes, text.length, &stored), EXIT_USAGE);
        ck_assert_msg(strstr(message, others[i][1]) != NULL, "%s", message);
        stored_deinit(&stored);
        scale_deinit(&scale);
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
        ck_assert_int_eq(read_bytes(text.bytes, i, &stored), EXIT_USAGE);
        ck_assert_ptr_eq(strchr(message, '\n'), message + strlen(message) - 1);
        stored_deinit(&stored);
        const char before = text.bytes[i];
        text.bytes[i] = bytes[i / 3 % sizeof bytes];
        const enum exit_code code = read_bytes(text.bytes, text.length, &stored);
        ck_assert(code == EXIT_KEPT || code == EXIT_USAGE);
        ck_assert_int_eq(code == EXIT_USAGE, message[0] != '\0');
        refused_count += code == EXIT_USAGE;
        stored_deinit(&stored);
        text.bytes[i] = before;
    }
    ck_assert_uint_gt(refused_count, text.length / 3 / 4);
    writing_deinit(&text);
    scale_deinit(&scale);
}
