#include "diagnosis/what_if.h"

#include "diagnosis/private/what_if_parts.h"
#include "harness/base/array.h"

#include <stdio.h>
#include <stdlib.h>

/* No device is larger. */
#define CAPACITY_BYTES_MAX ((uint64_t)1 << 50)
/* The smallest capacity is looked for to the granule in lists that run fast, else to a 4,096th part
 * of it. */
enum { OPS_EXACT_MAX = 20000, CAPACITY_PARTS = 4096 };
/* Each tag, and all of them together; no remedy has more. */
enum { PARAMETER_COUNT_MAX = OP_TAG_COUNT + 1 };

/* At most so many ops run in all: minutes.  Rows beyond that are not tried, and say so. */
#define OPS_RUN_MAX ((uint64_t)1 << 26)
#define NOT_TRIED "not tried: all variants together may run at most 67 million ops"

/* The state of a search for what would fit. */
struct trying {
    const struct remedy_case *given;
    const struct what_if_wish *wish;
    struct what_if *what_if;
    struct remedy_result variant;
    uint64_t ops_left; /* that may still be run */
    bool is_spent;     /* something was not run for that */
};

/* --- rows --- */

static void add_row(struct what_if *what_if, const struct what_if_row *row)
{
    what_if->rows = array_grown(what_if->rows, what_if->count, &what_if->room, sizeof *row);
    what_if->rows[what_if->count++] = *row;
}

static void report_row(const struct trying *trying, const struct what_if_row *row)
{
    if (trying->wish != NULL && trying->wish->take != NULL && row->end != WHAT_IF_DOES_NOT_APPLY) {
        trying->wish->take(trying->wish->context, row, &trying->variant.setup,
                           &trying->variant.ops);
    }
}

/* Runs the variant.  If the list grows, the row also tells until when it would fit. */
static void measure_row(struct trying *trying, struct what_if_row *row)
{
    struct forecast forecast = {0};
    what_if_measure(trying->given->target, &trying->variant.setup, &trying->variant.ops, row,
                    trying->what_if->grows ? &forecast : NULL);
    /* Restarts go on as the steps do. */
    const bool grows = forecast.grows && row->remedy != &remedy_restart;
    if (row->end == WHAT_IF_FITS && grows) {
        row->full = forecast.full;
    }
}

/* Applies the remedy and runs what comes out; the variant stays in trying->variant. */
static struct what_if_row measure_variant(struct trying *trying, const struct remedy *remedy,
                                          uint64_t parameter)
{
    struct what_if_row row = {
        .remedy = remedy, .parameter = parameter, .end = WHAT_IF_DOES_NOT_APPLY};
    remedy_title(remedy, trying->given, parameter, row.title);
    const bool applies = remedy_apply(remedy, trying->given, parameter, &trying->variant);
    snprintf(row.note, sizeof row.note, "%s", trying->variant.note);
    advice_sign(remedy, trying->given, row.sign);
    trying->is_spent = trying->is_spent ||
                       (applies && trying->variant.ops.count > trying->ops_left);
    if (applies && trying->is_spent) {
        snprintf(row.note, sizeof row.note, "%s", NOT_TRIED);
    } else if (applies) {
        trying->ops_left -= trying->variant.ops.count;
        measure_row(trying, &row);
    }
    return row;
}

/* A row that stands in the table. */
static bool try_one(struct trying *trying, const struct remedy *remedy, uint64_t parameter)
{
    const struct what_if_row row = measure_variant(trying, remedy, parameter);
    add_row(trying->what_if, &row);
    report_row(trying, &row);
    return row.end == WHAT_IF_FITS;
}

static void add_refusal(struct trying *trying, const struct remedy *remedy, const char *note)
{
    struct what_if_row row = {.remedy = remedy, .end = WHAT_IF_DOES_NOT_APPLY};
    snprintf(row.title, sizeof row.title, "%s", remedy->name);
    snprintf(row.note, sizeof row.note, "%s", note);
    add_row(trying->what_if, &row);
}

