/* The process of one rank, from its parent's side. */
#ifndef POD_MEMBER_H
#define POD_MEMBER_H

#include "campaign/process/child.h"
#include "pod/frame.h"
#include "pod/rank.h"

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
struct frame member_look(struct member *member, uint64_t stuck_ns);
/* To be called after its answers closed: waits for its end, and returns how it died.  kind
 * FRAME_NONE: it ended by itself. */
struct frame member_end(struct member *member);
/* Ends one, and says why it makes no progress, if that is_silent. */
struct frame member_kill(struct member *member, bool is_silent);

#endif
