/* Op lists that ask the same of every target: drawn by a scenario against a recorder, from which
 * only what every target understands is left. */
#ifndef MEASURE_DRAWN_LIST_H
#define MEASURE_DRAWN_LIST_H

#include "harness/run/run.h"

/* Runs one trial of the scenario on the recorder, with that setup (its seed, its capacity), and
 * appends what the recorder granted and the capacity has room for: requests of buffers without
 * alignment, frees, queued frees, time and completions.  A recorder that gives out any free
 * granules therefore makes a list that fits in the capacity whenever nothing is lost to placement
 * or rounding.  Programs, uses, holds and donations are not drawn, since not every target has them.
 * op_count_max bounds the ops that are drawn.  The same arguments give the same list.  False: the
 * recorder refused the setup, or broke a promise; reason. */
bool drawn_list_make(const struct target *recorder, const struct scenario *scenario,
                     const struct setup *setup, uint64_t op_count_max, struct op_list *ops,
                     char reason[RUN_REASON_BYTES]);

#endif
