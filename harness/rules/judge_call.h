/* Holds what was observed against what was promised, for a call that met no other one: takes the
 * device calls and the answer of one op into the model and names the first broken rule.  Nearly all
 * calls take the short road: a buffer is allocated or freed, and nothing else happens. */
#ifndef HARNESS_RULES_JUDGE_CALL_H
#define HARNESS_RULES_JUDGE_CALL_H

#include "harness/rules/judge.h"

/* The part of a call that is left to be judged. */
enum judge_road {
    JUDGE_ROAD_LONG = 0, /* all of it */
    JUDGE_ROAD_REPORTS,  /* the model has taken it in, but not all that the target says is exact */
    JUDGE_ROAD_SHORT     /* nothing: it was granted, nothing else happened, no rule is broken */
};
/* After driver_call: the short road of a call that is plain.  Where it ends in JUDGE_ROAD_SHORT
 * there is no verdict. */
enum judge_road judge_short(struct judge *judge, struct host *host, const struct call *call);

/* Forgets what is kept of one call alone, and read when it is over. */
static inline void judge_forget_answer(struct judge *judge)
{
    judge->oom_kind = VERDICT_NONE;
    judge->sums = JUDGE_SUMS_DO_NOT_DECIDE;
    judge->hides_oom = false;
}

/* The rest of it, from where the short road ended.  Brings the models up to date, checks every
 * rule, judges an OOM; sets *judge->verdict. */
void judge_call(struct judge *judge, struct host *host, const struct call *call,
                enum judge_road road);
/* Looks at all blocks at the end of a run, if some were not looked at after the last moves. */
void judge_look_again(struct judge *judge, struct host *host);
/* After everything was freed, before close: one hole of the whole heap. */
void judge_empty_heap(struct judge *judge, struct host *host);
/* After close: the host memory of the target. */
void judge_closed(struct judge *judge, struct host *host);

/* Breaks RULE_REGRET for the regret of the last op, the count-th one. */
void judge_regret(struct judge *judge, uint64_t count);

/* --- completed events, taken into the models of the hosts whose time they are of --- */

/* The first completed_count of the host's timeline; those that the models know already stay as they
 * are. */
void judge_absorb_until(struct judge *judge, const struct host *host, uint64_t completed_count);
/* Absorbs all events, also those that completed outside of a call. */
void judge_absorb(struct judge *judge, const struct host *host);
/* Absorbs all events of all hosts. */
void judge_absorb_all(struct judge *judge);
/* Returns how many events the models know. */
uint64_t judge_absorbed_count(const struct judge *judge, const struct host *host);

#endif
