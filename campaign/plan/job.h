/* A job file: what to run, as an ini file.  [global] holds for every section; each other section
 * is one part of the run.  Keys: scenario (default: the section's name), target, chip, capacity,
 * hosts, ops, seeds, faults, weights, regret_max, rounding, trace, vary, lanes, schedules,
 * strategy, backend, check_races, and option.KEY for the target's options; in [global] alone seed,
 * time and probes. scenarios/README.md says what each means. */
#ifndef CAMPAIGN_PLAN_JOB_H
#define CAMPAIGN_PLAN_JOB_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"

struct job_section {
    char name[SETUP_NAME_BYTES];
    const char *scenario;       /* NULL: the section's name */
    struct run_options options; /* what the section says */
    size_t line;                /* of its head, for messages and annotations */
};

/* Owns every text that its options point to. */
struct job {
    struct run_options global;
    struct job_section *sections; /* count of them, in the file's order, names unique */
    size_t count;
    bool has_required_probes;
    char **texts;
    size_t text_count;
};

/* Reads path.  EXIT_KEPT, or EXIT_USAGE after one message with file and line; *job must be
 * deinited in both cases. */
enum exit_code job_read(const char *path, struct job *job);
void job_deinit(struct job *job);

#endif
