/* A run: ops go one by one through the driver to the target of their host; the model takes in what
 * was observed; the oracle judges.  The run returns its verdicts and never aborts for what a target
 * did. */
#ifndef HARNESS_RUN_RUN_H
#define HARNESS_RUN_RUN_H

#include "harness/base/writing.h"
#include "harness/call/call.h"
#include "harness/generate/scenario.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/oracle/largest.h"
#include "harness/oracle/verdict.h"
#include "harness/run/growth.h"
#include "harness/run/hangs.h"
#include "harness/run/run_findings.h"
#include "harness/run/shortages.h"
#include "harness/run/standstills.h"
#include "harness/run/totals.h"
#include "harness/run/waits.h"
#include "harness/target.h"

struct run;

enum { RUN_REASON_BYTES = 256 };

/* Opens the target on every host.  setup is copied (granule and capacity completed); target must
 * outlive the run.  NULL: the target refused, reason says why (one line). */
struct run *run_create(const struct target *target, const struct setup *setup,
                       char reason[RUN_REASON_BYTES]);
/* Closes the targets that are still open. */
void run_destroy(struct run *run);

/* From here on the run goes on after a finding that does no harm (rule_gravity): the model follows
 * what the target did. */
void run_go_on(struct run *run);

/* Before the first op, for one that runs a host of a job alone: run_sums_decide() goes by what this
 * contract promises, that of the job's first host, which outlives the run. */
void run_hold_to(struct run *run, const struct target_contract *promised);

/* Before the first op: the target hears other ids of the same blocks and programs, in the same
 * order.  A run that does not show it to be different is the same to the last observation. */
void run_rename(struct run *run);

/* Executes one op, records it (resolved) and judges it.  The verdict belongs to the run until
 * the next call.  After a broken promise the run is over, unless it goes on: further ops are not
 * executed. */
const struct verdict *run_step(struct run *run, const struct op *op);
/* The event of that op of the host, where it is pending, is due at due_ns, past or not: for who
 * knows when other hosts, which are not of this run, joined its collective. */
void run_set_due(struct run *run, uint32_t host, uint32_t op, uint64_t due_ns);
/* After the last op: disarms the faults, completes and frees everything, checks the final promises
 * (one hole, host memory), closes the targets.  Not part of the recorded list. */
const struct verdict *run_finish(struct run *run);

/* Over, because a promise is broken. */
bool run_is_broken(const struct run *run);
/* Returns what was found so far, disputes included; run_finish() may add to it. */
const struct run_findings *run_findings(const struct run *run);
/* Returns who waited in vain for another host; after run_finish() begins, who still waits, too. */
const struct waits *run_waits(const struct run *run);
/* Why they waited in vain; the same.  None of a run with lanes. */
void run_hangs(const struct run *run, struct hangs *hangs);
/* Returns the standstills of all clients; NULL: none are named, or promises alone are judged. */
const struct standstills *run_standstills(const struct run *run);
/* Returns the shortages of hosts that share a device; there are none if none do. */
const struct shortages *run_shortages(const struct run *run);
/* The verdict on the out-of-memory of the last op, where the verdict of run_step() is on a rule
 * that the op broke besides; NULL: there is none. */
const struct verdict *run_hidden_oom(const struct run *run);
/* True if sums alone decide the answer to the last op, a request of an spmd group; *fits: it fits.
 * Every member that is as well off must then get the same answer (RULE_SPMD). */
bool run_sums_decide(const struct run *run, bool *fits);
const struct observation *run_observation(const struct run *run); /* of the last op */
const char *run_message(const struct run *run); /* error text of the last op, or "" */
/* After a verdict on an out-of-memory (a disputed one, too), until the next step: appends
 * the oracle's certificate to the text.  It is judged again, with its proof kept: only callers that
 * ask pay for it. */
void run_print_certificate(const struct run *run, struct writing *text);
/* Return, as above, the state that decided, and why the verdict holds.  The proof is valid until
 * the run is asked again or goes on. */
const struct oom *run_oom(const struct run *run);
const struct proof *run_prove(const struct run *run);
/* Returns, as above, the largest request that the state had room for.  nodes_max bounds the
 * searches; 0 = the budget of the run. */
struct oracle_largest run_find_largest(const struct run *run, uint64_t nodes_max);
const struct op_list *run_ops(const struct run *run); /* recorded so far, resolved */
const struct run_totals *run_totals(const struct run *run);
const struct setup *run_setup(const struct run *run);
const struct model *run_model(const struct run *run, uint32_t host);
/* For who watches the device itself. */
struct device *run_device(const struct run *run, uint32_t host);
/* The target's own counters, as it showed them after the last call that was judged; zeros before.
 */
const struct target_stats *run_stats(const struct run *run, uint32_t host);
/* FNV-1a over all observations so far: equal for equal runs. */
uint64_t run_digest(const struct run *run);
void run_view(const struct run *run, struct scenario_view *view);
/* The tag whose live bytes kept growing over the run, with its growth; false: none did.  Applies to
 * runs of at least 64 samples (one per 64 ops). */
bool run_growing_tag(const struct run *run, uint32_t host, struct growth *growth);

/* Called after each op of a trial or replay; may be NULL. */
struct run_listener {
    void *context;
    void (*judged)(void *context, const struct run *run, const struct verdict *verdict);
};

#endif
