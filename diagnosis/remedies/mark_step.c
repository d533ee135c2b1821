/* Mark-step: the host waits for the device now and then, so that queued frees are done. */
#include "diagnosis/remedy.h"

#include "diagnosis/private/variant.h"

#include <inttypes.h>
#include <stdio.h>

#define EVERY_MOST UINT64_C(65536)

static bool has_events(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (op_kind_info((enum op_kind)op->kind)->makes_event && op->event == OP_NONE) {
            return true;
        }
    }
    return false;
}

/* The index-th of the powers of four below the length of the list, the largest first. */
static bool mark_step_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                                char note[REMEDY_NOTE_BYTES])
{
    snprintf(note, REMEDY_NOTE_BYTES, "nothing is queued: the list has no event");
    uint64_t every = EVERY_MOST;
    while (every > 1 && every >= given->ops->count) {
        every /= 4;
    }
    *parameter = every >> (2 * index);
    return index <= 8 && *parameter >= 1 && has_events(given->ops);
}

static bool mark_step_apply(const struct remedy_case *given, uint64_t parameter,
                            struct remedy_result *result)
{
    struct rewrite rewrite;
    struct drain drain;
    uint64_t count = 0;
    drain_init(&drain, given->setup, given->ops->count);
    rewrite_init(&rewrite, given->ops, &result->ops);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        if (i > 0 && i % parameter == 0) {
            count += drain_put(&drain, &rewrite, i);
        }
        if (!drain_makes_needless(&drain, given->ops, i)) {
            rewrite_keep(&rewrite, i);
            drain_note(&drain, given->ops, i);
        }
    }
    rewrite_deinit(&rewrite);
    drain_deinit(&drain);
    return remedy_note(result, count, "nothing is queued where the host would wait",
                       "waits of the host for the device: %" PRIu64, count);
}

const struct remedy remedy_mark_step = {
    .name = "mark-step",
    .summary = "the host waits for all that is enqueued, every n ops",
    .parameter_name = "n",
    .assumes =
        "Device work ends, even that of lost events; the time that waiting costs is not counted.",
    .search = REMEDY_REFINED,
    .parameter = mark_step_parameter,
    .apply = mark_step_apply,
};
