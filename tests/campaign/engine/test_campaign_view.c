/* A campaign as it is shown: how far its parts are, what is said while it runs, on a terminal and
 * in a pipe, and the documents that are left in the end. */
#include "campaign/base/clock.h"
#include "campaign/engine/campaign_view.h"
#include "harness/run/probe.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_COUNT = 3, TEXT_BYTES = 1 << 14 };

static struct campaign_description description;
static struct checkpoint at;
static struct campaign_view view;

static void drop_view(void)
{
    campaign_view_deinit(&view);
    campaign_description_deinit(&description);
    checkpoint_deinit(&at);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing was left there */
}

/* The last part is the canary, if there is one. */
static void begin_view(bool has_canary)
{
    if (description.parts != NULL) {
        drop_view(); /* the one before */
    }
    static const char *const names[] = {"storm", "leak", "canary"};
    ck_assert_int_eq(unsetenv("COLUMNS"), 0);
    folder_enter("campaign_view");
    description = (struct campaign_description){
        .head = {.part_count = PART_COUNT, .shard_count = 1, .duration_ns = UINT64_MAX},
        .parts = calloc(PART_COUNT, sizeof *description.parts)};
    setup_init(&description.head.setup);
    description.head.has_canary = has_canary;
    for (size_t i = 0; i < PART_COUNT; i++) {
        struct campaign_part *part = &description.parts[i];
        strcpy(part->name, names[i]);
        setup_init(&part->setup);
        strcpy(part->setup.scenario, "slow_leak");
        part->op_count_max = part->trial_count_max = part->duration_ns = UINT64_MAX;
    }
    strcpy(description.parts[2].setup.target, "plant_overlap");
    at = (struct checkpoint){.parts = calloc(PART_COUNT, sizeof *at.parts)};
    campaign_view_init(&view, &description, folder);
}

static void end_view(void)
{
    snap_rest();
    drop_view();
}

static void begin_plain_view(void)
{
    begin_view(false);
}

EVERY_TEST(.setup = begin_plain_view, .teardown = end_view);

/* --- where it stands --- */

TEST(a_part_is_as_far_as_its_own_bound_says)
{
    static const struct {
        uint64_t trial_count_max, op_count_max, duration_ns;
    } rows[] = {{60, 900, 700},
                {UINT64_MAX, 900, 700},
                {UINT64_MAX, UINT64_MAX, 700},
                {UINT64_MAX, UINT64_MAX, UINT64_MAX},
                {UINT64_MAX, UINT64_MAX, UINT64_MAX}}; /* the time of the campaign */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_view(false);
        description.head.shard_count = 3;
        description.parts[1].trial_count_max = rows[i].trial_count_max;
        description.parts[1].op_count_max = rows[i].op_count_max;
        description.parts[1].duration_ns = rows[i].duration_ns;
        description.head.duration_ns = i == 4 ? 90 : UINT64_MAX;
        at.state.end.elapsed_ns = 33;
        at.parts[1].trials = 3;
        at.parts[1].progress.op_count = 44;
        at.parts[1].progress.is_finished = i == 2;
        at.parts[1].elapsed_ns = 55;
        at.parts[1].totals.ops = 66;
        at.parts[1].findings_only_counted = 77;
        const struct report_campaign report = campaign_view_report(&view, &at);
        const struct report_result *result = &report.results[1];
        ck_assert_ptr_null(report.canary);
        SHOW(report.result_count, result->done, result->due, result->is_finished, result->name,
             result->scenario);
        SHOW(result->trials, result->elapsed_ns, result->totals.ops, result->findings_only_counted);
    }
}

TEST(why_a_part_does_not_run_comes_before_why_it_ended)
{
    strcpy(at.parts[0].note, "e");
    strcpy(at.parts[1].note, "ended early");
    strcpy(description.parts[1].note, "skipped");
    const struct report_campaign report = campaign_view_report(&view, &at);
    SHOW(report.results[0].note, report.results[1].note, report.results[2].note);
}

TEST(a_canary_is_no_job)
{
    begin_view(true);
    at.state.canary_trials = 5;
    at.state.is_canary_reported = 1;
    const struct report_campaign report = campaign_view_report(&view, &at);
    SHOW(report.result_count, view.start.part_count, report.canary->target, report.canary->breaks,
         report.canary->trials, report.canary->is_reported);
}

TEST(the_time_that_is_left_does_not_fall_below_zero)
{
    static const struct {
        uint64_t duration_ns, elapsed_ns;
    } rows[] = {{UINT64_MAX, 5}, {10, 4}, {10, 10}, {10, 11}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_view(false);
        description.head.duration_ns = rows[i].duration_ns;
        at.state.end.elapsed_ns = rows[i].elapsed_ns;
        at.state.certificate_count = 8;
        const struct report_campaign report = campaign_view_report(&view, &at);
        SHOW(report.duration_left_ns, report.certificate_count, report.directory);
    }
}

