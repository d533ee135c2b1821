/* What a run has to say, whatever the form: the open values that every report prints. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include "harness/run.h"

/* One scenario (or one section of a job file) of a run; all texts belong to the caller. */
struct report_part {
    const char *name;     /* of the scenario or the section */
    const char *scenario; /* the scenario that it runs */
    const struct setup *setup;
    uint64_t op_count_max; /* UINT64_MAX: bounded by time alone */
};

/* What starts; parts may be 0 (a replay). */
struct report_start {
    const char *subcommand;
    const struct setup *setup;
    const char *file;     /* what is replayed or explained; NULL = nothing */
    uint64_t duration_ns; /* UINT64_MAX: not bounded by time */
    uint64_t replay_sample; /* every so many trials; 0 = none */
    const struct report_part *parts;
    size_t part_count;
};

/* Where a verdict came from; scenario NULL = a replayed list. */
struct report_place {
    const char *scenario;
    uint64_t trial;
};

/* A verdict: on an OOM, or a broken promise.  rule names the latter: a rule's name, or "crash" and "hang" for a
 * target that died or never returned. */
struct report_finding {
    struct report_place place;
    const struct verdict *verdict;
    const char *rule;        /* NULL: an OOM that breaks no promise */
    const char *message;     /* the target's error text */
    const char *repro;       /* path; NULL = not kept */
    const char *replay;      /* the one line that runs it again; NULL = none */
    const char *certificate; /* path; NULL = not kept */
    uint64_t seed;           /* of the trial */
    uint64_t op_count;       /* of the repro */
};

/* How a part ended. */
struct report_result {
    const char *name;
    uint64_t trials;
    struct run_totals totals;
    uint64_t elapsed_ns;    /* of its trials, added up */
    uint64_t findings_only_counted;
    const char *note;       /* why it did not run, or what stands out; NULL = nothing */
    const char *growing_tag; /* NULL = no tag kept growing */
    struct growth growth;
};

/* How it all ended. */
struct report_end {
    uint64_t seed;
    uint64_t trials;
    struct run_totals totals;
    uint64_t elapsed_ns;
    uint64_t verdicts_omitted; /* justified ones that the results file leaves out */
    uint64_t certificates_checked;
    int exit_code;
    bool is_interrupted;
};

#endif
