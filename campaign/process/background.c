#include "campaign/process/background.h"

#include "campaign/base/interrupt.h"
#include "harness/base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* About a tenth of what a process gets that looks for findings, where both want one processor. */
enum { BACKGROUND_NICE = 10 };

struct background_beginning {
    void (*work)(void *context, int file);
    void *context;
};

static void work_and_flush(void *context, int tasks, int answers)
{
    const struct background_beginning *beginning = context;
    (void)tasks;
    (void)setpriority(PRIO_PROCESS, 0, BACKGROUND_NICE);
    interrupt_take_one(SIGTERM);
    beginning->work(beginning->context, answers);
    (void)fflush(NULL);
}

bool background_start(struct background *background, void (*work)(void *context, int file),
                      void *context)
{
    struct background_beginning beginning = {work, context};
    if (!child_start(&background->child, work_and_flush, &beginning, CHILD_PRINTS)) {
        return false;
    }
    writing_clear(&background->answer);
    return true;
}

bool background_is_done(struct background *background, int wait_ms, bool *is_good)
{
    CHECK(background->child.process != 0);
    for (;;) {
        const enum child_sound sound = child_listen(&background->child, wait_ms,
                                                    &background->answer);
        if (sound == CHILD_SILENT) {
            return false;
        }
        if (sound == CHILD_CLOSED) {
            child_close(&background->child);
            const int status = child_wait(&background->child);
            *is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            return true;
        }
    }
}

void background_ask_to_end(const struct background *background)
{
    if (background->child.process != 0) {
        (void)kill(background->child.process, SIGTERM);
    }
}

void background_stop(struct background *background)
{
    if (background->child.process != 0) {
        (void)child_stop(&background->child);
    }
}

/* --- in the child --- */

/* Returns 0, or why it is not on the disk. */
static int force_file(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    /* Some file systems have nothing to force. */
    const int error = fdatasync(file) != 0 && errno != EINVAL ? errno : 0;
    (void)close(file);
    return error;
}

static int force_files(const char *paths, size_t length)
{
    int first = 0;
    for (size_t at = 0; at < length; at += strlen(paths + at) + 1) {
        const int error = force_file(paths + at);
        first = first == 0 ? error : first;
    }
    return first;
}

/* Paths in, errors out, until the parent closes its end. */
static void serve(void *context, int tasks, int answers)
{
    uint64_t length;
    (void)context;
    while (file_read_all(tasks, &length, sizeof length)) {
        char *paths = malloc(length);
        CHECK(paths != NULL);
        if (!file_read_all(tasks, paths, length)) {
            free(paths);
            return;
        }
        const int error = force_files(paths, length);
        free(paths);
        if (!file_write_all(answers, &error, sizeof error)) {
            return;
        }
    }
}

/* --- in the parent --- */

bool syncer_start(struct syncer *syncer)
{
    *syncer = (struct syncer){.is_busy = false};
    return child_start(&syncer->child, serve, NULL, CHILD_TAKES_TASKS);
}

void syncer_stop(struct syncer *syncer)
{
    if (syncer->child.process != 0) {
        (void)child_stop(&syncer->child);
    }
    writing_deinit(&syncer->answer);
    syncer->is_busy = false;
}

void syncer_ask(struct syncer *syncer, const struct writing *paths)
{
    const uint64_t length = paths->length;
    CHECK(!syncer->is_busy && syncer->child.process != 0);
    CHECK(length > 0 && paths->bytes[length - 1] == '\0');
    syncer->is_busy = true;
    /* If the syncer is gone, its answers end; so a failed write is not reported here. */
    (void)(file_write_all(syncer->child.tasks, &length, sizeof length) &&
           file_write_all(syncer->child.tasks, paths->bytes, length));
}

enum syncer_result syncer_take(struct syncer *syncer, int wait_ms, int *error)
{
    CHECK(syncer->is_busy);
    const enum child_sound sound = child_listen(&syncer->child, wait_ms, &syncer->answer);
    if (sound == CHILD_CLOSED) {
        *error = 0;
        syncer->is_busy = false;
        return SYNCER_FAILED;
    }
    if (syncer->answer.length < sizeof *error) {
        return SYNCER_BUSY;
    }
    memcpy(error, syncer->answer.bytes, sizeof *error);
    writing_clear(&syncer->answer);
    syncer->is_busy = false;
    return *error == 0 ? SYNCER_DONE : SYNCER_FAILED;
}
