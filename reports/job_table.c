#include "reports/job_table.h"

#include "harness/base/check.h"
#include "reports/amount.h"
#include "reports/terminal.h"
#include "reports/time_left.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_WIDTH_MAX = 24, /* columns; names are cut to it */
    NAME_WIDTH_MIN = 8,  /* and down to this where the terminal is narrow */
    BAR_WIDTH_MAX = 12,  /* with its brackets */
    BAR_WIDTH_MIN = 7,
    CELL_BYTES = 2 * NAME_WIDTH_MAX + 1, /* no character of a name has more than two bytes */
};

enum column {
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
} columns[COLUMN_COUNT] = {{"job", 3},       {"progress", BAR_WIDTH_MAX},
                           {"trials", 6},    {"ops/s", 6},
                           {"justified", 9}, {"premature", 9},
                           {"unknown", 7},   {"found", 5},
                           {"left", 6}};

struct cell {
    char text[CELL_BYTES];
    size_t width; /* columns */
    enum colour colour;
};

/* A line of the table.  The bar is drawn when the width of its column is known. */
struct row {
    struct cell cells[COLUMN_COUNT];
    uint64_t done, due; /* of the bar */
    uint64_t trials;
    bool has_bar;
};

/* The lines: titles, jobs, and the jobs without a line of their own together. */
struct job_table {
    struct row *rows; /* count of them */
    size_t count;
    size_t widths[COLUMN_COUNT];
};

static void cell_set(struct row *row, enum column column, const char *string, enum colour colour)
{
    struct cell *cell = &row->cells[column];
    snprintf(cell->text, sizeof cell->text, "%s", string);
    cell->width = strlen(cell->text);
    cell->colour = colour;
}

static void cell_set_count(struct row *row, enum column column, uint64_t count,
                           enum colour colour_if_any)
{
    char text[AMOUNT_TEXT_BYTES];
    amount_print_count(count, text);
    cell_set(row, column, text, count > 0 ? colour_if_any : COLOUR_NONE);
}

/* The length of the first character if it is sure to take one column (ASCII and Latin letters,
 * U+00A0 to U+02FF); 0 = it may take two, or none. */
static size_t count_narrow_bytes(const char *string)
{
    const unsigned char lead = (unsigned char)string[0];
    return lead < 0x80 ? 1 : lead >= 0xc2 && lead <= 0xcb ? 2 : 0;
}

static void cell_set_name(struct row *row, const char *name, enum colour colour)
{
    struct cell *cell = &row->cells[COLUMN_NAME];
    struct writing visible;
    size_t length = 0;
    writing_init(&visible);
    writing_append_visible(&visible, name);
    const char *from = writing_string(&visible);
    for (cell->width = 0; *from != '\0' && cell->width < NAME_WIDTH_MAX; cell->width++) {
        const size_t narrow = count_narrow_bytes(from);
        memcpy(cell->text + length, narrow > 0 ? from : "?", narrow > 0 ? narrow : 1);
        length += narrow > 0 ? narrow : 1;
        from += screen_character_length(from);
    }
    cell->text[length] = '\0';
    cell->colour = colour;
    writing_deinit(&visible);
}

static void cell_set_left(struct row *row, uint64_t left_ns)
{
    char text[AMOUNT_TEXT_BYTES] = "?";
    if (left_ns != UINT64_MAX) {
        amount_print_duration(left_ns, text);
    }
    cell_set(row, COLUMN_LEFT, text, COLOUR_NONE);
}

static void row_set(struct row *row, const struct report_result *result, uint64_t left_ns)
{
    const struct run_totals *totals = &result->totals;
    const bool is_skipped = result->is_finished && !report_result_has_run(result);
    *row = (struct row){
        .done = result->done, .due = result->due, .trials = result->trials, .has_bar = !is_skipped};
    cell_set_name(row, result->name,
                  result->is_finished && !is_skipped ? COLOUR_GREEN : COLOUR_NONE);
    cell_set(row, COLUMN_BAR, is_skipped ? "skipped" : "", COLOUR_DIM);
    cell_set_count(row, COLUMN_TRIALS, result->trials, COLOUR_NONE);
    cell_set_count(row, COLUMN_RATE, per_second(totals->ops, result->elapsed_ns), COLOUR_NONE);
    cell_set_count(row, COLUMN_JUSTIFIED, totals->justified, COLOUR_NONE);
    cell_set_count(row, COLUMN_PREMATURE, totals->premature, COLOUR_RED);
    cell_set_count(row, COLUMN_UNKNOWN, totals->unknown, COLOUR_YELLOW);
    cell_set_count(row, COLUMN_FINDINGS, result->finding_count, COLOUR_RED);
    cell_set_left(row, left_ns);
    if (result->is_finished) {
        cell_set(row, COLUMN_LEFT, "", COLOUR_NONE);
    }
}

/* All jobs without a line of their own.  Its bar counts those that are finished. */
struct rest {
    struct report_result sum;
    uint64_t left_ns;
};

