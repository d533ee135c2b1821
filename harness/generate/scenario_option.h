/* An option that a user may set for a scenario: a number or one of a few words.  The scenario asks
 * for values; the plan of a run refuses an option that none of its scenarios has. */
#ifndef HARNESS_GENERATE_SCENARIO_OPTION_H
#define HARNESS_GENERATE_SCENARIO_OPTION_H

#include "harness/generate/scenario.h"

enum {
    SCENARIO_OPTION_REASON_BYTES = 256,
    SCENARIO_OPTION_HELP_BYTES = 64,
    SCENARIO_OPTION_NAME_COUNT_MAX = 64 /* of one scenario */
};
/* The value of word i is SCENARIO_WORD(i). */
#define SCENARIO_WORD(index) ((UINT64_C(1) << 40) + (index))

/* One option; all of it is constant. */
struct scenario_option {
    const char *name;         /* "batch" */
    const char *summary;      /* what it means, with its unit and its default: one line */
    const char *const *words; /* accepted as they are, the last one NULL; NULL = there are none */
    uint64_t low, high;       /* numbers that are accepted; high 0 = words alone */
    uint64_t value;           /* where the user gives none */
};

/* The option of the scenario with that name; NULL: it has none. */
const struct scenario_option *scenario_option_find(const struct scenario *scenario,
                                                   const char *name);
/* True if text is a value of the option.  *value stays otherwise. */
bool scenario_option_parse(const struct scenario_option *option, const char *text, uint64_t *value);
/* "1..4096" or "none|drawn|0..63". */
void scenario_option_print_values(const struct scenario_option *option,
                                  char text[SCENARIO_OPTION_HELP_BYTES]);

/* The value of an option that the scenario has: the user's, or the default. */
uint64_t scenario_option_value(const struct scenario *scenario, const struct setup *setup,
                               const char *name);
/* Returns the text as the user wrote it; NULL: not given. */
const char *scenario_option_given(const struct setup *setup, const char *name);
bool scenario_option_is_given(const struct setup *setup, const char *name);

/* True if the scenario has all options of the setup, their values are possible, each and together,
 * and it counts steps if setup->until_step is set.  False: reason says what is missing, and for a
 * wrong name gives the nearest one, or all. */
bool scenario_options_check(const struct scenario *scenario, const struct setup *setup,
                            char reason[SCENARIO_OPTION_REASON_BYTES]);

#endif
