#include "campaign/process/child.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/process/guest.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* The bytes that this process wrote to the file of its answers. */
static struct {
    int file;
    uint64_t bytes, hash;
} answered = {.file = -1};

bool file_write_all(int file, const void *bytes, size_t length)
{
    if (file == answered.file) {
        answered.bytes += length;
        answered.hash = hash_bytes(answered.hash, bytes, length);
    }
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

/* The context with which a process begins. */
struct birth {
    void (*main)(void *context, int tasks, int answers);
    void *context;
    int tasks, answers, output;
    bool prints;
    pid_t parent;
};

static _Noreturn void run_main(const struct birth *birth)
{
    int tasks = birth->tasks, answers = birth->answers;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != birth->parent) {
        _exit(0); /* it died before */
    }
    interrupt_ignore();
    guest_enter(&tasks, &answers, birth->output, birth->prints);
    strays_adopt_anew();
    answered.file = answers;
    child_begin_answer();
    birth->main(birth->context, tasks, answers);
    _exit(0);
}

static pid_t fork_main(const struct birth *birth)
{
    (void)fflush(NULL); /* what is buffered must not be written twice */
    death_begin_fork();
    const pid_t process = fork();
    if (process == 0) {
        run_main(birth);
    }
    const int error = errno;
    death_end_fork();
    if (process > 0) {
        strays_know(process);
    }
    errno = error;
    return process;
}

bool child_start(struct child *child, void (*main)(void *context, int tasks, int answers),
                 void *context, unsigned flags)
{
    int tasks[2] = {-1, -1}, answers[2];
    const bool has_tasks = (flags & CHILD_TAKES_TASKS) != 0;
    CHECK(child->process == 0);
    if (!open_pipes(tasks, answers, has_tasks)) {
        return false;
    }
    const struct birth birth = {.main = main,
                                .context = context,
                                .tasks = tasks[0],
                                .answers = answers[1],
                                .output = flags & CHILD_IS_HEARD ? guest_output_create() : -1,
                                .prints = (flags & CHILD_PRINTS) != 0,
                                .parent = getpid()};
    strays_adopt();
    strays_start_guard();
    const pid_t process = fork_main(&birth);
    const int error = errno;
    const struct child started = {.process = process,
                                  .tasks = tasks[1],
                                  .answers = answers[0],
                                  .output = birth.output,
                                  .heard_hash = HASH_START};
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
    if (child->output >= 0) {
        close(child->output);
    }
}

void child_kill(const struct child *child)
{
    CHECK(child->process > 0);
    (void)kill(child->process, SIGKILL);
}

int child_stop(struct child *child)
{
    child_kill(child);
    child_close(child);
    return child_wait(child);
}

int child_wait(struct child *child)
{
    int status = 0;
    CHECK(child->process > 0);
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR) {
    }
    strays_forget(child->process);
    child->process = 0;
    (void)strays_end();
    return status;
}

/* It is not reaped yet. */
static bool has_ended(const struct child *child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child->process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child->process;
}

/* A process has little to do between the end of its files and its own end. */
enum { ENDING_MS = 500 };

int child_end(struct child *child, bool *was_alive)
{
    int ms = 0;
    while (!has_ended(child) && ms < ENDING_MS) {
        (void)poll(NULL, 0, 1);
        ms++;
    }
    *was_alive = !has_ended(child);
    if (*was_alive) {
        child_kill(child);
    }
    return child_wait(child);
}

/* --- its answers --- */

static bool has_bytes(const struct child *child, int wait_ms)
{
    struct pollfd file = {.fd = child->answers, .events = POLLIN};
    return poll(&file, 1, wait_ms) > 0;
}

/* Returns true if there is something to read: bytes, or the end of the file.  A process that the
 * target forked may hold the file open; so *is_over if ours has ended and there are no bytes. */
