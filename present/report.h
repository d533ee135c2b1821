/* What a run has to say, whatever the form: the open values that every report prints. */
#ifndef PRESENT_REPORT_H
#define PRESENT_REPORT_H

#include "harness/run/run.h"
#include "present/annotation.h"

/* How lanes are run; lane_count 0 = there are none. */
struct report_lanes {
    uint64_t lane_count, schedule_count; /* schedules: of each list; 0 = all there are */
    bool checks_races;
    char strategy[32]; /* "pct=3" */
    char backend[16];  /* "fibers" */
};

/* One scenario (or one section of a job file) of a run; all texts belong to the caller. */
struct report_part {
    const char *name;     /* of the scenario or the section */
    const char *scenario; /* the scenario that it runs */
    const struct setup *setup;
    uint64_t op_count_max; /* UINT64_MAX: not bounded in ops */
    const char *faults; /* what is slipped in between its ops: "copy,wait", "all"; "" = nothing */
    struct report_lanes lanes;
    uint64_t fault_period; /* faults come in every N-th of its trials; 0 = in each */
    const char *trace;     /* the file whose trace it runs; NULL or "": none */
    const char *job;       /* the job file that has it as a section; NULL or "": none */
    uint64_t job_line;     /* where that section begins there */
};

/* What starts; parts may be 0 (a replay). */
struct report_start {
    const char *subcommand;
    const struct setup *setup;
    const char *seed_source; /* where the seed comes from, as "of commit 4a07"; NULL = it was said,
                                or drawn */
    const char *file;        /* what is replayed or explained; NULL = nothing */
    uint64_t duration_ns;    /* UINT64_MAX: not bounded by time */
    uint64_t replay_sample;  /* every so many trials; 0 = none */
    const struct report_part *parts;
    size_t part_count;
    struct report_lanes lanes; /* of what is replayed */
};

/* How a finding shows again, beside its own list. */
struct report_repeats {
    /* after_count of them: lists of earlier trials that must run first, in this order; paths */
    const char *const *after;
    size_t after_count;
    bool is_unrepeated; /* it did not show again: the target was seen to die, but once */
};

/* Where a verdict came from; scenario NULL = a replayed list. */
struct report_place {
    const char *scenario;
    uint64_t trial;
};

/* Where a sweep made a device call fail. */
struct report_strike {
    const char *phase;        /* "plain" (nothing fails), "open", "list" */
    const char *fault, *mode; /* NULL with "plain" */
    uint64_t host, call;
};

/* A verdict: on an OOM, or a broken promise.  rule names the latter: a rule's name, or "crash" and
 * "hang" for a target that died or never returned. */
struct report_finding {
    struct report_place place;
    const struct verdict *verdict;
    const char *rule;                     /* NULL: an OOM that breaks no promise */
    const char *message;                  /* the target's error text */
    const char *repro;                    /* path; NULL = not kept */
    const char *replay;                   /* the one line that runs it again; NULL = none */
    const char *certificate;              /* path; NULL = not kept */
    struct report_repeats repeats;        /* of the repro */
    uint64_t lane_count, switch_count;    /* of the repro; 0 lanes = it has none */
    const struct oracle_largest *largest; /* that would have been served instead; NULL = unasked */
    const char *signature; /* of a broken promise: under it equal ones are counted; NULL = none */
    uint64_t seed;         /* of the trial */
    uint64_t op_count;     /* of the repro */
    const char *hang;      /* who waited in vain in its trial, in words; NULL or "" = nobody did */
    bool is_only_counted;  /* equal ones were reported, and nothing new was saved */
    bool is_known;         /* it is in the baseline */
    const struct report_strike *strike; /* of a sweep; NULL = it was none */
};

/* One trial that counts. */
struct report_trial {
    struct report_place place;
    uint64_t seed;
    const struct run_totals *totals;
    const char *signature; /* of the promise that it broke; "" = none */
    const char *kept;      /* where its list was kept; NULL or "" = it was not */
    uint64_t digest;       /* of all its observations */
    const char *output;    /* the file of what the target printed; NULL = none */
};

