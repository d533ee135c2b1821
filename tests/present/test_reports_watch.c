/* What a campaign shows while it runs: it never leaves its place on the screen, and never acts on a
 * pipe. */
#include "present/amount.h"
#include "present/screen.h"
#include "present/watch.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH_MIN = 20, WIDTH_MAX = 200, JOB_COUNT = 60 };
#define SECOND UINT64_C(1000000000)

static struct writing text;
static struct watch watch;

static void release_text(void)
{
    writing_deinit(&text);
}

static void start_watch(bool is_terminal, bool has_colour, unsigned width)
{
    watch_init(&watch, is_terminal, has_colour);
    watch_resize(&watch, width, 0);
}

static const char *draw_campaign(const struct report_campaign *campaign)
{
    writing_clear(&text);
    watch_print(&watch, campaign, SECOND, &text);
    return writing_string(&text);
}

static const char *draw_number(unsigned number)
{
    return draw_campaign(&campaign_get(number)->campaign);
}

/* The bytes of the escape sequence at string; 0 = there is none. */
static size_t escape_length(const char *string)
{
    if (string[0] != '\033') {
        return 0;
    }
    ck_assert_int_eq(string[1], '[');
    size_t length = 2 + strspn(string + 2, "0123456789;");
    ck_assert_ptr_nonnull(strchr("AKJm", string[length]));
    return length + 1;
}

/* What the screen shows, without escape sequences. */
static void expect_no_line_above(const char *drawn, unsigned width, unsigned lines_wanted)
{
    unsigned columns = 0, lines = 0;
    for (size_t i = 0; drawn[i] != '\0';) {
        size_t escape = escape_length(drawn + i), length = 1;
        const unsigned char byte = (unsigned char)drawn[i];
        if (escape == 0 && byte == '\n') {
            columns = 0;
            lines++;
        } else if (escape == 0 && byte != '\r') {
            ck_assert_msg(byte >= 0x20 && byte != 0x7f, "byte %02x", byte);
            columns += (unsigned)text_character_width(drawn + i, &length);
        }
        ck_assert_msg(columns <= width, "line %u is wider than %u in\n%.3000s", lines, width,
                      drawn);
        i += escape == 0 ? length : escape;
    }
    ck_assert_uint_eq(lines, lines_wanted);
    ck_assert_uint_eq(columns, 0);
}

static unsigned count_of(const char *string, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(string, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

EVERY_TEST(.teardown = release_text);

TEST(no_line_is_wider_than_the_terminal)
{
    for (unsigned width = 1; width <= WIDTH_MAX; width += width < WIDTH_MIN ? 6 : 1) {
        for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
            start_watch(true, width % 2 == 0, width);
            const char *drawn = draw_number(i);
            expect_no_line_above(drawn, width,
                                 (unsigned)campaign_get(i)->campaign.result_count + 2);
        }
    }
}

TEST(a_wide_terminal_shows_every_column)
{
    start_watch(true, false, 120);
    snap(draw_number(2));
}

TEST(a_narrow_terminal_leaves_columns_out_and_cuts_no_number)
{
    static const unsigned widths[] = {76, 70, 69, 60, 50, 40, 30, 21, 13};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        start_watch(true, false, widths[i]);
        snap_lines(draw_number(2), "job  |storm");
    }
}

static const char *draw_names(unsigned width, const char *const *job_names, size_t count)
{
    static struct report_result results[4];
    static const struct report_end end = {.elapsed_ns = SECOND};
    const struct report_campaign campaign = {
        .results = results, .result_count = count, .end = &end, .duration_left_ns = 9 * SECOND};
    for (size_t i = 0; i < count; i++) {
        results[i] = (struct report_result){
            .name = job_names[i], .trials = 1, .finding_count = 7, .done = 1, .due = 10};
    }
    start_watch(true, false, width);
    return draw_campaign(&campaign);
}

TEST(names_that_begin_alike_are_told_apart)
{
    static const unsigned widths[] = {120, 80, 50, 40};
    static const char *const alike[] = {"recompilation_churn", "recompilation_churn_faults"};
    static const char *const middle[] = {"fragmentation_storm_a_and_its_faults",
                                         "fragmentation_storm_b_and_its_faults"};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        snap(draw_names(widths[i], alike, 2));
        snap(draw_names(widths[i], middle, 2));
    }
}

