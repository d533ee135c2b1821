/* The plan of a run, checked in full before anything starts.  Each part is a scenario on a target
 * with its setup and bounds. */
#ifndef CAMPAIGN_PLAN_PLAN_H
#define CAMPAIGN_PLAN_PLAN_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "harness/generate/faulting.h"
#include "harness/generate/scenario.h"
#include "harness/generate/variation.h"
#include "harness/run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* The commit that a directory is at, read from git's own files: a campaign without a seed of its
 * own has that of the commit it tests, so that two people who run it at the same commit run the
 * same trials. */

/* A SHA-256 in hexadecimal digits and its NUL; a SHA-1 is shorter. */
enum { COMMIT_BYTES = 65 };

/* Sets hash to the commit that HEAD names, as hexadecimal digits.  Applies to the top directory of
 * a checkout or of a linked worktree, on a branch or detached.  False: it is none of these, or
 * nothing is committed yet; hash is then untouched.  Source: gitrepository-layout(5). */
bool commit_read(const char *directory, char hash[COMMIT_BYTES]);

/* The seed that a commit stands for: 48 bits, so that it is quickly typed. */
uint64_t commit_seed(const char *hash);

/* A field trace as a part of a campaign: imported once, when the plan is made; each trial is a
 * variation of it (harness/generate/variation.h), by its number and its seed alone. */

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

enum { PLAN_OP_COUNT_DEFAULT = 20000, SEED_SOURCE_BYTES = COMMIT_BYTES + 16 };

struct part {
    char name[SETUP_NAME_BYTES]; /* of the section, else of the scenario */
    const struct scenario *scenario;
    const struct target *target;
    struct setup setup;          /* seed: of the part; trials derive theirs */
    bool capacity_is_free;       /* neither chip nor capacity was given */
    uint64_t op_count_max;       /* in all trials together; UINT64_MAX = not bounded */
    bool has_op_count_max;       /* it was said */
    uint64_t trial_count_max;    /* UINT64_MAX = not bounded */
    struct fault_options faults; /* slipped into its trials */
    struct lane_options lanes;   /* completed; lane_count 0 = its trials have no lanes */
    const struct trace *trace;   /* its trials are made of it (the plan's); NULL: of the scenario */
    uint64_t keep_count;         /* lists of its first trials are kept, whatever came of them */
    uint64_t duration_ns;        /* of its trials together; UINT64_MAX = not bounded */
    char note[RUN_REASON_BYTES]; /* why it is skipped; "" = it runs */
    /* what is added to a part of the default run; all zero: nothing */
    uint64_t fault_period; /* trials N-1, 2N-1, ... get the faults; 0 = each does */
    uint64_t small_period; /* trials N/2, N/2+N, ... draw a small device, if it is free; 0 = none */
    uint64_t head_start;   /* so many of its trials come in the first round */
    uint64_t stride;       /* its trials come in every N-th round; 0 = by their length */
    const char *job;       /* the job file that it is a section of; NULL = none */
    uint64_t job_line;     /* where that section begins */
    const char *how;       /* what would make a skipped part run; NULL = nothing is known */
    bool is_tentative;     /* nobody asked for its lanes: where they cannot be modelled they end */
    bool is_thread_safe;   /* its target may be called by several clients at once */
    char why_no_lanes[RUN_REASON_BYTES]; /* of the target; "" = it can be run with lanes */
};

/* Returns the faults of a trial of the part; they depend on its number alone. */
struct fault_options plan_trial_faults(const struct part *part, uint64_t trial);
bool plan_trial_is_small(const struct part *part, uint64_t trial);

/* The setup of trial number `trial`, and where the part has a trace its ops; *ops is initialised,
 * and stays empty otherwise.  True: it has one. */
bool plan_trial_make(const struct part *part, uint64_t trial, struct setup *setup,
                     struct op_list *ops);

struct plan {
    struct part *parts; /* count of them */
    size_t count;
    struct trace **traces; /* trace_count of them; owned */
    size_t trace_count;
    char *job; /* the path of the job file, which its parts point to; owned; NULL: there is none */
    struct setup setup; /* what was said for all parts */
    uint32_t shard_index,
        shard_count; /* of the trials numbered i, those with i % shard_count == shard_index */
    bool has_required_probes;   /* the campaign fails unless every state probe is hit */
    bool has_canary;            /* the last part is the canary: it is no job of the user's */
    struct allowance allowance; /* of the whole run */
    uint64_t begin_ns;          /* when plan_make() began: the time of the run counts from there */
    uint64_t duration_ns;       /* wall time of the whole run; UINT64_MAX = not bounded */
    /* "" or the commit that setup.seed comes from, for messages: "of commit 4a07…". */
    char seed_source[SEED_SOURCE_BYTES];
};

/* Makes the plan from the command line and, with --job, the job file; seed is used where none is
 * given; with a job file the seed of the current directory's commit, when there is one, comes
 * before that. Opens each part's target once, so that a refused option or capacity is told now.
 * EXIT_KEPT, or another code after one message; deinit in both cases. */
