/* How memory comes back while the job lives, of systems whose arena keeps what it once had. */
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <string.h>

enum { INDENT = 2 };
/* What is kept is worth a line from this part of the peak on. */
enum { KEPT_PERCENT_MIN = 25 };

static const struct way {
    const char *system, *words;
} ways[] = {
    {"onnxruntime",
     "the run option memory.enable_memory_arena_shrinkage (\"gpu:0\") returns unused regions after that "
     "run; arena_extend_strategy=kSameAsRequested keeps the arena from growing by powers of two; "
     "gpu_mem_limit bounds it"},
    {"tensorflow",
     "nothing returns before the process ends; tf.config.experimental.set_memory_growth (or "
     "TF_FORCE_GPU_ALLOW_GROWTH=true) takes only what is needed, TF_GPU_ALLOCATOR=cuda_malloc_async "
     "takes it from the driver's pool"},
    {"xla_gpu",
     "only XLA_PYTHON_CLIENT_ALLOCATOR=platform returns it, which is slow; "
     "XLA_PYTHON_CLIENT_PREALLOCATE=false takes only what is needed, XLA_CLIENT_MEM_FRACTION bounds it"},
    {"pytorch",
     "torch.cuda.empty_cache() returns segments that are free as a whole; "
     "garbage_collection_threshold in PYTORCH_CUDA_ALLOC_CONF returns old ones before the limit"},
    {"rmm", "a pool returns memory when it is destroyed; rmm.mr.CudaAsyncMemoryResource with a "
            "release_threshold returns it before"},
};

static const char *find_way(const char *system)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].system, system) == 0) {
            return ways[i].words;
        }
    }
    return NULL;
}

static void append_in_words(const char *way, uint64_t peak_bytes, uint64_t end_bytes,
                            struct writing *text)
{
    char peak[SIZE_TEXT_BYTES], end[SIZE_TEXT_BYTES], kept[SIZE_TEXT_BYTES];
    struct writing words;
    size_print_field(peak_bytes, peak);
    size_print_field(end_bytes, end);
    size_print_field(peak_bytes - end_bytes, kept);
    writing_init(&words);
    writing_append_format(
        &words,
        "%s were in use at the peak, and %s are at the end: an arena that returns "
        "nothing still has %s or more that nothing uses. To get it back: %s.",
        peak, end, kept, way);
    writing_append(text, "\nMemory that comes back while the job lives\n  ");
    wrap_append(text, writing_string(&words), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&words);
}

void explain_give_back(struct explanation *explanation)
{
    const char *way = find_way(explanation->recording->setup.system);
    const struct survey_peak *peak = &explanation->survey->peaks[explanation->host];
    if (way == NULL || explanation->recording->view != IMPORT_EVENTS || !peak->is_seen ||
        explanation->verdict->kind != VERDICT_NONE) {
        return;
    }
    const uint64_t end_bytes = survey_in_use(explanation->survey, explanation->run,
                                             explanation->host);
    if (end_bytes > peak->bytes - peak->bytes / 100 * KEPT_PERCENT_MIN) {
        return;
    }
    if (!explanation->is_json) {
        append_in_words(way, peak->bytes, end_bytes, &explanation->text);
        return;
    }
    json_open(&explanation->text, "give_back");
    json_add_number(&explanation->text, "peak_bytes", peak->bytes);
    json_add_number(&explanation->text, "end_bytes", end_bytes);
    json_add_number(&explanation->text, "kept_bytes", peak->bytes - end_bytes);
    json_add_string(&explanation->text, "advice", way);
    json_close(&explanation->text);
}
