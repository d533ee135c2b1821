#include "campaign/process/program.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_BYTES_MAX = 1 << 20, POLL_MS = 20 };

/* --- where it is --- */

static bool is_program(const char *place)
{
    struct stat status;
    return stat(place, &status) == 0 && S_ISREG(status.st_mode) && access(place, X_OK) == 0;
}

static bool find_name(const char *path, const char *name, int name_length, char *place)
{
    if (memchr(name, '/', (size_t)name_length) != NULL) {
        return snprintf(place, PATH_MAX, "%.*s", name_length, name) < PATH_MAX && is_program(place);
    }
    while (*path != '\0') {
        const int length = (int)strcspn(path, ":");
        const int used = snprintf(place, PATH_MAX, "%.*s%s%.*s", length, path,
                                  length == 0 ? "./" : "/", name_length, name);
        if (used < PATH_MAX && is_program(place)) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

bool program_find(const char *path, const char *names, char *place)
{
    path = path != NULL ? path : getenv("PATH");
    path = path != NULL ? path : "";
    while (*names != '\0') {
        const int length = (int)strcspn(names, " ");
        if (find_name(path, names, length, place)) {
            return true;
        }
        names += length + (names[length] == ' ');
    }
    place[0] = '\0';
    return false;
}

/* --- what it prints --- */

/* Starts it, in the child. */
static _Noreturn void enter_program(const char *const *words, const char *folder, int output)
{
    const struct rlimit no_core = {0, 0};
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)setpgid(0, 0);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    for (int number = SIGHUP; number <= SIGTERM; number++) {
        (void)signal(number, SIG_DFL);
    }
    if (nothing >= 0 && chdir(folder) == 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0) {
        /* The arguments are not written to, whatever the type of execvp says. */
        char *copy[16];
        size_t count = 0;
        for (; words[count] != NULL && count + 1 < sizeof copy / sizeof *copy; count++) {
            copy[count] = strdup(words[count]);
        }
        copy[count] = NULL;
        (void)execvp(copy[0], copy);
    }
    _exit(127);
}

/* Reads what comes; false: nothing will come any more. */
static bool take_output(int file, struct writing *output)
{
    char bytes[4096];
    struct pollfd wait = {.fd = file, .events = POLLIN};
    if (poll(&wait, 1, POLL_MS) <= 0) {
        return true;
    }
    const ssize_t got = read(file, bytes, sizeof bytes);
    if (got > 0 && output->length < OUTPUT_BYTES_MAX) {
        writing_append_bytes(output, bytes, (size_t)got);
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

static void await_program(pid_t process, int file, uint64_t duration_ns, struct writing *output,
                          struct program_end *end)
{
    const uint64_t start_ns = clock_now_ns();
    bool is_open = true;
    while (is_open || waitpid(process, &end->status, WNOHANG) == 0) {
        if (clock_now_ns() - start_ns > duration_ns || interrupt_is_requested()) {
            end->is_stopped = true;
            (void)kill(-process, SIGKILL);
            (void)waitpid(process, &end->status, 0);
            return;
        }
        if (is_open) {
            is_open = take_output(file, output);
        } else {
            (void)poll(NULL, 0, POLL_MS);
        }
    }
}

bool program_run(const char *const *words, const char *folder, uint64_t duration_ns,
                 struct writing *output, struct program_end *end)
{
    int files[2];
    *end = (struct program_end){0};
    if (pipe2(files, O_CLOEXEC) != 0) {
        return false;
    }
    const pid_t process = fork();
    if (process == 0) {
        enter_program(words, folder, files[1]);
    }
    const int reason = errno;
    close(files[1]);
    if (process > 0) {
        await_program(process, files[0], duration_ns, output, end);
    }
    close(files[0]);
    errno = reason;
    return process > 0;
}
