/* The registry of adversarial workloads: one file each, one line each here. */
#ifndef SCENARIOS_SCENARIOS_H
#define SCENARIOS_SCENARIOS_H

#include "harness/generate/scenario.h"

extern const struct scenario fragmentation_storm;
extern const struct scenario queued_free_race;
extern const struct scenario eviction_pressure;
extern const struct scenario host_skew;
extern const struct scenario training_step;
extern const struct scenario recompilation_churn;
extern const struct scenario slow_leak;
extern const struct scenario exact_edge;
extern const struct scenario defrag_published;
extern const struct scenario late_program;

/* All of them, in the order in which a run without names takes them; ends with NULL. */
extern const struct scenario *const scenarios[];

/* The scenario of that name; NULL when there is none. */
const struct scenario *scenario_find(const char *name);

#endif