/* How a part stands, or ended. */
struct report_result {
    const char *name;
    const char *scenario;
    uint64_t trials;
    uint64_t done,
        due; /* in one unit: trials, ops or nanoseconds; due 0 = nothing bounds the part */
    bool is_finished;
    uint64_t finding_count; /* different ones that it was the first to show */
    struct run_totals totals;
    uint64_t elapsed_ns; /* of its trials, added up */
    uint64_t findings_only_counted;
    const char *note;        /* why it did not run, or what stands out; NULL = nothing */
    const char *not_tried;   /* what is therefore not tried, in a word; NULL = all is */
    const char *how;         /* to try it all the same; NULL = nobody knows */
    const char *growing_tag; /* NULL = no tag kept growing */
    struct growth growth;
};

/* Whether any of it was run; else its note says why not. */
static inline bool report_result_has_run(const struct report_result *result)
{
    return result->trials > 0 || result->totals.ops > 0 || result->finding_count > 0;
}

/* What the job lets pass: so many out-of-memories that stay unknown, by class, and so many verdicts
 * that cannot be repeated. */
struct report_allowed {
    uint64_t unknown[OOM_CLASS_COUNT];
    uint64_t unrepeated;
    uint64_t has_unknown_rate; /* the job gives a rate, so the numbers are worth saying */
};

/* Whether more stayed unknown than is allowed. */
static inline bool report_allowed_is_unknown(const struct report_allowed *allowed,
                                             const struct run_totals *totals)
{
    bool is_unknown = false;
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        is_unknown = is_unknown || totals->unknown_by_class[i] > allowed->unknown[i];
    }
    return is_unknown;
}

/* The same, or more could not be repeated. */
static inline bool report_allowed_is_exceeded(const struct report_allowed *allowed,
                                              const struct run_totals *totals)
{
    return report_allowed_is_unknown(allowed, totals) || totals->unrepeated > allowed->unrepeated;
}

/* The exit code with which the harness itself failed. */
enum { REPORT_EXIT_HARNESS = 4 };

/* How it all ended. */
struct report_end {
    uint64_t seed;
    const char *seed_source; /* as in report_start; no part of what is saved */
    uint64_t trials;
    struct run_totals totals;
    uint64_t elapsed_ns;
    uint64_t verdicts_omitted; /* justified ones that the results file leaves out */
    uint64_t trials_omitted;   /* the same */
    uint64_t kept_count;       /* lists of trials that are kept, whatever came of them */
    uint64_t kept_bytes;       /* of their files */
    uint64_t kept_omitted;     /* that were to be kept, and found no room */
    uint64_t certificates_checked;
    uint64_t known_count;          /* findings that the baseline knows */
    struct report_allowed allowed; /* set when all is done */
    int exit_code;
    bool is_interrupted;
    bool has_baseline; /* known findings were named */
};

/* A finding of a campaign: all verdicts with one signature, whichever jobs had them. */
struct report_known {
    const char *signature; /* "premature: fits after drain", "crash: SIGSEGV at f < g < h" */
    const char *rule;
    struct report_place first;                /* where it was seen first */
    uint64_t seed;                            /* of that trial */
    uint64_t count;                           /* verdicts with this signature */
    uint64_t op_count;                        /* of the shortest repro */
    const char *reason, *message;             /* of the shortest repro's verdict */
    const struct oracle_largest *largest;     /* of the same verdict; NULL = it is no OOM */
    const char *repro, *replay, *certificate; /* NULL = not kept */
    struct report_repeats repeats;            /* of the repro */
    bool is_known;                            /* it is in the baseline */
};

/* The planted target that each campaign runs: its defect must be reported. */
struct report_canary {
    const char *target, *scenario, *breaks;
    uint64_t trials;
    bool is_reported;
};

/* A state that a campaign ought to reach. */
struct report_probe {
    const char *name;
    uint64_t count;
};

/* A whole campaign, while it runs (end->exit_code is not set yet) and when it is over. */
struct report_campaign {
    const struct report_start *start;
    const struct report_result *results; /* result_count of them, one per part of start */
    size_t result_count;
    /* finding_count of them, the gravest first, then in the order in which they were found */
    const struct report_known *findings;
    size_t finding_count;
    const struct report_probe *probes; /* probe_count of them */
    size_t probe_count;
    const struct report_canary *canary; /* NULL: none was run */
    const struct report_end *end;
    uint64_t duration_left_ns;       /* of the whole campaign; UINT64_MAX = not bounded by time */
    const char *directory;           /* where results.jsonl and the certificates lie */
    uint64_t certificate_count;      /* there */
    enum annotation_form annotation; /* how findings are shown beside a change */
};

#endif
