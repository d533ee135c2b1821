/* The last line of an explanation: what to do next, in one sentence. */
#include "explain/private/explanation.h"
#include "harness/op/system.h"
#include "recording/repeat.h"

#include <string.h>

/* The command that shows every change. */
static void append_what_if(const struct explanation *explanation, struct writing *text)
{
    writing_append(text, "hbmstress explain");
    repeat_word(text, explanation->options->paths[0]);
    repeat_option(text, "--format", explanation->options->reading.format);
    repeat_setup(text, explanation->options->reading.run);
    writing_append(text, " --what-if");
}

static void append_of_premature(const struct explanation *explanation, struct writing *text)
{
    const struct system *system = explain_system(explanation);
    if (system != NULL) {
        writing_append_format(
            text, "report to those who maintain %s that the request fits, with the proof above",
            system->allocator);
        return;
    }
    writing_append(text, "mend the allocator, which refused what fits: hbmstress report-bug");
    repeat_word(text, explanation->options->paths[0]);
    writing_append(text, " writes a program that shows it");
}

static void append_of_remedy(const struct explanation *explanation, struct writing *text)
{
    const struct explain_best *best = &explanation->best;
    writing_append(text, best->words);
    if (explanation->options->has_what_if) {
        writing_append(text, ", then run again; the table below has what else fits");
        return;
    }
    writing_append(text, best->fits       ? ", then run again; what else fits: "
                         : best->is_tried ? ", which alone is not enough; what is: "
                                          : ", then run again; whether that is enough: ");
    append_what_if(explanation, text);
}

/* PyTorch keeps a history of CUDA's own allocator alone; the message says which it was. */
static const char *advise_pytorch(const char *message)
{
    if (strstr(message, "MPS backend out of memory") != NULL) {
        return "torch.mps.current_allocated_memory() and torch.mps.driver_allocated_memory() after each "
               "step show when it grows; PYTORCH_MPS_HIGH_WATERMARK_RATIO sets how much is allowed";
    }
    if (strstr(message, "XPU out of memory") != NULL) {
        return "torch.xpu.memory_stats() after each step shows when it grows, and hbmstress explain "
               "reads what it prints";
    }
    if (strstr(message, "would exceed allowed memory") != NULL) {
        return "run once without backend:cudaMallocAsync in PYTORCH_CUDA_ALLOC_CONF, which keeps no "
               "history, and with torch.cuda.memory._record_memory_history() at the start; "
               "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") at the failure, then hbmstress "
               "explain snapshot.pickle";
    }
    return "torch.cuda.memory._record_memory_history() at the start, "
           "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") at the failure, then hbmstress "
           "explain snapshot.pickle";
}

/* More than the device has, as the file itself says: a shape is wrong, or far too large. */
static bool asks_for_more_than_all(const struct explanation *explanation)
{
    const struct verdict *verdict = explanation->verdict;
    return verdict->kind != VERDICT_NONE && !explain_capacity_is_assumed(explanation) &&
           verdict->requested_bytes > explanation->moment.occupancy.capacity_bytes;
}

/* What JAX saves, and PyTorch/XLA, which has no such profile, counts; a log shows which it is. */
static const char *advise_tpu(const struct log_story *story)
{
    const bool is_pytorch = story->event_count > 0 && story->first != LOG_EVENT_UNKNOWN &&
                            strstr(story->events[story->first].text, "Bad StatusOr access") != NULL;
    return is_pytorch
               ? "bytes_used of xm.get_memory_info() after each step shows since when it grows; "
               : "jax.profiler.save_device_memory_profile(\"memory.prof\") in the step before, "
                 "then hbmstress explain memory.prof; ";
}

/* Where the file has sums only: how to get one that has the blocks. */
static void append_of_sums(const struct explanation *explanation, struct writing *text)
{
    const char *system = explanation->recording->setup.system;
    if (asks_for_more_than_all(explanation)) {
        writing_append(text,
                       "look at the shape of what is requested where the failure was raised: no "
                       "device of this size could hold it, whoever holds the rest");
        return;
    }
    writing_append(text, "find out who holds the memory, which this file does not say: ");
    if (strcmp(system, "pytorch") == 0) {
        writing_append(text, advise_pytorch(explanation->recording->message));
    } else if (strcmp(system, "xla_tpu") == 0) {
        writing_append(text, advise_tpu(&explanation->recording->story));
        writing_append(text, "tpu_log_allocations_on_oom in LIBTPU_INIT_ARGS makes the runtime "
                             "print all blocks at the next out-of-memory");
    } else if (strcmp(system, "xla_gpu") == 0) {
        writing_append(text,
                       "jax.profiler.save_device_memory_profile(\"memory.prof\") writes it, and "
                       "hbmstress explain memory.prof tells");
    } else {
        writing_append(text, "a snapshot or a trace of its allocator does");
    }
}

/* Empty: there is nothing to do, or nothing is known. */
static void append_next(const struct explanation *explanation, struct writing *text)
{
    const enum verdict_kind kind = explanation->verdict->kind;
    if (kind == VERDICT_BROKEN) {
        writing_append(text, "find fewer ops that break the same promise: hbmstress replay");
        repeat_word(text, explanation->options->paths[0]);
        writing_append(text, " --shrink");
    } else if (kind == VERDICT_PREMATURE) {
        append_of_premature(explanation, text);
    } else if (explanation->recording->view == IMPORT_SUMS) {
        append_of_sums(explanation, text);
    } else if (explanation->best.is_there) {
        append_of_remedy(explanation, text);
    } else if (kind != VERDICT_NONE && !explanation->options->has_what_if) {
        writing_append(text, "see which change would have met the request: ");
        append_what_if(explanation, text);
    }
}

void explain_next(struct explanation *explanation)
{
    struct writing next = {0};
    append_next(explanation, &next);
    if (next.length > 0) {
        explain_say_next(&explanation->facts, writing_string(&next));
    }
    writing_deinit(&next);
}
