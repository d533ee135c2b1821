/* Runs lanes one at a time and switches between them only at steps: each pthread call, each call
 * into the device, each op, each instrumented atomic operation.  What runs next is a strategy's
 * decision, so a run can be repeated exactly.
 *
 * A lane is a function on a stack of its own: a fiber of the calling thread, or a thread that is
 * handed the baton.  Both take the same decisions in the same order.  Lane 0 is the body of the
 * run; it starts the others; threads that the code under test makes with pthread_create() are
 * lanes, too. */
#ifndef EXPLORE_SCHEDULER_H
#define EXPLORE_SCHEDULER_H

#include "explore/strategy.h"

struct scheduler;
struct order;

enum scheduler_backend {
    SCHEDULER_FIBERS, /* all lanes in one thread: fast.  What is local to a thread (_Thread_local,
                         errno) is shared by all lanes; keys (pthread_getspecific) are not */
    SCHEDULER_THREADS /* a thread for each lane, all on one processor */
};

enum scheduler_outcome {
    SCHEDULER_FINISHED = 0, /* every lane has ended */
    SCHEDULER_DEADLOCK,     /* no lane can go on, no event is pending, no time-out is awaited */
    SCHEDULER_LIVELOCK,     /* step_count_max steps since the last scheduler_progress() */
    SCHEDULER_LOST_WAKEUP,  /* the condition holds for which a lane waits, and nobody wakes it but a
                               time-out */
    SCHEDULER_RACE, /* two lanes touched the same memory, one of them wrote, and nothing orders them
                     */
    SCHEDULER_MISUSE, /* an unlock by who does not hold it, a destroy of what is in use */
    SCHEDULER_STUCK,  /* the lane reached no step for stuck_after_ms of processor time (of the clock
                         when it used none): it waits for, or spins on, what the scheduler does not
                         see */
    SCHEDULER_NOT_MODELLED, /* the lane has slept in the kernel for half a second: it waits for what
                               the scheduler does not see.  Nobody did anything wrong */
    SCHEDULER_STOPPED       /* scheduler_stop() */
};
const char *scheduler_outcome_name(enum scheduler_outcome outcome);

/* A decision that was not decision_default(), or one that was and completed an event before such a
 * one at its point. */
struct schedule_switch {
    uint8_t lane;    /* where: the lane that stood at the point, */
    uint32_t op;     /* its op, or STEP_OP_NONE, */
    uint32_t number; /* and the number of the point */
    bool completes;
    uint8_t to;     /* the lane that went on */
    uint64_t event; /* that completed */
};

/* One step of who ran, for columns: told of each step that a lane takes, in order. */
struct scheduler_trace {
    void *context;
    void (*took)(void *context, const struct point *point, const void *object, const void *place);
};

enum { SCHEDULER_TEXT_BYTES = 1024 };

struct scheduler_plan {
    const struct strategy_kind *strategy;
    void *strategy_state;        /* begin() was called; choose() is; end() is not */
    void (*body)(void *context); /* lane 0 */
    void *context;
    /* The device: which events are pending and can complete (ids into events[max], due first), and
     * one completes. Called with no lane running; scheduler_events_changed() makes the first be
     * asked again.  NULL: no events. */
    uint32_t (*events)(void *context, uint64_t *events, uint32_t max);
    void (*complete)(void *context, uint64_t event);
    uint8_t client_count; /* lanes [0, client_count) are for scheduler_client_start(); 0 = only lane
                             0 */
    uint64_t step_count_max; /* fairness bound; 0 = 100000 */
    uint32_t
        stuck_after_ms;  /* STUCK: a lane may reach no step for so long; from 100 on; 0 = 10000 */
    struct order *order; /* checks that plain accesses are ordered; NULL: does not */
    const struct scheduler_trace *trace; /* NULL: nobody is told */
};

struct scheduler_report {
    enum scheduler_outcome outcome;
    char text[SCHEDULER_TEXT_BYTES]; /* who holds what and awaits what; "" when FINISHED or STOPPED
                                      */
    uint32_t op;                     /* of the lane that ran last; STEP_OP_NONE */
    struct run_summary summary;
    uint64_t step_count, switch_count; /* a switch: another lane went on than the one that ran */
    /* deviation_count of them, in order; valid until the next run */
    const struct schedule_switch *switches;
    size_t deviation_count;
};

