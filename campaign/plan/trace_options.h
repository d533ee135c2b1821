/* The user's options for a field trace that is run as a workload: its file, and how trials vary
 * it. */
#ifndef CAMPAIGN_PLAN_TRACE_OPTIONS_H
#define CAMPAIGN_PLAN_TRACE_OPTIONS_H

#include "harness/generate/variation.h"

enum { TRACE_FORMAT_BYTES = 32, TRACE_PATH_BYTES = 1024 };

/* How trials vary a trace (harness/generate/variation.h).  Open; trace_vary_init() fills it. */
struct trace_vary {
    char format[TRACE_FORMAT_BYTES];   /* "auto", or a format's name */
    char interleave[TRACE_PATH_BYTES]; /* "self", "none", or the file of another trace */
    uint64_t repeat_count_max;
    uint64_t skew_ns;
    uint16_t percents[VARIATION_PERCENT_COUNT_MAX]; /* percent_count of them */
    uint32_t percent_count;
};

/* Everything: up to three times, with itself, half and double sizes, hosts up to 1 s apart. */
void trace_vary_init(struct trace_vary *vary);

/* "amplify=3 interleave=self scale=50,200 skew=1s format=auto", any of them, the rest as above; or
 * "none", which leaves the trace as it is in each trial.  NULL, or what is wrong with it, to follow
 * it in quotes; valid until the next call. */
const char *trace_vary_parse(const char *text, struct trace_vary *vary);

/* True if interleave is a file. */
bool trace_vary_names_file(const struct trace_vary *vary);

#endif
