#include "campaign/process/background.h"

#include "campaign/base/interrupt.h"
#include "harness/base/check.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* About a tenth of what a process gets that looks for findings, where both want one processor. */
enum { BACKGROUND_NICE = 10 };

struct beginning {
    void (*work)(void *context, int file);
    void *context;
};

static void work_and_flush(void *context, int tasks, int answers)
{
    const struct beginning *beginning = context;
    (void)tasks;
    (void)setpriority(PRIO_PROCESS, 0, BACKGROUND_NICE);
    interrupt_take_one(SIGTERM);
    beginning->work(beginning->context, answers);
    (void)fflush(NULL);
}

bool background_start(struct background *background, void (*work)(void *context, int file),
                      void *context)
{
    struct beginning beginning = {work, context};
    if (!child_start(&background->child, work_and_flush, &beginning, CHILD_PRINTS)) {
        return false;
    }
    writing_clear(&background->answer);
    return true;
}

static bool reap_process(struct background *background)
{
    child_close(&background->child);
    const int status = child_wait(&background->child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
            *is_good = reap_process(background);
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
    if (background->child.process == 0) {
        return;
    }
    child_kill(&background->child);
    (void)reap_process(background);
}
