/* A run: ops go one by one through the driver to the target of their host; the model takes in what
 * was observed; the oracle judges.  The run returns its verdicts and never aborts for what a target
 * did. */
#ifndef HARNESS_RUN_H
#define HARNESS_RUN_H

#include "harness/faulting.h"
#include "harness/observation.h"
#include "harness/op.h"
#include "harness/probe.h"
#include "harness/regret.h"
#include "harness/scenario.h"
#include "harness/setup.h"
#include "harness/target.h"
#include "harness/verdict.h"

#include <stdio.h>

struct run;

/* Where ops come from: a list, or a scenario.  Called for each op. */
struct run_totals {
    uint64_t ops; /* acted, skipped ones not counted */
    uint64_t skipped;
    uint64_t ooms, justified, premature, unknown, broken, disputed;
    uint64_t drains, moves, moved_bytes, stagings, evictions; /* device calls that were granted */
    uint64_t excused; /* OOMs that were not judged: a block was in host memory */
    uint64_t search_nodes;
    uint64_t second_opinions;            /* OOMs that the exhaustive judge judged, too */
    uint64_t regretted, regrets_unknown; /* requests; regret.h says what */
    uint64_t regrets[REGRET_KIND_COUNT]; /* the same by kind; one request may have several */
    uint64_t regretted_evicted_bytes, regretted_moved_bytes; /* beyond the cheapest plans */
    uint64_t by_kind[OP_KIND_COUNT];                         /* acted */
    uint64_t skipped_by_kind[OP_KIND_COUNT];
    uint64_t schedules, points,
        switches;                 /* of lanes: runs, steps, and how often another one went on */
    uint64_t probes[PROBE_COUNT]; /* ops that hit them */
    uint64_t probe_pairs[PROBE_PAIR_COUNT]; /* ops that hit both; by probe_pair_index */
};
void run_totals_add(struct run_totals *to, const struct run_totals *from);

enum { RUN_REASON_BYTES = 256 };

/* Opens the target on every host.  setup is copied (granule and capacity completed); target must
 * outlive the run.  NULL: the target refused, reason says why (one line). */
struct run *run_create(const struct target *target, const struct setup *setup,
                       char reason[RUN_REASON_BYTES]);
/* Closes the targets that are still open. */
void run_destroy(struct run *run);

/* Executes one op, records it (resolved) and judges it.  The verdict belongs to the run until
 * the next call.  After a broken promise the run is over: further ops are not executed. */
const struct verdict *run_step(struct run *run, const struct op *op);
/* After the last op: disarms the faults, completes and frees everything, checks the final promises
 * (one hole, host memory), closes the targets.  Not part of the recorded list. */
const struct verdict *run_finish(struct run *run);

bool run_is_broken(const struct run *run);
const struct observation *run_observation(const struct run *run); /* of the last op */
const char *run_message(const struct run *run); /* error text of the last op, or "" */
/* After a verdict on an out-of-memory (a disputed one, too), until the next step: prints the
 * oracle's certificate. It is judged again, with its proof kept, so nobody pays who does not ask.
 */
void run_print_certificate(const struct run *run, FILE *file);
const struct op_list *run_ops(const struct run *run); /* recorded so far, resolved */
const struct run_totals *run_totals(const struct run *run);
const struct setup *run_setup(const struct run *run);
const struct model *run_model(const struct run *run, uint32_t host);
/* For who watches the device itself. */
struct device *run_device(const struct run *run, uint32_t host);
/* FNV-1a over all observations so far: equal for equal runs. */
uint64_t run_digest(const struct run *run);
void run_view(const struct run *run, struct scenario_view *view);
/* The tag whose live bytes kept growing over the run, with its growth; false: none did.  Applies to
 * runs of at least 64 samples (one per 64 ops). */
struct growth {
    uint8_t tag;
    uint64_t first_bytes, last_bytes;
    uint64_t count;
};
bool run_growing_tag(const struct run *run, uint32_t host, struct growth *growth);

/* Called after each op of a trial or replay; may be NULL. */
struct run_listener {
    void *context;
    void (*judged)(void *context, const struct run *run, const struct verdict *verdict);
};

/* How a whole trial ended. */
struct trial {
    struct verdict first; /* the first premature or broken verdict; else NONE */
    struct run_totals totals;
    uint64_t digest;
    struct op_list ops; /* recorded; the caller deinits */
    struct setup setup;
};
/* What a trial is made of; all of it outlives the call. */
struct trial_plan {
    const struct target *target;
    const struct scenario *scenario;
    const struct setup *setup; /* its seed is the trial's */
    bool capacity_is_free;     /* the scenario may choose another one */
    /* besides the scenario's own bound; both count faults that are slipped in */
    uint64_t op_count_max;
    struct fault_wish faults; /* what is slipped in between the scenario's ops; zero: nothing */
    void (*chosen)(void *context,
                   const struct op *op); /* told of each op before it is run; NULL: nobody is */
    void *context;
};
/* One trial of a scenario.  False: the target refused the setup (reason). */
bool trial_run(const struct trial_plan *plan, const struct run_listener *listener,
               struct trial *trial, char reason[RUN_REASON_BYTES]);
/* Runs a recorded list. */
bool trial_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES]);
void trial_deinit(struct trial *trial);

#endif
