/* What scale measured, for people: the rows as a table, what broke, and where each axis stops to
 * fit. */
#include "harness/base/size.h"
#include "ladder/scale/scale.h"
#include "present/table.h"
#include "present/wrap.h"

#include <inttypes.h>

enum { CELL_BYTES = 96 };
static const char not_known[] = "n/a", nothing[] = "-";

/* --- rows --- */

static void put_size(struct table *table, bool is_there, uint64_t bytes)
{
    table_put(table, is_there ? size_text_of(bytes).text : nothing);
}

static void put_end(struct table *table, const struct scale_result *result)
{
    char cell[CELL_BYTES];
    if (result->end != SCALE_NO_MEMORY) {
        (void)snprintf(cell, sizeof cell, "%s", scale_end_name(result->end));
    } else if (result->step != SCALE_NO_STEP) {
        (void)snprintf(cell, sizeof cell, "step %" PRIu64 ", host %" PRIu32, result->step,
                       result->host);
    } else {
        (void)snprintf(cell, sizeof cell, "op %" PRIu32 ", host %" PRIu32, result->op,
                       result->host);
    }
    table_put(table, cell);
}

static void put_share(struct table *table, const struct scale_result *result)
{
    char cell[CELL_BYTES];
    const uint64_t hundredth = result->capacity_bytes / 100;
    (void)snprintf(cell, sizeof cell, "%" PRIu64 " %%",
                   hundredth == 0 ? 0 : result->peak_bytes / hundredth);
    table_put(table, scale_has_run(result) ? cell : nothing);
}

static void put_row(struct table *table, const struct scale *scale, const struct scale_row *row)
{
    const struct scale_result *result = &row->result;
    const bool is_known = scale_has_run(result);
    for (size_t i = 0; i < scale->axis_count; i++) {
        table_put(table, row->point.values[i]);
    }
    put_end(table, result);
    table_put(table, result->limit[0] == '\0' ? not_known : result->limit);
    put_size(table, is_known, result->peak_bytes);
    put_share(table, result);
    put_size(table, result->end == SCALE_FITS, result->headroom_bytes);
    put_size(table, result->end == SCALE_NO_MEMORY, result->requested_bytes);
    put_size(table, is_known && result->image_bytes > 0, result->image_bytes);
    put_size(table, is_known && result->stack_bytes > 0, result->stack_bytes);
}

static void append_rows(const struct scale *scale, struct writing *text)
{
    static const char *const heads[] = {"runs out",        "limit",    "peak",
                                        "of device",       "headroom", "refused",
                                        "largest program", "stack"};
    struct table table;
    table_init(&table, scale->axis_count + sizeof heads / sizeof *heads, scale->axis_count + 2);
    for (size_t i = 0; i < scale->axis_count; i++) {
        table_put(&table, scale->axes[i].name);
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        table_put(&table, heads[i]);
    }
    for (size_t i = 0; i < scale->row_count; i++) {
        put_row(&table, scale, &scale->rows[i]);
    }
    table_print(&table, 0, text);
    table_deinit(&table);
}

/* --- what is more to say of a row --- */

static void append_trouble(const struct scale *scale, const struct scale_row *row,
                           struct writing *text)
{
    const struct scale_result *result = &row->result;
    const size_t begin = text->length;
    char name[SCALE_NAME_BYTES];
    if (result->why[0] == '\0' && result->unknown == 0) {
        return;
    }
    scale_name(scale, &row->point, scale->axis_count, name);
    writing_append_visible(text, name);
    if (result->why[0] == '\0') {
        writing_append_format(text, ": %" PRIu64 " out-of-memories stayed unknown\n",
                              result->unknown);
        return;
    }
    writing_append_format(text, ": %s: ",
                          result->code == EXIT_BROKEN && scale_has_run(result)
                              ? "a promise was broken"
                              : scale_end_name(result->end));
    writing_append_visible(text, result->why);
    writing_append(text, "\n");
    wrap_answer(text, begin);
}

/* --- edges --- */

static void put_edge_value(struct table *table, const struct scale *scale, size_t axis,
                           uint64_t number)
{
    char value[SCALE_VALUE_BYTES];
    scale_print_value(scale, axis, number, value);
    table_put(table, number == 0 ? "none" : value);
}

static void put_edge(struct table *table, const struct scale *scale, const struct scale_edge *edge)
{
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (i != edge->axis) {
            table_put(table, edge->point.values[i]);
        }
    }
    if (edge->is_mixed) {
        table_put(table, not_known);
        table_put(table, not_known);
        table_put(table, not_known);
        return;
    }
    table_put(table, edge->is_smallest ? "smallest" : "largest");
    put_edge_value(table, scale, edge->axis, edge->edge.holds);
    put_edge_value(table, scale, edge->axis, edge->edge.fails);
}

static void append_edges(const struct scale *scale, size_t axis, struct writing *text)
{
    struct table table;
    bool is_there = false;
    table_init(&table, scale->axis_count + 2, scale->axis_count);
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (i != axis) {
            table_put(&table, scale->axes[i].name);
        }
    }
    table_put(&table, "");
    table_put(&table, "fits");
    table_put(&table, "does not");
    for (size_t i = 0; i < scale->edge_count; i++) {
        if (scale->edges[i].axis == axis) {
            put_edge(&table, scale, &scale->edges[i]);
            is_there = true;
        }
    }
    if (is_there) {
        writing_append(text, "\nWhere ");
        writing_append(text, scale->axes[axis].name);
        writing_append(text, " stops to fit\n");
        table_print(&table, 0, text);
    }
    table_deinit(&table);
}

/* --- all --- */

void scale_text(const struct scale *scale, struct writing *text)
{
    const struct setup *base = &scale->base;
    writing_append_visible(text, scale->scenario != NULL ? scale->scenario->name
                                                         : scale->options->words[0]);
    writing_append(text, " on target ");
    writing_append_visible(text, base->target);
    if (base->until_step != 0 && scale->scenario != NULL) {
        writing_append_format(text, ", until step %" PRIu64, base->until_step);
    }
    writing_append_format(text, "; seed %" PRIu64 "\n\n", base->seed);
    append_rows(scale, text);
    for (size_t i = 0; i < scale->row_count; i++) {
        append_trouble(scale, &scale->rows[i], text);
    }
    for (size_t i = 0; i < scale->edge_count; i++) {
        append_trouble(scale, &scale->edges[i].trouble, text);
    }
    for (size_t axis = 0; axis < scale->axis_count; axis++) {
        append_edges(scale, axis, text);
    }
}
