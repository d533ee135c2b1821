#include "campaign/trials/trials.h"

#include "campaign/base/clock.h"
#include "campaign/base/message.h"
#include "campaign/process/child.h"
#include "campaign/process/guest.h"
#include "harness/base/check.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* child.process is 0 for one that died and is not replaced yet.  input is what came of its answer,
 * the bytes of a trial result. */
struct worker {
    struct child child;
    bool is_busy;
    struct task task;
    uint64_t start_ns;
    struct writing input;
    struct last_words *words;
    bool is_second_try; /* of this task */
    struct child_watch watch;
    struct earlier_tasks earlier; /* what its process ran before this task */
};

struct workers {
    const struct plan *plan;
    struct worker *workers; /* count of them */
    struct pollfd *files;   /* count of them, for poll */
    uint32_t count;
    uint64_t timeout_ns;
    uint64_t looked_ns;  /* when workers_take was last here */
    uint64_t watched_ns; /* when it last looked at what the calls do */
    bool is_stray_told;
};

enum { WORKER_COUNT_DEFAULT_MAX = 64 };
/* Between two looks at the workers no more time passes than it takes to save what was found: 1 s.
 */
#define ABSENCE_NS UINT64_C(1000000000)
/* Between two looks at what a call does. */
enum { WATCH_MS = 50 };
#define WATCH_NS (WATCH_MS * UINT64_C(1000000))

uint32_t workers_wanted(const struct run_options *options)
{
    if (options->worker_count != 0) {
        return (uint32_t)options->worker_count;
    }
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1) {
        return 1;
    }
    return processors > WORKER_COUNT_DEFAULT_MAX ? WORKER_COUNT_DEFAULT_MAX : (uint32_t)processors;
}

/* The context with which the process of a worker begins. */
struct worker_beginning {
    const struct workers *workers;
    struct last_words *words;
};

/* Releases what was sent, so that the two processes together hold a long list only once. */
static void forget_sent(const char *bytes, size_t length)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = ((uintptr_t)bytes + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)bytes + length) / page * page;
    if (start < end) {
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
}

enum { SENT_AT_ONCE_BYTES = 1 << 24 };

static bool send_piece(int answers, const struct child_piece *piece)
{
    const char *from = piece->bytes;
    for (size_t left = piece->length; left > 0;) {
        const size_t length = left < SENT_AT_ONCE_BYTES ? left : SENT_AT_ONCE_BYTES;
        if (!file_write_all(answers, from, length)) {
            return false;
        }
        if (length == SENT_AT_ONCE_BYTES) {
            forget_sent(from, length);
        }
        from += length;
        left -= length;
    }
    return true;
}

/* False: it cannot answer, or not be sure that it does. */
static bool run_and_answer(const struct plan *plan, const struct task *task,
                           struct last_words *words, int answers)
{
    struct trial_result trial_result;
    struct child_piece pieces[TRIAL_RESULT_PIECE_COUNT_MAX];
    trial_result_init(&trial_result);
    trial_result_make(plan, task, words, &trial_result);
    words->stray_count = strays_end();
    (void)fflush(NULL); /* what the target printed */
    const size_t count = trial_result_pack(&trial_result, pieces);
    child_begin_answer();
    child_announce_pieces(&words->death, pieces, count);
    bool is_sent = words->death.kind == DEATH_NONE;
    for (size_t i = 0; i < count && is_sent; i++) {
        is_sent = send_piece(answers, &pieces[i]);
    }
    trial_result_deinit(&trial_result);
    return is_sent;
}

/* A worker's life: tasks in, results out, until the parent closes its end. */
static void run_trials(void *context, int tasks, int answers)
{
    const struct worker_beginning *beginning = context;
    struct last_words *words = beginning->words;
    (void)madvise(words, sizeof *words, MADV_DONTFORK);
    trial_result_compare_with(fresh_create());
    death_watch(&words->death);
    struct task task;
    while (file_read_all(tasks, &task, sizeof task)) {
        if (!run_and_answer(beginning->workers->plan, &task, words, answers)) {
            break;
        }
    }
    if (!guest_is_intact()) {
        death_note_channel(&words->death);
    }
}

