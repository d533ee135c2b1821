/* Finds job files: those that come with hbmstress have names.  The files that a job names lie next
 * to it. */
#ifndef CAMPAIGN_PLAN_JOB_FILES_H
#define CAMPAIGN_PLAN_JOB_FILES_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"

#include <stddef.h>

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
