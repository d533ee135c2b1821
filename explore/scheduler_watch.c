/* Lanes that reach no step: the scheduler can only wait, so a thread of its own looks at the clock,
 * and a signal finds out where the lane is. */
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* A search of a hard packing, which reaches no point either, takes some seconds: computing is
 * allowed for long.  Nothing of the harness sleeps in a lane. */
enum { STUCK_AFTER_MS_DEFAULT = 10000, ASLEEP_AFTER_MS = 500, LOOK_MS = 100, IDLE_MS_PER_LOOK = 1 };

/* The watch's suspicion of the lane that runs. */
enum accused { ACCUSED_NONE = 0, ACCUSED_STUCK, ACCUSED_ASLEEP };

/* Returns where the code was; inside syscall(), which all share, returns its caller. */
static const void *find_signal_place(const void *context)
{
    const ucontext_t *machine = context;
#if defined(__x86_64__)
    const uintptr_t at = (uintptr_t)machine->uc_mcontext.gregs[REG_RIP];
    const uintptr_t caller = *(const uintptr_t *)(uintptr_t)machine->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    const uintptr_t at = (uintptr_t)machine->uc_mcontext.pc;
    const uintptr_t caller = (uintptr_t)machine->uc_mcontext.regs[30];
#else
    const uintptr_t at = 0, caller = 0;
    (void)machine;
#endif
    Dl_info info;
    const bool is_syscall = at != 0 && dladdr((const void *)at, &info) != 0 &&
                            info.dli_sname != NULL && strcmp(info.dli_sname, "syscall") == 0;
    return (const void *)(is_syscall ? caller : at);
}

/* The signal may come late, and to another lane. */
static bool is_accused_still(const struct scheduler *scheduler, enum accused accused)
{
    const _Atomic int *task = atomic_load(&scheduler->running_task);
    return accused != ACCUSED_NONE &&
           atomic_load(accused == ACCUSED_STUCK ? &scheduler->is_watched
                                                : &scheduler->is_running) &&
           atomic_load(&scheduler->step_total) == atomic_load(&scheduler->accused_step_total) &&
           atomic_load(task) == (int)syscall(SYS_gettid);
}

/* Runs in the lane that is stuck, wherever it is, and never goes back there. */
static void leave_stuck_lane(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    struct scheduler *scheduler = scheduler_of_thread;
    if (scheduler == NULL) {
        return;
    }
    const enum accused accused = (enum accused)atomic_exchange(&scheduler->accused, ACCUSED_NONE);
    if (!is_accused_still(scheduler, accused)) {
        return;
    }
    char place[PLACE_TEXT_BYTES], call[SLEEP_CALL_TEXT_BYTES];
    const struct lane *lane = &scheduler->lanes[scheduler->current];
    place_print(find_signal_place(context), place);
    if (accused == ACCUSED_ASLEEP) {
        scheduler_fail(scheduler, SCHEDULER_NOT_MODELLED,
                       "lane %u (op %d) waits in %s at %s, which the scheduler does not see; its "
                       "last point was '%s'",
                       scheduler->current, (int)lane->op,
                       sleep_call_print(&scheduler->sleep_call, call), place,
                       step_kind_name(lane->step.kind));
    }
    scheduler_fail(
        scheduler, SCHEDULER_STUCK,
        "lane %u (op %d) reached no point for too long, at %s: it waits or spins without a pthread call "
        "(a raw futex, a plain variable); its last point was '%s'",
        scheduler->current, (int)lane->op, place, step_kind_name(lane->step.kind));
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

/* The looks at lanes that reached no point: since when, since when next to nothing was computed,
 * and since when the lane was asleep at each. */
struct quiet {
    unsigned looks, idle_looks, asleep_looks;
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
static bool is_lane_stuck(const struct quiet *quiet, uint32_t stuck_after_ms)
{
    EXPLORE_CHECK(stuck_after_ms >= LOOK_MS);
    return quiet->spent_ms - quiet->began_ms >= stuck_after_ms ||
           quiet->idle_looks >= stuck_after_ms / LOOK_MS;
}

/* Notes a sleep.  A lane that writes may wait for the reader, a pager, say: it waits for no other
 * lane, and may take its time. */
static void note_sleep(struct scheduler *scheduler, struct quiet *quiet, bool is_quiet)
{
    struct sleep_call call;
    const _Atomic int *task = atomic_load(&scheduler->running_task);
    const bool is_asleep = is_quiet && task_is_asleep(atomic_load(task), &call);
    const bool is_output = is_asleep && sleep_call_is_output(&call);
    quiet->asleep_looks = is_asleep && !is_output ? quiet->asleep_looks + 1 : 0;
    quiet->idle_looks = is_output ? 0 : quiet->idle_looks;
    if (quiet->asleep_looks == 1) {
        scheduler->sleep_call = call;
    }
}

static enum accused look_at_lanes(struct scheduler *scheduler, uint64_t *seen, struct quiet *quiet)
{
    const uint64_t steps = atomic_load_explicit(&scheduler->step_total, memory_order_relaxed);
    const bool is_same = steps == *seen && atomic_load(&scheduler->is_running);
    note_look(quiet, is_same && atomic_load(&scheduler->is_watched), measure_spent_ms(scheduler));
    note_sleep(scheduler, quiet, is_same);
    *seen = steps;
    return quiet->asleep_looks > ASLEEP_AFTER_MS / LOOK_MS                 ? ACCUSED_ASLEEP
           : is_lane_stuck(quiet, atomic_load(&scheduler->stuck_after_ms)) ? ACCUSED_STUCK
                                                                           : ACCUSED_NONE;
}

static void *watch_lanes(void *context)
{
    struct scheduler *scheduler = context;
    uint64_t seen = 0;
    struct quiet quiet = {0};
    while (!atomic_load(&scheduler->watch_ends)) {
        pause_watch(scheduler, LOOK_MS);
        const enum accused accused = look_at_lanes(scheduler, &seen, &quiet);
        if (accused != ACCUSED_NONE) {
            atomic_store(&scheduler->accused_step_total, seen);
            atomic_store(&scheduler->accused, accused);
            (void)pthread_kill(scheduler->running_thread, SIGURG);
            quiet = (struct quiet){0};
        }
    }
    return NULL;
}

void scheduler_watch_begin(struct scheduler *scheduler)
{
    const uint32_t stuck_after_ms = scheduler->plan->stuck_after_ms;
    atomic_store_explicit(&scheduler->stuck_after_ms,
                          stuck_after_ms == 0 ? STUCK_AFTER_MS_DEFAULT : stuck_after_ms,
                          memory_order_relaxed);
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
    atomic_store_explicit(&scheduler->is_running, true, memory_order_relaxed);
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
    atomic_store_explicit(&scheduler->is_running, false, memory_order_relaxed);
}

void scheduler_watch_destroy(struct scheduler *scheduler)
{
    if (scheduler->has_watch) {
        atomic_store(&scheduler->watch_ends, 1);
        syscall(SYS_futex, &scheduler->watch_ends, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        EXPLORE_CHECK(pthread_join(scheduler->watch, NULL) == 0);
    }
}
