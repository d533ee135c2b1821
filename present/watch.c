#include "present/watch.h"

#include "harness/base/check.h"
#include "present/amount.h"
#include "present/job_table.h"
#include "present/terminal.h"
#include "present/time_left.h"

#include <string.h>

#define TERMINAL_INTERVAL_NS UINT64_C(250000000)
#define PIPE_INTERVAL_NS UINT64_C(60000000000)
static const char erase_below_sequence[] = "\033[J";

/* Lines of the table that are not a job's, and the one of the cursor. */
enum { LINES_BESIDE_JOBS = WATCH_LINE_COUNT_MAX - WATCH_JOB_COUNT_MAX + 1 };

void watch_init(struct watch *watch, bool is_terminal, bool has_colour)
{
    *watch = (struct watch){.is_terminal = is_terminal,
                            .has_colour = is_terminal && has_colour,
                            .width = WATCH_WIDTH_DEFAULT,
                            .job_count_max = WATCH_JOB_COUNT_MAX};
}

void watch_resize(struct watch *watch, unsigned width, unsigned height)
{
    const unsigned least = LINES_BESIDE_JOBS + 1;
    const bool is_short = height > 0 && height < LINES_BESIDE_JOBS + WATCH_JOB_COUNT_MAX;
    watch->width = width == 0 ? WATCH_WIDTH_DEFAULT : width;
    watch->job_count_max = !is_short        ? WATCH_JOB_COUNT_MAX
                           : height < least ? 1
                                            : height - LINES_BESIDE_JOBS;
}

bool watch_is_due(const struct watch *watch, uint64_t now_ns)
{
    return now_ns >= watch->next_ns;
}

static size_t count_finished(const struct report_campaign *campaign)
{
    size_t count = 0;
    for (size_t i = 0; i < campaign->result_count; i++) {
        count += campaign->results[i].is_finished;
    }
    return count;
}

static void append_count(struct writing *text, uint64_t count, const char *after)
{
    char amount[AMOUNT_TEXT_BYTES];
    amount_print_count(count, amount);
    writing_append(text, amount);
    writing_append(text, after);
}

static void append_left(struct writing *text, const struct report_campaign *campaign)
{
    char left[AMOUNT_TEXT_BYTES];
    const uint64_t left_ns = time_left_of_campaign(campaign);
    if (left_ns == UINT64_MAX) {
        return;
    }
    amount_print_duration(left_ns, left);
    writing_append_format(text, ", %s left", left);
}

static void append_elapsed(struct writing *text, const struct report_campaign *campaign)
{
    char elapsed[AMOUNT_TEXT_BYTES];
    amount_print_duration(campaign->end->elapsed_ns, elapsed);
    writing_append(text, elapsed);
}

static void append_jobs_done(struct writing *text, const struct report_campaign *campaign)
{
    writing_append_format(text, "%zu of %zu jobs done, ", count_finished(campaign),
                          campaign->result_count);
}

static void append_totals(struct writing *text, const struct report_end *end)
{
    const struct run_totals *totals = &end->totals;
    append_count(text, end->trials, " trials, ");
    append_count(text, totals->ops, " ops (");
    append_count(text, per_second(totals->ops, end->elapsed_ns), "/s), ");
    append_count(text, totals->ooms, " OOMs (");
    append_count(text, totals->justified, " justified, ");
    append_count(text, totals->premature, " premature, ");
    append_count(text, totals->unknown, " unknown)");
}

/* What a narrow terminal cuts off stands last. */
static void draw_totals(const struct report_campaign *campaign, size_t width,
                        struct screen_line *line)
{
    struct writing totals;
    writing_init(&totals);
    append_elapsed(&totals, campaign);
    append_left(&totals, campaign);
    writing_append(&totals, ": ");
    append_count(&totals, campaign->finding_count, " findings, ");
    append_jobs_done(&totals, campaign);
    append_totals(&totals, campaign->end);
    screen_line_begin(line, width);
    screen_line_append(line, writing_string(&totals), totals.length,
                       campaign->finding_count > 0 ? COLOUR_RED : COLOUR_NONE);
    screen_line_end(line);
    writing_deinit(&totals);
}

/* Lines that are wider than the terminal has become since take several of it. */
static void append_to_first_line(const struct watch *watch, struct writing *text)
{
    unsigned up = 0;
    for (unsigned i = 0; i < watch->lines_drawn; i++) {
        const unsigned width = watch->line_widths[i];
        up += width <= watch->width ? 1 : (width + watch->width - 1) / watch->width;
    }
    if (up > 0) {
        writing_append_format(text, "\033[%uA", up);
    }
    writing_append(text, "\r");
}

static void watch_draw(struct watch *watch, const struct report_campaign *campaign,
                       struct writing *text)
{
    struct screen_line line = {
        .text = text, .has_colour = watch->has_colour, .widths = watch->line_widths};
    append_to_first_line(watch, text);
    job_table_draw(campaign, watch->job_count_max, watch->width, &line);
    draw_totals(campaign, watch->width, &line);
    writing_append(text, erase_below_sequence); /* what is left of a longer table */
    CHECK(line.count <= WATCH_LINE_COUNT_MAX);
    watch->lines_drawn = (unsigned)line.count;
}

static void append_minute_line(struct writing *text, const struct report_campaign *campaign)
{
    append_elapsed(text, campaign);
    writing_append(text, ": ");
    append_jobs_done(text, campaign);
    append_totals(text, campaign->end);
    writing_append(text, ", ");
    append_count(text, campaign->finding_count, " findings");
    append_left(text, campaign);
    writing_append(text, "\n");
}

void watch_print(struct watch *watch, const struct report_campaign *campaign, uint64_t now_ns,
                 struct writing *text)
{
    CHECK(campaign->end != NULL && watch->width > 0 && watch->job_count_max >= 1 &&
          watch->job_count_max <= WATCH_JOB_COUNT_MAX);
    const uint64_t interval_ns = watch->is_terminal ? TERMINAL_INTERVAL_NS : PIPE_INTERVAL_NS;
    watch->next_ns = now_ns > UINT64_MAX - interval_ns ? UINT64_MAX : now_ns + interval_ns;
    if (watch->is_terminal) {
        watch_draw(watch, campaign, text);
    } else {
        append_minute_line(text, campaign);
    }
}

void watch_clear(struct watch *watch, struct writing *text)
{
    if (!watch->is_terminal || watch->lines_drawn == 0) {
        return;
    }
    append_to_first_line(watch, text);
    writing_append(text, erase_below_sequence);
    watch->lines_drawn = 0;
    watch->next_ns = 0;
}
