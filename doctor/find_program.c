#include "doctor/find_program.h"

#include "campaign/process/child.h"
#include "harness/base/check.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WORD_COUNT_MAX = 8 };
#define DURATION_NS UINT64_C(2000000000)

/* --- where it is --- */

static bool is_program(const char *place)
{
    struct stat status;
    return stat(place, &status) == 0 && S_ISREG(status.st_mode) && access(place, X_OK) == 0;
}

static bool find_name(const char *path, const char *name, int name_length, char *place)
{
    if (name[0] == '/') {
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

bool find_program(const char *path, const char *names, char *place)
{
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

/* --- what it says --- */

/* In a process of its own, which is killed with the program when that takes too long. */
static void run_program(void *context, int file)
{
    const char *const *words = context;
    char *copies[WORD_COUNT_MAX + 1] = {NULL};
    pid_t process;
    int status = -1;
    for (size_t i = 0; words[i] != NULL; i++) {
        CHECK(i < WORD_COUNT_MAX);
        copies[i] = strdup(words[i]);
        CHECK(copies[i] != NULL);
    }
    if (posix_spawn(&process, copies[0], NULL, NULL, copies, environ) == 0) {
        while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
        }
    }
    for (size_t i = 0; copies[i] != NULL; i++) {
        free(copies[i]);
    }
    (void)file_write_all(file, &status, sizeof status);
}

enum ask_end ask_program(const char *const *words, struct writing *output)
{
    int status = -1;
    struct writing answer;
    struct death death;
    const struct child_job job = {.work = run_program,
                                  .context = (void *)(uintptr_t)words,
                                  .duration_ns = DURATION_NS,
                                  .is_interruptible = true,
                                  .output = output,
                                  .is_quiet = true};
    writing_init(&answer);
    const enum child_end end = child_work(&job, &answer, &death);
    const int error = errno;
    if (answer.length == sizeof status) {
        memcpy(&status, answer.bytes, sizeof status);
    }
    writing_deinit(&answer);
    errno = error;
    if (end == CHILD_NOT_BORN) {
        return ASK_NOT_ASKED;
    }
    if (end == CHILD_STOPPED) {
        return ASK_LATE;
    }
    return end == CHILD_DONE && status == 0 ? ASK_ANSWERED : ASK_FAILED;
}
