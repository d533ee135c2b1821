/* A job file: what to run, as an ini file.  [global] holds for every section; each other section
 * is one part of the run.  Keys: scenario (default: the section's name), target, chip, capacity,
 * hosts, ops, seeds, faults, weights, regret_max, rounding, trace, vary, lanes, schedules,
 * strategy, backend, check_races, and option.KEY for the target's options; in [global] alone seed,
 * time and probes. scenarios/README.md says what each means. */
#ifndef CAMPAIGN_PLAN_JOB_H
#define CAMPAIGN_PLAN_JOB_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"

#include <stddef.h>

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

/* Finds job files: those that come with hbmstress have names.  The files that a job names lie next
 * to it. */

/* Names of jobs, without ".ini" and in the order of the alphabet: count of them, owned. */
struct job_names {
    char **names;
    size_t count;
};

/* The jobs that come with hbmstress; none where their folder is missing. */
void job_names_init(struct job_names *jobs);
void job_names_deinit(struct job_names *jobs);
/* The file of one of them.  False: the path is too long. */
bool job_names_path(const char *name, char path[FILE_PATH_BYTES]);

/* The file that --job names: name as a path, if it has a slash or is a file of the working
 * directory; else the job of that name, with or without ".ini".  EXIT_KEPT; or EXIT_USAGE after one
 * message, which names the job with the most similar name. */
enum exit_code job_file_find(const char *name, char path[FILE_PATH_BYTES]);

/* The file that the job file at job names: beside the job, or else as it stands, in the working
 * directory.  path has path_bytes; one that is longer is left as it stands. */
void job_file_beside(const char *job, const char *name, char *path, size_t path_bytes);

#endif