static bool wait_for_bytes(const struct child *child, int wait_ms, bool *is_over)
{
    *is_over = false;
    if (has_bytes(child, wait_ms)) {
        return true;
    }
    if (child->process == 0 || !has_ended(child)) {
        return false;
    }
    *is_over = !has_bytes(child, 0); /* it may have written since */
    return !*is_over;
}

enum child_sound child_listen(struct child *child, int wait_ms, struct writing *answer)
{
    static char bytes[1 << 16];
    bool is_over;
    if (!wait_for_bytes(child, wait_ms, &is_over)) {
        return is_over ? CHILD_CLOSED : CHILD_SILENT;
    }
    const ssize_t got = read(child->answers, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) {
        return CHILD_SILENT;
    }
    if (got <= 0) {
        return CHILD_CLOSED;
    }
    child->heard_bytes += (uint64_t)got;
    child->heard_hash = hash_bytes(child->heard_hash, bytes, (size_t)got);
    writing_append_bytes(answer, bytes, (size_t)got);
    return CHILD_HEARD;
}

void child_begin_answer(void)
{
    answered.bytes = 0;
    answered.hash = HASH_START;
}

void child_announce_pieces(struct death *death, const struct child_piece *pieces, size_t count)
{
    uint64_t bytes = answered.bytes, hash = answered.hash;
    if (!guest_is_intact()) {
        death_note_channel(death);
    }
    for (size_t i = 0; i < count; i++) {
        bytes += pieces[i].length;
        hash = hash_bytes(hash, pieces[i].bytes, pieces[i].length);
    }
    death->answer_bytes = bytes;
    death->answer_hash = hash;
    death->is_answered = 1;
}

void child_announce(struct death *death, const void *bytes, size_t length)
{
    child_announce_pieces(death, &(const struct child_piece){bytes, length}, 1);
}

enum child_answer child_look_at_answer(const struct child *child, const struct death *death)
{
    if (!death->is_answered) {
        return child->heard_bytes == 0 ? CHILD_ANSWER_TO_COME : CHILD_ANSWER_DAMAGED;
    }
    if (child->heard_bytes < death->answer_bytes) {
        return CHILD_ANSWER_TO_COME;
    }
    return child->heard_bytes == death->answer_bytes && child->heard_hash == death->answer_hash
               ? CHILD_ANSWER_WHOLE
               : CHILD_ANSWER_DAMAGED;
}

void child_expect_answer(struct child *child)
{
    child->heard_bytes = 0;
    child->heard_hash = HASH_START;
}

/* --- what its call does --- */

/* A share of a processor below one BUSY_SHARE-th counts as none: on a busy machine a process that
 * would run gets more. */
enum { BUSY_SHARE = 100 };
/* Looks that are further apart say nothing: all of us were stopped, say. */
#define ABSENCE_NS UINT64_C(1000000000)
/* A process that is stopped for this long is not traced by someone who resumes it at once. */
#define PAUSE_NS UINT64_C(250000000)
/* A process that is told by its own signals notes the place, so it comes first. */
#define SLACK_NS UINT64_C(200000000)

/* Returns its processor time; of a process that has ended, the value before. */
static uint64_t read_busy_ns(const struct child *child, uint64_t before_ns)
{
    struct timespec time = {0, 0};
    clockid_t clock;
    if (clock_getcpuclockid(child->process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        return before_ns;
    }
    const uint64_t busy_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
    return busy_ns < before_ns ? before_ns : busy_ns;
}

/* The letter that the system gives its state: T is stopped, t is traced. */
static char read_state(const struct child *child)
{
    char path[64], text[512], state = '?';
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)child->process);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(text, sizeof text, file) != NULL && strrchr(text, ')') != NULL) {
        state = strrchr(text, ')')[1] == ' ' ? strrchr(text, ')')[2] : '?';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return state;
}