static void rest_add(struct rest *rest, const struct report_result *result, uint64_t left_ns)
{
    rest->sum.due++;
    rest->sum.done += result->is_finished;
    rest->sum.trials += result->trials;
    rest->sum.elapsed_ns += result->elapsed_ns;
    rest->sum.finding_count += result->finding_count;
    run_totals_add(&rest->sum.totals, &result->totals);
    rest->left_ns = left_ns > rest->left_ns ? left_ns : rest->left_ns;
}

static void job_table_add_rest(struct job_table *table, struct rest *rest)
{
    char name[AMOUNT_TEXT_BYTES + 16];
    snprintf(name, sizeof name, "%" PRIu64 " more jobs", rest->sum.due);
    rest->sum.name = name;
    rest->sum.is_finished = rest->sum.done == rest->sum.due;
    struct row *row = &table->rows[table->count++];
    row_set(row, &rest->sum, rest->left_ns);
    rest->sum.name = NULL;
}

/* A job that runs or found something is worth more than one that waits or is done. */
static bool is_of_interest(const struct report_result *result)
{
    return result->finding_count > 0 || (!result->is_finished && report_result_has_run(result));
}

static void job_table_add_jobs(struct job_table *table, const struct report_campaign *campaign,
                               size_t room)
{
    size_t interesting = 0;
    struct rest rest = {0};
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
            rest_add(&rest, result, left_ns);
            continue;
        }
        row_set(&table->rows[table->count++], result, left_ns);
        --*room_left;
    }
    if (rest.sum.due > 0) {
        job_table_add_rest(table, &rest);
    }
}

static void job_table_add_titles(struct job_table *table)
{
    struct row *row = &table->rows[table->count++];
    *row = (struct row){0};
    for (enum column column = 0; column < COLUMN_COUNT; column++) {
        cell_set(row, column, columns[column].title, COLOUR_NONE);
    }
}

/* Wide enough for every cell; where that is wider than the terminal, bars become shorter, then
 * names. */
static void job_table_measure(struct job_table *table, size_t terminal_width)
{
    size_t all = COLUMN_COUNT - 1;
    for (enum column column = 0; column < COLUMN_COUNT; column++) {
        size_t width = columns[column].width_least;
        for (size_t i = 0; i < table->count; i++) {
            width = table->rows[i].cells[column].width > width ? table->rows[i].cells[column].width
                                                               : width;
        }
        table->widths[column] = width;
        all += width;
    }
    static const size_t least[] = {[COLUMN_NAME] = NAME_WIDTH_MIN, [COLUMN_BAR] = BAR_WIDTH_MIN};
    for (int column = COLUMN_BAR; column >= COLUMN_NAME; column--) {
        while (all >= terminal_width && table->widths[column] > least[column]) {
            table->widths[column]--;
            all--;
        }
    }
}

/* As much of it as is done; where nothing bounds the job, one mark that moves with each trial. */
static void bar_print(const struct row *row, size_t width, char text[BAR_WIDTH_MAX + 1])
{
    const size_t cells = width - 2;
    memset(text, '-', width);
    text[0] = '[';
    text[width - 1] = ']';
    text[width] = '\0';
    if (row->due == 0) {
        text[1 + row->trials % cells] = '#';
        return;
    }
    const uint64_t done = row->done < row->due ? row->done : row->due;
    memset(text + 1, '#', (size_t)amount_scale(cells, done, row->due));
}

static void draw_cell(struct screen_line *line, const struct row *row, enum column column,
                      size_t width)
{
    char bar[BAR_WIDTH_MAX + 1];
    const struct cell *cell = &row->cells[column];
    if (column == COLUMN_BAR && row->has_bar) {
        bar_print(row, width, bar);
        screen_line_append(line, bar, width, cell->colour);
        return;
    }
    const size_t used = cell->width < width ? cell->width : width;
    const bool is_left = column <= COLUMN_BAR;
    screen_line_append_spaces(line, is_left ? 0 : width - used);
    screen_line_append(line, cell->text, used, cell->colour);
    screen_line_append_spaces(line, is_left ? width - used : 0);
}

static void draw_row(struct screen_line *line, const struct row *row,
                     const size_t widths[COLUMN_COUNT])
{
    for (enum column column = 0; column < COLUMN_COUNT; column++) {
        screen_line_append_spaces(line, column > 0);
        draw_cell(line, row, column, widths[column]);
    }
    screen_line_end(line);
}

size_t job_table_draw(const struct report_campaign *campaign, size_t job_count_max, size_t width,
                      struct screen_line *line)
{
    struct job_table table = {.rows = calloc(job_count_max + 2, sizeof *table.rows)};
    CHECK(table.rows != NULL);
    job_table_add_titles(&table);
    job_table_add_jobs(&table, campaign, job_count_max);
    job_table_measure(&table, width);
    for (size_t i = 0; i < table.count; i++) {
        screen_line_begin(line, width);
        draw_row(line, &table.rows[i], table.widths);
    }
    free(table.rows);
    return table.count;
}