enum exit_code plan_make(const struct run_options *options, uint64_t seed, struct plan *plan);
void plan_deinit(struct plan *plan);

/* Adds a part at the end, for the caller to fill; the others may have moved. */
struct part *plan_add_part(struct plan *plan);

/* EXIT_KEPT when any of its parts runs; otherwise EXIT_USAGE after one message, which says what no
 * scenario can do: done is "run" or "be swept". */
enum exit_code plan_check_work(const struct plan *plan, const char *done);

/* The seed of trial number `trial` of a part: random_derive of (random_derive of the part's seed
 * and the FNV-1a hash of the scenario's name) and the number.  It depends on nothing else, so a
 * trial can be run again alone and by any worker. */
uint64_t plan_trial_seed(const struct part *part, uint64_t trial);

/* --- part.c: one part while the plan is made --- */

/* What a user wants to run, and with which options; trace NULL: the scenario alone. */
struct part_wish {
    const struct scenario *scenario;
    const struct trace *trace;
    const struct run_options *options;
    uint64_t seed;
};

/* Weights that a scenario would ignore are refused.  True: it accepts them, or none were given. */
bool part_check_weights(const struct scenario *scenario, const struct run_options *given,
                        char reason[RUN_REASON_BYTES]);
/* EXIT_KEPT, or another code after one message; without bounds in both cases. */
enum exit_code part_init(struct part *part, const char *name, const struct part_wish *wish);
void part_bound(struct part *part, const struct run_options *given);

/* Opens the target as the first trial will, and notes why the part is skipped, if it is. EXIT_KEPT,
 * or another code after one message. */
enum exit_code part_try_target(struct part *part, uint64_t duration_ns);

/* Finds which of the processes that mpirun or srun started this one is, from the variables that
 * they set.  A campaign with --shard auto takes its shard from it. */

enum { RANK_COUNT_MAX = 1000000, RANK_REASON_BYTES = 320 };

struct rank {
    uint64_t index, count; /* index from 0, below count; count up to RANK_COUNT_MAX */
};

/* A variable of the environment: its text, which must last until rank_find() returns, or NULL. */
typedef const char *rank_variable(const char *name);

/* Reads three pairs of variables.  The first pair of which a variable is set decides:
 *   OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE   Open MPI
 *   PMI_RANK and PMI_SIZE                           MPICH and others, and srun --mpi=pmi2
 *   SLURM_PROCID and SLURM_NTASKS                   srun; mpirun inside of an allocation of Slurm
 *                                                   inherits others
 * False, with one line in reason: none is set; the pair is half set or malformed; its rank is not
 * below its size; both Open MPI and PMI are set and differ, and the PMI pair is not that of srun;
 * or only Slurm's are set, by a batch script (SLURM_JOB_ID without SLURM_STEP_ID), which is no task
 * of srun.  Then *rank is unchanged. */
bool rank_find(rank_variable *variable, struct rank *rank, char reason[RANK_REASON_BYTES]);

/* Widens a run for which nobody says what to look at: faults in every second trial, small devices
 * in some, and several client threads.  Job files say themselves what they look at. */

enum {
    WIDEN_FAULT_PERIOD = 2,      /* trials 1, 3, 5, ... get faults */
    WIDEN_SMALL_PERIOD = 4,      /* trials 2, 6, 10, ... have a small device, if it is free */
    WIDEN_LANE_COUNT = 3,        /* clients */
    WIDEN_SCHEDULE_COUNT = 8,    /* of each list: more lists find more than more schedules do */
    WIDEN_LANES_STRIDE = 2,      /* a trial with lanes in every second round */
    WIDEN_HEAD_START_COUNT = 16, /* crowded trials that come before all others */
};

/* Text that says how to try lanes that no scheduler can run. */
extern const char widen_how_free[];
/* Begins why they ended: what the scheduler met follows. */
extern const char widen_not_modelled[];

/* Widens a plan that was made without a job file.  Given options stay: --faults gives every trial
 * its faults, --lanes N its lanes; "none" leaves them out.  With lanes each scenario gets a
 * second part, SCENARIO.lanes.  If the target cannot be run so, one skipped part, "lanes", says
 * why. */
void plan_widen(const struct run_options *options, struct plan *plan);

/* The canary of a campaign: one target with a planted defect that runs beside the jobs through the
 * same workers.  It must be reported: a campaign that does not see this one cannot be believed when
 * it sees nothing. */

/* The most trials of the canary: they are enough, as the defect shows in nearly each of them. */
enum { CANARY_TRIAL_COUNT_MAX = 64 };

/* Appends the canary to the plan, as its last part. */
void canary_add(struct plan *plan);

/* The canary of the plan; NULL: it has none. */
const struct part *canary_of(const struct plan *plan);

#endif
