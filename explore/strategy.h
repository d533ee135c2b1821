/* A strategy decides which lane goes on: here are the choice that a scheduler offers, the decision
 * that comes back, and the table of a strategy.  Everything here is plain data: a strategy sees
 * neither threads nor fibers. */
#ifndef EXPLORE_STRATEGY_H
#define EXPLORE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LANE_COUNT_MAX = 32,  /* lanes of one run: clients, and the threads that the target makes */
    EVENT_COUNT_MAX = 32, /* of the pending events so many are offered, those that are due first */
};
#define STEP_OP_NONE UINT32_MAX

/* The kind of step that a lane is about to take at a point. */
enum step_kind {
    STEP_START = 0, /* a lane's first */
    STEP_OP,        /* an op of the list begins */
    STEP_DEVICE,    /* a call into the device */
    STEP_LOCK,
    STEP_TRY_LOCK,
    STEP_UNLOCK,
    STEP_COND_WAIT,
    STEP_SIGNAL,
    STEP_WAIT, /* a semaphore, a barrier, a once, a join, the end of a device's work, other lanes */
    STEP_POST,
    STEP_CREATE,
    STEP_ATOMIC,
    STEP_SLEEP,
    STEP_YIELD,
    STEP_END, /* the lane is over */
    STEP_KIND_COUNT
};
const char *step_kind_name(enum step_kind kind); /* "lock" */

/* The objects that a lane's next step touches.  Two steps of different lanes are independent when
 * they touch different objects, or both only read; then their order does not matter. */
struct footprint {
    uint32_t object; /* number of the object, in the order of first use in this run; 0 = may touch
                        anything */
    bool reads_only;
};

/* The point at which a lane stands: point `number` of its op, 0 = before it begins.  A lane that is
 * not a client counts its points from its start, with op STEP_OP_NONE. */
struct point {
    uint8_t lane;
    uint8_t kind; /* enum step_kind */
    uint32_t op;
    uint32_t number;
};

/* One decision to make: at least two things can happen next. */
struct choice {
    struct point at; /* where the lane stands that ran until now */
    uint64_t lanes;  /* bit per lane that can go on; the bit of at.lane is set when that one can */
    uint64_t sleepers; /* bit per lane that awaits a time-out which may fire now; none of them is in
                          lanes */
    uint32_t event_count;   /* pending events that may complete now */
    const uint64_t *events; /* their ids, in the order in which they are due */
    /* by lane: of its next step; defined where lanes or sleepers has its bit */
    const struct footprint *next;
    uint64_t index;        /* decisions of this run before this one */
    uint64_t step_count;   /* steps and completions of this run before this decision, those too that
                              nobody decided on */
    uint64_t client_lanes; /* bit per lane that runs ops */
};
/* True: event (an id of choice->events) completes, and the same lanes are asked again.  Else lane
 * goes on; when its bit is in sleepers its time-out fires. */
struct decision {
    bool completes;
    uint8_t lane;
    uint64_t event;
};

/* The end of a run, for a strategy that learns or searches. */
struct run_summary {
    uint64_t decision_count; /* with more than one thing that could happen */
    uint32_t lane_count;
    bool is_cut; /* it did not end by itself: its last decisions were never tried */
};

/* The table of a strategy.  begin is called before each run, with runs counted from 0; choose for
 * each decision; end after the run.  end: false = nothing is left to try. */
struct strategy_kind {
    const char *name;    /* as on the command line */
    const char *summary; /* one sentence */
    size_t state_bytes;
    void (*init)(void *state, uint64_t seed, uint64_t argument);
    void (*deinit)(void *state); /* NULL: nothing to give back */
    void (*begin)(void *state, uint64_t run);
    struct decision (*choose)(void *state, const struct choice *choice);
    bool (*end)(void *state, const struct run_summary *summary);
};

/* Returns what happens when nobody decides otherwise: the lane goes on; when it cannot, the next
 * lane in the order of numbers, round and round; when none can, the event that is due first; else
 * the first time-out. */
struct decision decision_default(const struct choice *choice);
bool decision_equal(const struct decision *a, const struct decision *b);
/* True if the lane can go on or may time out, or the event may complete. */
bool decision_is_offered(const struct decision *decision, const struct choice *choice);

#endif
