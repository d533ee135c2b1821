/* One rank: the ops of one host of a list, run in a process of its own, in real time; and that
 * process from its parent's side. */
#ifndef POD_MEMBER_H
#define POD_MEMBER_H

#include "campaign/process/child.h"
#include "pod/frame.h"
#include "recording/recording.h"

/* --- in the process --- */

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

/* --- from its parent's side --- */

/* An open value; zero is one that was not started. */
struct member {
    struct rank_plan plan;
    struct child child;
    struct child_watch watch;
    enum child_state state; /* at the last look */
    uint64_t busy_ns;       /* its processor time when that was last said */
};

/* plan->death is made here.  False: no process or no memory; errno says why. */
bool member_start(struct member *member, const struct rank_plan *plan);
void member_deinit(struct member *member);
/* Now and then, at least each second; stuck_ns: how long a call of the target may wait.  What there
 * is to say of it since the last look; kind FRAME_NONE: nothing. */
struct pod_frame member_look(struct member *member, uint64_t stuck_ns);
/* To be called after its answers closed: waits for its end, and returns how it died.  kind
 * FRAME_NONE: it ended by itself. */
struct pod_frame member_end(struct member *member);
/* Ends one, and says why it makes no progress, if that is_silent. */
struct pod_frame member_kill(struct member *member, bool is_silent);

#endif
