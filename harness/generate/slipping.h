/* Other sources of ops: what is slipped into those of any scenario, retries, sleeps, recordings and
 * streams, and a list that was made before the trial.  Each has a source of chance of its own, so
 * that the scenario's draws are the same with and without it. */
#ifndef HARNESS_GENERATE_SLIPPING_H
#define HARNESS_GENERATE_SLIPPING_H

#include "harness/base/random.h"
#include "harness/generate/faulting.h"
#include "harness/generate/scenario.h"
#include "harness/op/op.h"

/* --- retrying --- */

/* Slips retries into the ops of any scenario: some requests that were answered out of memory are
 * asked again at once (OP_RETRY). */

/* A refusal may cost a hundred times what another op does. */
enum { RETRYING_PERIOD = 8 };

/* An open value. */
struct retrying {
    struct random random;
};

void retrying_init(struct retrying *retrying, uint64_t seed);

/* To be asked after each op that was answered out of memory, with the op as it was recorded: one of
 * RETRYING_PERIOD is asked again.  True sets *op, which comes next.  Never for what several hosts
 * are asked alike, nor for a retry. */
bool retrying_next(struct retrying *retrying, const struct op *refused, struct op *op);

/* --- sleeping --- */

/* Slips sleeps and wakes into the ops of any scenario, if the target sleeps (contract.sleeps). Most
 * sleeps are followed by another one at once.  Where a trial may have faults, a device call of some
 * of them is refused. */

enum {
    /* A sleep is wanted once in so many ops, and one more for each block: it touches them all. */
    SLEEPING_PERIOD = 150,
    /* so long it waits for a moment at which nothing is in use, which it then brings about */
    SLEEPING_PATIENCE = 16,
    SLEEPING_REFUSED_PERCENT = 40, /* of sleeps and wakes meet a refused call */
    SLEEPING_NTH_MAX = 4,          /* the call that is refused */
    SLEEPING_AGAIN_PERCENT = 60    /* of wakes are followed by another sleep */
};

/* An open value. */
struct sleeping {
    struct random random;
    uint32_t fault_kinds;  /* as in struct fault_options; those that refuse a call count */
    uint32_t waited_count; /* ops since the sleep is wanted */
    uint8_t host;          /* that is to sleep, or sleeps */
    uint8_t fault;         /* enum fault_kind, the last one armed */
    bool is_off;           /* the scenario decides who sleeps */
    bool is_wanted;
    bool has_woken; /* and nothing was drawn since */
    bool is_armed;  /* the fault, as far as it did not strike */
    bool is_next;   /* the fault came, and what it is armed for did not */
};

void sleeping_init(struct sleeping *sleeping, const struct fault_options *options, uint64_t seed);

/* True if an op comes before the scenario's next one: *op is set then.  Between a sleep and its
 * wake every op does.  The caller asks again for the op after it, with a new view. */
bool sleeping_next(struct sleeping *sleeping, const struct scenario_view *view, struct op *op);

/* --- recording --- */

/* Slips recordings into the ops of any scenario, if the target records (contract.records): it
 * begins one, ends it after some ops, and drops it later. */

enum {
    RECORDING_PERIOD = 60,      /* one begins once in so many ops */
    RECORDING_LENGTH = 12,      /* and ends about so many later */
    RECORDING_DROP_PERIOD = 80, /* each one that ended is dropped once in so many ops */
    RECORDING_COUNT_MAX = 4     /* no more are kept */
};

/* An open value. */
struct open_recording {
    struct random random;
};

void recording_init(struct open_recording *recording, uint64_t seed);

/* True if an op comes before the scenario's next one: *op is set then. */
bool recording_next(struct open_recording *recording, const struct scenario_view *view,
                    struct op *op);

/* --- streaming --- */

/* Puts the requests, uses and queued frees of any scenario on streams, where the target orders them
 * so (contract.stream_ordered). */

/* A trial has up to so many streams, and now and then one alone. */
enum { STREAMING_COUNT_MAX = 4 };

/* An open value. */
struct streaming {
    struct random random;
    uint32_t stream_count; /* of this trial */
    uint32_t current;      /* what asks mostly asks on the stream that asked last */
};

void streaming_init(struct streaming *streaming, uint64_t seed);

/* To be asked for each op that the scenario chose.  Requests stay on one stream for a while; events
 * are mostly on the stream of their block, and now and then on another. */
void streaming_place(struct streaming *streaming, const struct scenario_view *view, struct op *op);

/* --- given --- */

/* A list that was made before the trial, as the source of its ops.  What is slipped in between
 * gives its ops other numbers: references follow. */

/* ops outlives it; next <= ops->count.  numbers: of each op that was handed out, the number that it
 * got in the run; owned. */
struct given {
    const struct op_list *ops;
    size_t next;
    uint32_t *numbers;
};

/* ops NULL: an empty one. */
void given_init(struct given *given, const struct op_list *ops);
void given_deinit(struct given *given);

/* Hands out the next op, which gets the number op_number in the run.  False: there is none left.  A
 * reference to an op that comes later names nothing (OP_NONE); relative ones stay. */
bool given_next(struct given *given, uint32_t op_number, struct op *op);

#endif
