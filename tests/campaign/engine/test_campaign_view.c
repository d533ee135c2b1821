/* A campaign as it is shown: how far its parts are, what is said while it runs, on a terminal and
 * in a pipe, and the documents that are left in the end. */
#include "campaign/base/clock.h"
#include "campaign/engine/campaign_view.h"
#include "harness/run/probe.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_COUNT = 3, PATH_BYTES = SCRATCH_PATH_BYTES + 32, TEXT_BYTES = 1 << 14 };

static char directory[SCRATCH_PATH_BYTES];
static struct campaign_description description;
static struct checkpoint at;
static struct campaign_view view;

/* The last part is the canary, if there is one. */
static void begin_view(bool has_canary)
{
    static const char *const names[] = {"storm", "leak", "canary"};
    ck_assert_int_eq(unsetenv("COLUMNS"), 0);
    scratch_name(directory, "campaign_view");
    ck_assert_ptr_nonnull(mkdtemp(directory));
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
    campaign_view_init(&view, &description, directory);
}

static void end_view(void)
{
    campaign_view_deinit(&view);
    campaign_description_deinit(&description);
    checkpoint_deinit(&at);
    ck_assert_int_eq(rmdir(directory), 0); /* nothing was left there */
}

/* --- where it stands --- */

TEST(a_part_is_as_far_as_its_own_bound_says)
{
    static const struct {
        uint64_t trial_count_max, op_count_max, duration_ns, done, due;
    } rows[] = {{60, 900, 700, 3, 20},
                {UINT64_MAX, 900, 700, 44, 300},
                {UINT64_MAX, UINT64_MAX, 700, 55, 700},
                {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0},
                {UINT64_MAX, UINT64_MAX, UINT64_MAX, 33, 90}}; /* the time of the campaign */
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
        ck_assert_uint_eq(report.result_count, PART_COUNT);
        const struct report_result *result = &report.results[1];
        ck_assert_uint_eq(result->done, rows[i].done);
        ck_assert_uint_eq(result->due, rows[i].due);
        ck_assert_int_eq(result->is_finished, i == 2);
        ck_assert_str_eq(result->name, "leak");
        ck_assert_str_eq(result->scenario, "slow_leak");
        ck_assert_uint_eq(result->trials, 3);
        ck_assert_uint_eq(result->elapsed_ns, 55);
        ck_assert_uint_eq(result->totals.ops, 66);
        ck_assert_uint_eq(result->findings_only_counted, 77);
        ck_assert_ptr_null(report.canary);
        end_view();
    }
}

TEST(why_a_part_does_not_run_comes_before_why_it_ended)
{
    begin_view(false);
    strcpy(at.parts[0].note, "e");
    strcpy(at.parts[1].note, "ended early");
    strcpy(description.parts[1].note, "skipped");
    const struct report_campaign report = campaign_view_report(&view, &at);
    ck_assert_str_eq(report.results[0].note, "e");
    ck_assert_str_eq(report.results[1].note, "skipped");
    ck_assert_ptr_null(report.results[2].note);
    end_view();
}

TEST(a_canary_is_no_job)
{
    begin_view(true);
    at.state.canary_trials = 5;
    at.state.is_canary_reported = 1;
    const struct report_campaign report = campaign_view_report(&view, &at);
    ck_assert_uint_eq(report.result_count, 2);
    ck_assert_uint_eq(view.start.part_count, 2);
    ck_assert_str_eq(report.canary->target, "plant_overlap");
    ck_assert_str_eq(report.canary->breaks, "overlap");
    ck_assert_uint_eq(report.canary->trials, 5);
    ck_assert(report.canary->is_reported);
    end_view();
}

