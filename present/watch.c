#include "present/watch.h"

#include "harness/base/check.h"
#include "present/amount.h"
#include "present/table.h"
#include "present/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TERMINAL_INTERVAL_NS UINT64_C(250000000)
#define PIPE_INTERVAL_NS UINT64_C(60000000000)
static const char erase_below_sequence[] = "\033[J";

/* Lines of the table that are not a job's, and the one of the cursor. */
enum { LINES_BESIDE_JOBS = WATCH_LINE_COUNT_MAX - WATCH_JOB_COUNT_MAX + 1 };

/* --- how long it still takes --- */

/* Nanoseconds; UINT64_MAX = nothing says.  A finished job: 0.  A bounded one: as long as the
 * campaign has taken for what is done of it, since jobs take turns, but never longer than the
 * campaign has. */
static uint64_t time_left_of_job(const struct report_campaign *campaign,
                                 const struct report_result *result)
{
    const uint64_t elapsed_ns = campaign->end->elapsed_ns;
    if (result->is_finished) {
        return 0;
    }
    if (result->due == 0 || result->done == 0 || elapsed_ns == 0) {
        return campaign->duration_left_ns;
    }
    const uint64_t rest = result->due > result->done ? result->due - result->done : 0;
    const uint64_t estimate_ns = amount_scale(elapsed_ns, rest, result->done);
    return estimate_ns < campaign->duration_left_ns ? estimate_ns : campaign->duration_left_ns;
}

/* What is left of the campaign's own bound; without one, what its longest job still takes. */
static uint64_t time_left_of_campaign(const struct report_campaign *campaign)
{
    uint64_t longest_ns = 0;
    if (campaign->duration_left_ns != UINT64_MAX) {
        return campaign->duration_left_ns;
    }
    for (size_t i = 0; i < campaign->result_count; i++) {
        const uint64_t left_ns = time_left_of_job(campaign, &campaign->results[i]);
        longest_ns = left_ns > longest_ns ? left_ns : longest_ns;
    }
    return longest_ns;
}

/* --- how each job stands, a line each --- */

enum {
    NAME_WIDTH_MAX = 40, /* columns; longer names are shortened to it */
    NAME_WIDTH_MIN = 12, /* and down to this where the terminal is narrow */
    BAR_WIDTH_MAX = 12,  /* with its brackets */
    BAR_WIDTH_MIN = 8,   /* that of its title */
};

enum watch_column {
    COLUMN_NAME,
    COLUMN_BAR,
    COLUMN_TRIALS,
    COLUMN_RATE,
    COLUMN_JUSTIFIED,
    COLUMN_PREMATURE,
    COLUMN_UNKNOWN,
    COLUMN_FINDINGS,
    COLUMN_LEFT,
    COLUMN_COUNT
};
/* The least widths hold what usual numbers need, so that columns do not jump while one looks at
 * them. */
static const struct {
    const char *title;
    size_t width_least;
} columns[COLUMN_COUNT] = {{"job", 3},       {"progress", BAR_WIDTH_MIN},
                           {"trials", 6},    {"ops/s", 6},
                           {"justified", 9}, {"premature", 9},
                           {"unknown", 7},   {"found", 5},
                           {"left", 6}};
/* The narrower the terminal, the fewer of them from the first one on are drawn: which job, what it
 * found, how far it is, how long it takes, then the counts. */
static const enum watch_column by_importance[COLUMN_COUNT] = {
    COLUMN_NAME,    COLUMN_FINDINGS, COLUMN_BAR,       COLUMN_LEFT, COLUMN_PREMATURE,
    COLUMN_UNKNOWN, COLUMN_TRIALS,   COLUMN_JUSTIFIED, COLUMN_RATE};

/* The lines: titles, jobs, and the jobs without a line of their own together. */
struct job_table {
    struct table cells;
    const struct report_result **rows; /* count of them, one a line; NULL: titles */
    size_t count;
    struct report_result rest; /* due of them together; its bar counts those that are finished */
    uint64_t rest_left_ns;
    char rest_name[AMOUNT_TEXT_BYTES + 16];
    bool is_shown[COLUMN_COUNT];
    size_t widths[TABLE_COLUMN_COUNT_MAX];
};

static bool is_skipped(const struct report_result *result)
{
    return result->is_finished && !report_result_has_run(result);
}

static void put_count(struct table *table, uint64_t count, enum colour colour_if_any)
{
    char text[AMOUNT_TEXT_BYTES];
    amount_print_count(count, text);
    table_put_coloured(table, text, count > 0 ? colour_if_any : COLOUR_NONE);
}

