/* malloc:FILE.so: malloc and free of any library. */
#include "targets/adapters/adapters.h"
#include "targets/adapters/private/calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FILE_COUNT_MAX = 4, NAME_BYTES = 4096 };

static const char prefix[] = "malloc:";

/* A library that was named, and its target. */
struct file {
    char name[NAME_BYTES]; /* with the prefix */
    struct malloc_calls calls;
    struct target target;
};
static struct file files[FILE_COUNT_MAX];
static size_t file_count;

/* --- the library --- */

/* Finds the call only in the library itself: dlsym also looks in those that it needs. */
static bool find_call(void *handle, const char *name, void *place)
{
    struct link_map *map = NULL;
    Dl_info info = {0};
    void *const found = dlsym(handle, name);
    if (found == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || dladdr(found, &info) == 0 ||
        (uintptr_t)info.dli_fbase != (uintptr_t)map->l_addr) {
        return false;
    }
    /* C has no conversion from an object's address to a function's. */
    memcpy(place, &found, sizeof found);
    return true;
}

static bool load_calls(const char *path, struct malloc_calls *calls,
                       char reason[ADAPTER_REASON_BYTES])
{
    char place[NAME_BYTES + 2];
    /* Without a '/' dlopen would search the system's folders. */
    (void)snprintf(place, sizeof place, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    void *handle = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        (void)snprintf(reason, ADAPTER_REASON_BYTES, "it cannot be loaded as a shared object: %s",
                       dlerror());
        return false;
    }
    (void)find_call(handle, "posix_memalign", &calls->posix_memalign);
    if (find_call(handle, "malloc", &calls->malloc) && find_call(handle, "free", &calls->free)) {
        return true;
    }
    (void)snprintf(reason, ADAPTER_REASON_BYTES, "it has no functions malloc and free");
    (void)dlclose(handle);
    return false;
}

/* --- its target --- */

static const char *open_file(void *state, const struct kit_setup *setup)
{
    malloc_open(state, &files[setup->variant].calls, setup);
    return NULL;
}

/* A target is not told its name: each has an open of its own. */
#define FILE_OPENER(index) \
    KIT_OPEN(open_target_##index, NULL, MALLOC_ALLOCATOR, .variant = index, .open = open_file)
FILE_OPENER(0)
FILE_OPENER(1)
FILE_OPENER(2)
FILE_OPENER(3)

static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source -DLIBRARY=\\\"$MALLOC_LIBRARY\\\" -o @program",
    .head = "#include <dlfcn.h>\n"
            "#include <stdint.h>\n"
            "#include <stdio.h>\n"
            "#include <stdlib.h>\n"
            "\n"
            "static void *(*its_malloc)(size_t bytes);\n"
            "static void (*its_free)(void *memory);\n"
            "static int (*its_posix_memalign)(void **memory, size_t align, size_t bytes);\n"
            "static size_t used_bytes; /* a limit that the library does not know */\n",
    .version = "printf(\"%s\\n\", LIBRARY);",
    .create = "void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);\n"
              "if (library == NULL) {\n"
              "    printf(\"%s\\n\", dlerror());\n"
              "    return 2;\n"
              "}\n"
              "its_malloc = (void *(*)(size_t))dlsym(library, \"malloc\");\n"
              "its_free = (void (*)(void *))dlsym(library, \"free\");\n"
              "its_posix_memalign =\n"
              "    (int (*)(void **, size_t, size_t))dlsym(library, \"posix_memalign\");",
    MALLOC_API_CALLS("its_malloc", "its_free", "its_posix_memalign"),
};

static const struct target targets_of_files[FILE_COUNT_MAX] = {
#define FILE_TARGET(index)                                                                      \
    {                                                                                           \
        KIT_TABLE("malloc:FILE.so", "malloc and free of a library", NULL, open_target_##index), \
            MALLOC_LIMITS, .api = &api                                                          \
    }
    FILE_TARGET(0),
    FILE_TARGET(1),
    FILE_TARGET(2),
    FILE_TARGET(3),
#undef FILE_TARGET
};

bool adapter_is_file(const char *name)
{
    const size_t length = strlen(name);
    return strncmp(name, prefix, strlen(prefix)) == 0 &&
           (strchr(name, '/') != NULL || strcmp(name + length - strlen(".so"), ".so") == 0);
}

const struct target *adapter_of_file(const char *name, char reason[ADAPTER_REASON_BYTES])
{
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i].name, name) == 0) {
            return &files[i].target;
        }
    }
    if (file_count == FILE_COUNT_MAX || strlen(name) >= NAME_BYTES) {
        (void)snprintf(reason, ADAPTER_REASON_BYTES,
                       "at most %d libraries can be loaded, with paths of at most %d bytes",
                       FILE_COUNT_MAX, NAME_BYTES - 1);
        return NULL;
    }
    struct file *file = &files[file_count];
    if (!load_calls(name + strlen(prefix), &file->calls, reason)) {
        return NULL;
    }
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    file->target = targets_of_files[file_count++];
    file->target.name = file->name;
    return &file->target;
}
