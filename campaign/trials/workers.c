#include "campaign/trials/workers.h"

#include "campaign/base/clock.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* child.process is 0 for one that died and is not replaced yet.  input is what came of its answer:
 * the length in 8 bytes, then the bytes of a trial result. */
struct worker {
    struct child child;
    bool is_busy;
    struct task task;
    uint64_t start_ns;
    uint64_t call_count, call_ns; /* the call under way, and since when it is seen */
    struct writing input;
    struct last_words *words;
    bool is_second_try; /* of this task */
};

struct workers {
    const struct plan *plan;
    struct worker *workers; /* count of them */
    struct pollfd *files;   /* count of them, for poll */
    uint32_t count;
    uint64_t timeout_ns;
    uint64_t looked_ns; /* when workers_take was last here */
};

enum { WORKER_COUNT_DEFAULT_MAX = 64 };
/* Between two looks at the workers no more time passes than it takes to save what was found: 1 s.
 */
#define ABSENCE_NS UINT64_C(1000000000)

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

/* The files of its siblings would keep them alive when the parent is gone. */
static void close_siblings(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (workers->workers[i].child.process != 0) {
            child_close(&workers->workers[i].child);
        }
    }
}

/* What the process of a worker begins with. */
struct beginning {
    const struct workers *workers;
    struct last_words *words;
};

/* A worker's life: tasks in, results out, until the parent closes its end. */
static void run_trials(void *context, int tasks, int answers)
{
    const struct beginning *beginning = context;
    struct last_words *words = beginning->words;
    close_siblings(beginning->workers);
    death_watch(&words->death);
    struct task task;
    while (file_read_all(tasks, &task, sizeof task)) {
        struct trial_result trial_result;
        struct writing bytes;
        trial_result_init(&trial_result);
        writing_init(&bytes);
        trial_result_make(beginning->workers->plan, &task, words, &trial_result);
        trial_result_pack(&trial_result, &bytes);
        const uint64_t length = bytes.length;
        if (!file_write_all(answers, &length, sizeof length) ||
            !file_write_all(answers, bytes.bytes, length)) {
            break;
        }
        writing_deinit(&bytes);
        trial_result_deinit(&trial_result);
    }
}

static bool fork_worker(const struct workers *workers, struct worker *worker)
{
    struct beginning beginning = {workers, worker->words};
    worker->is_busy = false;
    return child_start(&worker->child, run_trials, &beginning, true);
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

/* Returns how it ended. */
static int bury_worker(struct worker *worker)
{
    child_close(&worker->child);
    worker->is_busy = false;
    writing_clear(&worker->input);
    return child_wait(&worker->child);
}

void workers_destroy(struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];
        if (worker->child.process != 0) {
            child_kill(&worker->child);
            (void)bury_worker(worker);
        }
        writing_deinit(&worker->input);
        if (worker->words != NULL) {
            last_words_destroy(worker->words);
        }
    }
    free(workers->workers);
    free(workers->files);
    free(workers);
}

bool workers_have_idle(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (!workers->workers[i].is_busy) {
            return true;
        }
    }
    return false;
}

bool workers_have_busy(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (workers->workers[i].is_busy) {
            return true;
        }
    }
    return false;
}

