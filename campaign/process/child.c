#include "campaign/process/child.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"

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
        ssize_t got = read(file, to, length);
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
        ssize_t put = write(file, from, length);
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

static uint64_t busy_now_ns(clockid_t clock)
{
    struct timespec time = {0, 0};
    (void)clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The same call is under way for too long, and waits. */
static bool is_stuck(struct hearing *hearing, uint64_t now_ns)
{
    const struct call_progress *progress = hearing->progress;
    const uint64_t busy_ns = busy_now_ns(hearing->clock);
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

/* Takes what the child writes until it closes its end.  False: time is over. */
static bool listen_to(int file, struct hearing *hearing, struct writing *answer)
{
    char bytes[65536];
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= hearing->end_ns || is_stuck(hearing, now_ns) ||
            (hearing->job->interruptible && interrupt_asked())) {
            return false;
        }
        struct pollfd poll_file = {.fd = file, .events = POLLIN};
        if (poll(&poll_file, 1, 200) <= 0) { /* 200 ms: how late a bound or ctrl-C may be seen */
            continue;
        }
        ssize_t got = read(file, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return true;
        }
        writing_append_bytes(answer, bytes, (size_t)got);
        if (hearing->job->heard != NULL) {
            hearing->job->heard(answer);
        }
    }
}

void child_begin(void)
{
    interrupt_ignore();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static _Noreturn void child_main(const struct child_job *job, struct death *death, int file)
{
    child_begin();
    if (job->op_timeout_ns != 0) {
        death_set_op_timeout(job->op_timeout_ns);
    }
    death_watch(death);
    job->work(job->context, file);
    (void)fflush(NULL);
    death->is_done = 1;
    _exit(0);
}

static enum child_end child_wait(pid_t process, bool heard_all, bool interruptible,
                                 struct death *death)
{
    if (!heard_all) {
        (void)kill(process, SIGKILL);
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (death->is_done) {
        return CHILD_DONE;
    }
    if (heard_all || death->kind != DEATH_NONE) {
        death_conclude(death, status);
        return CHILD_DIED;
    }
    if (!interruptible || !interrupt_asked()) {
        death->kind = DEATH_HANG;
    }
    return CHILD_STOPPED;
}

enum child_end child_work(const struct child_job *job, struct writing *answer, struct death *death)
{
    int files[2];
    death_clear(death);
    if (pipe(files) != 0) {
        return CHILD_NOT_BORN;
    }
    (void)fflush(NULL); /* what is buffered must not be written twice */
    pid_t process = fork();
    if (process == 0) {
        close(files[0]);
        child_main(job, death, files[1]);
    }
    close(files[1]);
    if (process < 0) {
        close(files[0]);
        return CHILD_NOT_BORN;
    }
    uint64_t now_ns = clock_now_ns();
    struct hearing hearing = {.job = job, .progress = &death->progress, .call_ns = now_ns};
    if (clock_getcpuclockid(process, &hearing.clock) != 0) {
        hearing.clock = CLOCK_MONOTONIC; /* its time always passes: then nothing is stuck */
    }
    hearing.end_ns = job->duration_ns > UINT64_MAX - now_ns ? UINT64_MAX
                                                            : now_ns + job->duration_ns;
    bool heard_all = listen_to(files[0], &hearing, answer);
    close(files[0]);
    return child_wait(process, heard_all, job->interruptible, death);
}

enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool interruptible, struct writing *answer, char death[CHILD_DEATH_BYTES])
{
    const struct child_job job = {.work = work,
                                  .context = context,
                                  .duration_ns = duration_ns,
                                  .interruptible = interruptible};
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
