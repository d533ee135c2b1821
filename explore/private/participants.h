/* The participants of a decision: each lane that can go on, and the device as one more when an
 * event can complete.  Strategies share this; time-outs are no participants. */
#ifndef EXPLORE_PRIVATE_PARTICIPANTS_H
#define EXPLORE_PRIVATE_PARTICIPANTS_H

#include "explore/chance.h"
#include "explore/strategy.h"

enum {
    PARTICIPANT_DEVICE = LANE_COUNT_MAX, /* comes after all lanes in the cyclic order */
    PARTICIPANT_COUNT_MAX = LANE_COUNT_MAX + 1
};

/* Bit per participant; 0: nothing but time-outs can happen. */
uint64_t participants_of(const struct choice *choice);
/* The first of participants (not 0) behind `participant`, round and round. */
uint8_t participant_after(uint64_t participants, uint8_t participant);
/* The one that decision_default() lets go on; participants_of() is not 0. */
uint8_t participant_default(const struct choice *choice);
/* Each as likely; of is not 0.  For lanes as well as for participants. */
uint8_t participant_draw(uint64_t of, struct chance *chance);
/* The participant goes on.  The device completes the event that is due first; with chance, that one
 * half of the time, and else each as likely. */
struct decision participant_decision(const struct choice *choice, uint8_t participant,
                                     struct chance *chance);
/* True one time in 16 when time-outs may fire, and always when nothing else can happen: *decision
 * fires one of them, each as likely. */
bool participants_time_out(const struct choice *choice, struct chance *chance,
                           struct decision *decision);

/* The end of a run for a strategy that learns nothing from it. */
bool strategy_goes_on(void *state, const struct run_summary *summary);

/* The length of runs, as far as it is known: change points are drawn from it. */
struct run_length {
    uint64_t longest; /* decisions of the longest run that has ended */
    bool is_known;    /* a run has ended */
};
/* The length of a run that nothing is known about. */
enum { RUN_LENGTH_GUESS = 64 };
/* 1..2^32-1, so that chance_below() can draw from it. */
uint32_t run_length_expected(const struct run_length *length);
void run_length_learn(struct run_length *length, const struct run_summary *summary);

#endif
