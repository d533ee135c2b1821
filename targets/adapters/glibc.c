/* malloc:glibc: malloc of the C library, which the harness uses, too: its blocks lie between those
 * of the harness. */
#include "targets/adapters/private/calls.h"

static struct malloc_calls its;
static const struct library_call calls[] = {{"malloc", &its.malloc},
                                            {"free", &its.free},
                                            {"posix_memalign", &its.posix_memalign},
                                            {NULL, NULL}};
const struct library library_glibc = {.file = "libc.so.6", .package = "libc6", .calls = calls};

static const char *open_glibc(void *state, const struct kit_setup *setup)
{
    malloc_open(state, &its, setup);
    return library_load(&library_glibc);
}

const struct kit_allocator allocator_glibc = {MALLOC_ALLOCATOR, .open = open_glibc};

static const struct target_api api = {
    .language = "c",
    .build = "cc -g -O0 -fno-builtin @source -o @program",
    .head = "#include <gnu/libc-version.h>\n"
            "#include <stdint.h>\n"
            "#include <stdio.h>\n"
            "#include <stdlib.h>\n"
            "\n"
            "static size_t used_bytes; /* a limit that malloc does not know */\n",
    .version = "printf(\"glibc %s\\n\", gnu_get_libc_version());",
    .create = "",
    MALLOC_API_CALLS("malloc", "free", "posix_memalign"),
};

ADAPTER_TARGET(glibc, "malloc:glibc",
               "malloc of the C library, under a limit that the adapter counts", NULL,
               MALLOC_LIMITS, .api = &api);