static void give_task(struct worker *worker, const struct task *task)
{
    death_clear(&worker->words->death);
    worker->words->op_count = 0;
    worker->words->findings.count = 0;
    worker->words->has_begun = worker->words->has_lanes = false;
    worker->task = *task;
    worker->start_ns = worker->call_ns = clock_now_ns();
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

/* SIGKILL comes from outside, from an administrator or a kernel without memory, so the trial is run
 * once more: only when that ends so, too, it is the target's.  False: it was. */
static bool retry_task(struct workers *workers, struct worker *worker, int status)
{
    const struct task task = worker->task;
    if (worker->is_second_try || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL ||
        !fork_worker(workers, worker)) {
        return false;
    }
    worker->is_second_try = true;
    give_task(worker, &task);
    return true;
}

/* False: the trial is run once more. */
static bool note_worker_death(struct workers *workers, struct worker *worker,
                              struct trial_result *trial_result)
{
    const int status = bury_worker(worker);
    if (retry_task(workers, worker, status)) {
        return false;
    }
    death_conclude(&worker->words->death, status);
    trial_result_make_dead(&worker->task, worker->words, trial_result);
    return true;
}

static bool worker_is_late(const struct workers *workers, const struct worker *worker)
{
    return worker->is_busy && clock_now_ns() - worker->start_ns > workers->timeout_ns;
}

static void stop_worker(struct worker *worker, struct trial_result *trial_result)
{
    child_kill(&worker->child);
    (void)bury_worker(worker);
    if (worker->words->death.kind == DEATH_NONE) {
        worker->words->death.kind = DEATH_HANG;
    }
    trial_result_make_dead(&worker->task, worker->words, trial_result);
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
    uint64_t length = 0;
    if (worker->input.length < sizeof length) {
        return WORKERS_NOTHING;
    }
    memcpy(&length, worker->input.bytes, sizeof length);
    if (worker->input.length - sizeof length < length) {
        return WORKERS_NOTHING;
    }
    const bool good = worker->input.length - sizeof length == length &&
                      trial_result_unpack(worker->input.bytes + sizeof length, length,
                                          trial_result);
    writing_clear(&worker->input);
    worker->is_busy = false;
    /* Its lanes stand where they waited, and what they hold is lost: the next trial would wait,
     * too.
     */
    if (good && trial_result->head.totals.not_modelled > 0) {
        child_kill(&worker->child);
        (void)bury_worker(worker);
    }
    return good ? WORKERS_READY : WORKERS_FAILED;
}

/* While nobody was here, because all of us were stopped, say, no trial is late for it. */
static void forgive_absence(struct workers *workers)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t absent_ns = workers->looked_ns == 0 ? 0 : now_ns - workers->looked_ns;
    for (uint32_t i = 0; i < workers->count && absent_ns > ABSENCE_NS; i++) {
        struct worker *worker = &workers->workers[i];
        /* One that began meanwhile begins now. */
        worker->start_ns = now_ns - worker->start_ns < absent_ns ? now_ns
                                                                 : worker->start_ns + absent_ns;
        worker->call_ns = now_ns;
    }
    workers->looked_ns = now_ns;
}

/* Since when the call under way is there. */
static void look_at_calls(struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];
        const struct call_progress *progress = &worker->words->death.progress;
        if (!progress->is_in_call || progress->call_count != worker->call_count) {
            worker->call_count = progress->call_count;
            worker->call_ns = workers->looked_ns;
        }
    }
}

static enum workers_result stop_late_one(struct workers *workers, struct trial_result *trial_result)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        if (!worker_is_late(workers, &workers->workers[i])) {
            continue;
        }
        stop_worker(&workers->workers[i], trial_result);
        return WORKERS_READY;
    }
    return WORKERS_NOTHING;
}

enum workers_result workers_take(struct workers *workers, int wait_ms,
                                 struct trial_result *trial_result)
{
    forgive_absence(workers);
    look_at_calls(workers);
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->workers[i];
        workers->files[i] = (struct pollfd){.fd = worker->is_busy ? worker->child.answers : -1,
                                            .events = POLLIN};
    }
    if (poll(workers->files, workers->count, wait_ms) <= 0) {
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

bool workers_take_stuck(struct workers *workers, uint64_t call_ns_min,
                        struct trial_result *trial_result)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];
        const bool is_in_call = worker->is_busy && worker->words->death.progress.is_in_call;
        if (is_in_call && clock_now_ns() - worker->call_ns >= call_ns_min) {
            stop_worker(worker, trial_result);
            return true;
        }
    }
    return false;
}
