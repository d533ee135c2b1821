#include "present/costs.h"

#include "harness/base/json.h"
#include "harness/base/size.h"

static const struct {
    const char *key;
    uint64_t per_100000;
} percentiles[] = {{"p50", 50000}, {"p99", 99000}, {"p99.9", 99900}};
enum { PERCENTILE_COUNT = sizeof percentiles / sizeof *percentiles };
/* The terminal has this one alone: the median is that of the ops that need nothing. */
enum { PERCENTILE_SHOWN = 1 };

bool costs_are_seen(const struct run_totals *totals)
{
    return totals->costs.calls.max > 0;
}

/* --- for people --- */

const char *const costs_titles[COSTS_COLUMN_COUNT] = {
    "device calls an op", "p99", "max", "growth", "moved p99", "max", "growth"};

static void put_amount(struct table *table, uint64_t amount, bool is_bytes)
{
    if (is_bytes) {
        table_put(table, size_text_of(amount).text);
    } else {
        table_put_number(table, amount);
    }
}

static void put_spread(struct table *table, const struct op_costs *costs,
                       const struct cost_spread *spread, enum cost_measure measure)
{
    const uint64_t op_count = op_costs_op_count(costs);
    const bool is_bytes = measure == COST_MOVED_BYTES;
    put_amount(table,
               cost_spread_percentile(spread, op_count, percentiles[PERCENTILE_SHOWN].per_100000),
               is_bytes);
    put_amount(table, spread->max, is_bytes);
    table_put(table,
              spread->max == 0 ? "-" : cost_fit_name(cost_classes_fit(costs->classes, measure)));
}

void costs_put_row(struct table *table, const struct run_totals *totals)
{
    put_spread(table, &totals->costs, &totals->costs.calls, COST_CALLS);
    put_spread(table, &totals->costs, &totals->costs.moved_bytes, COST_MOVED_BYTES);
}

/* --- for programs --- */

static void add_spread(struct writing *text, const char *key, const struct op_costs *costs,
                       const struct cost_spread *spread, enum cost_measure measure)
{
    const uint64_t op_count = op_costs_op_count(costs);
    json_nest(text, key, '{');
    for (unsigned i = 0; i < PERCENTILE_COUNT; i++) {
        json_add_number(text, percentiles[i].key,
                        cost_spread_percentile(spread, op_count, percentiles[i].per_100000));
    }
    json_add_number(text, "max", spread->max);
    json_add_string(text, "growth", cost_fit_name(cost_classes_fit(costs->classes, measure)));
    json_unnest(text, '}');
}

static void add_class(struct writing *text, const struct cost_class *class, unsigned index)
{
    json_nest(text, NULL, '{');
    json_add_number(text, "from", (UINT64_C(1) << index) - 1);
    json_add_number(text, "to", (UINT64_C(2) << index) - 2);
    json_add_number(text, "ops", class->op_count);
    json_add_number(text, "effects", class->effects);
    json_add_number(text, "calls", class->spent[COST_CALLS]);
    json_add_number(text, "moved_bytes", class->spent[COST_MOVED_BYTES]);
    json_add_number(text, "asked_bytes", class->asked_bytes);
    json_unnest(text, '}');
}

void costs_add(struct writing *text, const struct run_totals *totals)
{
    const struct op_costs *costs = &totals->costs;
    if (!costs_are_seen(totals)) {
        return;
    }
    json_nest(text, "costs", '{');
    json_add_number(text, "ops", op_costs_op_count(costs));
    add_spread(text, "calls", costs, &costs->calls, COST_CALLS);
    add_spread(text, "moved_bytes", costs, &costs->moved_bytes, COST_MOVED_BYTES);
    json_nest(text, "by_blocks", '[');
    for (unsigned i = 0; i < COST_CLASS_COUNT; i++) {
        if (costs->classes[i].op_count > 0) {
            add_class(text, &costs->classes[i], i);
        }
    }
    json_unnest(text, ']');
    json_unnest(text, '}');
}