TEST(the_time_that_is_left_does_not_fall_below_zero)
{
    static const struct {
        uint64_t duration_ns, elapsed_ns, left_ns;
    } rows[] = {{UINT64_MAX, 5, UINT64_MAX}, {10, 4, 6}, {10, 10, 0}, {10, 11, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_view(false);
        description.head.duration_ns = rows[i].duration_ns;
        at.state.end.elapsed_ns = rows[i].elapsed_ns;
        at.state.certificate_count = 8;
        const struct report_campaign report = campaign_view_report(&view, &at);
        ck_assert_uint_eq(report.duration_left_ns, rows[i].left_ns);
        ck_assert_uint_eq(report.certificate_count, 8);
        ck_assert_str_eq(report.directory, directory);
        end_view();
    }
}

TEST(the_start_says_what_the_description_does)
{
    begin_view(false);
    ck_assert_ptr_null(view.start.seed_source);
    ck_assert_str_eq(view.start.subcommand, "run");
    campaign_view_deinit(&view);
    strcpy(description.head.seed_source, "c");
    description.head.replay_sample = 16;
    strcpy(description.parts[1].faults, "copy");
    description.parts[1].lanes.lane_count = 4;
    description.parts[1].op_count_max = 9;
    campaign_view_init(&view, &description, directory);
    const struct report_start *start = &view.start;
    ck_assert_str_eq(start->seed_source, "c");
    ck_assert_uint_eq(start->replay_sample, 16);
    ck_assert_uint_eq(start->duration_ns, UINT64_MAX);
    ck_assert_uint_eq(start->part_count, PART_COUNT);
    ck_assert_str_eq(start->parts[1].name, "leak");
    ck_assert_str_eq(start->parts[1].faults, "copy");
    ck_assert_uint_eq(start->parts[1].lanes.lane_count, 4);
    ck_assert_uint_eq(start->parts[1].op_count_max, 9);
    end_view();
}

TEST(required_probes_that_were_not_hit_are_named)
{
    begin_view(false);
    ck_assert_ptr_null(campaign_view_missed_probes(&view, &at)); /* none is required */
    ck_assert_uint_eq(campaign_view_report(&view, &at).probe_count, 0);
    description.head.requires_probes = 1;
    for (unsigned i = 1; i + 1 < PROBE_COUNT; i++) {
        at.state.end.totals.probes[i] = i;
    }
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "%s, %s", probe_info((enum probe)0)->name,
                   probe_info((enum probe)(PROBE_COUNT - 1))->name);
    ck_assert_str_eq(campaign_view_missed_probes(&view, &at), wanted);
    at.state.end.totals.probes[0] = 1;
    ck_assert_str_eq(campaign_view_missed_probes(&view, &at),
                     probe_info((enum probe)(PROBE_COUNT - 1))->name);
    const struct report_campaign report = campaign_view_report(&view, &at);
    ck_assert_uint_eq(report.probe_count, PROBE_COUNT);
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        ck_assert_str_eq(report.probes[i].name, probe_info((enum probe)i)->name);
        ck_assert_uint_eq(report.probes[i].count, at.state.end.totals.probes[i]);
    }
    at.state.end.totals.probes[PROBE_COUNT - 1] = 1;
    ck_assert_ptr_null(campaign_view_missed_probes(&view, &at));
    end_view();
}

/* --- while it runs --- */

