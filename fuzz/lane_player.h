/* Plays inputs on a target in several lanes, one input after the other, each under one schedule:
 * that which the bytes of the input choose.  It keeps its memory and its lanes from one input to
 * the next, and never ends the process. */
#ifndef FUZZ_LANE_PLAYER_H
#define FUZZ_LANE_PLAYER_H

#include "explore/strategy.h"
#include "fuzz/input.h"
#include "harness/run/run.h"
#include "harness/run/trial.h"

enum {
    LANE_PLAYER_OP_COUNT_MAX =
        64, /* of an input; the rest is not played.  Each op costs its points, in every run */
    LANE_PLAYER_LANE_COUNT_DEFAULT = 3, /* where the header says one lane, and no op says another */
};

/* target_name: as a command line calls the target; it must outlive the player. */
struct lane_player;
struct lane_player *lane_player_create(const struct target *target, const char *target_name);
void lane_player_destroy(struct lane_player *player);

enum lane_player_result {
    LANE_PLAYER_KEPT = 0, /* every promise */
    LANE_PLAYER_BROKEN,   /* trial->first says which; trial->ops is the list that breaks it again,
                             with its schedule */
    LANE_PLAYER_REFUSED,  /* the target refused the setup */
    LANE_PLAYER_CANNOT    /* the target's contract rules lanes out: lanes_why_not() */
};
/* First the ops are played one after the other in lane 0, which also resolves what is relative;
 * then they are run in lanes: their own, or dealt from the seed where they have none.  What
 * is for one client alone is left out (deal_is_for_one()).  The choices decide; where there are
 * none and the list has a schedule (OP_SWITCH), that one does.  *input is used up.  KEPT: trial
 * holds the totals of the run in lanes, and its list.  The caller deinits the trial after KEPT and
 * BROKEN. */
enum lane_player_result lane_player_play(struct lane_player *player, struct input *input,
                                         const struct run_listener *listener, struct trial *trial);

/* The strategy of a fuzzer: the bytes of an input decide who goes on, one byte for each decision.
 * So an engine that mutates bytes mutates schedules.
 * The state of strategy_choices. */
struct choices {
    const uint8_t *bytes; /* count of them */
    size_t count;
    size_t used; /* by the run so far */
};

/* Neither seed nor argument; init leaves it without bytes.  What can happen next are the lanes that
 * can go on, the events that can complete and the time-outs that can fire.  They are counted from
 * decision_default() on, round and round: a byte takes the one at its value modulo their number, so
 * 0 is the default, and each of them is some byte's. A decision with one possibility takes no byte.
 * Where bytes have run out it is the default.  end: true always. */
extern const struct strategy_kind strategy_choices;

/* The bytes of the next runs, which must outlive them.  Not during a run. */
void choices_set(struct choices *choices, const uint8_t *bytes, size_t count);

#endif
