#include "targets/adapters/private/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void explain(const struct library *library, char reason[LIBRARY_REASON_BYTES])
{
    const char *why = dlerror();
    why = why == NULL ? "unknown reason" : why;
    if (library->wants != NULL && strstr(why, "static TLS") != NULL) {
        (void)snprintf(reason, LIBRARY_REASON_BYTES,
                       "%s needs more thread-local memory than the loader keeps ready: run with %s "
                       "in the environment",
                       library->file, library->wants);
        return;
    }
    (void)snprintf(reason, LIBRARY_REASON_BYTES,
                   "%s cannot be loaded: install the package %s (%.120s)", library->file,
                   library->package, why);
}

void *library_open(const struct library *library, char reason[LIBRARY_REASON_BYTES])
{
    /* Not RTLD_DEEPBIND, which sanitizers refuse: the functions that are called here allocate by
     * themselves, and never by the name malloc. */
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        explain(library, reason);
    }
    return handle;
}

void library_close(void *handle)
{
    (void)dlclose(handle);
}

void library_place(void *handle, char file[ADAPTER_FILE_BYTES])
{
    char whole[PATH_MAX];
    struct link_map *map = NULL;
    file[0] = '\0';
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL) {
        const bool is_found = realpath(map->l_name, whole) != NULL;
        (void)snprintf(file, ADAPTER_FILE_BYTES, "%.511s", is_found ? whole : map->l_name);
    }
}

bool library_find(void *handle, const struct library *library, const struct library_call *calls,
                  char reason[LIBRARY_REASON_BYTES])
{
    for (size_t i = 0; calls[i].name != NULL; i++) {
        if (dlsym(handle, calls[i].name) == NULL) {
            (void)snprintf(reason, LIBRARY_REASON_BYTES,
                           "%s has no function %s: another version is installed than that of the "
                           "package %s",
                           library->file, calls[i].name, library->package);
            return false;
        }
    }
    for (size_t i = 0; calls[i].name != NULL; i++) {
        /* C has no conversion from an object's address to a function's. */
        void *const found = dlsym(handle, calls[i].name);
        memcpy(calls[i].place, &found, sizeof found);
    }
    return true;
}

const char *library_load(const struct library *library)
{
    static char reason[LIBRARY_REASON_BYTES];
    void *found;
    memcpy(&found, library->calls[0].place, sizeof found);
    if (found != NULL) {
        return NULL;
    }
    if (library->variable != NULL) {
        (void)setenv(library->variable, library->value, 1);
    }
    void *handle = library_open(library, reason);
    if (library->variable != NULL) {
        (void)unsetenv(library->variable);
    }
    if (handle != NULL && library_find(handle, library, library->calls, reason)) {
        return NULL;
    }
    if (handle != NULL) {
        library_close(handle);
    }
    return reason;
}

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
