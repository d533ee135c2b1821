/* A stand-in for the library of ONNX Runtime, so that the adapter onnxruntime can be tested without
 * it: an arena of one region with chunks in a list, the first that fits, and the rules by which the
 * library rounds and splits.  It says nothing about the library itself. */
#include "targets/adapters/private/onnxruntime_api.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT_BYTES = 256, ALIGN_BYTES = 64, CALL_COUNT = ORT_SLOT_arena_unregister + 1 };
#define MAX_DEAD_BYTES_DEFAULT ((size_t)128 << 20)

struct ort_status {
    const char *message;
};

struct chunk {
    struct chunk *previous, *next;
    size_t offset, bytes;
    bool is_used;
};

struct ort_arena_config {
    size_t limit_bytes, max_dead_bytes;
};

/* Registered until unregistered, and alive while a session has it. */
struct arena {
    struct ort_arena_config config;
    struct chunk *chunks;
    char *region;
    unsigned user_count;
};

struct ort_env {
    struct arena *registered;
};
struct ort_memory_info {
    int allocator_kind;
};
struct ort_session_options {
    bool uses_env_allocators;
};
struct ort_session {
    struct arena *arena;
};
struct ort_allocator {
    struct arena *arena;
};

static struct ort_status out_of_memory = {"the memory that is available is smaller than requested"};
static struct ort_status bad_argument = {"the stand-in does not take that"};

/* --- chunks --- */

static struct chunk *add_chunk(struct chunk *previous, struct chunk *next, size_t offset,
                               size_t bytes)
{
    struct chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL) {
        abort();
    }
    *chunk = (struct chunk){previous, next, offset, bytes, false};
    if (previous != NULL) {
        previous->next = chunk;
    }
    if (next != NULL) {
        next->previous = chunk;
    }
    return chunk;
}

static void join_next(struct chunk *chunk)
{
    struct chunk *next = chunk->next;
    if (next == NULL || next->is_used || chunk->is_used) {
        return;
    }
    chunk->bytes += next->bytes;
    chunk->next = next->next;
    if (chunk->next != NULL) {
        chunk->next->previous = chunk;
    }
    free(next);
}

static void drop_arena(struct arena *arena)
{
    if (--arena->user_count > 0) {
        return;
    }
    for (struct chunk *chunk = arena->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena->region);
    free(arena);
}

static struct ort_status *fake_allocate(struct ort_allocator *allocator, size_t bytes,
                                        void **memory)
{
    struct arena *arena = allocator->arena;
    struct chunk *chunk = arena->chunks;
    const size_t rounded = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    while (chunk != NULL && (chunk->is_used || chunk->bytes < rounded)) {
        chunk = chunk->next;
    }
    if (chunk == NULL) {
        return &out_of_memory;
    }
    const size_t left = chunk->bytes - rounded;
    if (left > 0 && (left >= rounded || left >= arena->config.max_dead_bytes)) {
        (void)add_chunk(chunk, chunk->next, chunk->offset + rounded, left);
        chunk->bytes = rounded;
    }
    chunk->is_used = true;
    *memory = arena->region + chunk->offset;
    return NULL;
}

static struct ort_status *fake_free(struct ort_allocator *allocator, void *memory)
{
    struct chunk *chunk = allocator->arena->chunks;
    while (allocator->arena->region + chunk->offset != memory) {
        chunk = chunk->next;
    }
    chunk->is_used = false;
    join_next(chunk);
    if (chunk->previous != NULL) {
        join_next(chunk->previous);
    }
    return NULL;
}

/* --- what leads to an allocator --- */

static const char *fake_error_message(const struct ort_status *status)
{
    return status->message;
}

static void fake_status_release(struct ort_status *status)
{
    (void)status;
}

static void *make(size_t bytes)
{
    void *made = calloc(1, bytes);
    if (made == NULL) {
        abort();
    }
    return made;
}

static struct ort_status *fake_env_create(int severity, const char *name, struct ort_env **env)
{
    static struct ort_env only;
    *env = &only;
    return severity == ORT_LOG_FATAL && *name != '\0' ? NULL : &bad_argument;
}

static void fake_env_release(struct ort_env *env)
{
    (void)env;
}

