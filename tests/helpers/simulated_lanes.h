/* Programs of a few lanes as plain data, and runs of them in which a strategy decides. */
#ifndef TESTS_HELPERS_SIMULATED_LANES_H
#define TESTS_HELPERS_SIMULATED_LANES_H

#include "explore/scheduler.h"
#include "explore/strategies/strategies.h"

enum {
    SIMULATED_LANE_COUNT_MAX = 4,
    SIMULATED_STEP_COUNT_MAX = 8,
    SIMULATED_GATE_COUNT = 4,
    SIMULATED_EVENT_COUNT = 4,
    SIMULATED_ACTION_COUNT_MAX = SIMULATED_LANE_COUNT_MAX * SIMULATED_STEP_COUNT_MAX +
                                 SIMULATED_EVENT_COUNT
};

enum simulated_kind {
    SIMULATED_TOUCH,  /* the object; 0 = anything */
    SIMULATED_READ,   /* the object */
    SIMULATED_POST,   /* one more may pass the gate */
    SIMULATED_PASS,   /* waits until one may */
    SIMULATED_SUBMIT, /* the event is pending */
    SIMULATED_AWAIT,  /* waits until the event has completed */
    SIMULATED_YIELD
};
struct simulated_step {
    enum simulated_kind kind;
    uint32_t of; /* object, gate or event */
};
struct simulated_program {
    uint32_t lane_count;
    uint32_t step_counts[SIMULATED_LANE_COUNT_MAX];
    struct simulated_step steps[SIMULATED_LANE_COUNT_MAX][SIMULATED_STEP_COUNT_MAX];
};

/* Three lanes of six steps that touch anything. */
extern const struct simulated_program simulated_plain;
/* Events open lanes, so that the device takes part and points are asked again. */
extern const struct simulated_program simulated_with_events;

/* Where a run of a program is.  An open value: a copy goes on by itself. */
struct simulated_state {
    const struct simulated_program *program;
    uint32_t positions[SIMULATED_LANE_COUNT_MAX];
    uint32_t gates[SIMULATED_GATE_COUNT];
    uint64_t pending[EVENT_COUNT_MAX]; /* [pending_count] events, oldest first */
    uint32_t pending_count, completed; /* bit per event that has completed */
    struct point at;
    uint64_t decision_count;
    struct footprint next[LANE_COUNT_MAX];
    uint32_t action_count;
    /* what happened, in order; see simulated_action() */
    uint8_t actions[SIMULATED_ACTION_COUNT_MAX];
};

/* A step of a lane, and the completion of an event, as numbers that no two share. */
static inline uint8_t simulated_action(uint32_t lane, uint32_t position)
{
    return (uint8_t)(lane * SIMULATED_STEP_COUNT_MAX + position);
}
static inline uint8_t simulated_completion(uint64_t event)
{
    return (uint8_t)(SIMULATED_LANE_COUNT_MAX * SIMULATED_STEP_COUNT_MAX + event);
}

void simulated_begin(struct simulated_state *state, const struct simulated_program *program);
/* What can happen next; valid until the state changes.  Returns how many things that are. */
uint32_t simulated_choice(struct simulated_state *state, struct choice *choice);
void simulated_take(struct simulated_state *state, const struct decision *decision);
/* Two runs of one program have the same form exactly when they are equal but for the order of
 * independent actions. */
void simulated_form(const struct simulated_state *state, uint8_t form[SIMULATED_ACTION_COUNT_MAX]);

/* What a run decided, and that as a schedule: each decision that was not the default, and the
 * defaults before it at its point. */
struct simulated_record {
    struct decision decisions[SIMULATED_ACTION_COUNT_MAX];
    uint32_t decision_count, deviation_count;
    struct schedule_switch switches[SIMULATED_ACTION_COUNT_MAX];
    uint32_t switch_count;
};
/* Runs last->program to its end, or until nothing can happen; false: the strategy has nothing left
 * to try.  state: the strategy's.  *last is where the run ended. */
bool simulated_run(const struct strategy_kind *kind, void *state, uint64_t run,
                   struct simulated_state *last, struct simulated_record *record);

void check_same_record(const struct simulated_record *a, const struct simulated_record *b);

/* The state of a strategy, which is there until states_destroy: the teardown of a test. */
void *state_create(const struct strategy_kind *kind, uint64_t seed, uint64_t argument);
void states_destroy(void);

/* Where the action is in what happened; action_count: it did not happen. */
uint32_t simulated_place(const struct simulated_state *state, uint8_t action);

#endif