static void begin_watch(struct child_watch *watch, const struct call_progress *progress,
                        uint64_t now_ns, uint64_t busy_ns)
{
    watch->call_count = progress->call_count;
    watch->call_ns = now_ns;
    watch->busy_ns = busy_ns;
}

enum child_state child_look(const struct child *child, const struct call_progress *progress,
                            uint64_t op_timeout_ns, uint64_t stuck_ns, struct child_watch *watch)
{
    const uint64_t now_ns = clock_now_ns(), busy_ns = read_busy_ns(child, watch->busy_ns);
    const bool was_absent = now_ns - watch->look_ns > ABSENCE_NS;
    watch->look_ns = now_ns;
    if (was_absent || progress->call_count != watch->call_count) {
        begin_watch(watch, progress, now_ns, busy_ns);
        return CHILD_BUSY;
    }
    const uint64_t seen_ns = now_ns - watch->call_ns, used_ns = busy_ns - watch->busy_ns;
    const bool is_waiting = used_ns <= seen_ns / BUSY_SHARE;
    if (is_waiting && seen_ns > PAUSE_NS) {
        const char state = read_state(child);
        if (state == 'T') {
            return CHILD_PAUSED;
        }
        if (state == 't') { /* a debugger has it */
            begin_watch(watch, progress, now_ns, busy_ns);
            return CHILD_BUSY;
        }
    }
    if (!progress->is_in_call) {
        return CHILD_BUSY;
    }
    if (is_waiting) {
        return stuck_ns != 0 && seen_ns > stuck_ns ? CHILD_STUCK : CHILD_BUSY;
    }
    return used_ns > op_timeout_ns + op_timeout_ns / 4 + SLACK_NS ? CHILD_STUCK : CHILD_BUSY;
}

/* --- one piece of work --- */

/* The state of the parent while it waits. */
struct child_hearing {
    const struct child_job *job;
    struct death *death;
    struct child_watch watch;
    uint64_t op_timeout_ns, stuck_ns, end_ns;
};

static bool is_stuck(struct child_hearing *hearing, const struct child *child)
{
    const enum child_state state = child_look(child, &hearing->death->progress,
                                              hearing->op_timeout_ns, hearing->stuck_ns,
                                              &hearing->watch);
    hearing->death->was_paused = state == CHILD_PAUSED;
    return state != CHILD_BUSY;
}

/* The delay with which a bound or ctrl-C may be seen. */
enum { LISTEN_MS = 50 };

/* Takes what the child writes until it closes its end.  False: time is over. */
static bool listen_to(struct child *child, struct child_hearing *hearing, struct writing *answer)
{
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= hearing->end_ns || is_stuck(hearing, child) ||
            (hearing->job->is_interruptible && interrupt_is_requested())) {
            return false;
        }
        const enum child_sound sound = child_listen(child, LISTEN_MS, answer);
        if (child->output >= 0) {
            guest_output_bound(child->output);
        }
        if (sound == CHILD_CLOSED) {
            return true;
        }
        if (sound == CHILD_HEARD && hearing->job->heard != NULL) {
            hearing->job->heard(answer);
        }
    }
}

/* The context with which the process of a piece of work begins. */
struct work_beginning {
    const struct child_job *job;
    struct death *death;
};

static void work_and_answer(void *context, int tasks, int answers)
{
    const struct work_beginning *beginning = context;
    (void)tasks;
    if (beginning->job->op_timeout_ns != 0) {
        death_set_op_timeout(beginning->job->op_timeout_ns);
    }
    death_watch(beginning->death);
    beginning->job->work(beginning->job->context, answers);
    (void)fflush(NULL);
    (void)strays_end();
    child_announce(beginning->death, NULL, 0);
    beginning->death->is_done = beginning->death->kind != DEATH_CHANNEL;
}

/* Reads what the child wrote before it was killed. */
static void hear_rest(struct child *child, const struct child_job *job, struct writing *answer)
{
    while (child_listen(child, 0, answer) == CHILD_HEARD) {
        continue;
    }
    if (job->heard != NULL) {
        job->heard(answer);
    }
}

