#include "scenarios/scenarios.h"

#include <string.h>

const struct scenario *const scenarios[] = {
    &fragmentation_storm,
    &queued_free_race,
    &eviction_pressure,
    &host_skew,
    &training_step,
    &recompilation_churn,
    &slow_leak,
    &exact_edge,
    &defrag_published,
    &late_program,
    NULL,
};

const struct scenario *scenario_find(const char *name)
{
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        if (strcmp(scenarios[i]->name, name) == 0) {
            return scenarios[i];
        }
    }
    return NULL;
}
