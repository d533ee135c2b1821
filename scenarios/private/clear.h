/* Takes a host back to an empty device, op by op: what a process does when it restarts after an
 * error. */
#ifndef SCENARIOS_PRIVATE_CLEAR_H
#define SCENARIOS_PRIVATE_CLEAR_H

#include "harness/generate/scenario.h"

/* The next op on the way: releases, frees, unloads, and in the end lets pending events complete.
 * False: nothing is left that a client can name.  keep_programs: loaded programs stay. */
bool clear_next(const struct scenario_view *view, uint8_t host, bool keep_programs, struct op *op);

#endif
