/* The limits up to which a job passes without a failure: the rate of out-of-memories that may stay
 * unknown, and the number of verdicts that nobody can repeat. */
#ifndef CAMPAIGN_BASE_ALLOWANCE_H
#define CAMPAIGN_BASE_ALLOWANCE_H

#include "present/report.h"

/* part / whole of all out-of-memories, at most 1; whole 0 = none. */
struct rate {
    uint64_t part, whole;
};

/* Saved as bytes, so without padding. */
struct allowance {
    struct rate unknown_rates[OOM_CLASS_COUNT];
    uint64_t has_unknown_rate, unrepeated;
};

/* "plain:1e-8 aligned:1/1000": each class at most once, separated by commas or blanks.  Returns
 * NULL, or what is wrong with the text, to follow it in quotes, and then rates is untouched. */
const char *allowance_parse_rates(const char *text, struct rate rates[OOM_CLASS_COUNT]);

/* The counts that this comes to in a whole run with so many out-of-memories: of each class the rate
 * times ooms, rounded down. */
struct report_allowed allowance_of_run(const struct allowance *allowance, uint64_t ooms);

#endif
