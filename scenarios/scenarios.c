#include "scenarios/scenarios.h"

#include <string.h>

const struct scenario *const scenarios[] = {
#define SCENARIO(name) &scenario_##name,
#include "scenarios/list.h"
#undef SCENARIO
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