static enum child_end conclude_work(struct child *child, bool has_heard_all,
                                    const struct child_job *job, struct writing *answer,
                                    struct death *death)
{
    bool was_alive = false;
    if (!has_heard_all) {
        child_kill(child);
    }
    const int status = has_heard_all ? child_end(child, &was_alive) : child_wait(child);
    hear_rest(child, job, answer);
    const bool is_damaged = child_look_at_answer(child, death) != CHILD_ANSWER_WHOLE;
    if (death->is_done && !is_damaged) {
        return CHILD_DONE;
    }
    if (has_heard_all && (was_alive || death->is_done)) {
        death->is_done = 0;
        death_note_channel(death);
    }
    if (has_heard_all || death->kind != DEATH_NONE) {
        death_conclude(death, status);
        return CHILD_DIED;
    }
    if (!job->is_interruptible || !interrupt_is_requested()) {
        death->kind = DEATH_HANG;
    }
    return CHILD_STOPPED;
}

/* A call may wait for as long as it may use processor time. */
static struct child_hearing begin_hearing(const struct child_job *job, struct death *death)
{
    const uint64_t now_ns = clock_now_ns();
    struct child_hearing hearing = {.job = job, .death = death, .watch.look_ns = now_ns};
    hearing.watch.call_ns = now_ns;
    hearing.op_timeout_ns = job->op_timeout_ns == 0 ? death_op_timeout() : job->op_timeout_ns;
    hearing.stuck_ns = job->stuck_ns == 0 ? death_op_timeout() : job->stuck_ns;
    hearing.end_ns = job->duration_ns > UINT64_MAX - now_ns ? UINT64_MAX
                                                            : now_ns + job->duration_ns;
    return hearing;
}

/* death is memory that parent and child share. */
static enum child_end work_in_child(const struct child_job *job, struct writing *answer,
                                    struct death *death)
{
    struct work_beginning beginning = {job, death};
    struct child child = {0};
    const unsigned flags = (job->output == NULL ? 0U : CHILD_IS_HEARD) |
                           (job->is_quiet ? 0U : CHILD_PRINTS);
    if (!child_start(&child, work_and_answer, &beginning, flags)) {
        return CHILD_NOT_BORN;
    }
    struct child_hearing hearing = begin_hearing(job, death);
    const bool has_heard_all = listen_to(&child, &hearing, answer);
    const enum child_end end = conclude_work(&child, has_heard_all, job, answer, death);
    if (child.output >= 0) {
        guest_output_take(child.output, job->output);
    }
    child_close(&child);
    return end;
}

enum child_end child_work(const struct child_job *job, struct writing *answer, struct death *death)
{
    death_clear(death);
    if (job->is_interruptible && interrupt_is_requested()) {
        return CHILD_STOPPED;
    }
    struct death *shared = shared_memory_create(sizeof *shared);
    if (shared == NULL) {
        return CHILD_NOT_BORN;
    }
    const enum child_end end = work_in_child(job, answer, shared);
    *death = *shared;
    shared_memory_destroy(shared, sizeof *shared);
    return end;
}

enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool is_interruptible, struct writing *answer,
                         char death[CHILD_DEATH_BYTES])
{
    const struct child_job job = {.work = work,
                                  .context = context,
                                  .duration_ns = duration_ns,
                                  .is_interruptible = is_interruptible};
    struct death how;
    const enum child_end end = child_work(&job, answer, &how);
    death[0] = '\0';
    if (end != CHILD_DIED) {
        return end;
    }
    death_name(&how, death);
    return how.kind == DEATH_CHECK ? CHILD_FAULTY : CHILD_DIED;
}

void *shared_memory_create(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void shared_memory_destroy(void *memory, size_t bytes)
{
    if (memory != NULL) {
        (void)munmap(memory, bytes);
    }
}
