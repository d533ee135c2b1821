/* The experiments: each is a short list of ops that asks a target one question.  What it is made of
 * depends on where the blocks lie, so it is recorded and replays like any op list. */
#ifndef INFER_EXPERIMENT_H
#define INFER_EXPERIMENT_H

#include "infer/claim.h"
#include "infer/lab.h"

enum experiment_need {
    EXPERIMENT_QUEUES = 1 << 0,       /* frees with an event that is not done */
    EXPERIMENT_PROGRAMS = 1 << 1,     /* load, execute, unload */
    EXPERIMENT_HOLDS = 1 << 2,        /* hold, release */
    EXPERIMENT_USES = 1 << 3,         /* use */
    EXPERIMENT_FINDS_LIMITS = 1 << 4, /* its refusals are no broken promises: they show a limit */
    EXPERIMENT_STREAMS = 1 << 5,      /* frees that are ordered by streams */
    EXPERIMENT_RECORDS = 1 << 6,      /* recordings */
    EXPERIMENT_SLEEPS = 1 << 7        /* sleep, wake */
};

struct experiment {
    const char *name;
    unsigned needs;
    const char *question;
    const char *bounds;
    void (*make)(struct lab *lab);
};

enum experiment_number {
#define EXPERIMENT(name, needs, question, bounds) EXPERIMENT_##name,
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
                     struct journal *journal, struct trace *trace);

/* What a target is held to besides its contract, to learn whether it keeps it; CLAIM_NONE: no
 * claim makes a difference to this experiment. */
enum claim experiment_claim(enum experiment_number number);

/* EXPERIMENT_COUNT traces, initialised. */
struct trace *experiment_traces_create(void);
void experiment_traces_destroy(struct trace *traces);

/* Takes what the experiments that find limits measured; traces has EXPERIMENT_COUNT places. */
struct limits experiment_limits(const struct trace *traces);

#endif
