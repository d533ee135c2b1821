/* onnxruntime: the arena of ONNX Runtime, a best-fit allocator with coalescing, bounded by max_mem.
 *
 * An arena is registered with the environment, and only a session hands out the allocator in front
 * of it: hence a session of a model that does nothing.  It keeps the arena alive, so the arena's
 * registration ends at once and any number of instances have one each. */
#include "targets/adapters/private/adapter.h"
#include "targets/adapters/private/onnxruntime_api.h"
#include "targets/private/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of blocks are multiples of it, and within a region so are their distances. */
enum { UNIT_BYTES = 256 };
/* The C library's malloc chooses where a region begins, at a multiple of this. */
enum { REGION_ALIGN_BYTES = 64 };

/* The library keeps only the low 32 bits of the size of the first region. */
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 30)

/* y = x, with one number: the smallest model that loads. */
#define IDENTITY_MODEL                                \
    "\010\007"      /* version 7 of the format */     \
    "B\002\020\015" /* operators of set 13 */         \
    ":+"            /* the graph, 43 bytes */         \
    "\n\020"        /* its node, 16 bytes */          \
    "\n\001x"                                         \
    "\022\001y"                                       \
    "\"\010Identity"                                  \
    "\022\001g" /* its name */                        \
    "Z\011"     /* its input, 9 bytes */              \
    "\n\001x"                                         \
    "\022\004\n\002\010\001" /* a tensor of floats */ \
    "b\011"                  /* its output */         \
    "\n\001y"                                         \
    "\022\004\n\002\010\001"

/* --- the library --- */

static bool is_library_usable(char reason[LIBRARY_REASON_BYTES]);
static void examine_library(struct adapter_findings *findings);

const struct library library_onnxruntime = {.file = "libonnxruntime.so.1",
                                            .package = "onnxruntime-node of npm",
                                            .is_usable = is_library_usable,
                                            .examine = examine_library};

static struct ort_calls ort;

static struct library find_library(void)
{
    struct library library = library_onnxruntime;
    const char *const named = getenv("HBMSTRESS_ONNXRUNTIME");
    if (named != NULL && *named != '\0') {
        library.file = named;
    }
    return library;
}

static void *open_library(char reason[LIBRARY_REASON_BYTES])
{
    const struct library library = find_library();
    void *handle = library_open(&library, reason);
    if (handle == NULL && strcmp(library.file, library_onnxruntime.file) == 0) {
        (void)snprintf(reason, LIBRARY_REASON_BYTES,
                       "%s cannot be loaded: install it with ci/setup --with-onnxruntime, or name "
                       "the file in HBMSTRESS_ONNXRUNTIME",
                       library.file);
    }
    return handle;
}

static bool is_library_usable(char reason[LIBRARY_REASON_BYTES])
{
    void *handle = open_library(reason);
    if (handle == NULL) {
        return false;
    }
    library_close(handle);
    return true;
}

/* It may be another file than the dynamic linker finds by itself. */
static void examine_library(struct adapter_findings *findings)
{
    void *handle = open_library(findings->reason);
    findings->is_usable = handle != NULL;
    if (handle != NULL) {
        library_place(handle, findings->file);
    }
}

static void fill_calls(const ort_function *table)
{
    const struct {
        size_t slot;
        void *place;
    } calls[] = {
#define ORT_CALL(number, result, name, parameters) {ORT_SLOT_##name, &ort.name},
        ORT_CALLS
#undef ORT_CALL
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        memcpy(calls[i].place, &table[calls[i].slot], sizeof *table);
    }
}

/* Returns a call's error message; NULL: it went well.  Valid until the next one that failed. */
static const char *explain(struct ort_status *status)
{
    static char text[LIBRARY_REASON_BYTES];
    if (status == NULL) {
        return NULL;
    }
    (void)snprintf(text, sizeof text, "onnxruntime: %s", ort.error_message(status));
    text[strcspn(text, "\n")] = '\0';
    ort.status_release(status);
    return text;
}