static struct ort_status *fake_info_create(const char *name, int allocator_kind, int device,
                                           int memory_kind, struct ort_memory_info **info)
{
    *info = make(sizeof **info);
    (*info)->allocator_kind = allocator_kind;
    return strcmp(name, "Cpu") == 0 && device == 0 && memory_kind == 0 ? NULL : &bad_argument;
}

static void fake_info_release(struct ort_memory_info *info)
{
    free(info);
}

static struct ort_status *fake_config_create(const char *const *keys, const size_t *values,
                                             size_t count, struct ort_arena_config **config)
{
    *config = make(sizeof **config);
    (*config)->max_dead_bytes = MAX_DEAD_BYTES_DEFAULT;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i], "max_mem") == 0) {
            (*config)->limit_bytes = values[i] / UNIT_BYTES * UNIT_BYTES;
        } else if (strcmp(keys[i], "max_dead_bytes_per_chunk") == 0 && values[i] != SIZE_MAX) {
            (*config)->max_dead_bytes = values[i];
        }
    }
    return NULL;
}

static void fake_config_release(struct ort_arena_config *config)
{
    free(config);
}

static struct ort_status *fake_arena_register(struct ort_env *env,
                                              const struct ort_memory_info *info,
                                              const struct ort_arena_config *config)
{
    if (env->registered != NULL || info->allocator_kind != ORT_ARENA_ALLOCATOR) {
        return &bad_argument;
    }
    struct arena *arena = make(sizeof *arena);
    const size_t bytes = config->limit_bytes;
    arena->region = aligned_alloc(ALIGN_BYTES, bytes);
    if (arena->region == NULL) {
        abort();
    }
    arena->config = *config;
    arena->chunks = add_chunk(NULL, NULL, 0, bytes);
    arena->user_count = 1;
    env->registered = arena;
    return NULL;
}

static struct ort_status *fake_arena_unregister(struct ort_env *env,
                                                const struct ort_memory_info *info)
{
    (void)info;
    drop_arena(env->registered);
    env->registered = NULL;
    return NULL;
}

static struct ort_status *fake_options_create(struct ort_session_options **options)
{
    *options = make(sizeof **options);
    return NULL;
}

static void fake_options_release(struct ort_session_options *options)
{
    free(options);
}

static struct ort_status *fake_options_set(struct ort_session_options *options, const char *key,
                                           const char *value)
{
    options->uses_env_allocators = strcmp(key, "session.use_env_allocators") == 0 &&
                                   strcmp(value, "1") == 0;
    return NULL;
}

static struct ort_status *fake_options_set_threads(struct ort_session_options *options, int threads)
{
    return options != NULL && threads == 1 ? NULL : &bad_argument;
}

static struct ort_status *fake_session_create(const struct ort_env *env, const void *model,
                                              size_t bytes,
                                              const struct ort_session_options *options,
                                              struct ort_session **session)
{
    if (model == NULL || bytes == 0 || !options->uses_env_allocators || env->registered == NULL) {
        return &bad_argument;
    }
    *session = make(sizeof **session);
    (*session)->arena = env->registered;
    env->registered->user_count++;
    return NULL;
}

static void fake_session_release(struct ort_session *session)
{
    drop_arena(session->arena);
    free(session);
}

static struct ort_status *fake_allocator_create(const struct ort_session *session,
                                                const struct ort_memory_info *info,
                                                struct ort_allocator **allocator)
{
    (void)info;
    *allocator = make(sizeof **allocator);
    (*allocator)->arena = session->arena;
    return NULL;
}

static void fake_allocator_release(struct ort_allocator *allocator)
{
    free(allocator);
}

/* --- the library --- */

static const ort_function *find_table(uint32_t version)
{
    static const ort_function table[CALL_COUNT] = {
#define ORT_CALL(number, result, name, parameters) [number] = (ort_function)fake_##name,
        ORT_CALLS
#undef ORT_CALL
    };
    return getenv("FAKE_ONNXRUNTIME_OLD") == NULL && version == ORT_TABLE_VERSION ? table : NULL;
}

static const char *find_version(void)
{
    return "1.0.0";
}

const struct ort_base *OrtGetApiBase(void);
const struct ort_base *OrtGetApiBase(void)
{
    static const struct ort_base base = {find_table, find_version};
    return &base;
}
