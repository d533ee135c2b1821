#include "explain/log_message.h"

#include "harness/base/json.h"
#include "harness/base/size.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2 };

/* 1P: no device has as much. */
#define ABSURD_BYTES (UINT64_C(1) << 50)

/* What a message shows, and what to do next.  The first row of its form whose words it has. */
static const struct advice {
    enum log_form form;
    const char *words; /* "" = any message of the form */
    const char *shown, *next;
} advices[] = {
    {LOG_FORM_RMM, "Maximum pool size exceeded",
     "RMM's pool is at its maximum. The device itself may have memory left, and the pool may have "
     "free blocks that are too small each; the message prints neither",
     "let RMM log what it does, rmm.reinitialize(pool_allocator=True, logging=True, "
     "log_file_name=\"rmm.csv\") or rmm::mr::logging_resource_adaptor, then hbmstress explain the "
     "CSV: it shows who holds the pool and whether its free memory is in pieces. If it is, "
     "rmm.mr.CudaAsyncMemoryResource joins the pieces; if the pool is full, raise "
     "maximum_pool_size"},
    {LOG_FORM_RMM, "Exceeded memory limit",
     "the request would go over the limit of RMM's limiting_resource_adaptor; the device itself may "
     "have memory left",
     "raise the limit of limiting_resource_adaptor, or let RMM log what it does "
     "(rmm::mr::logging_resource_adaptor) and hbmstress explain the CSV: it shows who holds the "
     "rest"},
    {LOG_FORM_RMM, "",
     "CUDA itself refused the memory to RMM: the device is full, of this process or of others",
     "look at nvidia-smi for other processes on this device; then let RMM log what it does "
     "(rmm.enable_logging(log_file_name=\"rmm.csv\") or rmm::mr::logging_resource_adaptor) and "
     "hbmstress explain the CSV"},
    {LOG_FORM_ONNX, "is smaller than requested bytes",
     "ONNX Runtime's arena has a limit, and less than the request is left under it. Arenas of the "
     "CPU have this message, too: see which provider the node runs on",
     "raise or remove gpu_mem_limit of the CUDA provider, and set arena_extend_strategy to "
     "kSameAsRequested, so that the arena does not grow in powers of two. "
     "memory.enable_memory_arena_shrinkage=gpu:0 in the run's options gives back what is free "
     "after each run"},
    {LOG_FORM_ONNX, "",
     "the device refused to let ONNX Runtime's arena grow. Arenas of the CPU have this message, "
     "too: see which provider the node runs on",
     "set arena_extend_strategy of the CUDA provider to kSameAsRequested, so that the arena does "
     "not grow in powers of two, and run a smaller batch; log_severity_level=0 prints each growth "
     "of the arena, nvidia-smi who else is on the device"},
    {LOG_FORM_XLA_GPU, "",
     "XLA's allocator on the GPU refused the request. What is free and who holds the rest stands "
     "in the allocator's dump, which is not here",
     "give explain the whole log of the process, run with TF_CPP_MIN_LOG_LEVEL=0: the allocator "
     "prints its chunks next to this line. In the step before, "
     "jax.profiler.save_device_memory_profile(\"memory.prof\") saves who holds the memory: "
     "hbmstress explain memory.prof"},
    {LOG_FORM_TOKENS, "",
     "the cache of keys and values is full: it counts tokens, not bytes, and no allocator of the "
     "device failed",
     "raise --mem-fraction-static or --schedule-conservativeness, or lower --max-running-requests"},
    {LOG_FORM_NO_SIZE, "",
     "the driver refused memory. It says neither how much was asked for nor who holds the rest, "
     "and it may have been asked by a library, not by the framework's allocator",
     "look at nvidia-smi (rocm-smi) for other processes on this device. In PyTorch, "
     "torch.cuda.memory._record_memory_history() at the start and "
     "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") at the failure, then hbmstress "
     "explain snapshot.pickle, show the allocator's part"},
};

static const char absurd_shown[] =
    "no device has as much: a shape is wrong, the memory is not full";
static const char absurd_next[] = "look at the shapes of the op that raised it, and at a size that "
                                  "overflowed or was never set";

static bool is_absurd(const struct log_event *event)
{
    return event->low_bytes > ABSURD_BYTES;
}

static const struct advice *find_advice(const struct log_event *event)
{
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
        if (advices[i].form == event->form && strstr(event->text, advices[i].words) != NULL) {
            return &advices[i];
        }
    }
    return NULL;
}

static void append_request(const struct log_event *event, struct writing *words)
{
    char size[SIZE_TEXT_BYTES];
    const uint64_t bytes = event->low_bytes + (event->high_bytes - event->low_bytes) / 2;
    size_print_field(bytes, size);
    if (event->high_bytes == 0) {
        writing_append(words, "Asked for: not said");
    } else if (event->low_bytes == event->high_bytes) {
        writing_append_format(words, "Asked for: %s (%" PRIu64 " bytes)", size, bytes);
    } else {
        writing_append_format(words, "Asked for: %s, as printed", size);
    }
}

/* "Available memory of 1024 is smaller ...": what is left under the limit. */
static void append_available(const struct log_event *event, struct writing *words)
{
    static const char before[] = "Available memory of ";
    const char *at = strstr(event->text, before);
    if (at != NULL) {
        char size[SIZE_TEXT_BYTES];
        const uint64_t bytes = strtoull(at + sizeof before - 1, NULL, 10);
        size_print_field(bytes, size);
        writing_append_format(words, "; left: %s (%" PRIu64 " bytes)", size, bytes);
    }
}

static void put_message(const struct log_event *event, const struct advice *advice,
                        struct writing *text)
{
    json_open(text, "message");
    if (event->high_bytes != 0) {
        json_add_number(text, "requested_bytes_min", event->low_bytes);
        json_add_number(text, "requested_bytes_max", event->high_bytes);
    }
    json_add_string(text, "shown", is_absurd(event) ? absurd_shown : advice->shown);
    json_close(text);
    json_open(text, "next");
    json_add_string(text, "text", is_absurd(event) ? absurd_next : advice->next);
    json_close(text);
}

/* Takes the words as a line, or several, and empties them. */
static void append_line(struct writing *text, struct writing *words)
{
    wrap_append(text, writing_string(words), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_clear(words);
}

static void say_message(const struct log_event *event, const char *reason,
                        const struct advice *advice, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    append_request(event, &words);
    append_available(event, &words);
    append_line(text, &words);
    writing_append_format(&words, "What it shows: %s.",
                          is_absurd(event) ? absurd_shown : advice->shown);
    append_line(text, &words);
    writing_append_format(&words, "The heap is not rebuilt: %s.", reason);
    append_line(text, &words);
    writing_append(text, "\n");
    writing_append_format(&words, "Next: %s.", is_absurd(event) ? absurd_next : advice->next);
    wrap_append(text, writing_string(&words), INDENT, screen_columns());
    writing_deinit(&words);
}

void explain_log_message(const struct log_event *event, const char *reason, bool is_json,
                         struct writing *text)
{
    const struct advice *advice = find_advice(event);
    if (advice != NULL && is_json) {
        put_message(event, advice, text);
    } else if (advice != NULL) {
        say_message(event, reason, advice, text);
    } else if (!is_json) {
        struct writing words;
        writing_init(&words);
        writing_append_format(&words, "The heap is not rebuilt: %s.", reason);
        wrap_append(text, writing_string(&words), 0, screen_columns());
        writing_deinit(&words);
    }
}
