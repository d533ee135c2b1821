#include "harness/rules/judge.h"

#include <stdlib.h>

void judge_init(struct judge *judge)
{
    judge->oracle = oracle_create();
    judge->planner = planner_create();
}

void judge_deinit(struct judge *judge)
{
    oracle_destroy(judge->oracle);
    oom_deinit(&judge->oom);
    oom_deinit(&judge->reservable);
    oom_deinit(&judge->before);
    reach_deinit(&judge->reach);
    planner_destroy(judge->planner);
    free(judge->groups);
    free(judge->places.addresses);
    free(judge->places.stranded);
    judge->oracle = NULL;
    judge->groups = NULL;
}

void judge_reset(struct judge *judge)
{
    *judge = (struct judge){.oracle = judge->oracle,
                            .planner = judge->planner,
                            .oom = judge->oom,
                            .reservable = judge->reservable,
                            .before = judge->before,
                            .reach = judge->reach,
                            .groups = judge->groups,
                            .places = judge->places,
                            .run = judge->run + 1};
}
