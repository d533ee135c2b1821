/* The short road of the calls that nearly all are: a buffer is allocated or freed, and nothing else
 * happens. */
#ifndef HARNESS_RULES_JUDGE_PLAIN_H
#define HARNESS_RULES_JUDGE_PLAIN_H

#include "harness/rules/judge.h"

/* What is left to be judged of a call. */
enum judge_road {
    JUDGE_ROAD_LONG = 0, /* all of it */
    JUDGE_ROAD_REPORTS,  /* the model has taken it in, but not all that the target says is exact */
    JUDGE_ROAD_SHORT     /* nothing: it was granted, nothing else happened, no rule is broken */
};
/* After driver_call: the short road of a call that is plain.  Where it ends in JUDGE_ROAD_SHORT
 * there is no verdict. */
enum judge_road judge_short(struct judge *judge, struct host *host, const struct call *call);

/* What is kept of one call alone, and read when it is over. */
static inline void judge_forget_answer(struct judge *judge)
{
    judge->oom_kind = VERDICT_NONE;
    judge->sums = JUDGE_SUMS_DO_NOT_DECIDE;
    judge->hides_oom = false;
}

#endif
