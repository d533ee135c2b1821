/* Lanes that reach no step: the scheduler can only wait, so a thread of its own looks at the clock,
 * and a signal finds out where the lane is. */
#include "explore/private/check.h"
#include "explore/private/place.h"
#include "explore/private/scheduler_state.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* A search of a hard packing, which reaches no point either, takes some seconds. */
enum { STUCK_AFTER_MS = 10000, LOOK_MS = 500, IDLE_MS_PER_LOOK = 5 };

static const void *find_signal_place(const void *context)
{
    const ucontext_t *machine = context;
#if defined(__x86_64__)
    return (const void *)(uintptr_t)machine->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)(uintptr_t)machine->uc_mcontext.pc;
#else
    (void)machine;
    return NULL;
#endif
}

/* Runs in the lane that is stuck, wherever it is, and never goes back there. */
static void leave_stuck_lane(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    struct scheduler *scheduler = scheduler_of_thread;
    if (scheduler == NULL || !atomic_load(&scheduler->is_watched)) {
        return;
    }
    char place[PLACE_TEXT_BYTES];
    const struct lane *lane = &scheduler->lanes[scheduler->current];
    scheduler_fail(
        scheduler, SCHEDULER_STUCK,
        "lane %u (op %d) reached no point for too long, at %s: it waits or spins without a pthread call "
        "(a raw futex, a plain variable); its last point was '%s'",
        scheduler->current, (int)lane->op, place_print(find_signal_place(context), place),
        step_kind_name(lane->step.kind));
}

/* Ends early when the watch is to end. */
static void pause_watch(struct scheduler *scheduler, uint32_t ms)
{
    EXPLORE_CHECK(ms != 0);
    const struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    syscall(SYS_futex, &scheduler->watch_ends, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
}

/* Processor time of the lanes' thread, in milliseconds. */
static uint64_t measure_spent_ms(const struct scheduler *scheduler)
{
    clockid_t clock;
    struct timespec spent = {0};
    if (pthread_getcpuclockid(scheduler->running_thread, &clock) != 0 ||
        clock_gettime(clock, &spent) != 0) {
        return 0;
    }
    return (uint64_t)spent.tv_sec * 1000 + (uint64_t)spent.tv_nsec / 1000000;
}

/* The looks at lanes that reached no point: since when, and since when next to nothing was
 * computed. */
struct quiet {
    unsigned looks, idle_looks;
    uint64_t began_ms, spent_ms; /* of processor time: at the first look, and at the last */
};

static void note_look(struct quiet *quiet, bool is_quiet, uint64_t spent)
{
    const bool is_idle = is_quiet && quiet->looks > 0 && spent - quiet->spent_ms < IDLE_MS_PER_LOOK;
    quiet->looks = is_quiet ? quiet->looks + 1 : 0;
    quiet->idle_looks = is_idle ? quiet->idle_looks + 1 : 0;
    quiet->began_ms = quiet->looks > 1 ? quiet->began_ms : spent;
    quiet->spent_ms = spent;
    EXPLORE_CHECK(quiet->idle_looks <= quiet->looks);
}

/* A lane that spins spends processor time, and one that computes as long is taken for it; one that
 * waits spends none. One that a busy machine does not let run spends little: it gets longer. */
static bool is_lane_stuck(const struct quiet *quiet)
{
    return quiet->spent_ms - quiet->began_ms >= STUCK_AFTER_MS ||
           quiet->idle_looks >= STUCK_AFTER_MS / LOOK_MS;
}

static void *watch_lanes(void *context)
{
    struct scheduler *scheduler = context;
    uint64_t seen = 0;
    struct quiet quiet = {0};
    while (!atomic_load(&scheduler->watch_ends)) {
        pause_watch(scheduler, LOOK_MS);
        const uint64_t steps = atomic_load_explicit(&scheduler->step_total, memory_order_relaxed);
        note_look(&quiet, steps == seen && atomic_load(&scheduler->is_watched),
                  measure_spent_ms(scheduler));
        seen = steps;
        if (is_lane_stuck(&quiet)) {
            (void)pthread_kill(scheduler->running_thread, SIGURG);
            quiet = (struct quiet){0};
        }
    }
    return NULL;
}

void scheduler_watch_begin(struct scheduler *scheduler)
{
    if (!scheduler->has_watch) {
        const struct sigaction action = {.sa_sigaction = leave_stuck_lane,
                                         .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
        EXPLORE_CHECK(sigaction(SIGURG, &action, NULL) == 0);
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are for the others */
        EXPLORE_CHECK(pthread_create(&scheduler->watch, NULL, watch_lanes, scheduler) == 0);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        scheduler->has_watch = true;
    }
    atomic_store_explicit(&scheduler->step_total, scheduler->step_total + 1, memory_order_relaxed);
    atomic_store_explicit(&scheduler->is_watched, true, memory_order_relaxed);
    EXPLORE_CHECK(scheduler->has_watch);
}

void scheduler_watch_pause(struct scheduler *scheduler, bool is_paused)
{
    EXPLORE_CHECK(scheduler->has_watch);
    atomic_store_explicit(&scheduler->step_total, scheduler->step_total + 1, memory_order_relaxed);
    atomic_store_explicit(&scheduler->is_watched, !is_paused, memory_order_relaxed);
}

void scheduler_watch_end(struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler->has_watch);
    atomic_store_explicit(&scheduler->is_watched, false, memory_order_relaxed);
}

void scheduler_watch_destroy(struct scheduler *scheduler)
{
    if (scheduler->has_watch) {
        atomic_store(&scheduler->watch_ends, 1);
        syscall(SYS_futex, &scheduler->watch_ends, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        EXPLORE_CHECK(pthread_join(scheduler->watch, NULL) == 0);
    }
}