static void put_row(struct job_table *table, const struct report_result *result, uint64_t left_ns)
{
    const struct run_totals *totals = &result->totals;
    struct table *cells = &table->cells;
    const bool is_done = result->is_finished && !is_skipped(result);
    char left[AMOUNT_TEXT_BYTES] = "?";
    table->rows[table->count++] = result;
    table_put_coloured(cells, result->name, is_done ? COLOUR_GREEN : COLOUR_NONE);
    table_put_coloured(cells, is_skipped(result) ? "skipped" : "", COLOUR_DIM);
    put_count(cells, result->trials, COLOUR_NONE);
    put_count(cells, per_second(totals->ops, result->elapsed_ns), COLOUR_NONE);
    put_count(cells, totals->justified, COLOUR_NONE);
    put_count(cells, totals->premature, COLOUR_RED);
    put_count(cells, totals->unknown, COLOUR_YELLOW);
    put_count(cells, result->finding_count, COLOUR_RED);
    if (left_ns != UINT64_MAX) {
        amount_print_duration(left_ns, left);
    }
    table_put(cells, result->is_finished ? "" : left);
}

static void add_to_rest(struct job_table *table, const struct report_result *result,
                        uint64_t left_ns)
{
    struct report_result *rest = &table->rest;
    rest->due++;
    rest->done += result->is_finished;
    rest->trials += result->trials;
    rest->elapsed_ns += result->elapsed_ns;
    rest->finding_count += result->finding_count;
    run_totals_add(&rest->totals, &result->totals);
    table->rest_left_ns = left_ns > table->rest_left_ns ? left_ns : table->rest_left_ns;
}

/* A job that runs or found something is worth more than one that waits or is done. */
static bool is_of_interest(const struct report_result *result)
{
    return result->finding_count > 0 || (!result->is_finished && report_result_has_run(result));
}

static void job_table_add_jobs(struct job_table *table, const struct report_campaign *campaign,
                               size_t room)
{
    struct report_result *rest = &table->rest;
    size_t interesting = 0;
    for (size_t i = 0; i < campaign->result_count; i++) {
        interesting += is_of_interest(&campaign->results[i]);
    }
    size_t room_of_interest = interesting < room ? interesting : room;
    size_t room_of_others = room - room_of_interest;
    for (size_t i = 0; i < campaign->result_count; i++) {
        const struct report_result *result = &campaign->results[i];
        size_t *room_left = is_of_interest(result) ? &room_of_interest : &room_of_others;
        const uint64_t left_ns = time_left_of_job(campaign, result);
        if (*room_left == 0) {
            add_to_rest(table, result, left_ns);
            continue;
        }
        put_row(table, result, left_ns);
        --*room_left;
    }
    if (rest->due > 0) {
        snprintf(table->rest_name, sizeof table->rest_name, "%" PRIu64 " more jobs", rest->due);
        rest->name = table->rest_name;
        rest->is_finished = rest->done == rest->due;
        put_row(table, rest, table->rest_left_ns);
    }
}

static const char *name_of(const struct job_table *table, size_t line)
{
    return table_cell_text(&table->cells, &table->cells.cells[line * COLUMN_COUNT]);
}

/* Whether two names that differ also differ when they are shortened to width. */
static bool are_told_apart(const struct job_table *table, size_t one, size_t other, size_t width)
{
    struct writing left = {0}, right = {0};
    text_append_shortened(&left, name_of(table, one), width);
    text_append_shortened(&right, name_of(table, other), width);
    const bool is_equal = strcmp(writing_string(&left), writing_string(&right)) == 0;
    writing_deinit(&left);
    writing_deinit(&right);
    return !is_equal || strcmp(name_of(table, one), name_of(table, other)) == 0;
}

/* The fewest columns from width on, but at most width_max, in which all names are told apart. */
static size_t find_name_width(const struct job_table *table, size_t width, size_t width_max)
{
    for (size_t one = 1; one < table->count; one++) {
        for (size_t other = one + 1; other < table->count; other++) {
            while (width < width_max && !are_told_apart(table, one, other, width)) {
                width++;
            }
        }
    }
    return width < width_max ? width : width_max;
}

/* Which columns fit into room, and how wide they are: bars become shorter first, then names, down
 * to what tells them apart; then columns are left out, but never what was found. */
static void job_table_fit(struct job_table *table, size_t room)
{
    size_t *widths = table->widths;
    table_measure(&table->cells, widths);
    for (enum watch_column column = 0; column < COLUMN_COUNT; column++) {
        const size_t least = columns[column].width_least;
        widths[column] = widths[column] > least ? widths[column] : least;
    }
    const size_t beside = 1 + widths[COLUMN_FINDINGS], whole = widths[COLUMN_NAME];
    const size_t space = room > beside + 1 ? room - beside : 1;
    const size_t name_max = whole < NAME_WIDTH_MAX ? whole : NAME_WIDTH_MAX;
    widths[COLUMN_NAME] = find_name_width(table, NAME_WIDTH_MIN,
                                          name_max < space ? name_max : space);
    widths[COLUMN_BAR] = BAR_WIDTH_MIN;
    size_t used = 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        const enum watch_column column = by_importance[i];
        const size_t wanted = widths[column] + (i > 0);
        if (used + wanted > room && i > 1) {
            break;
        }
        table->is_shown[column] = true;
        used += wanted;
    }
    for (; used < room && widths[COLUMN_NAME] < name_max; used++) {
        widths[COLUMN_NAME]++;
    }
    for (; used < room && widths[COLUMN_BAR] < BAR_WIDTH_MAX; used++) {
        widths[COLUMN_BAR]++;
    }
}

