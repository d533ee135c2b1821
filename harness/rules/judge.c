#include "harness/rules/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void judge_init(struct judge *judge)
{
    judge->oracle = oracle_create();
    judge->assumed = assumed_create();
    judge->planner = planner_create();
}

void judge_deinit(struct judge *judge)
{
    oracle_destroy(judge->oracle);
    assumed_destroy(judge->assumed);
    oom_deinit(&judge->oom);
    oom_deinit(&judge->reservable);
    oom_deinit(&judge->before);
    reach_deinit(&judge->reach);
    relations_deinit(&judge->relations);
    planner_destroy(judge->planner);
    free(judge->groups);
    free(judge->histories);
    free(judge->costs);
    free(judge->places.addresses);
    free(judge->places.stranded);
    free(judge->places.met);
    free(judge->places.met_slots);
    free(judge->places.met_addresses);
    free(judge->holes.holes);
    judge->oracle = NULL;
    judge->groups = NULL;
    judge->histories = NULL;
    judge->costs = NULL;
}

void judge_reset(struct judge *judge)
{
    oracle_reset(judge->oracle, ORACLE_NODES_DEFAULT, ORACLE_NODES_SPARE);
    free(judge->histories);
    free(judge->costs);
    *judge = (struct judge){.oracle = judge->oracle,
                            .assumed = judge->assumed,
                            .planner = judge->planner,
                            .oom = judge->oom,
                            .reservable = judge->reservable,
                            .before = judge->before,
                            .reach = judge->reach,
                            .relations = judge->relations,
                            .groups = judge->groups,
                            .places = judge->places,
                            .holes = judge->holes,
                            .run = judge->run + 1};
}

bool judge_was_told(struct judge *judge, enum rule rule, const char *mechanism)
{
    struct judge_told *told = &judge->told;
    for (size_t i = 0; i < told->count; i++) {
        if (told->findings[i].rule == rule && strcmp(told->findings[i].mechanism, mechanism) == 0) {
            return true;
        }
    }
    if (told->count == JUDGE_TOLD_COUNT_MAX) {
        return true;
    }
    told->findings[told->count].rule = rule;
    (void)snprintf(told->findings[told->count].mechanism, VERDICT_MECHANISM_BYTES, "%s", mechanism);
    told->count++;
    return false;
}
