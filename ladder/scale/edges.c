/* Where an axis of scale stops to fit: between the values that were run, and beyond them. */
#include "diagnosis/largest_batch.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/generate/scenario_option.h"
#include "ladder/scale/scale.h"
#include "measure/smallest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Capacities that are tried are multiples of a power of two: so small a part of the largest that
 * was run, but no less than the default granule. */
enum { CAPACITY_PARTS = 256, STEP_BYTES_MIN = 512, FAR = 16 };

/* One search that is under way. */
struct axis_search {
    struct scale *scale;
    struct scale_edge *edge;
    uint64_t left; /* runs */
    enum exit_code code;
};

/* --- values --- */

bool scale_read_value(const struct scale_axis *axis, const char *value, uint64_t *number)
{
    return axis->kind == SCALE_CAPACITY ? size_parse(value, strlen(value), number)
                                        : number_parse(value, strlen(value), number);
}

void scale_print_value(const struct scale *scale, size_t axis, uint64_t number,
                       char text[SCALE_VALUE_BYTES])
{
    char size[SIZE_TEXT_BYTES];
    if (scale->axes[axis].kind == SCALE_CAPACITY) {
        size_print(number, size);
        (void)snprintf(text, SCALE_VALUE_BYTES, "%s", size);
    } else {
        (void)snprintf(text, SCALE_VALUE_BYTES, "%" PRIu64, number);
    }
}

/* Several numbers, of which others lie between. */
static bool is_searchable(const struct scale_axis *axis)
{
    uint64_t number;
    bool is_numeric = axis->count > 1 && axis->kind != SCALE_CHIP;
    for (size_t i = 0; is_numeric && i < axis->count; i++) {
        is_numeric = scale_read_value(axis, axis->values[i], &number) && number > 0;
    }
    return is_numeric;
}

/* --- runs --- */

static bool may_try(void *context)
{
    const struct axis_search *search = context;
    return search->left > 0 && search->code == EXIT_KEPT;
}

/* A target that dies does not fit. */
static bool fits(void *context, uint64_t number)
{
    struct axis_search *search = context;
    struct scale_point point = search->edge->point;
    struct scale_result result;
    scale_print_value(search->scale, search->edge->axis, number, point.values[search->edge->axis]);
    search->left--;
    search->code = scale_measure(search->scale, &point, &result);
    if (result.code != EXIT_KEPT && search->edge->trouble.result.code != EXIT_BROKEN) {
        search->edge->trouble = (struct scale_row){point, result};
    }
    return search->code == EXIT_KEPT && result.end == SCALE_FITS;
}

static bool serves(void *context, uint64_t capacity_bytes, bool *goes_on)
{
    const struct axis_search *search = context;
    struct edge *edge = &search->edge->edge;
    const bool is_served = fits(context, capacity_bytes);
    edge->fails = !is_served && capacity_bytes > edge->fails ? capacity_bytes : edge->fails;
    *goes_on = may_try(context);
    return is_served;
}

/* --- what the rows say --- */

