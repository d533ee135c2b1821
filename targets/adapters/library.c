#include "targets/adapters/private/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                  size_t count, char reason[LIBRARY_REASON_BYTES])
{
    for (size_t i = 0; i < count; i++) {
        if (dlsym(handle, calls[i].name) == NULL) {
            (void)snprintf(reason, LIBRARY_REASON_BYTES,
                           "%s has no function %s: another version is installed than that of the "
                           "package %s",
                           library->file, calls[i].name, library->package);
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        /* C has no conversion from an object's address to a function's. */
        void *const found = dlsym(handle, calls[i].name);
        memcpy(calls[i].place, &found, sizeof found);
    }
    return true;
}

static bool is_loaded(const struct library_call *call)
{
    void *found;
    memcpy(&found, call->place, sizeof found);
    return found != NULL;
}

bool library_load(const struct library *library, const struct library_call *calls, size_t count,
                  char reason[LIBRARY_REASON_BYTES])
{
    if (is_loaded(&calls[0])) {
        return true;
    }
    if (library->variable != NULL) {
        (void)setenv(library->variable, library->value, 1);
    }
    void *handle = library_open(library, reason);
    if (library->variable != NULL) {
        (void)unsetenv(library->variable);
    }
    const bool is_found = handle != NULL && library_find(handle, library, calls, count, reason);
    if (handle != NULL && !is_found) {
        library_close(handle);
    }
    return is_found;
}
