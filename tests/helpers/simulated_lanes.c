#include "tests/helpers/simulated_lanes.h"

#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define T(object)               \
    {                           \
        SIMULATED_TOUCH, object \
    }
#define POST(gate)           \
    {                        \
        SIMULATED_POST, gate \
    }
#define PASS(gate)           \
    {                        \
        SIMULATED_PASS, gate \
    }
#define SUBMIT(event)           \
    {                           \
        SIMULATED_SUBMIT, event \
    }
#define AWAIT(event)           \
    {                          \
        SIMULATED_AWAIT, event \
    }

const struct simulated_program simulated_plain = {
    3,
    {6, 6, 6},
    {{T(0), T(0), T(0), T(0), T(0), T(0)},
     {T(0), T(0), T(0), T(0), T(0), T(0)},
     {T(0), T(0), T(0), T(0), T(0), T(0)}},
};
const struct simulated_program simulated_with_events = {
    4,
    {5, 4, 4, 3},
    {{SUBMIT(0), T(1), SUBMIT(1), SUBMIT(2), AWAIT(2)},
     {AWAIT(0), T(1), POST(0), T(2)},
     {AWAIT(1), PASS(0), T(2), T(1)},
     {T(2), AWAIT(1), T(1)}},
};

/* For what is checked at each step: libcheck writes a record of every assertion, which takes longer
 * than the step. */
static void check_decision(bool holds)
{
    if (!holds) {
        ck_abort_msg("a decision that was not offered, or is not the same");
    }
}

void simulated_begin(struct simulated_state *state, const struct simulated_program *program)
{
    *state = (struct simulated_state){.program = program, .at = {.op = STEP_OP_NONE}};
}

/* Gates and events are objects of their own, behind those that programs name. */
static struct footprint step_footprint(const struct simulated_step *step)
{
    switch (step->kind) {
    case SIMULATED_READ:
        return (struct footprint){.object = step->of, .reads_only = true};
    case SIMULATED_POST:
    case SIMULATED_PASS:
        return (struct footprint){.object = 100 + step->of};
    case SIMULATED_SUBMIT:
    case SIMULATED_AWAIT:
        return (struct footprint){.object = 200 + step->of};
    case SIMULATED_YIELD:
        return (struct footprint){0};
    case SIMULATED_TOUCH:
        break;
    }
    return (struct footprint){.object = step->of};
}

static bool step_is_open(const struct simulated_state *state, const struct simulated_step *step)
{
    if (step->kind == SIMULATED_PASS) {
        return state->gates[step->of] > 0;
    }
    return step->kind != SIMULATED_AWAIT || (state->completed >> step->of & 1) != 0;
}

uint32_t simulated_choice(struct simulated_state *state, struct choice *choice)
{
    const struct simulated_program *program = state->program;
    *choice = (struct choice){
        .at = state->at, .index = state->decision_count, .step_count = state->action_count};
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const struct simulated_step *step = &program->steps[lane][state->positions[lane]];
        if (state->positions[lane] < program->step_counts[lane] && step_is_open(state, step)) {
            choice->lanes |= UINT64_C(1) << lane;
            state->next[lane] = step_footprint(step);
        }
    }
    choice->client_lanes = (UINT64_C(1) << program->lane_count) - 1;
    choice->event_count = state->pending_count;
    choice->events = state->pending;
    choice->next = state->next;
    return (uint32_t)__builtin_popcountll(choice->lanes) + choice->event_count;
}

static void event_complete(struct simulated_state *state, uint64_t event)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < state->pending_count; i++) {
        state->pending[kept] = state->pending[i];
        kept += state->pending[i] != event;
    }
    check_decision(kept + 1 == state->pending_count);
    state->pending_count = kept;
    state->completed |= UINT32_C(1) << event;
    state->actions[state->action_count++] = simulated_completion(event);
}

static void step_take(struct simulated_state *state, const struct simulated_step *step)
{
    check_decision(step_is_open(state, step));
    if (step->kind == SIMULATED_POST) {
        state->gates[step->of]++;
    } else if (step->kind == SIMULATED_PASS) {
        state->gates[step->of]--;
    } else if (step->kind == SIMULATED_SUBMIT) {
        state->pending[state->pending_count++] = step->of;
    }
}

static enum step_kind step_kind_at(const struct simulated_state *state, uint32_t lane)
{
    const struct simulated_program *program = state->program;
    const uint32_t position = state->positions[lane];
    if (position == program->step_counts[lane]) {
        return STEP_END;
    }
    return program->steps[lane][position].kind == SIMULATED_YIELD ? STEP_YIELD : STEP_ATOMIC;
}

void simulated_take(struct simulated_state *state, const struct decision *decision)
{
    if (decision->completes) {
        event_complete(state, decision->event);
        return;
    }
    const uint32_t lane = decision->lane, position = state->positions[lane];
    check_decision(position < state->program->step_counts[lane]);
    step_take(state, &state->program->steps[lane][position]);
    state->actions[state->action_count++] = simulated_action(lane, position);
    state->positions[lane]++;
    state->at = (struct point){.lane = decision->lane,
                               .kind = (uint8_t)step_kind_at(state, lane),
                               .op = STEP_OP_NONE,
                               .number = state->positions[lane]};
}

/* --- forms --- */

