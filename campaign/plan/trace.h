/* A field trace as a part of a campaign: imported once, when the plan is made; each trial is a
 * variation of it (harness/generate/variation.h), by its number and its seed alone. */
#ifndef CAMPAIGN_PLAN_TRACE_H
#define CAMPAIGN_PLAN_TRACE_H

#include "campaign/plan/run_options.h"
#include "harness/generate/scenario.h"
#include "harness/generate/variation.h"

/* The scenario that parts with a trace name.  It chooses nothing itself: its trials are given their
 * ops.  No run has it without a trace. */
extern const struct scenario scenario_trace;

enum { TRACE_REASON_BYTES = 1024 };

struct trace;

/* Reads the file that options->trace names, and the one that it is interleaved with.  Its setup is
 * the import's under what the options fix: target (with another one than the file's, the file's
 * options are dropped), target options, chip or capacity.  NULL: *reason is one line, which names
 * the file and the place in it. */
struct trace *trace_open(const struct run_options *options, char reason[TRACE_REASON_BYTES]);
void trace_close(struct trace *trace); /* NULL: does nothing */

/* Returns the setup of the trace as it is. */
const struct setup *trace_setup(const struct trace *trace);
/* The file, as the options name it. */
const char *trace_path(const struct trace *trace);
/* Returns a digest of all bytes of its files and of its variations: equal where the trials are. */
uint64_t trace_digest(const struct trace *trace);
/* The most ops of a trial, with the faults that may come between. */
uint64_t trace_op_count_max(const struct trace *trace);

/* Makes trial number `trial`: *setup, which has its seed, keeps it and gets hosts, clocks, tags and
 * capacity; the rest is that of the part.  *ops is initialised and replaced. */
void trace_make_trial(const struct trace *trace, uint64_t trial, struct setup *setup,
                      struct op_list *ops);

#endif
