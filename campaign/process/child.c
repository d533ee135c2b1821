#include "campaign/process/child.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "harness/base/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool file_read_all(int file, void *bytes, size_t length)
{
    for (char *to = bytes; length > 0;) {
        const ssize_t got = read(file, to, length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        to += got;
        length -= (size_t)got;
    }
    return true;
}

bool file_write_all(int file, const void *bytes, size_t length)
{
    for (const char *from = bytes; length > 0;) {
        const ssize_t put = write(file, from, length);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        from += put;
        length -= (size_t)put;
    }
    return true;
}

/* --- the process --- */

static void close_pipe(const int files[2])
{
    close(files[0]);
    close(files[1]);
}

/* tasks stay -1 where none are taken. */
static bool open_pipes(int tasks[2], int answers[2], bool has_tasks)
{
    if (pipe(answers) != 0) {
        return false;
    }
    if (has_tasks && pipe(tasks) != 0) {
        const int error = errno;
        close_pipe(answers);
        errno = error;
        return false;
    }
    return true;
}

static _Noreturn void run_main(void (*main)(void *context, int tasks, int answers), void *context,
                               const int tasks[2], const int answers[2])
{
    close(answers[0]);
    if (tasks[1] >= 0) {
        close(tasks[1]);
    }
    interrupt_ignore();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    main(context, tasks[0], answers[1]);
    _exit(0);
}

bool child_start(struct child *child, void (*main)(void *context, int tasks, int answers),
                 void *context, bool has_tasks)
{
    int tasks[2] = {-1, -1}, answers[2];
    CHECK(child->process == 0);
    if (!open_pipes(tasks, answers, has_tasks)) {
        return false;
    }
    (void)fflush(NULL); /* what is buffered must not be written twice */
    const pid_t process = fork();
    if (process == 0) {
        run_main(main, context, tasks, answers);
    }
    const int error = errno;
    const struct child started = {.process = process, .tasks = tasks[1], .answers = answers[0]};
    close(answers[1]);
    if (has_tasks) {
        close(tasks[0]);
    }
    if (process < 0) {
        child_close(&started);
        errno = error;
        return false;
    }
    *child = started;
    return true;
}

void child_close(const struct child *child)
{
    close(child->answers);
    if (child->tasks >= 0) {
        close(child->tasks);
    }
}

void child_kill(const struct child *child)
{
    CHECK(child->process > 0);
    (void)kill(child->process, SIGKILL);
}

int child_wait(struct child *child)
{
    int status = 0;
    CHECK(child->process > 0);
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR) {
    }
    child->process = 0;
    return status;
}

enum child_sound child_listen(const struct child *child, int wait_ms, struct writing *answer)
{
    static char bytes[1 << 16];
    struct pollfd file = {.fd = child->answers, .events = POLLIN};
    if (poll(&file, 1, wait_ms) <= 0) {
        return CHILD_SILENT;
    }
    const ssize_t got = read(child->answers, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) {
        return CHILD_SILENT;
    }
    if (got <= 0) {
        return CHILD_CLOSED;
    }
    writing_append_bytes(answer, bytes, (size_t)got);
    return CHILD_HEARD;
}

/* --- one piece of work --- */

/* What the parent looks at while it waits. */
struct hearing {
    const struct child_job *job;
    const struct call_progress *progress;
    clockid_t clock; /* of the child's processor time */
    uint64_t end_ns;
    uint64_t call_count, call_ns,
        busy_ns; /* the call under way, since when it is seen, and the child's time then */
};

/* Less of a processor than this share is none: on a busy machine a process that would run gets
 * more. */
enum { BUSY_SHARE = 100 };