/* NULL never: ends the process when there is no memory. */
struct scheduler *scheduler_create(enum scheduler_backend backend);
/* Call it only while the scheduler does not run. */
void scheduler_destroy(struct scheduler *scheduler);
/* Runs plan->body as lane 0 until every lane has ended, or the outcome is another one: then the
 * lanes that are left are given up where they stand, and what they hold is never given back. */
void scheduler_run(struct scheduler *scheduler, const struct scheduler_plan *plan,
                   struct scheduler_report *report);

/* --- from within a lane --- */

/* The scheduler of the calling lane; NULL when the caller is none. */
extern _Thread_local struct scheduler *scheduler_of_thread;
static inline struct scheduler *scheduler_current(void)
{
    return scheduler_of_thread;
}

#define STEP_NO_DEADLINE UINT64_MAX

/* The step that the lane is about to take. */
struct step {
    enum step_kind kind;
    const void *object; /* what it touches; NULL: may touch anything */
    bool reads_only;
    const uint32_t
        *gate; /* the lane can go on while *gate is 0; NULL: always.  Must outlive the step */
    uint64_t deadline_ns; /* virtual time; STEP_NO_DEADLINE, or 0, which means the same */
    const void *place;    /* address of the code, for reports; NULL: unknown */
};
enum step_result { STEP_GRANTED, STEP_TIMED_OUT };
/* A point: others may run before it returns.  GRANTED: it was this lane's turn and its gate is
 * open.  TIMED_OUT: the deadline has passed; the gate is still closed. */
enum step_result scheduler_step(struct scheduler *scheduler, const struct step *step);

/* The lane has nothing to do until others have run: they go first wherever one can. */
void scheduler_yield(struct scheduler *scheduler, const void *place);

/* Starts a lane that runs body(context).  is_client: it runs ops.  Returns its number.  Not a step.
 */
uint8_t scheduler_lane_start(struct scheduler *scheduler, bool is_client,
                             void (*body)(void *context), void *context);
/* Does the same for client `number`, 1..client_count - 1, once in a run. */
void scheduler_client_start(struct scheduler *scheduler, uint8_t number,
                            void (*body)(void *context), void *context);
/* 0 once the lane has ended: a gate. */
const uint32_t *scheduler_lane_gate(struct scheduler *scheduler, uint8_t lane);
uint8_t scheduler_lane(const struct scheduler *scheduler); /* the one that runs */
uint8_t scheduler_lane_count(const struct scheduler *scheduler);
/* Ends the calling lane where it stands, as pthread_exit does.  Never returns. */
_Noreturn void scheduler_lane_exit(struct scheduler *scheduler);

/* The op that the lane runs from here on; its next point is number 0. */
void scheduler_op(struct scheduler *scheduler, uint32_t op);
/* Something was achieved: the fairness bound counts from here on. */
void scheduler_progress(struct scheduler *scheduler);
/* From true to false only this lane, and lanes that are no clients, run: without decisions, and
 * this one while it can. For what must be looked at while no client is in a call. */
void scheduler_alone(struct scheduler *scheduler, bool is_alone);
void scheduler_events_changed(struct scheduler *scheduler);
uint64_t scheduler_now_ns(
    const struct scheduler *scheduler); /* virtual; grows by each look, and by time-outs */
void scheduler_sleep(struct scheduler *scheduler, uint64_t delay_ns, const void *place);
struct order *scheduler_order(const struct scheduler *scheduler);

/* Ends the run with this outcome from within a lane.  Never returns. */
_Noreturn void scheduler_fail(struct scheduler *scheduler, enum scheduler_outcome outcome,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends the run: SCHEDULER_STOPPED.  Never returns. */
_Noreturn void scheduler_stop(struct scheduler *scheduler);

/* --- objects --- */

/* A thing that lanes meet at, known by its address; numbered in the order of first use.  What the
 * fields mean is the business of who made it; holder and kind are also what a report names. */
struct object {
    const void *address; /* NULL: free place */
    uint32_t number;     /* from 1 */
    const char *kind;    /* "mutex"; NULL: nobody has said */
    uint32_t holder;     /* lane + 1 of who holds it; 0 = nobody.  The gate of who wants it */
    uint32_t count;      /* recursion, readers, value */
    uint32_t gate;       /* a second gate */
    uint32_t detail;
    const void *held_since; /* the code that took it */
};
/* The object at address, made when there is none; kind names it when it is new.  Valid until the
 * run ends or scheduler_object_forget().  O(1). */
struct object *scheduler_object(struct scheduler *scheduler, const void *address, const char *kind);
/* It is gone: the same address is another object next time. */
void scheduler_object_forget(struct scheduler *scheduler, const void *address);

#endif
