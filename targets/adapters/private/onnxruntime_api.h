/* The part of the C API of ONNX Runtime that the adapter calls.
 *
 * The library exports OrtGetApiBase alone.  All else is a table of functions to which versions only
 * append, so a function is known by its number there. */
#ifndef TARGETS_ADAPTERS_PRIVATE_ONNXRUNTIME_API_H
#define TARGETS_ADAPTERS_PRIVATE_ONNXRUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

/* Opaque, and released by the function of its name. */
struct ort_status; /* NULL: it went well */
struct ort_env;
struct ort_memory_info;
struct ort_arena_config;
struct ort_session_options;
struct ort_session;
struct ort_allocator;

typedef void (*ort_function)(void);

/* OrtGetApiBase returns this table. */
struct ort_base {
    const ort_function *(*table)(uint32_t version); /* NULL: the library is older */
    const char *(*version)(void);
};

/* The table of this version has all that follows. */
enum { ORT_TABLE_VERSION = 16 };

enum { ORT_LOG_FATAL = 4, ORT_ARENA_ALLOCATOR = 1, ORT_MEMORY_DEFAULT = 0 };

/* ORT_CALL(number, result, name, parameters): every function that is called, by number. */
#define ORT_CALLS                                                                              \
    ORT_CALL(2, const char *, error_message, (const struct ort_status *status))                \
    ORT_CALL(3, struct ort_status *, env_create,                                               \
             (int severity, const char *name, struct ort_env **env))                           \
    ORT_CALL(8, struct ort_status *, session_create,                                           \
             (const struct ort_env *env, const void *model, size_t bytes,                      \
              const struct ort_session_options *options, struct ort_session **session))        \
    ORT_CALL(10, struct ort_status *, options_create, (struct ort_session_options * *options)) \
    ORT_CALL(24, struct ort_status *, options_set_threads,                                     \
             (struct ort_session_options * options, int threads))                              \
    ORT_CALL(68, struct ort_status *, info_create,                                             \
             (const char *name, int allocator_kind, int device, int memory_kind,               \
              struct ort_memory_info **info))                                                  \
    ORT_CALL(75, struct ort_status *, allocate,                                                \
             (struct ort_allocator * allocator, size_t bytes, void **memory))                  \
    ORT_CALL(76, struct ort_status *, free, (struct ort_allocator * allocator, void *memory))  \
    ORT_CALL(92, void, env_release, (struct ort_env * env))                                    \
    ORT_CALL(93, void, status_release, (struct ort_status * status))                           \
    ORT_CALL(94, void, info_release, (struct ort_memory_info * info))                          \
    ORT_CALL(95, void, session_release, (struct ort_session * session))                        \
    ORT_CALL(100, void, options_release, (struct ort_session_options * options))               \
    ORT_CALL(130, struct ort_status *, options_set,                                            \
             (struct ort_session_options * options, const char *key, const char *value))       \
    ORT_CALL(131, struct ort_status *, allocator_create,                                       \
             (const struct ort_session *session, const struct ort_memory_info *info,           \
              struct ort_allocator **allocator))                                               \
    ORT_CALL(132, void, allocator_release, (struct ort_allocator * allocator))                 \
    ORT_CALL(144, struct ort_status *, arena_register,                                         \
             (struct ort_env * env, const struct ort_memory_info *info,                        \
              const struct ort_arena_config *config))                                          \
    ORT_CALL(157, void, config_release, (struct ort_arena_config * config))                    \
    ORT_CALL(164, struct ort_status *, config_create,                                          \
             (const char *const *keys, const size_t *values, size_t count,                     \
              struct ort_arena_config **config))                                               \
    ORT_CALL(177, struct ort_status *, arena_unregister,                                       \
             (struct ort_env * env, const struct ort_memory_info *info))

enum {
#define ORT_CALL(number, result, name, parameters) ORT_SLOT_##name = (number),
    ORT_CALLS
#undef ORT_CALL
        ORT_SLOT_COUNT
};

struct ort_calls {
#define ORT_CALL(number, result, name, parameters) result(*name) parameters;
    ORT_CALLS
#undef ORT_CALL
};

#endif
