/* Runs one rank: the ops of one host of a list, in a process of its own, in real time. */
#ifndef POD_RANK_H
#define POD_RANK_H

#include "campaign/process/death.h"
#include "recording/recording.h"

#include <stdint.h>

/* The program of this name is a step of the job: its executions are counted. */
#define RANK_STEP_NAME "train_step"

struct rank_plan {
    const struct recording *recording;
    const char *directory; /* where its file goes */
    struct death *death;   /* where it notes how it dies */
    uint32_t rank;
    double pace; /* seconds that pass for each second of the list */
};

/* The file that the rank writes: path[FILE_PATH_BYTES].  False: too long. */
bool rank_path(const char *directory, uint32_t rank, char *path);

/* The main of its process (child.h): says over answers what it does (frame.h), and hears over tasks
 * when it may go on.  context: a struct rank_plan.  Each op is in its file before it is called. */
void rank_main(void *context, int tasks, int answers);

/* The hash of a list by which ranks recognise that they have the same one. */
uint64_t rank_list_hash(const struct recording *recording);

#endif
