/* Prints what every lane did in one run, as columns.  A row is one turn, between two switches. */
#ifndef RECORDING_LANE_COLUMNS_H
#define RECORDING_LANE_COLUMNS_H

#include "harness/base/writing.h"
#include "harness/lanes/lanes.h"

struct lane_columns;

/* ops: the list that is run, which outlives it; its schedule may be among them. */
struct lane_columns *lane_columns_create(const struct op_list *ops);
void lane_columns_destroy(struct lane_columns *columns);

/* Return the listeners that a run reports to; the columns must outlive the run. */
struct scheduler_trace lane_columns_trace(struct lane_columns *columns);
struct lanes_watch lane_columns_watch(struct lane_columns *columns);

/* Appends the rows, with what broke beside the op of the run's first verdict. */
void lane_columns_print(const struct lane_columns *columns, const struct verdict *first,
                        struct writing *text);

#endif