static void mark_smallest(struct what_if *what_if)
{
    what_if->rows[what_if->count - 1].is_smallest = true;
}

/* True if the variant fits; *best is the row of the last that did. */
static bool is_met(struct trying *trying, const struct remedy *remedy, uint64_t parameter,
                   struct what_if_row *best)
{
    const struct what_if_row row = measure_variant(trying, remedy, parameter);
    if (row.end == WHAT_IF_FITS) {
        *best = row;
    }
    return row.end == WHAT_IF_FITS;
}

/* A row of is_met(), without running it again: later ones may have spent all that may be run. */
static void add_measured(struct trying *trying, const struct what_if_row *row)
{
    add_row(trying->what_if, row);
    (void)remedy_apply(row->remedy, trying->given, row->parameter, &trying->variant);
    report_row(trying, row);
}

/* --- searches --- */

/* Between two parameters of which `fits` fits and `fails`, the smaller change, does not: the
 * smallest change that fits is looked for as if all below it failed, and added when it is another
 * one. */
static void refine_parameter(struct trying *trying, const struct remedy *remedy, uint64_t fits,
                             uint64_t fails)
{
    struct what_if_row best = {.end = WHAT_IF_DOES_NOT_APPLY};
    while (fails > fits + 1) {
        const uint64_t middle = fits + (fails - fits) / 2;
        if (is_met(trying, remedy, middle, &best)) {
            fits = middle;
        } else {
            fails = middle;
        }
    }
    if (best.end == WHAT_IF_FITS) {
        add_measured(trying, &best);
    }
}

static void try_first(struct trying *trying, const struct remedy *remedy)
{
    char note[REMEDY_NOTE_BYTES];
    uint64_t parameter = 0;
    uint64_t before = 0;
    for (size_t i = 0;
         i < PARAMETER_COUNT_MAX && remedy->parameter(trying->given, i, &parameter, note); i++) {
        if (try_one(trying, remedy, parameter)) {
            if (remedy->search == REMEDY_REFINED && i > 0) {
                refine_parameter(trying, remedy, parameter, before);
            }
            mark_smallest(trying->what_if);
            return;
        }
        before = parameter;
    }
}

static void try_each(struct trying *trying, const struct remedy *remedy)
{
    char note[REMEDY_NOTE_BYTES];
    uint64_t parameter = 0;
    bool is_found = false;
    for (size_t i = 0; i < PARAMETER_COUNT_MAX; i++) {
        if (remedy->parameter != NULL && !remedy->parameter(trying->given, i, &parameter, note)) {
            return;
        }
        if (try_one(trying, remedy, parameter) && !is_found) {
            mark_smallest(trying->what_if);
            is_found = true;
        }
        if (remedy->parameter == NULL) {
            return;
        }
    }
}

static uint64_t find_precision(const struct remedy_case *given, uint64_t capacity_bytes)
{
    const uint64_t granule = given->contract->granule_bytes;
    const uint64_t part = given->ops->count <= OPS_EXACT_MAX
                              ? 0
                              : capacity_bytes / CAPACITY_PARTS / granule * granule;
    return part < granule ? granule : part;
}

/* Less than `least` never does. */
static void try_capacities(struct trying *trying, const struct remedy *remedy)
{
    char note[REMEDY_NOTE_BYTES];
    uint64_t least = 0;
    (void)remedy->parameter(trying->given, 0, &least, note);
    const uint64_t granule = trying->given->contract->granule_bytes;
    uint64_t fails = least - granule;
    uint64_t fits = least;
    struct what_if_row best = {.end = WHAT_IF_DOES_NOT_APPLY};
    while (fits <= CAPACITY_BYTES_MAX && !trying->is_spent &&
           !is_met(trying, remedy, fits, &best)) {
        fails = fits;
        fits *= 2;
    }
    if (best.end != WHAT_IF_FITS) {
        add_refusal(trying, remedy,
                    trying->is_spent ? NOT_TRIED : "no device of up to 2^50 bytes is large enough");
        return;
    }
    const uint64_t wanted = find_precision(trying->given, fits);
    while (fits - fails > wanted && !trying->is_spent) {
        const uint64_t middle = fails + (fits - fails) / 2 / granule * granule;
        if (is_met(trying, remedy, middle, &best)) {
            fits = middle;
        } else {
            fails = middle;
        }
    }
    add_measured(trying, &best);
    mark_smallest(trying->what_if);
}

