/* The options of a target: its rows, or the lines of option_help where it has no rows. */
#ifndef HARNESS_BASE_TARGET_OPTION_H
#define HARNESS_BASE_TARGET_OPTION_H

#include "harness/target.h"

/* One option as lists show it; texts end after their lengths. */
struct target_option_shown {
    const char *key, *values;
    size_t key_length, values_length;
    const char *help; /* NULL = none */
};

/* The next option of the target, in its order; *at begins as 0.  False: there is none left. */
bool target_option_next(const struct target *target, size_t *at, struct target_option_shown *shown);
/* True if the target names an option with that key. */
bool target_has_option(const struct target *target, const char *key);

/* Holds the options of a setup to the rows and keeps their values in *values, where the rows say;
 * values NULL: they are only looked at.  False: reason[reason_bytes] names the first one that is
 * wrong, and what is valid; values before it are kept. */
bool target_options_read(const struct target_option_row *rows, const struct target_setup *setup,
                         void *values, char *reason, size_t reason_bytes);

#endif
