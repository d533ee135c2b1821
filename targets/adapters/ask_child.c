#include "targets/adapters/private/ask_child.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void answer(bool (*can)(char reason[LIBRARY_REASON_BYTES]), int to)
{
    char reason[LIBRARY_REASON_BYTES] = "";
    if (can(reason)) {
        reason[0] = '\0';
    }
    _exit(write(to, reason, strlen(reason)) < 0);
}

/* Reads to the end; an answer that is cut short says that the child died. */
static bool read_answer(int from, char reason[LIBRARY_REASON_BYTES])
{
    size_t length = 0;
    for (ssize_t got; length < LIBRARY_REASON_BYTES - 1 &&
                      (got = read(from, reason + length, LIBRARY_REASON_BYTES - 1 - length)) > 0;) {
        length += (size_t)got;
    }
    reason[length] = '\0';
    return length == 0;
}

bool ask_child(bool (*can)(char reason[LIBRARY_REASON_BYTES]), char reason[LIBRARY_REASON_BYTES])
{
    int ends[2], status = 0;
    if (pipe(ends) != 0) {
        (void)snprintf(reason, LIBRARY_REASON_BYTES, "no pipe to ask for the driver");
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        answer(can, ends[1]);
    }
    (void)close(ends[1]);
    const bool is_silent = child > 0 && read_answer(ends[0], reason);
    (void)close(ends[0]);
    if (child < 0) {
        (void)snprintf(reason, LIBRARY_REASON_BYTES, "cannot start a process to ask the driver");
        return false;
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return is_silent;
    }
    (void)snprintf(reason, LIBRARY_REASON_BYTES, "the driver ends the process that starts it");
    return false;
}