static bool actions_are_dependent(const struct simulated_program *program, uint8_t a, uint8_t b)
{
    const uint8_t first_completion = simulated_completion(0);
    if (a >= first_completion || b >= first_completion) {
        return a < first_completion || b < first_completion;
    }
    const uint32_t a_lane = a / SIMULATED_STEP_COUNT_MAX, b_lane = b / SIMULATED_STEP_COUNT_MAX;
    const struct footprint of_a = step_footprint(
        &program->steps[a_lane][a % SIMULATED_STEP_COUNT_MAX]);
    const struct footprint of_b = step_footprint(
        &program->steps[b_lane][b % SIMULATED_STEP_COUNT_MAX]);
    if (a_lane == b_lane || of_a.object == 0 || of_b.object == 0) {
        return true;
    }
    return of_a.object == of_b.object && !(of_a.reads_only && of_b.reads_only);
}

/* None of the actions before `place` that are left has to come before it. */
static bool action_can_be_first(const struct simulated_state *state, const bool *is_used,
                                uint32_t place)
{
    for (uint32_t i = 0; i < place; i++) {
        if (!is_used[i] &&
            actions_are_dependent(state->program, state->actions[i], state->actions[place])) {
            return false;
        }
    }
    return true;
}

/* The smallest of all orders that are equivalent: again and again the smallest action that can be
 * first. */
void simulated_form(const struct simulated_state *state, uint8_t form[SIMULATED_ACTION_COUNT_MAX])
{
    bool is_used[SIMULATED_ACTION_COUNT_MAX] = {false};
    memset(form, 0xFF, SIMULATED_ACTION_COUNT_MAX);
    for (uint32_t count = 0; count < state->action_count; count++) {
        uint32_t best = state->action_count;
        for (uint32_t i = 0; i < state->action_count; i++) {
            const bool is_smaller = best == state->action_count ||
                                    state->actions[i] < state->actions[best];
            if (!is_used[i] && is_smaller && action_can_be_first(state, is_used, i)) {
                best = i;
            }
        }
        is_used[best] = true;
        form[count] = state->actions[best];
    }
}

/* --- runs --- */

static struct schedule_switch switch_of(const struct point *at, const struct decision *decision)
{
    return (struct schedule_switch){.lane = at->lane,
                                    .op = at->op,
                                    .number = at->number,
                                    .completes = decision->completes,
                                    .to = decision->lane,
                                    .event = decision->event};
}

/* Defaults that were taken at one point and not recorded yet: they are when a switch follows there.
 */
struct defaults {
    struct schedule_switch of[SIMULATED_EVENT_COUNT];
    uint32_t count;
};

static bool point_is_of(const struct schedule_switch *entry, const struct point *at)
{
    return entry->lane == at->lane && entry->number == at->number;
}

static void record_decision(struct simulated_record *record, struct defaults *defaults,
                            const struct choice *choice, const struct decision *decision)
{
    const struct decision usual = decision_default(choice);
    const struct schedule_switch entry = switch_of(&choice->at, decision);
    record->decisions[record->decision_count++] = *decision;
    if (defaults->count > 0 && !point_is_of(&defaults->of[0], &choice->at)) {
        defaults->count = 0;
    }
    if (decision_equal(decision, &usual)) {
        if (decision->completes) {
            defaults->of[defaults->count++] = entry;
        }
        return;
    }
    for (uint32_t i = 0; i < defaults->count; i++) {
        record->switches[record->switch_count++] = defaults->of[i];
    }
    defaults->count = 0;
    record->switches[record->switch_count++] = entry;
    record->deviation_count++;
}

static void check_offered(const struct choice *choice, const struct decision *decision)
{
    bool is_offered = !decision->completes && (choice->lanes >> decision->lane & 1) != 0;
    for (uint32_t i = 0; i < choice->event_count; i++) {
        is_offered |= decision->completes && choice->events[i] == decision->event;
    }
    check_decision(is_offered);
}

bool simulated_run(const struct strategy_kind *kind, void *state, uint64_t run,
                   struct simulated_state *last, struct simulated_record *record)
{
    struct choice choice;
    struct defaults defaults = {.count = 0};
    memset(record, 0, sizeof *record);
    simulated_begin(last, last->program);
    kind->begin(state, run);
    for (uint32_t things = simulated_choice(last, &choice); things > 0;
         things = simulated_choice(last, &choice)) {
        struct decision decision = decision_default(&choice);
        if (things > 1) {
            decision = kind->choose(state, &choice);
            check_offered(&choice, &decision);
            record_decision(record, &defaults, &choice, &decision);
            last->decision_count++;
        }
        simulated_take(last, &decision);
    }
    return kind->end(state, &(struct run_summary){.decision_count = last->decision_count,
                                                  .lane_count = last->program->lane_count});
}

uint32_t simulated_place(const struct simulated_state *state, uint8_t action)
{
    uint32_t place = 0;
    while (place < state->action_count && state->actions[place] != action) {
        place++;
    }
    return place;
}

enum { STATE_MAX = 16 };
static struct {
    const struct strategy_kind *kind;
    void *state;
} states[STATE_MAX];
static size_t state_count;

void *state_create(const struct strategy_kind *kind, uint64_t seed, uint64_t argument)
{
    void *state = malloc(kind->state_bytes);
    ck_assert_ptr_nonnull(state);
    ck_assert_uint_lt(state_count, STATE_MAX);
    states[state_count].kind = kind;
    states[state_count++].state = state;
    kind->init(state, seed, argument);
    return state;
}

void states_destroy(void)
{
    for (; state_count > 0; state_count--) {
        const struct strategy_kind *kind = states[state_count - 1].kind;
        if (kind->deinit != NULL) {
            kind->deinit(states[state_count - 1].state);
        }
        free(states[state_count - 1].state);
    }
}

void check_same_record(const struct simulated_record *a, const struct simulated_record *b)
{
    ck_assert_uint_eq(a->decision_count, b->decision_count);
    for (uint32_t i = 0; i < a->decision_count; i++) {
        check_decision(decision_equal(&a->decisions[i], &b->decisions[i]));
    }
}