static bool fork_worker(const struct workers *workers, struct worker *worker)
{
    struct worker_beginning beginning = {workers, worker->words};
    worker->is_busy = false;
    earlier_tasks_clear(&worker->earlier);
    return child_start(&worker->child, run_trials, &beginning, CHILD_TAKES_TASKS | CHILD_IS_HEARD);
}

struct workers *workers_create(const struct plan *plan, uint32_t count, uint64_t timeout_ns)
{
    CHECK(count >= 1);
    struct workers *workers = calloc(1, sizeof *workers);
    CHECK(workers != NULL);
    *workers = (struct workers){.plan = plan, .timeout_ns = timeout_ns};
    workers->workers = calloc(count, sizeof *workers->workers);
    workers->files = calloc(count, sizeof *workers->files);
    CHECK(workers->workers != NULL && workers->files != NULL);
    workers->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &workers->workers[i];
        worker->words = last_words_create();
        if (worker->words == NULL || !fork_worker(workers, worker)) {
            workers_destroy(workers);
            return NULL;
        }
    }
    return workers;
}

static void bury_worker(struct worker *worker, struct writing *output)
{
    if (worker->child.output >= 0 && output != NULL) {
        guest_output_take(worker->child.output, output);
    }
    child_close(&worker->child);
    worker->is_busy = false;
    writing_clear(&worker->input);
}

/* output (NULL: nobody wants it) gets what the target printed. */
static void end_worker(struct worker *worker, struct writing *output)
{
    child_kill(&worker->child);
    (void)child_wait(&worker->child);
    bury_worker(worker, output);
}

void workers_destroy(struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];
        if (worker->child.process != 0) {
            end_worker(worker, NULL);
        }
        writing_deinit(&worker->input);
        earlier_tasks_deinit(&worker->earlier);
        last_words_destroy(worker->words);
    }
    free(workers->workers);
    free(workers->files);
    free(workers);
}

static bool have_one(const struct workers *workers, bool is_busy)
{
    bool have = false;
    for (uint32_t i = 0; i < workers->count; i++) {
        have |= workers->workers[i].is_busy == is_busy;
    }
    return have;
}

bool workers_have_idle(const struct workers *workers)
{
    return have_one(workers, false);
}

bool workers_have_busy(const struct workers *workers)
{
    return have_one(workers, true);
}

static void give_task(struct worker *worker, const struct task *task)
{
    death_clear(&worker->words->death);
    child_expect_answer(&worker->child);
    last_words_clear(worker->words);
    worker->task = *task;
    worker->start_ns = clock_now_ns();
    worker->watch = (struct child_watch){0};
    worker->is_busy = true;
    /* A worker that is gone shows as the end of its answers. */
    (void)file_write_all(worker->child.tasks, task, sizeof *task);
}

bool workers_start(struct workers *workers, const struct task *task)
{
    struct worker *worker = workers->workers;
    while (worker->is_busy) {
        worker++;
    }
    CHECK(worker < workers->workers + workers->count);
    if (worker->child.process == 0 && !fork_worker(workers, worker)) {
        return false;
    }
    worker->is_second_try = false;
    give_task(worker, task);
    return true;
}

/* SIGKILL comes from outside, from an administrator or a kernel without memory, and SIGSTOP may, so
 * the trial is run once more: only when that ends so, too, it is the target's.  False: it was. */
static bool retry_task(struct workers *workers, struct worker *worker)
{
    const struct task task = worker->task;
    if (worker->is_second_try || !fork_worker(workers, worker)) {
        return false;
    }
    worker->is_second_try = true;
    give_task(worker, &task);
    return true;
}

/* The trial is done; whoever repeats what it found may need those before it. */
static void note_earlier(struct worker *worker, struct trial_result *trial_result)
{
    if (trial_result->head.findings.count > 0) {
        earlier_tasks_copy(&trial_result->earlier, &worker->earlier);
    }
    earlier_tasks_add(&worker->earlier, &worker->task, trial_result->head.elapsed_ns);
}