/* The environment is one for the process, and stays. */
static const char *load_once(struct ort_env **env)
{
    static char reason[LIBRARY_REASON_BYTES];
    static struct ort_env *loaded;
    if (loaded != NULL) {
        *env = loaded;
        return NULL;
    }
    const struct ort_base *(*get_base)(void) = NULL;
    const struct library library = find_library();
    void *handle = open_library(reason);
    if (handle == NULL ||
        !library_find(handle, &library,
                      (const struct library_call[]){{"OrtGetApiBase", &get_base}, {NULL, NULL}},
                      reason)) {
        return reason;
    }
    const ort_function *const table = get_base()->table(ORT_TABLE_VERSION);
    if (table == NULL) {
        (void)snprintf(reason, sizeof reason, "%.100s is version %.20s, which is older than 1.%d",
                       library.file, get_base()->version(), ORT_TABLE_VERSION);
        return reason;
    }
    fill_calls(table);
    const char *const why = explain(ort.env_create(ORT_LOG_FATAL, "hbmstress", &loaded));
    *env = loaded;
    return why;
}

/* --- an arena --- */

struct onnxruntime {
    struct ort_session *session;
    struct ort_allocator *allocator;
    char *base; /* of the one region; NULL: there may be several */
};

enum extend { EXTEND_ONCE = 0, EXTEND_POWER, EXTEND_SAME };
struct onnx_options {
    enum extend extend;
    uint64_t initial_chunk, max_dead; /* bytes */
};
static const struct target_option_row option_rows[] = {
    OPTION_WORDS("extend", "once|power|same", struct onnx_options, extend),
    {"initial_chunk", TARGET_OPTION_SIZE, "<bytes>", 1,
     OPTION_AT(struct onnx_options, initial_chunk)},
    {"max_dead", TARGET_OPTION_SIZE, "<bytes>", 1, OPTION_AT(struct onnx_options, max_dead)},
    {.key = NULL}};

static const char *make_config(const struct kit_setup *setup, struct ort_arena_config **config)
{
    static const char *const keys[] = {"max_mem", "arena_extend_strategy",
                                       "initial_chunk_size_bytes", "max_dead_bytes_per_chunk"};
    enum { MAX_MEM, STRATEGY, INITIAL_CHUNK, MAX_DEAD, KEY_COUNT };
    static char text[LIBRARY_REASON_BYTES];
    /* The greatest number stands for -1: the library's own default. */
    struct onnx_options options = {.initial_chunk = SIZE_MAX, .max_dead = SIZE_MAX};
    if (!target_options_read(option_rows, setup->target, &options, text, sizeof text)) {
        return text;
    }
    if (options.extend == EXTEND_ONCE) {
        if (options.initial_chunk != SIZE_MAX) {
            return "initial_chunk goes with extend=power alone";
        }
        options.initial_chunk = setup->capacity_bytes;
    }
    const size_t values[KEY_COUNT] = {[MAX_MEM] = setup->capacity_bytes,
                                      [STRATEGY] = options.extend == EXTEND_SAME,
                                      [INITIAL_CHUNK] = options.initial_chunk,
                                      [MAX_DEAD] = options.max_dead};
    return explain(ort.config_create(keys, values, KEY_COUNT, config));
}

static const char *make_session(struct ort_env *env, const struct ort_memory_info *info,
                                struct onnxruntime *made)
{
    struct ort_session_options *options = NULL;
    const char *why = explain(ort.options_create(&options));
    if (why != NULL) {
        return why;
    }
    why = explain(ort.options_set(options, "session.use_env_allocators", "1"));
    if (why == NULL) {
        why = explain(ort.options_set_threads(options, 1));
    }
    if (why == NULL) {
        why = explain(ort.session_create(env, IDENTITY_MODEL, sizeof IDENTITY_MODEL - 1, options,
                                         &made->session));
    }
    ort.options_release(options);
    return why != NULL ? why : explain(ort.allocator_create(made->session, info, &made->allocator));
}

static const char *make_arena(struct ort_env *env, const struct ort_memory_info *info,
                              const struct kit_setup *setup, struct onnxruntime *made)
{
    struct ort_arena_config *config = NULL;
    const char *why = make_config(setup, &config);
    if (why != NULL) {
        return why;
    }
    why = explain(ort.arena_register(env, info, config));
    ort.config_release(config);
    if (why != NULL) {
        return why;
    }
    why = make_session(env, info, made);
    const char *const unregistered = explain(ort.arena_unregister(env, info));
    return why != NULL ? why : unregistered;
}