TEST(hostile_names_keep_the_columns_aligned)
{
    static const char *const hostile[] = {"<script>alert(1)</script>\"'&", "\033[2J\r\n\x9b",
                                          "\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97",
                                          "e\xcc\x81\xcc\xb2\xe2\x80\x8d"};
    snap(draw_names(120, hostile, 4));
    for (unsigned width = 13; width < 100; width++) {
        draw_names(width, hostile, 4);
        for (unsigned line = 1; line < 5; line++) {
            ck_assert_msg(watch.line_widths[line] == watch.line_widths[0], "line %u at %u: %u",
                          line, width, watch.line_widths[line]);
        }
    }
}

TEST(a_terminal_that_became_narrower_has_wrapped_what_was_drawn)
{
    start_watch(true, false, 120);
    draw_number(2); /* five lines of 75 columns, one of 119 */
    watch_resize(&watch, 60, 0);
    const char *drawn = draw_number(2);
    ck_assert_msg(strncmp(drawn, "\033[12A\r", 6) == 0, "%s", drawn + 1);
    expect_no_line_above(drawn, 59, 6);
    watch_resize(&watch, 200, 0);
    ck_assert_int_eq(strncmp(draw_number(2), "\033[6A\r", 5), 0);
    watch_resize(&watch, 200, 5);
    drawn = draw_number(2);
    snap(drawn);
    expect_no_line_above(drawn, 199, 4);
}

TEST(a_redraw_begins_where_the_last_one_began)
{
    char up[16];
    start_watch(true, false, 80);
    ck_assert_uint_eq(count_of(draw_number(2), "A\r"), 0);
    ck_assert_uint_eq(watch.lines_drawn, 6);
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        snprintf(up, sizeof up, "\033[%uA\r", watch.lines_drawn);
        const char *drawn = draw_number(i);
        ck_assert_int_eq(strncmp(drawn, up, strlen(up)), 0);
        ck_assert_uint_eq(watch.lines_drawn, count_of(drawn, "\n"));
        ck_assert_str_eq(drawn + strlen(drawn) - 3, "\033[J");
    }
}

TEST(a_cleared_table_is_gone_and_drawn_anew)
{
    start_watch(true, false, 80);
    draw_number(2);
    ck_assert(!watch_is_due(&watch, SECOND));
    writing_clear(&text);
    watch_clear(&watch, &text);
    ck_assert_str_eq(writing_string(&text), "\033[6A\r\033[J");
    ck_assert(watch_is_due(&watch, SECOND));
    writing_clear(&text);
    watch_clear(&watch, &text);
    ck_assert_uint_eq(text.length, 0);
    ck_assert_uint_eq(count_of(draw_number(2), "A\r"), 0);
}

TEST(a_pipe_gets_plain_lines)
{
    start_watch(false, true, 20);
    ck_assert(!watch.has_colour);
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        const char *line = draw_number(i);
        ck_assert_ptr_null(strchr(line, '\033'));
        ck_assert_ptr_null(strchr(line, '\r'));
        ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    }
    snap(draw_number(2));
    writing_clear(&text);
    watch_clear(&watch, &text);
    ck_assert_uint_eq(text.length, 0);
}

TEST(colours_are_only_where_they_are_wanted)
{
    start_watch(true, false, 120);
    ck_assert_ptr_null(strstr(draw_number(2), "\033[3"));
    ck_assert_ptr_null(strstr(writing_string(&text), "\033[0m"));
    start_watch(true, true, 120);
    snap(draw_number(2));
    snap(draw_number(1));
}

TEST(names_cannot_act_on_the_terminal)
{
    start_watch(true, false, 200);
    snap(draw_number(3));
    static const char name[] = "\xc3\xa9\xe4\xb8\xad\xcc\x81z";
    const struct report_result result = {.name = name};
    const struct report_campaign campaign = {.results = &result,
                                             .result_count = 1,
                                             .end = campaign_get(0)->campaign.end,
                                             .duration_left_ns = UINT64_MAX};
    snap(draw_campaign(&campaign));
}

static struct report_result jobs[JOB_COUNT];
static char names[JOB_COUNT][8];

static struct report_campaign many_jobs(const struct report_end *end)
{
    for (int i = 0; i < JOB_COUNT; i++) {
        snprintf(names[i], sizeof names[i], "job%02d", i);
        jobs[i] = (struct report_result){
            .name = names[i], .trials = 1, .is_finished = i < 45, .done = 1, .due = 1};
    }
    jobs[44].finding_count = 1;
    return (struct report_campaign){
        .results = jobs, .result_count = JOB_COUNT, .end = end, .duration_left_ns = UINT64_MAX};
}

