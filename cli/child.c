#include "cli/child.h"

#include "cli/clock.h"
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool file_read_all(int file, void *bytes, size_t length)
{
    for (char *to = bytes; length > 0;) {
        ssize_t got = read(file, to, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        length -= (size_t)got;
    }
    return true;
}

bool file_write_all(int file, const void *bytes, size_t length)
{
    for (const char *from = bytes; length > 0;) {
        ssize_t put = write(file, from, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        from += put;
        length -= (size_t)put;
    }
    return true;
}

void child_describe_death(int status, char death[CHILD_DEATH_BYTES])
{
    if (WIFSIGNALED(status))
        snprintf(death, CHILD_DEATH_BYTES, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(death, CHILD_DEATH_BYTES, "exit status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Takes what the child writes until it closes its end.  False: time is over. */
static bool listen_to(int file, uint64_t end_ns, bool interruptible, struct writing *answer)
{
    char bytes[65536];
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= end_ns || (interruptible && interrupt_asked()))
            return false;
        struct pollfd poll_file = {.fd = file, .events = POLLIN};
        if (poll(&poll_file, 1, 200) <= 0) /* 200 ms: how late a bound or ctrl-C may be seen */
            continue;
        ssize_t got = read(file, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        writing_append_bytes(answer, bytes, (size_t)got);
    }
}

void child_begin(void)
{
    interrupt_ignore();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static _Noreturn void child_main(void (*work)(void *context, int file), void *context, int file)
{
    child_begin();
    work(context, file);
    (void)fflush(NULL);
    _exit(0);
}

static enum child_end child_wait(pid_t process, bool heard_all, char death[CHILD_DEATH_BYTES])
{
    if (!heard_all)
        (void)kill(process, SIGKILL);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    if (!heard_all)
        return CHILD_STOPPED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CHILD_DONE;
    child_describe_death(status, death);
    return CHILD_DIED;
}

enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool interruptible, struct writing *answer, char death[CHILD_DEATH_BYTES])
{
    int files[2];
    death[0] = '\0';
    if (pipe(files) != 0)
        return CHILD_NOT_BORN;
    (void)fflush(NULL); /* what is buffered must not be written twice */
    pid_t process = fork();
    if (process == 0) {
        close(files[0]);
        child_main(work, context, files[1]);
    }
    close(files[1]);
    if (process < 0) {
        close(files[0]);
        return CHILD_NOT_BORN;
    }
    uint64_t now_ns = clock_now_ns();
    uint64_t end_ns = duration_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + duration_ns;
    bool heard_all = listen_to(files[0], end_ns, interruptible, answer);
    close(files[0]);
    return child_wait(process, heard_all, death);
}