static void close_arena(void *state)
{
    struct onnxruntime *const made = state;
    if (made->allocator != NULL) {
        ort.allocator_release(made->allocator);
    }
    if (made->session != NULL) {
        ort.session_release(made->session);
    }
}

static const char *open_arena(void *state, const struct kit_setup *setup)
{
    struct ort_env *env = NULL;
    struct ort_memory_info *info = NULL;
    const char *why = load_once(&env);
    if (why == NULL) {
        why = explain(ort.info_create("Cpu", ORT_ARENA_ALLOCATOR, 0, ORT_MEMORY_DEFAULT, &info));
    }
    if (why != NULL) {
        return why;
    }
    why = make_arena(env, info, setup, state);
    ort.info_release(info);
    if (why != NULL) {
        close_arena(state);
    }
    return why;
}

/* The whole of it, once: then the arena has its one region, and this is where it begins. */
static const char *open_region(void *state, const struct kit_setup *setup)
{
    struct onnxruntime *const made = state;
    void *whole = NULL;
    const char *why = open_arena(state, setup);
    if (why != NULL) {
        return why;
    }
    why = explain(ort.allocate(made->allocator, setup->capacity_bytes, &whole));
    if (why == NULL) {
        made->base = whole;
        why = explain(ort.free(made->allocator, whole));
    }
    if (why != NULL) {
        close_arena(state);
    }
    return why;
}

static void *allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    const struct onnxruntime *const made = state;
    void *memory = NULL;
    (void)align_bytes;
    struct ort_status *const status = ort.allocate(made->allocator, size_bytes, &memory);
    if (status != NULL) {
        ort.status_release(status);
        return NULL;
    }
    return memory;
}

static void free_block(void *state, void *memory, uint64_t size_bytes)
{
    const struct onnxruntime *const made = state;
    (void)size_bytes;
    struct ort_status *const status = ort.free(made->allocator, memory);
    if (status != NULL) {
        ort.status_release(status);
    }
}

static uint64_t allocate_offset(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    const struct onnxruntime *const made = state;
    const char *const memory = allocate(state, size_bytes, align_bytes);
    return memory == NULL ? KIT_NOTHING : (uint64_t)((uintptr_t)memory - (uintptr_t)made->base);
}

static void free_offset(void *state, uint64_t offset, uint64_t size_bytes)
{
    const struct onnxruntime *const made = state;
    free_block(state, (void *)((uintptr_t)made->base + offset), size_bytes);
}

static uint64_t find_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    (void)state, (void)place;
    return (size_bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

const struct kit_allocator allocator_onnxruntime = {
    .options = option_rows,
    .state_bytes = sizeof(struct onnxruntime),
    .granule_bytes = UNIT_BYTES,
    .is_granule_fixed = true,
    .open = open_region,
    .close = close_arena,
    .allocate_offset = allocate_offset,
    .free_offset = free_offset,
};

/* Regions come from malloc, in any order. */
static const struct kit_allocator allocator_growing = {
    .options = option_rows,
    .state_bytes = sizeof(struct onnxruntime),
    .granule_bytes = REGION_ALIGN_BYTES,
    .is_granule_fixed = true,
    .placement = PLACEMENT_HIDDEN,
    .arena = {.is_own = true},
    .rounding = {.overhead_bytes = UNIT_BYTES - REGION_ALIGN_BYTES},
    .open = open_arena,
    .close = close_arena,
    .allocate = allocate,
    .free = free_block,
    .block_bytes = find_block_bytes,
};

static enum target_result target_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    struct onnx_options options = {.extend = EXTEND_ONCE};
    if (!target_options_read(option_rows, setup, &options, reason, reason_bytes)) {
        return TARGET_INVALID;
    }
    return kit_open(options.extend == EXTEND_ONCE ? &allocator_onnxruntime : &allocator_growing,
                    NULL, setup, device, out, contract, reason, reason_bytes);
}

/* --- the same in its own API --- */

#define TEXT(...) TEXT_NOW(__VA_ARGS__)
#define TEXT_NOW(...) #__VA_ARGS__