TEST(in_a_pipe_there_is_a_line_a_minute)
{
    char text[TEXT_BYTES];
    begin_view(false);
    int before = messages_begin();
    campaign_view_show(&view, &at); /* nobody wants to see it */
    campaign_view_clear(&view);
    const uint64_t begin_ns = clock_now_ns();
    campaign_view_watch(&view);
    campaign_view_show(&view, &at);
    messages_end(before, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert(!view.watch.is_terminal && !view.watch.has_colour);
    ck_assert_uint_ge(view.watch.next_ns, begin_ns + UINT64_C(60000000000));
    ck_assert_uint_lt(view.watch.next_ns, begin_ns + UINT64_C(120000000000));
    view.watch.next_ns = 0;
    before = messages_begin();
    campaign_view_show(&view, &at);
    campaign_view_show(&view, &at); /* not due yet */
    campaign_view_clear(&view);
    messages_end(before, text, sizeof text);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_uint_eq(view.text.length, 0);
    end_view();
}

/* A terminal of that size in the place of standard output and standard error.  Returns its other
 * side; 0 columns: it does not say. */
static int enter_terminal(unsigned short rows, unsigned short columns)
{
    int outer, inner;
    ck_assert_int_eq(setenv("TERM", "xterm", 1), 0);
    ck_assert_int_eq(unsetenv("NO_COLOR"), 0);
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    ck_assert_int_eq(openpty(&outer, &inner, NULL, NULL, &size), 0);
    ck_assert_int_ge(dup2(inner, STDOUT_FILENO), 0);
    ck_assert_int_ge(dup2(inner, STDERR_FILENO), 0);
    close(inner);
    return outer;
}

TEST(the_table_has_the_size_of_the_terminal)
{
    static const struct {
        unsigned short rows, columns;
        unsigned width, job_count_max;
        const char *environment; /* COLUMNS */
    } rows[] = {{20, 100, 100, 16, NULL},
                {5, 1, 1, 1, NULL},
                {4, 100, 100, 1, NULL},
                {43, 90, 90, 39, NULL},
                {44, 90, 90, 40, NULL},
                {60, 90, 90, 40, NULL},
                {20, 0, WATCH_WIDTH_DEFAULT, 16, NULL},
                {0, 0, WATCH_WIDTH_DEFAULT, WATCH_JOB_COUNT_MAX, NULL},
                {20, 0, 132, 16, "132"},
                {20, 100, 40, 16, "40"},
                {20, 100, 100, 16, "132"}, /* a line of more columns would be wrapped */
                {20, 100, 100, 16, "0"},
                {20, 100, 100, 16, "wide"},
                {20, 100, 100, 16, "-40"},
                {20, 100, 100, 16, ""}};
    const int output = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_view(false);
        if (rows[i].environment != NULL) {
            ck_assert_int_eq(setenv("COLUMNS", rows[i].environment, 1), 0);
        }
        const int outer = enter_terminal(rows[i].rows, rows[i].columns);
        campaign_view_watch(&view);
        (void)dup2(error, STDERR_FILENO);
        (void)dup2(output, STDOUT_FILENO);
        close(outer);
        ck_assert(view.watch.is_terminal && view.watch.has_colour && view.is_watching);
        ck_assert_msg(view.watch.width == rows[i].width, "row %zu: %u", i, view.watch.width);
        ck_assert_msg(view.watch.job_count_max == rows[i].job_count_max, "row %zu: %u", i,
                      view.watch.job_count_max);
        end_view();
    }
}

TEST(both_outputs_must_be_the_terminal)
{
    const int output = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    for (int i = 0; i < 2; i++) {
        begin_view(false);
        const int outer = enter_terminal(20, 100);
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, i == 0 ? STDOUT_FILENO : STDERR_FILENO);
        campaign_view_watch(&view);
        (void)dup2(error, STDERR_FILENO);
        (void)dup2(output, STDOUT_FILENO);
        close(outer);
        close(null);
        ck_assert(!view.watch.is_terminal);
        end_view();
    }
}

TEST(a_terminal_whose_cursor_does_not_move_is_written_to_as_a_pipe)
{
    static const char *const terms[] = {"dumb", "", NULL};
    const int output = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        char text[TEXT_BYTES] = "";
        begin_view(false);
        const int outer = enter_terminal(20, 40);
        ck_assert_int_eq(terms[i] == NULL ? unsetenv("TERM") : setenv("TERM", terms[i], 1), 0);
        campaign_view_watch(&view);
        const uint64_t next_ns = view.watch.next_ns;
        campaign_view_show(&view, &at); /* nothing for a minute */
        view.watch.next_ns = 0;
        campaign_view_show(&view, &at);
        campaign_view_clear(&view);
        const ssize_t bytes = read(outer, text, sizeof text - 1);
        (void)dup2(error, STDERR_FILENO);
        (void)dup2(output, STDOUT_FILENO);
        close(outer);
        ck_assert_uint_gt(next_ns, 0);
        ck_assert(!view.watch.is_terminal && !view.watch.has_colour);
        ck_assert_int_gt(bytes, 40); /* one whole line */
        ck_assert_ptr_null(strchr(text, '\033'));
        ck_assert_ptr_eq(strchr(text, '\n'), text + bytes - 1);
        end_view();
    }
}