static void make_dead(struct worker *worker, enum death_kind kind,
                      struct trial_result *trial_result)
{
    if (worker->words->death.kind == DEATH_NONE) {
        worker->words->death.kind = kind;
    }
    trial_result_make_dead(&worker->task, worker->words, trial_result);
    note_earlier(worker, trial_result);
}

/* False: the trial is run once more. */
static bool note_worker_death(struct workers *workers, struct worker *worker,
                              struct trial_result *trial_result)
{
    bool was_alive = false;
    const int status = child_end(&worker->child, &was_alive);
    bury_worker(worker, &trial_result->output);
    if (was_alive) { /* and yet its file of answers was closed */
        death_note_channel(&worker->words->death);
    }
    const bool is_killed = worker->words->death.kind == DEATH_NONE && WIFSIGNALED(status) &&
                           WTERMSIG(status) == SIGKILL;
    if (is_killed && retry_task(workers, worker)) {
        writing_clear(&trial_result->output);
        return false;
    }
    death_conclude(&worker->words->death, status);
    make_dead(worker, DEATH_NONE, trial_result);
    return true;
}

/* It does not end by itself. */
static void stop_worker(struct worker *worker, enum death_kind kind,
                        struct trial_result *trial_result)
{
    end_worker(worker, &trial_result->output);
    make_dead(worker, kind, trial_result);
}

/* Once: it is no broken promise, and may happen in each trial. */
static void tell_strays(struct workers *workers, const struct worker *worker)
{
    if (worker->words->stray_count == 0 || workers->is_stray_told) {
        return;
    }
    workers->is_stray_told = true;
    message_note("%s: processes that the target started were still there at the end of a trial; "
                 "they were killed",
                 workers->plan->parts[worker->task.part].name);
}

static void take_answer(struct workers *workers, struct worker *worker,
                        struct trial_result *trial_result)
{
    worker->is_busy = false;
    note_earlier(worker, trial_result);
    tell_strays(workers, worker);
    if (worker->child.output >= 0) {
        guest_output_take(worker->child.output, &trial_result->output);
    }
    writing_clear(&worker->input);
    /* Its lanes still wait, and what they hold is lost:
     * the next trial would wait, too.  So the worker
     * ends. */
    if (trial_result->head.totals.not_modelled > 0) {
        end_worker(worker, NULL);
    }
}

/* Takes in what came.  READY when the answer is whole or the worker is gone. */
static enum workers_result listen_to_worker(struct workers *workers, struct worker *worker,
                                            struct trial_result *trial_result)
{
    switch (child_listen(&worker->child, 0, &worker->input)) {
    case CHILD_SILENT:
        return WORKERS_NOTHING;
    case CHILD_CLOSED:
        return note_worker_death(workers, worker, trial_result) ? WORKERS_READY : WORKERS_NOTHING;
    case CHILD_HEARD:
        break;
    }
    switch (child_look_at_answer(&worker->child, &worker->words->death)) {
    case CHILD_ANSWER_TO_COME:
        return WORKERS_NOTHING;
    case CHILD_ANSWER_DAMAGED:
        stop_worker(worker, DEATH_CHANNEL, trial_result);
        return WORKERS_READY;
    case CHILD_ANSWER_WHOLE:
        break;
    }
    if (!trial_result_unpack(&worker->input, trial_result)) {
        worker->is_busy = false;
        return WORKERS_FAILED;
    }
    take_answer(workers, worker, trial_result);
    return WORKERS_READY;
}

/* While nobody was here, because all of us were stopped, say, no trial is late for it. */
static void forgive_absence(struct workers *workers)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t absent_ns = workers->looked_ns == 0 ? 0 : now_ns - workers->looked_ns;
    for (uint32_t i = 0; i < workers->count && absent_ns > ABSENCE_NS; i++) {
        struct worker *worker = &workers->workers[i];
        /* A trial that began meanwhile counts as begun now. */
        worker->start_ns = now_ns - worker->start_ns < absent_ns ? now_ns
                                                                 : worker->start_ns + absent_ns;
    }
    workers->looked_ns = now_ns;
}

