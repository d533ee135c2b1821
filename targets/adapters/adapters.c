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

bool adapter_is_named(const char *name)
{
    for (size_t i = 0; adapters[i] != NULL; i++) {
        if (strcmp(name, adapters[i]->name) == 0) {
            return true;
        }
    }
    return strncmp(name, "malloc:", strlen("malloc:")) == 0 ||
           strncmp(name, "cuda:", strlen("cuda:")) == 0;
}

bool adapter_is_usable(size_t index, char reason[ADAPTER_REASON_BYTES])
{
    if (libraries[index]->is_usable != NULL) {
        return libraries[index]->is_usable(reason);
    }
    void *handle = library_open(libraries[index], reason);
    if (handle == NULL) {
        return false;
    }
    library_close(handle);
    return true;
}