static bool is_beside(const struct scale *scale, const struct scale_point *a,
                      const struct scale_point *b, size_t axis)
{
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (i != axis && strcmp(a->values[i], b->values[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* The least and the most that fit, and that do not; 0: none. */
struct known {
    uint64_t least_fits, most_fits, least_fails, most_fails;
    bool has_other; /* rows that neither fit nor run out of memory */
};

static void note_number(uint64_t number, uint64_t *least, uint64_t *most)
{
    *least = *least == 0 || number < *least ? number : *least;
    *most = number > *most ? number : *most;
}

static struct known look_at_rows(const struct scale *scale, const struct scale_edge *edge)
{
    struct known known = {0};
    for (size_t i = 0; i < scale->row_count; i++) {
        const struct scale_row *row = &scale->rows[i];
        uint64_t number = 0;
        if (!is_beside(scale, &row->point, &edge->point, edge->axis)) {
            continue;
        }
        CHECK(scale_read_value(&scale->axes[edge->axis], row->point.values[edge->axis], &number));
        if (row->result.end == SCALE_FITS) {
            note_number(number, &known.least_fits, &known.most_fits);
        } else if (row->result.end == SCALE_NO_MEMORY) {
            note_number(number, &known.least_fails, &known.most_fails);
        } else {
            known.has_other = true;
        }
    }
    return known;
}

/* --- the searches --- */

static uint64_t find_step(uint64_t most_bytes)
{
    uint64_t step = STEP_BYTES_MIN;
    while (step <= most_bytes / CAPACITY_PARTS / 2) {
        step *= 2;
    }
    return step;
}

static void search_capacity(struct axis_search *search, const struct known *known)
{
    const uint64_t most = known->most_fits > known->most_fails ? known->most_fits
                                                               : known->most_fails;
    const uint64_t step = find_step(most);
    const uint64_t least = known->most_fails > 0 ? known->most_fails + step
                                                 : known->least_fits / FAR + step;
    const struct smallest_search smallest_search = {
        .from_bytes = least,
        .to_bytes = known->least_fits > 0 ? known->least_fits : known->most_fails * FAR,
        .step_bytes = step,
        .precision_bytes = step,
        .serves = serves,
        .context = search};
    const struct smallest found = smallest_find(&smallest_search);
    search->edge->edge.holds = found.bytes > 0 ? found.bytes : search->edge->edge.holds;
}

static void search_option(struct axis_search *search)
{
    const struct scale_axis *axis = &search->scale->axes[search->edge->axis];
    const bool is_batch = axis->kind == SCALE_BATCH;
    const struct edge_search edge_search = {
        .low = is_batch || axis->option->low == 0 ? 1 : axis->option->low,
        .high = is_batch ? LARGEST_BATCH_PERCENT_MAX : axis->option->high,
        .may_try = may_try,
        .holds = fits,
        .context = search};
    edge_find(&edge_search, search->edge->edge.holds, &search->edge->edge);
}

/* Which side of the axis fits decides what is looked for. */
static enum exit_code find_edge(struct scale *scale, struct scale_edge *edge)
{
    const struct known known = look_at_rows(scale, edge);
    const bool has_both = known.most_fits > 0 && known.most_fails > 0;
    const bool is_capacity = scale->axes[edge->axis].kind == SCALE_CAPACITY;
    struct axis_search search = {
        .scale = scale, .edge = edge, .left = scale->options->search_count, .code = EXIT_KEPT};
    edge->is_smallest = is_capacity || (has_both && known.most_fails < known.least_fits);
    edge->is_mixed = known.has_other ||
                     (has_both && (edge->is_smallest ? known.most_fails > known.least_fits
                                                     : known.most_fits > known.least_fails));
    if (edge->is_mixed) {
        return EXIT_KEPT;
    }
    edge->edge = edge->is_smallest
                     ? (struct edge){.holds = known.least_fits, .fails = known.most_fails}
                     : (struct edge){.holds = known.most_fits, .fails = known.least_fails};
    if (is_capacity && may_try(&search)) {
        search_capacity(&search, &known);
    } else if (!edge->is_smallest && scale->axes[edge->axis].kind != SCALE_HOSTS &&
               may_try(&search)) {
        search_option(&search);
    }
    return search.code;
}

/* Rows that differ from this one in the axis alone. */
static size_t count_beside(const struct scale *scale, const struct scale_row *row, size_t axis)
{
    size_t count = 0;
    for (size_t i = 0; i < scale->row_count; i++) {
        count += is_beside(scale, &scale->rows[i].point, &row->point, axis);
    }
    return count;
}

/* Other numbers of hosts may be no job, and are not tried: without both sides they say nothing. */
static bool is_worth_a_line(const struct scale *scale, const struct scale_edge *edge)
{
    return scale->axes[edge->axis].kind != SCALE_HOSTS ||
           (!edge->is_mixed && edge->edge.holds > 0 && edge->edge.fails > 0);
}

enum exit_code scale_find_edges(struct scale *scale)
{
    enum exit_code code = EXIT_KEPT;
    scale->edges = calloc(scale->row_count * scale->axis_count + 1, sizeof *scale->edges);
    CHECK(scale->edges != NULL);
    for (size_t axis = 0; axis < scale->axis_count; axis++) {
        for (size_t i = 0; code == EXIT_KEPT && i < scale->row_count; i++) {
            const struct scale_row *row = &scale->rows[i];
            if (is_searchable(&scale->axes[axis]) &&
                strcmp(row->point.values[axis], scale->axes[axis].values[0]) == 0 &&
                count_beside(scale, row, axis) > 1) {
                struct scale_edge *edge = &scale->edges[scale->edge_count++];
                *edge = (struct scale_edge){.axis = axis, .point = row->point};
                code = find_edge(scale, edge);
                scale->edge_count -= !is_worth_a_line(scale, edge);
            }
        }
    }
    return code;
}
