/* The registry of adversarial workloads: one file each, one line each in scenarios/list.h. */
#ifndef SCENARIOS_SCENARIOS_H
#define SCENARIOS_SCENARIOS_H

#include "harness/generate/scenario.h"

#define SCENARIO(name) extern const struct scenario scenario_##name;
#include "scenarios/list.h"
#undef SCENARIO

/* Every scenario, in the order in which a run without names takes them; ends with NULL. */
extern const struct scenario *const scenarios[];

/* The scenario of that name; NULL when there is none. */
const struct scenario *scenario_find(const char *name);

#endif