TEST(jobs_without_a_line_are_summed_in_one)
{
    const struct report_end end = {.elapsed_ns = 60 * SECOND};
    const struct report_campaign campaign = many_jobs(&end);
    start_watch(true, false, 120);
    const char *drawn = draw_campaign(&campaign);
    expect_no_line_above(drawn, 120, WATCH_JOB_COUNT_MAX + 3);
    snap(drawn);
    watch.job_count_max = 2;
    drawn = draw_campaign(&campaign);
    expect_no_line_above(drawn, 120, 5);
    snap(drawn);
}

TEST(a_job_that_nothing_bounds_moves_a_mark_with_each_trial)
{
    const struct report_end end = {.elapsed_ns = SECOND};
    struct report_result result = {.name = "free", .trials = 3};
    const struct report_campaign campaign = {
        .results = &result, .result_count = 1, .end = &end, .duration_left_ns = UINT64_MAX};
    start_watch(true, false, 120);
    snap_lines(draw_campaign(&campaign), "free");
    result.trials = 14;
    snap_lines(draw_campaign(&campaign), "free");
}

TEST(time_left_is_estimated_where_no_bound_says_it)
{
    const struct report_end end = {.elapsed_ns = 60 * SECOND};
    struct report_result results[2] = {{.name = "half", .done = 1, .due = 2},
                                       {.name = "tenth", .done = 1, .due = 10}};
    struct report_campaign campaign = {
        .results = results, .result_count = 2, .end = &end, .duration_left_ns = UINT64_MAX};
    start_watch(true, false, 120);
    snap(draw_campaign(&campaign));
    campaign.duration_left_ns = 100 * SECOND;
    snap(draw_campaign(&campaign));
    campaign.duration_left_ns = UINT64_MAX;
    results[1].done = 0;
    snap(draw_campaign(&campaign));
    results[0].is_finished = results[1].is_finished = true;
    snap(draw_campaign(&campaign));
}

TEST(a_terminal_is_drawn_four_times_a_second_and_a_pipe_each_minute)
{
    start_watch(true, false, 80);
    ck_assert(watch_is_due(&watch, 0));
    draw_number(0);
    ck_assert(!watch_is_due(&watch, SECOND + SECOND / 4 - 1));
    ck_assert(watch_is_due(&watch, SECOND + SECOND / 4));
    start_watch(false, false, 80);
    draw_number(0);
    ck_assert(!watch_is_due(&watch, 61 * SECOND - 1));
    ck_assert(watch_is_due(&watch, 61 * SECOND));
}

TEST(colours_need_a_terminal_that_knows_them_and_nobody_who_minds)
{
    static const char *const terminals[] = {"xterm-256color", "xterm", "dumb", "", NULL};
    static const char *const refusals[] = {NULL, "", "0"}; /* NO_COLOR */
    writing_clear(&text);
    for (size_t i = 0; i < 5; i++) {
        const char *name = terminals[i];
        writing_append_format(&text, "%s:%s", name == NULL ? "none" : name,
                              screen_wants_cursor(true, name) ? " cursor" : "");
        for (size_t j = 0; j < 3; j++) {
            const bool is_wanted = screen_wants_colour(true, refusals[j], name);
            writing_append_format(&text, " %s", is_wanted ? "colour" : "plain");
        }
        writing_append(&text, "\n");
        ck_assert(!screen_wants_colour(false, NULL, name) && !screen_wants_cursor(false, name));
    }
    snap(writing_string(&text));
}

TEST(amounts_are_short_and_never_rounded_up)
{
    static const uint64_t counts[] = {0,       99999,    100000,    126649,     999999,
                                      1000000, 91200000, 999999999, 1000000000, UINT64_MAX};
    static const uint64_t durations_s[] = {0, 119, 120, 7199, 7200, 172799, 172800};
    char amount[AMOUNT_TEXT_BYTES];
    writing_clear(&text);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        amount_print_count(counts[i], amount);
        writing_append_format(&text, "%" PRIu64 ": %s\n", counts[i], amount);
    }
    for (size_t i = 0; i < sizeof durations_s / sizeof *durations_s; i++) {
        amount_print_duration(durations_s[i] * SECOND + SECOND - 1, amount);
        writing_append_format(&text, "%" PRIu64 " s: %s\n", durations_s[i], amount);
    }
    snap(writing_string(&text));
    ck_assert_uint_eq(amount_scale(UINT64_MAX, 3, 4), UINT64_MAX / 4 * 3 + 2);
    ck_assert_uint_eq(amount_scale(UINT64_MAX, 4, 3), UINT64_MAX);
    ck_assert_uint_eq(amount_scale(10, 0, 7), 0);
}
