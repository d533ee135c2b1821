/* A shim between the adapter onnxruntime and the library that BENT_ONNXRUNTIME_OVER names, the real
 * one or the stand-in, with one thing bent, as the definition says. */
#include "targets/adapters/private/onnxruntime_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One call in so many is bent: often enough to be met in a trial, and not in its first calls. */
enum { DEFECT_PERIOD = 64, LEAK_PERIOD = 4, CALL_COUNT = ORT_SLOT_arena_unregister + 1 };

static struct ort_status *(*honest_allocate)(struct ort_allocator *allocator, size_t bytes,
                                             void **memory);
static struct ort_status *(*honest_free)(struct ort_allocator *allocator, void *memory);
static struct ort_status *(*honest_create)(const struct ort_session *session,
                                           const struct ort_memory_info *info,
                                           struct ort_allocator **allocator);

/* Of the allocator that was created last. */
static struct {
    unsigned call_count;
    char *last; /* the last block that was allocated; NULL: it is gone */
    size_t last_bytes;
    void *doubled;       /* allocated twice, and to be freed once */
    void *told, *really; /* a block that is told to lie elsewhere */
} bent;

#if defined BEND_LEAK

static struct ort_status *bent_allocate(struct ort_allocator *allocator, size_t bytes,
                                        void **memory)
{
    return honest_allocate(allocator, bytes, memory);
}

static struct ort_status *bent_free(struct ort_allocator *allocator, void *memory)
{
    return ++bent.call_count % LEAK_PERIOD == 0 ? NULL : honest_free(allocator, memory);
}

#elif defined BEND_OVERLAP

static struct ort_status *bent_allocate(struct ort_allocator *allocator, size_t bytes,
                                        void **memory)
{
    if (++bent.call_count >= DEFECT_PERIOD && bent.last != NULL && bent.doubled == NULL &&
        bytes <= bent.last_bytes) {
        bent.call_count = 0;
        *memory = bent.doubled = bent.last;
        return NULL;
    }
    struct ort_status *const status = honest_allocate(allocator, bytes, memory);
    bent.last = status == NULL ? *memory : NULL;
    bent.last_bytes = bytes;
    return status;
}

static struct ort_status *bent_free(struct ort_allocator *allocator, void *memory)
{
    bent.last = memory == bent.last ? NULL : bent.last;
    if (memory == bent.doubled) {
        bent.doubled = NULL;
        return NULL;
    }
    return honest_free(allocator, memory);
}

#elif defined BEND_PREMATURE

static struct ort_status *bent_allocate(struct ort_allocator *allocator, size_t bytes,
                                        void **memory)
{
    const bool is_due = ++bent.call_count % DEFECT_PERIOD == 0;
    return honest_allocate(allocator, is_due ? SIZE_MAX / 4 : bytes, memory);
}

static struct ort_status *bent_free(struct ort_allocator *allocator, void *memory)
{
    return honest_free(allocator, memory);
}

#elif defined BEND_MISPLACED || defined BEND_OUTSIDE

#ifdef BEND_MISPLACED
#define TOO_FAR_BYTES 64u
#else
#define TOO_FAR_BYTES (UINT64_C(1) << 36)
#endif

static struct ort_status *bent_allocate(struct ort_allocator *allocator, size_t bytes,
                                        void **memory)
{
    struct ort_status *const status = honest_allocate(allocator, bytes, memory);
    if (status == NULL && ++bent.call_count % DEFECT_PERIOD == 0 && bent.told == NULL) {
        bent.really = *memory;
        bent.told = *memory = (void *)((uintptr_t)bent.really + TOO_FAR_BYTES);
    }
    return status;
}

static struct ort_status *bent_free(struct ort_allocator *allocator, void *memory)
{
    if (memory == bent.told) {
        bent.told = NULL;
        memory = bent.really;
    }
    return honest_free(allocator, memory);
}

#endif

static struct ort_status *bent_create(const struct ort_session *session,
                                      const struct ort_memory_info *info,
                                      struct ort_allocator **allocator)
{
    memset(&bent, 0, sizeof bent);
    return honest_create(session, info, allocator);
}

static const struct ort_base *honest_base(void)
{
    const struct ort_base *(*get_base)(void) = NULL;
    void *handle = dlopen(getenv("BENT_ONNXRUNTIME_OVER"), RTLD_NOW | RTLD_LOCAL);
    void *const found = handle == NULL ? NULL : dlsym(handle, "OrtGetApiBase");
    if (found == NULL) {
        abort();
    }
    memcpy(&get_base, &found, sizeof get_base);
    return get_base();
}

static const ort_function *find_table(uint32_t version)
{
    static ort_function table[CALL_COUNT];
    const ort_function *const honest = honest_base()->table(version);
    memcpy(table, honest, sizeof table);
    memcpy(&honest_allocate, &honest[ORT_SLOT_allocate], sizeof honest_allocate);
    memcpy(&honest_free, &honest[ORT_SLOT_free], sizeof honest_free);
    memcpy(&honest_create, &honest[ORT_SLOT_allocator_create], sizeof honest_create);
    table[ORT_SLOT_allocator_create] = (ort_function)bent_create;
    table[ORT_SLOT_allocate] = (ort_function)bent_allocate;
    table[ORT_SLOT_free] = (ort_function)bent_free;
    return table;
}

static const char *find_version(void)
{
    return honest_base()->version();
}

const struct ort_base *OrtGetApiBase(void);
const struct ort_base *OrtGetApiBase(void)
{
    static const struct ort_base base = {find_table, find_version};
    return &base;
}