TEST(the_start_says_what_the_description_does)
{
    ck_assert_ptr_null(view.start.seed_source);
    ck_assert_str_eq(view.start.subcommand, "run");
    campaign_view_deinit(&view);
    strcpy(description.head.seed_source, "c");
    description.head.replay_sample = 16;
    strcpy(description.parts[1].faults, "copy");
    description.parts[1].lanes.lane_count = 4;
    description.parts[1].op_count_max = 9;
    campaign_view_init(&view, &description, folder);
    const struct report_start *start = &view.start;
    SHOW(start->seed_source, start->replay_sample, start->duration_ns, start->part_count);
    SHOW(start->parts[1].name, start->parts[1].faults, start->parts[1].lanes.lane_count,
         start->parts[1].op_count_max);
}

TEST(required_probes_that_were_not_hit_are_named)
{
    ck_assert_ptr_null(campaign_view_missed_probes(&view, &at)); /* none is required */
    ck_assert_uint_eq(campaign_view_report(&view, &at).probe_count, 0);
    description.head.requires_probes = 1;
    for (unsigned i = 1; i + 1 < PROBE_COUNT; i++) {
        at.state.end.totals.probes[i] = i;
    }
    SHOW(campaign_view_missed_probes(&view, &at));
    at.state.end.totals.probes[0] = 1;
    SHOW(campaign_view_missed_probes(&view, &at), probe_info((enum probe)0)->name);
    const struct report_campaign report = campaign_view_report(&view, &at);
    ck_assert_uint_eq(report.probe_count, PROBE_COUNT);
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        ck_assert_str_eq(report.probes[i].name, probe_info((enum probe)i)->name);
        ck_assert_uint_eq(report.probes[i].count, at.state.end.totals.probes[i]);
    }
    at.state.end.totals.probes[PROBE_COUNT - 1] = 1;
    ck_assert_ptr_null(campaign_view_missed_probes(&view, &at));
}

/* --- while it runs --- */

TEST(in_a_pipe_there_is_a_line_a_minute)
{
    HEAR(campaign_view_show(&view, &at)); /* nobody wants to see it */
    HEAR(campaign_view_clear(&view));
    const uint64_t begin_ns = clock_now_ns();
    HEAR(campaign_view_watch(&view));
    HEAR(campaign_view_show(&view, &at));
    ck_assert_str_eq(shown_take(), "");
    ck_assert(!view.watch.is_terminal && !view.watch.has_colour);
    ck_assert_uint_ge(view.watch.next_ns, begin_ns + UINT64_C(60000000000));
    ck_assert_uint_lt(view.watch.next_ns, begin_ns + UINT64_C(120000000000));
    view.watch.next_ns = 0;
    HEAR(campaign_view_show(&view, &at));
    HEAR(campaign_view_show(&view, &at)); /* not due yet */
    HEAR(campaign_view_clear(&view));
    ck_assert_uint_eq(view.text.length, 0);
}

/* A terminal of that size in the place of standard output and standard error.  outer is its other
 * side; 0 columns: it does not say. */
static int outer, output, error;

static void enter_terminal(unsigned short rows, unsigned short columns)
{
    int inner;
    ck_assert_int_eq(setenv("TERM", "xterm", 1), 0);
    ck_assert_int_eq(unsetenv("NO_COLOR"), 0);
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    output = dup(STDOUT_FILENO);
    error = dup(STDERR_FILENO);
    ck_assert_int_eq(openpty(&outer, &inner, NULL, NULL, &size), 0);
    ck_assert_int_ge(dup2(inner, STDOUT_FILENO), 0);
    ck_assert_int_ge(dup2(inner, STDERR_FILENO), 0);
    close(inner);
}

static void leave_terminal(void)
{
    (void)dup2(error, STDERR_FILENO);
    (void)dup2(output, STDOUT_FILENO);
    close(error);
    close(output);
    close(outer);
}

TEST(the_table_has_the_size_of_the_terminal)
{
    /* clang-format off */
    static const struct {
        unsigned short rows, columns;
        const char *environment; /* COLUMNS */
    } rows[] = {
        {20, 100, NULL}, {5, 1, NULL}, {4, 100, NULL}, {43, 90, NULL}, {44, 90, NULL}, {60, 90, NULL},
        {20, 0, NULL}, {0, 0, NULL}, {20, 0, "132"}, {20, 100, "40"},
        /* A line of more columns would be wrapped. */
        {20, 100, "132"}, {20, 100, "0"}, {20, 100, "wide"}, {20, 100, "-40"}, {20, 100, ""}};
    /* clang-format on */
    SHOW(WATCH_WIDTH_DEFAULT, WATCH_JOB_COUNT_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_view(false);
        if (rows[i].environment != NULL) {
            ck_assert_int_eq(setenv("COLUMNS", rows[i].environment, 1), 0);
        }
        enter_terminal(rows[i].rows, rows[i].columns);
        campaign_view_watch(&view);
        leave_terminal();
        ck_assert(view.watch.is_terminal && view.watch.has_colour && view.is_watching);
        SHOW(rows[i].rows, rows[i].columns, rows[i].environment, view.watch.width,
             view.watch.job_count_max);
    }
}