static bool worker_is_late(const struct workers *workers, const struct worker *worker)
{
    return worker->is_busy && clock_now_ns() - worker->start_ns > workers->timeout_ns;
}

/* Looks that are due: a call that waits, a process that is stopped or has ended, what it prints. */
static enum workers_result watch_worker(struct workers *workers, struct worker *worker,
                                        struct trial_result *trial_result)
{
    if (worker->child.output >= 0) {
        guest_output_bound(worker->child.output);
    }
    switch (child_look(&worker->child, &worker->words->death.progress, death_op_timeout(),
                       death_op_timeout(), &worker->watch)) {
    case CHILD_BUSY:
        break;
    case CHILD_PAUSED:
        if (!worker->is_second_try) {
            end_worker(worker, NULL);
            if (retry_task(workers, worker)) {
                return WORKERS_NOTHING;
            }
            make_dead(worker, DEATH_HANG, trial_result);
            return WORKERS_READY;
        }
        /* fallthrough */
    case CHILD_STUCK:
        stop_worker(worker, DEATH_HANG, trial_result);
        return WORKERS_READY;
    }
    return listen_to_worker(workers, worker, trial_result);
}

static enum workers_result watch_workers(struct workers *workers, struct trial_result *trial_result)
{
    const uint64_t now_ns = clock_now_ns();
    if (now_ns - workers->watched_ns < WATCH_NS) {
        return WORKERS_NOTHING;
    }
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];
        const enum workers_result result = worker->is_busy
                                               ? watch_worker(workers, worker, trial_result)
                                               : WORKERS_NOTHING;
        if (result != WORKERS_NOTHING) {
            return result;
        }
    }
    workers->watched_ns = now_ns;
    return WORKERS_NOTHING;
}

static enum workers_result stop_late_one(struct workers *workers, struct trial_result *trial_result)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (worker_is_late(workers, &workers->workers[i])) {
            stop_worker(&workers->workers[i], DEATH_HANG, trial_result);
            return WORKERS_READY;
        }
    }
    return watch_workers(workers, trial_result);
}

enum workers_result workers_take(struct workers *workers, int wait_ms,
                                 struct trial_result *trial_result)
{
    forgive_absence(workers);
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->workers[i];
        workers->files[i] = (struct pollfd){.fd = worker->is_busy ? worker->child.answers : -1,
                                            .events = POLLIN};
    }
    if (poll(workers->files, workers->count, wait_ms < WATCH_MS ? wait_ms : WATCH_MS) <= 0) {
        return stop_late_one(workers, trial_result);
    }
    for (uint32_t i = 0; i < workers->count; i++) {
        if (workers->files[i].revents == 0) {
            continue;
        }
        const enum workers_result result = listen_to_worker(workers, &workers->workers[i],
                                                            trial_result);
        if (result != WORKERS_NOTHING) {
            return result;
        }
    }
    return stop_late_one(workers, trial_result);
}

/* Returns true if the worker is still in the call that was first seen at least so long ago. */
static bool is_in_long_call(const struct worker *worker, uint64_t call_ns_min)
{
    const struct call_progress *progress = &worker->words->death.progress;
    const struct child_watch *watch = &worker->watch;
    return worker->is_busy && progress->is_in_call && watch->look_ns != 0 &&
           progress->call_count == watch->call_count &&
           clock_now_ns() - watch->call_ns >= call_ns_min;
}

bool workers_take_stuck(struct workers *workers, uint64_t call_ns_min,
                        struct trial_result *trial_result)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (is_in_long_call(&workers->workers[i], call_ns_min)) {
            stop_worker(&workers->workers[i], DEATH_HANG, trial_result);
            return true;
        }
    }
    return false;
}