/* As much of it as is done; where nothing bounds the job, one mark that moves with each trial. */
static void print_bar(const struct report_result *result, size_t width,
                      char text[BAR_WIDTH_MAX + 1])
{
    const size_t cells = width - 2;
    memset(text, '-', width);
    text[0] = '[';
    text[width - 1] = ']';
    text[width] = '\0';
    if (result->due == 0) {
        text[1 + result->trials % cells] = '#';
        return;
    }
    const uint64_t done = result->done < result->due ? result->done : result->due;
    memset(text + 1, '#', (size_t)amount_scale(cells, done, result->due));
}

static void draw_cell(struct screen_line *line, const struct job_table *table, size_t row,
                      enum watch_column column)
{
    char bar[BAR_WIDTH_MAX + 1];
    struct writing shortened = {0};
    const size_t width = table->widths[column];
    const struct table_cell *cell = &table->cells.cells[row * COLUMN_COUNT + column];
    const struct report_result *result = table->rows[row];
    if (column == COLUMN_BAR && result != NULL && !is_skipped(result)) {
        print_bar(result, width, bar);
        screen_line_append(line, bar, width, cell->colour);
        return;
    }
    text_append_shortened(&shortened, table_cell_text(&table->cells, cell), width);
    const char *string = writing_string(&shortened);
    const size_t padding = width - text_width(string);
    const bool is_left = column <= COLUMN_BAR;
    screen_line_append_spaces(line, is_left ? 0 : padding);
    screen_line_append(line, string, width, cell->colour);
    screen_line_append_spaces(line, is_left ? padding : 0);
    writing_deinit(&shortened);
}

/* Appends a line of titles, at most job_count_max jobs in their order and, where there are more, a
 * line for the others together: those that run or found something get the lines first.  No line
 * takes more than width (> 0) columns: names are shortened as far as they can still be told apart,
 * then columns are left out, what was found last. */
static void job_table_draw(const struct report_campaign *campaign, size_t job_count_max,
                           size_t width, struct screen_line *line)
{
    struct job_table table = {.rows = calloc(job_count_max + 2, sizeof *table.rows)};
    CHECK(table.rows != NULL && width > 0);
    table_init(&table.cells, COLUMN_COUNT, 0);
    table.count = 1; /* the titles */
    for (enum watch_column column = 0; column < COLUMN_COUNT; column++) {
        table_put(&table.cells, columns[column].title);
    }
    job_table_add_jobs(&table, campaign, job_count_max);
    job_table_fit(&table, width - 1);
    for (size_t i = 0; i < table.count; i++) {
        screen_line_begin(line, width);
        for (enum watch_column column = 0; column < COLUMN_COUNT; column++) {
            if (table.is_shown[column]) {
                screen_line_append_spaces(line, column > 0);
                draw_cell(line, &table, i, column);
            }
        }
        screen_line_end(line);
    }
    table_deinit(&table.cells);
    free(table.rows);
}

/* --- the whole --- */

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

static void append_count(struct writing *text, uint64_t count, const char *after)
{
    char amount[AMOUNT_TEXT_BYTES];
    amount_print_count(count, amount);
    writing_append_format(text, "%s%s", amount, after);
}

static void append_left(struct writing *text, const struct report_campaign *campaign)
{
    char left[AMOUNT_TEXT_BYTES];
    const uint64_t left_ns = time_left_of_campaign(campaign);
    if (left_ns != UINT64_MAX) {
        amount_print_duration(left_ns, left);
        writing_append_format(text, ", %s left", left);
    }
}

static void append_elapsed(struct writing *text, const struct report_campaign *campaign)
{
    char elapsed[AMOUNT_TEXT_BYTES];
    amount_print_duration(campaign->end->elapsed_ns, elapsed);
    writing_append(text, elapsed);
}

static void append_jobs_done(struct writing *text, const struct report_campaign *campaign)
{
    size_t count = 0;
    for (size_t i = 0; i < campaign->result_count; i++) {
        count += campaign->results[i].is_finished;
    }
    writing_append_format(text, "%zu of %zu jobs done, ", count, campaign->result_count);
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
    struct writing totals = {0};
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
