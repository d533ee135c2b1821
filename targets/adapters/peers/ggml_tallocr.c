/* The planner of ggml (ggml_dyn_tallocr), which gives the tensors of a graph their places in a
 * backend's buffer: best fit over at most 256 free ranges.  The device is its first chunk. */
#include "kit/kit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rest of the file calls the backends, which are not here: what is hidden and unused is
 * dropped. */
#pragma GCC visibility push(hidden)
#include <src/ggml-alloc.c>
#pragma GCC visibility pop

struct ggml_planner {
    struct ggml_dyn_tallocr *tallocr;
    size_t align_bytes;
};

/* The planner calls these other functions of ggml. */
void ggml_log_internal(enum ggml_log_level level, const char *format, ...)
{
    (void)level, (void)format;
}
void ggml_abort(const char *file, int line, const char *format, ...)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, format);
    abort();
}

static const char *open_planner(void *state, const struct kit_setup *setup)
{
    struct ggml_planner *planner = state;
    planner->align_bytes = (size_t)setup->granule_bytes;
    planner->tallocr = ggml_dyn_tallocr_new(planner->align_bytes, (size_t)setup->capacity_bytes);
    (void)ggml_dyn_tallocr_new_chunk(planner->tallocr, (size_t)setup->capacity_bytes);
    return NULL;
}

static void close_planner(void *state)
{
    ggml_dyn_tallocr_free(((struct ggml_planner *)state)->tallocr);
}

/* The planner opens another chunk, that is, another buffer, where no range fits. */
static uint64_t allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    (void)align_bytes;
    struct ggml_dyn_tallocr *tallocr = ((struct ggml_planner *)state)->tallocr;
    const struct buffer_address place = ggml_dyn_tallocr_alloc(tallocr, (size_t)size_bytes, NULL);
    if (place.chunk == 0) {
        return place.offset;
    }
    free(tallocr->chunks[--tallocr->n_chunks]);
    tallocr->chunks[tallocr->n_chunks] = NULL;
    return KIT_NOTHING;
}

static void release(void *state, uint64_t offset, uint64_t size_bytes)
{
    const struct buffer_address place = {.chunk = 0, .offset = (size_t)offset};
    ggml_dyn_tallocr_free_bytes(((struct ggml_planner *)state)->tallocr, place, (size_t)size_bytes);
}

static const struct target_api api = {
    .language = "c",
    .build = "cc -g -w -fvisibility=hidden @source $GGML_TALLOCR -o @program",
    .head = "#include <src/ggml-alloc.c>\n"
            "void ggml_log_internal(enum ggml_log_level level, const char *format, ...)\n{\n}\n"
            "void ggml_abort(const char *file, int line, const char *format, ...)\n"
            "{\n    fprintf(stderr, \"%s:%d: %s\\n\", file, line, format);\n    abort();\n}",
    .create = "struct ggml_dyn_tallocr *heap = ggml_dyn_tallocr_new(512, @capacity);\n"
              "ggml_dyn_tallocr_new_chunk(heap, @capacity);",
    .alloc = "struct buffer_address @block = ggml_dyn_tallocr_alloc(heap, @size, NULL);",
    .failed = "@block.chunk != 0",
    .address = "@block.offset",
    .memory = "",
    .free = "ggml_dyn_tallocr_free_bytes(heap, @block, @size);",
    .destroy = "ggml_dyn_tallocr_free(heap);",
};

KIT_TARGET_WITH("ggml_tallocr", "the planner of ggml for the tensors of a graph", NULL,
                (.limits = {.largest_align_bytes = KIT_GRANULE_BYTES,
                            .largest_size_bytes = UINT64_C(1) << 50},
                 .api = &api),
                .state_bytes = sizeof(struct ggml_planner), .is_granule_fixed = true,
                .open = open_planner, .close = close_planner, .allocate_offset = allocate,
                .free_offset = release);
