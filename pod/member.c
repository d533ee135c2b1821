#include "pod/member.h"

#include "campaign/process/child.h"
#include "harness/base/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

bool member_start(struct member *member, const struct rank_plan *plan)
{
    *member = (struct member){.plan = *plan, .state = CHILD_BUSY};
    member->plan.death = shared_memory_create(sizeof *member->plan.death);
    return member->plan.death != NULL &&
           child_start(&member->child, rank_main, &member->plan, CHILD_TAKES_TASKS);
}

void member_deinit(struct member *member)
{
    if (member->child.process > 0) {
        child_kill(&member->child);
        (void)child_wait(&member->child);
    }
    if (member->child.answers > 0) {
        child_close(&member->child);
    }
    shared_memory_destroy(member->plan.death, sizeof *member->plan.death);
    *member = (struct member){0};
}

static uint64_t read_busy_ns(const struct member *member)
{
    struct timespec time;
    clockid_t clock;
    if (clock_getcpuclockid(member->child.process, &clock) != 0 ||
        clock_gettime(clock, &time) != 0) {
        return member->busy_ns;
    }
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A process that does nothing but answer looks takes less time than this. */
#define BUSY_NS UINT64_C(1000000)

struct pod_frame member_look(struct member *member, uint64_t stuck_ns)
{
    const bool was_paused = member->state == CHILD_PAUSED;
    if (member->child.process <= 0) {
        return (struct pod_frame){0};
    }
    member->state = child_look(&member->child, &member->plan.death->progress, death_op_timeout(),
                               stuck_ns, &member->watch);
    if (member->state == CHILD_PAUSED && !was_paused) {
        return frame_make(FRAME_STOPPED, member->plan.rank, 0);
    }
    const uint64_t busy_ns = read_busy_ns(member);
    if (busy_ns < member->busy_ns + BUSY_NS) {
        return (struct pod_frame){0};
    }
    member->busy_ns = busy_ns;
    return frame_make(FRAME_ALIVE, member->plan.rank, 0);
}

static struct pod_frame make_death(const struct member *member, enum rank_death how,
                                   const char *words)
{
    struct pod_frame frame = frame_make(FRAME_DEATH, member->plan.rank, 0);
    frame.numbers[0] = how;
    frame_set_text(&frame, words);
    return frame;
}

/* A signal that the process itself did not note came from outside. */
static struct pod_frame describe_death(const struct member *member, int status)
{
    struct death *death = member->plan.death;
    char words[DEATH_WORDS_BYTES];
    if (death->kind == DEATH_NONE && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        (void)snprintf(words, sizeof words, "SIG%s", name == NULL ? "?" : name);
        struct pod_frame frame = make_death(member, RANK_KILLED, words);
        frame.numbers[1] = (uint64_t)WTERMSIG(status);
        return frame;
    }
    death_conclude(death, status);
    death_describe(death, words);
    return make_death(member, death->kind == DEATH_CHECK ? RANK_FAULTY : RANK_CRASHED, words);
}

struct pod_frame member_end(struct member *member)
{
    bool was_alive = false;
    struct death *death = member->plan.death;
    const int status = child_end(&member->child, &was_alive);
    if (was_alive && death->is_done == 0) {
        death_note_channel(death);
    }
    return death->is_done ? (struct pod_frame){0} : describe_death(member, status);
}

struct pod_frame member_kill(struct member *member, bool is_silent)
{
    const bool is_in_call = member->plan.death->progress.is_in_call;
    child_kill(&member->child);
    (void)child_wait(&member->child);
    if (!is_silent) {
        return make_death(member, RANK_INTERRUPTED, "");
    }
    if (member->state == CHILD_PAUSED) {
        return make_death(member, RANK_STOPPED, "a signal stopped it");
    }
    return is_in_call ? make_death(member, RANK_CRASHED, "a call of the target did not return")
                      : make_death(member, RANK_IDLE, "");
}
