/* What every form says of what ops cost: device calls and moved bytes of an op, and how both grow
 * with the blocks.  Nothing where the target had the device do nothing. */
#ifndef PRESENT_COSTS_H
#define PRESENT_COSTS_H

#include "harness/run/totals.h"
#include "present/table.h"

/* Some op called the device. */
bool costs_are_seen(const struct run_totals *totals);

/* The titles of the table for the terminal, and the cells of one row after its name. */
enum { COSTS_COLUMN_COUNT = 7 };
extern const char *const costs_titles[COSTS_COLUMN_COUNT];
void costs_put_row(struct table *table, const struct run_totals *totals);

/* The member costs: all percentiles, and each class of blocks. */
void costs_add(struct writing *text, const struct run_totals *totals);

#endif