TEST(the_table_follows_the_size_of_the_terminal)
{
    static const struct winsize sizes[] = {
        {.ws_row = 20, .ws_col = 40}, {.ws_row = 6, .ws_col = 120}, {.ws_row = 50, .ws_col = 80}};
    static const unsigned job_counts[] = {16, 2, 40};
    const int output = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    begin_view(false);
    const int outer = enter_terminal(30, 100);
    campaign_view_watch(&view);
    campaign_view_show(&view, &at);
    unsigned widths[3], jobs[3];
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(ioctl(outer, TIOCSWINSZ, &sizes[i]), 0);
        view.watch.next_ns = 0;
        campaign_view_show(&view, &at);
        widths[i] = view.watch.width;
        jobs[i] = view.watch.job_count_max;
    }
    (void)dup2(error, STDERR_FILENO);
    (void)dup2(output, STDOUT_FILENO);
    close(outer);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(widths[i], sizes[i].ws_col);
        ck_assert_uint_eq(jobs[i], job_counts[i]);
    }
    end_view();
}

TEST(the_table_is_drawn_and_taken_away)
{
    char text[TEXT_BYTES];
    const int output = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    begin_view(false);
    const int outer = enter_terminal(20, 100);
    campaign_view_watch(&view);
    campaign_view_show(&view, &at);
    const unsigned drawn = view.watch.lines_drawn;
    const ssize_t drawn_bytes = read(outer, text, sizeof text - 1);
    campaign_view_clear(&view);
    const unsigned left = view.watch.lines_drawn;
    const ssize_t cleared_bytes = read(outer, text, sizeof text - 1);
    (void)dup2(error, STDERR_FILENO);
    (void)dup2(output, STDOUT_FILENO);
    close(outer);
    ck_assert_uint_gt(drawn, PART_COUNT);
    ck_assert_int_gt(drawn_bytes, 100);
    ck_assert_uint_eq(left, 0);
    ck_assert_int_gt(cleared_bytes, 0);
    end_view();
}

/* --- in the end --- */

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

TEST(documents_are_written_and_removed_together)
{
    struct writing text;
    char said[TEXT_BYTES], wanted[TEXT_BYTES];
    begin_view(false);
    writing_init(&text);
    writing_append(&text, "words");
    ck_assert(campaign_view_put(&view, "summary.json", &text));
    ck_assert(campaign_view_put(&view, "junit.xml", &text));
    struct stat status;
    ck_assert_int_eq(stat(path_of("junit.xml"), &status), 0);
    ck_assert_int_eq(status.st_size, 5);
    ck_assert(campaign_view_forget(directory));
    ck_assert_int_ne(access(path_of("summary.json"), F_OK), 0);
    ck_assert_int_ne(access(path_of("junit.xml"), F_OK), 0);
    ck_assert(campaign_view_forget(directory)); /* there is none */

    /* One that cannot be written takes the others with it; one that cannot be removed is told. */
    ck_assert(campaign_view_put(&view, "summary.json", &text));
    ck_assert(campaign_view_put(&view, "results.sarif", &text));
    ck_assert_int_eq(mkdir(path_of("junit.xml"), 0700), 0);
    const int before = messages_begin();
    ck_assert(!campaign_view_put(&view, "junit.xml", &text));
    messages_end(before, said, sizeof said);
    (void)snprintf(wanted, sizeof wanted,
                   "hbmstress: %s: Is a directory\nhbmstress: %s: Is a directory\n",
                   path_of("junit.xml"), path_of("junit.xml"));
    ck_assert_str_eq(said, wanted);
    ck_assert_int_ne(access(path_of("summary.json"), F_OK), 0);
    ck_assert_int_ne(access(path_of("results.sarif"), F_OK), 0);
    const int again = messages_begin();
    ck_assert(!campaign_view_forget(directory));
    messages_end(again, said, sizeof said);
    ck_assert_int_eq(rmdir(path_of("junit.xml")), 0);
    writing_deinit(&text);
    end_view();
}
