/* Lists whose ops belong to several lanes, and their schedules: an OP_SWITCH at the end of the list
 * for each decision that was not "go on" (decision_default()). */
#ifndef HARNESS_LANES_LANES_LIST_H
#define HARNESS_LANES_LANES_LIST_H

#include "explore/scheduler.h"
#include "harness/op/op.h"

enum { LANES_CLIENT_COUNT_MAX = 16 };

/* True if only lanes_run() can run the list: some op is of another lane than 0, or it has a
 * schedule. */
bool lanes_are_in(const struct op_list *ops);
/* Returns how many client lanes it has: 1 + the highest number. */
uint8_t lanes_count(const struct op_list *ops);
/* Why that list cannot be run with lanes, in words; NULL: it can. */
const char *lanes_why_not_list(const struct op_list *ops);

/* Returns how many switches its schedule has. */
size_t lanes_switch_count(const struct op_list *ops);
/* The schedule as ops at the end of the list. */
void lanes_append_schedule(struct op_list *ops, const struct schedule_switch *switches,
                           size_t count);
/* Takes them out again, wherever they stand: *plain (initialised) is the list without them,
 * renumbered, and *switches, which the caller frees, what they say.  Returns how many. */
size_t lanes_take_schedule(const struct op_list *ops, struct op_list *plain,
                           struct schedule_switch **switches);

#endif
