/* A log of which no list can be made: what to do next, in the system that printed it. */
#include "explain/private/explanation.h"
#include "explain/private/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2 };

/* --- an out-of-memory of one line that no importer makes a list of --- */

/* 1P: no device has as much. */
#define ABSURD_BYTES (UINT64_C(1) << 50)

/* What a message shows, and what to do next.  The first row of its form whose words it has. */
static const struct message_advice {
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

/* What is shown of a size that no device has. */
static const struct message_advice absurd = {
    .shown = "no device has as much: a shape is wrong, the memory is not full",
    .next = "look at the shapes of the op that raised it, and at a size that overflowed or was "
            "never set"};

/* NULL: a form that importers read. */
static const struct message_advice *find_advice(const struct log_event *event)
{
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
        if (advices[i].form == event->form && strstr(event->text, advices[i].words) != NULL) {
            return event->low_bytes > ABSURD_BYTES ? &absurd : &advices[i];
        }
    }
    return NULL;
}

/* "; left: 1.0K (1024 bytes)", of "Available memory of 1024 is smaller ...": what is left under the
 * limit. */
static void append_available(const struct log_event *event, struct writing *words)
{
    static const char before[] = "Available memory of ";
    const char *at = strstr(event->text, before);
    if (at != NULL) {
        const uint64_t bytes = strtoull(at + sizeof before - 1, NULL, 10);
        writing_append_format(words, "; left: %s (%" PRIu64 " bytes)", size_text_of(bytes).text,
                              bytes);
    }
}

static void say_request(struct facts *facts, const struct log_event *event)
{
    const uint64_t bytes = event->low_bytes + (event->high_bytes - event->low_bytes) / 2;
    struct writing words = {0};
    if (event->high_bytes == 0) {
        writing_append(&words, "not said");
    } else if (event->low_bytes == event->high_bytes) {
        writing_append_format(&words, "%s (%" PRIu64 " bytes)", size_text_of(bytes).text, bytes);
    } else {
        writing_append_format(&words, "%s, as printed", size_text_of(bytes).text);
    }
    append_available(event, &words);
    facts_say(facts, "", INDENT, "Asked for: %s", writing_string(&words));
    writing_deinit(&words);
}

/* reason: why there is no list. */
static void tell_message(struct facts *facts, const struct log_event *event, const char *reason)
{
    const struct message_advice *advice = find_advice(event);
    if (advice == NULL) {
        facts_say(facts, "", 0, "The heap is not rebuilt: %s.", reason);
        return;
    }
    facts_open(facts, "message");
    if (event->high_bytes != 0) {
        facts_size(facts, "requested_bytes_min", event->low_bytes);
        facts_size(facts, "requested_bytes_max", event->high_bytes);
    }
    say_request(facts, event);
    facts_text(facts, "shown", advice->shown);
    facts_say(facts, "", INDENT, "What it shows: %s.", advice->shown);
    facts_close(facts);
    facts_say(facts, "", INDENT, "The heap is not rebuilt: %s.", reason);
    explain_say_next(facts, advice->next);
}

/* --- any other log --- */

/* Whose log to look into, for one that only waited. */
static void say_waited(struct facts *facts, const struct log_story *story)
{
    if (story->silent_count > 0) {
        facts_say(
            facts, "", 0,
            "Nobody in this log says why: %s stopped without a word. Look at what its host says "
            "(dmesg for \"Killed process\", the scheduler, py-spy dump of the process).",
            explain_log_source(story, story->silent[0]));
    } else if (story->missing_count > 0) {
        struct writing ranks = {0};
        for (uint32_t i = 0; i < story->missing_count; i++) {
            writing_append_format(&ranks, "%s%" PRIu32, i == 0 ? "" : ", ", story->missing[i]);
        }
        facts_say(facts, "", 0,
                  "This log has only those who waited. The cause is in the log of rank%s %s, from "
                  "before the wait began: give explain that log.",
                  plural(story->missing_count, "", "s"), writing_string(&ranks));
        writing_deinit(&ranks);
    } else {
        facts_say(facts, "", 0,
                  "This log has only those who waited. The cause is in the log of another rank: "
                  "give explain the one whose last step is the lowest.");
    }
}

static const char *find_advice_for(const struct log_story *story)
{
    switch (story->verdict) {
    case LOG_VERDICT_HOST:
        return "It is the host's memory, not the device: no allocator of a device failed. Give the "
               "job more (Slurm: --mem, Kubernetes: limits.memory), or let it take less: fewer "
               "workers of the data loader, no whole checkpoint in host memory.";
    case LOG_VERDICT_KILLED:
        return "Nothing in this log ran out of the device's memory. SIGKILL (exit code 137) comes "
               "most often from the kernel when the host's memory is full: look for \"Killed "
               "process\" in dmesg of that host. Otherwise an operator or the scheduler ended it.";
    case LOG_VERDICT_RECOVERED:
        return explain_log_ends_with_warning(story)
                   ? "Not an out-of-memory as far as this log goes: a request that fails raises an "
                     "error after the warning. See whether the job still runs, or give explain the "
                     "rest of the log."
                   : "Not an out-of-memory: the allocator warned, then served the requests. If the "
                     "job is slow, its memory is nearly full; otherwise there is nothing to do.";
    case LOG_VERDICT_PLAN:
        return "Not an out-of-memory: the server refused to start because its budget is too small. "
               "Give it more of the device, or a shorter sequence.";
    default:
        return story->events[story->first].kind == LOG_EVENT_SCRATCHPAD
                   ? "Not an out-of-memory of the device: smaller blocks of the kernel, or "
                     "--xla_tpu_scoped_vmem_limit_kib, make the program fit."
                   : "Not an out-of-memory: the job failed for another reason.";
    }
}

void explain_log_alone(struct facts *facts, const struct log_story *story, const char *reason)
{
    explain_log_story(facts, story);
    if (story->verdict == LOG_VERDICT_OOM) {
        tell_message(facts, &story->events[story->first], reason);
    } else if (story->verdict == LOG_VERDICT_WAITED) {
        say_waited(facts, story);
    } else {
        facts_say(facts, "", 0, "%s", find_advice_for(story));
    }
}
