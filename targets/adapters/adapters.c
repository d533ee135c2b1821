#include "targets/adapters/adapters.h"

#include "targets/adapters/private/adapter.h"

#include <assert.h>
#include <string.h>

static_assert((int)ADAPTER_REASON_BYTES == (int)LIBRARY_REASON_BYTES,
              "one is written as the other");

const struct target *const adapters[] = {
#define ADAPTER(name) &adapter_##name,
#include "targets/adapters/list.h"
#undef ADAPTER
    NULL,
};

static const struct library *const libraries[] = {
#define ADAPTER(name) &library_##name,
#include "targets/adapters/list.h"
#undef ADAPTER
};

bool adapter_find(const char *name, size_t *index)
{
    for (size_t i = 0; adapters[i] != NULL; i++) {
        if (strcmp(name, adapters[i]->name) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool adapter_is_named(const char *name)
{
    size_t index;
    return adapter_find(name, &index) || strncmp(name, "malloc:", strlen("malloc:")) == 0 ||
           strncmp(name, "cuda:", strlen("cuda:")) == 0;
}

/* Loads it and unloads it again. */
static bool may_load(const struct library *library, char reason[ADAPTER_REASON_BYTES])
{
    void *handle = library_open(library, reason);
    if (handle == NULL) {
        return false;
    }
    library_close(handle);
    return true;
}

bool adapter_is_usable(size_t index, char reason[ADAPTER_REASON_BYTES])
{
    const struct library *library = libraries[index];
    return library->is_usable != NULL ? library->is_usable(reason) : may_load(library, reason);
}

struct adapter_library adapter_library(size_t index)
{
    const struct library *library = libraries[index];
    return (struct adapter_library){library->file, library->package, library->wants};
}

void adapter_examine(size_t index, struct adapter_findings *findings)
{
    const struct library *library = libraries[index];
    char reason[ADAPTER_REASON_BYTES];
    memset(findings, 0, sizeof *findings);
    /* It stays loaded: whoever asks does nothing else. */
    void *handle = library_open(library, reason);
    if (handle != NULL) {
        library_place(handle, findings->file);
    }
    if (library->examine != NULL) {
        library->examine(findings);
        return;
    }
    findings->is_usable = adapter_is_usable(index, findings->reason);
}