static uint64_t read_busy_ns(clockid_t clock)
{
    struct timespec time = {0, 0};
    (void)clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The same call is under way for too long, and waits. */
static bool is_stuck(struct hearing *hearing, uint64_t now_ns)
{
    const struct call_progress *progress = hearing->progress;
    const uint64_t busy_ns = read_busy_ns(hearing->clock);
    const bool is_waiting = progress->is_in_call && progress->call_count == hearing->call_count &&
                            busy_ns - hearing->busy_ns <= (now_ns - hearing->call_ns) / BUSY_SHARE;
    if (hearing->job->stuck_ns != 0 && is_waiting) {
        return now_ns - hearing->call_ns > hearing->job->stuck_ns;
    }
    hearing->call_count = progress->call_count;
    hearing->call_ns = now_ns;
    hearing->busy_ns = busy_ns;
    return false;
}

/* How late a bound or ctrl-C may be seen. */
enum { LISTEN_MS = 200 };

/* Takes what the child writes until it closes its end.  False: time is over. */
static bool listen_to(const struct child *child, struct hearing *hearing, struct writing *answer)
{
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= hearing->end_ns || is_stuck(hearing, now_ns) ||
            (hearing->job->is_interruptible && interrupt_is_requested())) {
            return false;
        }
        const enum child_sound sound = child_listen(child, LISTEN_MS, answer);
        if (sound == CHILD_CLOSED) {
            return true;
        }
        if (sound == CHILD_HEARD && hearing->job->heard != NULL) {
            hearing->job->heard(answer);
        }
    }
}

/* What the process of a piece of work begins with. */
struct beginning {
    const struct child_job *job;
    struct death *death;
};

static void work_and_answer(void *context, int tasks, int answers)
{
    const struct beginning *beginning = context;
    (void)tasks;
    if (beginning->job->op_timeout_ns != 0) {
        death_set_op_timeout(beginning->job->op_timeout_ns);
    }
    death_watch(beginning->death);
    beginning->job->work(beginning->job->context, answers);
    (void)fflush(NULL);
    beginning->death->is_done = 1;
}

static enum child_end conclude_work(struct child *child, bool has_heard_all, bool is_interruptible,
                                    struct death *death)
{
    if (!has_heard_all) {
        child_kill(child);
    }
    const int status = child_wait(child);
    if (death->is_done) {
        return CHILD_DONE;
    }
    if (has_heard_all || death->kind != DEATH_NONE) {
        death_conclude(death, status);
        return CHILD_DIED;
    }
    if (!is_interruptible || !interrupt_is_requested()) {
        death->kind = DEATH_HANG;
    }
    return CHILD_STOPPED;
}

enum child_end child_work(const struct child_job *job, struct writing *answer, struct death *death)
{
    struct beginning beginning = {job, death};
    struct child child = {0};
    death_clear(death);
    if (!child_start(&child, work_and_answer, &beginning, false)) {
        return CHILD_NOT_BORN;
    }
    const uint64_t now_ns = clock_now_ns();
    struct hearing hearing = {.job = job, .progress = &death->progress, .call_ns = now_ns};
    if (clock_getcpuclockid(child.process, &hearing.clock) != 0) {
        hearing.clock = CLOCK_MONOTONIC; /* its time always passes: then nothing is stuck */
    }
    hearing.end_ns = job->duration_ns > UINT64_MAX - now_ns ? UINT64_MAX
                                                            : now_ns + job->duration_ns;
    const bool has_heard_all = listen_to(&child, &hearing, answer);
    child_close(&child);
    return conclude_work(&child, has_heard_all, job->is_interruptible, death);
}

enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool is_interruptible, struct writing *answer,
                         char death[CHILD_DEATH_BYTES])
{
    const struct child_job job = {.work = work,
                                  .context = context,
                                  .duration_ns = duration_ns,
                                  .is_interruptible = is_interruptible};
    struct death *shared = death_create();
    death[0] = '\0';
    if (shared == NULL) {
        return CHILD_NOT_BORN;
    }
    enum child_end end = child_work(&job, answer, shared);
    if (end == CHILD_DIED) {
        death_name(shared, death);
    }
    if (end == CHILD_DIED && shared->kind == DEATH_CHECK) {
        end = CHILD_FAULTY;
    }
    death_destroy(shared);
    return end;
}