static const struct target_api api = {
    .language = "c",
    .build = "cc @source -I$ORT/include -L$ORT/lib -lonnxruntime -Wl,-rpath,$ORT/lib -o @program",
    .head =
        "#include <onnxruntime_c_api.h>\n"
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n"
        "\n"
        "static const OrtApi *ort;\n"
        "static OrtEnv *env;\n"
        "static OrtSession *session;\n"
        "static OrtAllocator *allocator;\n"
        "static char *base; /* of the arena's one region */\n"
        "\n"
        "/* An allocator is had from a session alone: this model is y = x. */\n"
        "static const char model[] = " TEXT(
            IDENTITY_MODEL) ";\n"
                            "\n"
                            "static void check(OrtStatus *status)\n"
                            "{\n"
                            "    if (status != NULL) {\n"
                            "        fprintf(stderr, \"%s\\n\", ort->GetErrorMessage(status));\n"
                            "        exit(2);\n"
                            "    }\n"
                            "}\n"
                            "\n"
                            "static void *take(size_t bytes)\n"
                            "{\n"
                            "    void *memory = NULL;\n"
                            "    OrtStatus *status = ort->AllocatorAlloc(allocator, bytes, &memory);\n"
                            "    if (status != NULL) {\n"
                            "        ort->ReleaseStatus(status);\n"
                            "        return NULL;\n"
                            "    }\n"
                            "    return memory;\n"
                            "}\n"
                            "\n"
                            "/* An arena of at most so many bytes, which takes all of them as one region. */\n"
                            "static void create_arena(size_t capacity)\n"
                            "{\n"
                            "    const char *keys[] = {\"max_mem\", \"arena_extend_strategy\",\n"
                            "                          \"initial_chunk_size_bytes\", \"max_dead_bytes_per_chunk\"};\n"
                            "    const size_t values[] = {capacity, 0, capacity, (size_t)-1};\n"
                            "    OrtMemoryInfo *info = NULL;\n"
                            "    OrtArenaCfg *config = NULL;\n"
                            "    OrtSessionOptions *options = NULL;\n"
                            "    ort = OrtGetApiBase()->GetApi(16);\n"
                            "    check(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, \"report\", &env));\n"
                            "    check(ort->CreateMemoryInfo(\"Cpu\", OrtArenaAllocator, 0, OrtMemTypeDefault, "
                            "&info));\n"
                            "    check(ort->CreateArenaCfgV2(keys, values, 4, &config));\n"
                            "    check(ort->CreateAndRegisterAllocator(env, info, config));\n"
                            "    check(ort->CreateSessionOptions(&options));\n"
                            "    check(ort->AddSessionConfigEntry(options, \"session.use_env_allocators\", "
                            "\"1\"));\n"
                            "    check(ort->CreateSessionFromArray(env, model, sizeof model - 1, options, "
                            "&session));\n"
                            "    check(ort->CreateAllocator(session, info, &allocator));\n"
                            "    base = take(capacity);\n"
                            "    check(ort->AllocatorFree(allocator, base));\n"
                            "    ort->ReleaseSessionOptions(options);\n"
                            "    ort->ReleaseArenaCfg(config);\n"
                            "    ort->ReleaseMemoryInfo(info);\n"
                            "}\n",
    .version = "printf(\"ONNX Runtime %s\\n\", OrtGetApiBase()->GetVersionString());",
    .create = "create_arena(@capacity);",
    .alloc = "void *@block = take(@size);",
    .address = "(uintptr_t)((char *)@block - base)",
    .free = "check(ort->AllocatorFree(allocator, @block));",
    .destroy = "ort->ReleaseAllocator(allocator);\n"
               "ort->ReleaseSession(session);\n"
               "ort->ReleaseEnv(env);",
};

const struct target adapter_onnxruntime = {
    KIT_TABLE("onnxruntime", "the arena of ONNX Runtime (BFC), bounded by max_mem", NULL,
              target_open),
    .options = option_rows,
    .limits = {.smallest_capacity_bytes = UNIT_BYTES,
               .largest_capacity_bytes = CAPACITY_BYTES_MAX,
               .capacity_step_bytes = UNIT_BYTES,
               .largest_align_bytes = REGION_ALIGN_BYTES},
    .read = kit_read,
    .write = kit_write,
    .api = &api,
};