static void try_remedy(struct trying *trying, const struct remedy *remedy)
{
    char note[REMEDY_NOTE_BYTES] = "";
    uint64_t parameter = 0;
    if (remedy->parameter != NULL && !remedy->parameter(trying->given, 0, &parameter, note)) {
        add_refusal(trying, remedy, note);
        return;
    }
    if (remedy->search == REMEDY_BISECTED) {
        try_capacities(trying, remedy);
    } else if (remedy->search == REMEDY_EACH) {
        try_each(trying, remedy);
    } else {
        try_first(trying, remedy);
    }
}

/* --- all of it --- */

static void try_as_it_is(struct trying *trying)
{
    struct what_if_row row = {.remedy = NULL, .title = "as-it-is"};
    struct forecast forecast;
    trying->variant.setup = *trying->given->setup;
    op_list_copy(&trying->variant.ops, trying->given->ops);
    what_if_measure(trying->given->target, &trying->variant.setup, &trying->variant.ops, &row,
                    &forecast);
    trying->what_if->grows = row.end != WHAT_IF_FITS && forecast.grows;
    add_row(trying->what_if, &row);
    report_row(trying, &row);
}

/* It does not grow on, or not before the job ends. */
static bool lasts(const struct what_if_row *row, uint64_t until_step)
{
    return row->full.at == 0 || (until_step > 0 && row->full.from > until_step);
}

/* The first that fits; where the list grows, one that lasts, if there is one. */
static size_t find_smallest(const struct what_if *what_if, uint64_t until_step)
{
    size_t first = what_if->count;
    for (size_t i = what_if->count; i-- > 0;) {
        const struct what_if_row *row = &what_if->rows[i];
        const bool is_met = row->end == WHAT_IF_FITS && (row->remedy == NULL || row->is_smallest);
        const bool is_better = first == what_if->count || lasts(row, until_step) ||
                               !lasts(&what_if->rows[first], until_step);
        first = is_met && is_better ? i : first;
    }
    return first;
}

static void try_all(const struct target *target, const struct what_if_base *base,
                    const struct what_if_wish *wish, struct what_if *what_if)
{
    struct remedy_case given;
    struct trying trying = {
        .given = &given, .wish = wish, .what_if = what_if, .ops_left = OPS_RUN_MAX};
    remedy_case_init(&given, target, &base->contract, &base->setup, &base->ops, base->has_failed);
    given.named_tags = wish == NULL ? NULL : wish->named_tags;
    remedy_result_init(&trying.variant);
    try_as_it_is(&trying);
    for (size_t i = 0; remedies[i] != NULL; i++) {
        if (advice_words(remedies[i], base->setup.system) != NULL) {
            try_remedy(&trying, remedies[i]);
        }
    }
    what_if->smallest = find_smallest(what_if, base->setup.until_step);
    remedy_result_deinit(&trying.variant);
    remedy_case_deinit(&given);
}

enum what_if_result what_if_run(const struct target *target, const struct setup *setup,
                                const struct op_list *ops, const struct what_if_wish *wish,
                                struct what_if *what_if)
{
    struct what_if_base base;
    *what_if = (struct what_if){.op = OP_NONE};
    const enum what_if_result result = what_if_base_init(&base, target, setup, ops);
    what_if->op = base.op;
    what_if->left_out_count = base.left_out_count;
    what_if->is_whole = base.is_whole;
    what_if->has_lanes = base.has_lanes;
    if (result == WHAT_IF_DONE) {
        try_all(target, &base, wish, what_if);
    }
    what_if_base_deinit(&base);
    return result;
}

void what_if_deinit(struct what_if *what_if)
{
    free(what_if->rows);
    *what_if = (struct what_if){.op = OP_NONE};
}
