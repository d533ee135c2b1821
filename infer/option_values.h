/* Which values of a target's options the experiments try: those that it lists. */
#ifndef INFER_OPTION_VALUES_H
#define INFER_OPTION_VALUES_H

#include "harness/op/setup.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPTION_VALUE_COUNT_MAX = 16 };

/* One option.  Values are those between bars.  For N, a number, a few numbers are
 * tried; a list with commas is tried in its order and in the reverse; of other words in capitals or
 * in angle brackets, which stand for any text, nothing is tried. */
struct option_values {
    char key[SETUP_NAME_BYTES];
    char values[OPTION_VALUE_COUNT_MAX][SETUP_NAME_BYTES];
    size_t count;
    bool is_open; /* it has values that are not tried */
};

/* The next option of the target, in its order; *at begins as 0.  False: there is none left.  What
 * is longer than a setup may have, or beyond the count, is left out (is_open). */
bool option_values_next(const struct target *target, size_t *at, struct option_values *values);

#endif
