/* The experiments: each is a short list of ops that asks a target one question.  What it is made of
 * depends on where the blocks lie, so it is recorded and replays like any op list. */
#ifndef INFER_EXPERIMENT_H
#define INFER_EXPERIMENT_H

#include "infer/lab.h"

enum experiment_need {
    EXPERIMENT_QUEUES = 1 << 0,       /* frees with an event that is not done */
    EXPERIMENT_PROGRAMS = 1 << 1,     /* load, execute, unload */
    EXPERIMENT_HOLDS = 1 << 2,        /* hold, release */
    EXPERIMENT_USES = 1 << 3,         /* use */
    EXPERIMENT_FINDS_LIMITS = 1 << 4, /* its refusals are no broken promises: they show a limit */
    EXPERIMENT_STREAMS = 1 << 5,      /* frees that are ordered by streams */
    EXPERIMENT_RECORDS = 1 << 6,      /* recordings */
    EXPERIMENT_SLEEPS = 1 << 7,       /* sleep, wake */
    EXPERIMENT_ASKS_TWO = 1 << 8,     /* a request of two units may be granted (lab_may_ask) */
    EXPERIMENT_ASKS_THREE = 1 << 9,   /* the same of three */
    EXPERIMENT_FULL = 1 << 10         /* the device is full when it begins (lab_fill) */
};

/* What a target is held to though it does not declare it: what it does not promise may be kept all
 * the same, and only a judge that expects it can tell. */
enum claim {
    CLAIM_NONE = 0,
    CLAIM_QUEUED_FREES, /* queues_frees */
    CLAIM_MESSAGES,     /* documented_messages */
    CLAIM_RESUMES,      /* resumes */
    CLAIM_STREAMS,      /* stream_ordered */
    CLAIM_RECORDS,      /* records */
    CLAIM_ACCESSES      /* cost.accesses: linear, so that they are counted */
};
/* Whether the contract makes the claim by itself. */
bool claim_is_declared(enum claim claim, const struct target_contract *contract);
/* Makes *claiming the same target with a contract that makes the claim, too.  One such target can
 * be used at a time, in one thread: open has no other way to know the claim. */
void claim_make(enum claim claim, const struct target *target, struct target *claiming);

struct experiment {
    const char *name;
    unsigned needs;
    enum claim claim; /* that makes a difference to it */
    const char *question;
    const char *bounds;
    void (*make)(struct lab *lab);
};

enum experiment_number {
#define EXPERIMENT(name, needs, claim, question, bounds) EXPERIMENT_##name,
#include "infer/list.h"
#undef EXPERIMENT
    EXPERIMENT_COUNT
};
/* EXPERIMENT_COUNT of them. */
extern const struct experiment experiments[];
/* The device on which they are made unless another capacity is given: sixteen blocks of 64 KiB, or
 * of a region each. */
uint64_t experiment_capacity_bytes(bool has_regions);
/* The first so many of them need no limits. */
enum { EXPERIMENT_LIMIT_COUNT = EXPERIMENT_sizes };

/* Makes the experiment on a new instance of the target, in this process.  *trace is initialised.
 * Deterministic: the same ops and answers each time.  journal may be NULL. */
void experiment_make(enum experiment_number number, const struct target *target,
                     const struct setup *setup, const struct limits *limits,
                     struct journal *journal, struct lab_trace *trace);

/* EXPERIMENT_COUNT traces, initialised. */
struct lab_trace *experiment_traces_create(void);
void experiment_traces_destroy(struct lab_trace *traces);

/* Takes what the experiments that find limits measured; traces has EXPERIMENT_COUNT places. */
struct limits experiment_limits(const struct lab_trace *traces);

/* --- for the functions that make them --- */

#define EXPERIMENT(name, needs, claim, question, bounds) void experiment_##name(struct lab *lab);
#include "infer/list.h"
#undef EXPERIMENT

/* So often a refused request is repeated: defects of failed calls need not show at the first, and
 * the harness looks at all of it after one refusal in eight. */
enum { EXPERIMENT_REFUSAL_COUNT = 8 };

/* Events of experiments complete after this, unless they are lost. */
#define EXPERIMENT_DELAY_NS UINT64_C(1000000)

#endif
