#include "campaign/process/background.h"

#include "campaign/process/child.h"
#include "harness/base/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

bool background_start(struct background *background, void (*work)(void *context, int file),
                      void *context)
{
    int files[2];
    CHECK(background->process == 0);
    if (pipe(files) != 0) {
        return false;
    }
    (void)fflush(NULL); /* what is buffered must not be written twice */
    pid_t process = fork();
    if (process == 0) {
        close(files[0]);
        child_begin();
        work(context, files[1]);
        (void)fflush(NULL);
        _exit(0);
    }
    close(files[1]);
    if (process < 0) {
        close(files[0]);
        return false;
    }
    background->process = process;
    background->file = files[0];
    writing_clear(&background->answer);
    return true;
}

static bool bury(struct background *background)
{
    int status = 0;
    close(background->file);
    while (waitpid(background->process, &status, 0) < 0 && errno == EINTR) {
        continue;
    }
    background->process = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool background_is_done(struct background *background, int wait_ms, bool *is_good)
{
    char bytes[65536];
    struct pollfd file = {.fd = background->file, .events = POLLIN};
    CHECK(background->process != 0);
    while (poll(&file, 1, wait_ms) > 0) {
        ssize_t got = read(background->file, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            *is_good = bury(background);
            return true;
        }
        writing_append_bytes(&background->answer, bytes, (size_t)got);
    }
    return false;
}

void background_stop(struct background *background)
{
    if (background->process == 0) {
        return;
    }
    (void)kill(background->process, SIGKILL);
    (void)bury(background);
}