TEST(both_outputs_must_be_the_terminal)
{
    for (int i = 0; i < 2; i++) {
        begin_view(false);
        enter_terminal(20, 100);
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, i == 0 ? STDOUT_FILENO : STDERR_FILENO);
        campaign_view_watch(&view);
        leave_terminal();
        close(null);
        ck_assert(!view.watch.is_terminal);
    }
}

TEST(a_terminal_whose_cursor_does_not_move_is_written_to_as_a_pipe)
{
    static const char *const terms[] = {"dumb", "", NULL};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        char text[TEXT_BYTES] = "";
        begin_view(false);
        enter_terminal(20, 40);
        ck_assert_int_eq(terms[i] == NULL ? unsetenv("TERM") : setenv("TERM", terms[i], 1), 0);
        campaign_view_watch(&view);
        const uint64_t next_ns = view.watch.next_ns;
        campaign_view_show(&view, &at); /* nothing for a minute */
        view.watch.next_ns = 0;
        campaign_view_show(&view, &at);
        campaign_view_clear(&view);
        const ssize_t bytes = read(outer, text, sizeof text - 1);
        leave_terminal();
        ck_assert_uint_gt(next_ns, 0);
        ck_assert(!view.watch.is_terminal && !view.watch.has_colour);
        ck_assert_int_gt(bytes, 40); /* one whole line */
        ck_assert_ptr_null(strchr(text, '\033'));
        ck_assert_ptr_eq(strchr(text, '\n'), text + bytes - 1);
    }
}

TEST(the_table_follows_the_size_of_the_terminal)
{
    static const struct winsize sizes[] = {
        {.ws_row = 20, .ws_col = 40}, {.ws_row = 6, .ws_col = 120}, {.ws_row = 50, .ws_col = 80}};
    enter_terminal(30, 100);
    campaign_view_watch(&view);
    campaign_view_show(&view, &at);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(ioctl(outer, TIOCSWINSZ, &sizes[i]), 0);
        view.watch.next_ns = 0;
        campaign_view_show(&view, &at);
        SHOW(sizes[i].ws_row, sizes[i].ws_col, view.watch.width, view.watch.job_count_max);
    }
    leave_terminal();
}

TEST(the_table_is_drawn_and_taken_away)
{
    char text[TEXT_BYTES];
    enter_terminal(20, 100);
    campaign_view_watch(&view);
    campaign_view_show(&view, &at);
    const unsigned drawn = view.watch.lines_drawn;
    const ssize_t drawn_bytes = read(outer, text, sizeof text - 1);
    campaign_view_clear(&view);
    const unsigned left = view.watch.lines_drawn;
    const ssize_t cleared_bytes = read(outer, text, sizeof text - 1);
    leave_terminal();
    ck_assert_uint_gt(drawn, PART_COUNT);
    ck_assert_int_gt(drawn_bytes, 100);
    ck_assert_uint_eq(left, 0);
    ck_assert_int_gt(cleared_bytes, 0);
}

/* --- in the end --- */

TEST(documents_are_written_and_removed_together)
{
    struct writing text;
    writing_init(&text);
    writing_append(&text, "words");
    ck_assert(campaign_view_put(&view, "summary.json", &text));
    ck_assert(campaign_view_put(&view, "junit.xml", &text));
    ck_assert_str_eq(folder_read("junit.xml"), "words");
    ck_assert(campaign_view_forget(folder));
    ck_assert(!folder_has("summary.json") && !folder_has("junit.xml"));
    ck_assert(campaign_view_forget(folder)); /* there is none */

    /* One that cannot be written takes the others with it; one that cannot be removed is told. */
    ck_assert(campaign_view_put(&view, "summary.json", &text));
    ck_assert(campaign_view_put(&view, "results.sarif", &text));
    ck_assert_int_eq(mkdir(folder_path("junit.xml"), 0700), 0);
    bool is_done;
    HEAR(is_done = campaign_view_put(&view, "junit.xml", &text));
    ck_assert(!is_done && !folder_has("summary.json") && !folder_has("results.sarif"));
    HEAR(is_done = campaign_view_forget(folder));
    ck_assert(!is_done);
    ck_assert_int_eq(rmdir(folder_path("junit.xml")), 0);
    writing_deinit(&text);
}
