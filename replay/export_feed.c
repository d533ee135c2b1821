#include "replay/private/replay_parts.h"

#include "harness/model/model.h"

#include <errno.h>

/* Later calls may find an empty buffer, and no errno any more. */
static void note_error(struct export_feed *feed)
{
    if (feed->error == 0 && ferror(feed->export.stream)) {
        feed->error = errno == 0 ? EIO : errno;
    }
}

static void send_event(void *context, const struct export_event *event)
{
    struct export_feed *feed = context;
    if (feed->exporter->event != NULL) {
        feed->exporter->event(&feed->export, event);
        note_error(feed);
    }
    feed->event_count++;
}

bool export_feed_init(struct export_feed *feed, const struct exporter *exporter)
{
    *feed = (struct export_feed){.exporter = exporter, .export = {.source = ""}};
    feed->block_events = block_events_create(send_event, feed);
    return feed->block_events != NULL;
}

void export_feed_deinit(struct export_feed *feed)
{
    block_events_destroy(feed->block_events);
    feed->block_events = NULL;
}

/* The granule is known from the first op on. */
static void begin_feed(struct export_feed *feed, const struct setup *setup)
{
    if (feed->has_begun) {
        return;
    }
    feed->setup = *setup;
    feed->has_begun = true;
    feed->export.setup = &feed->setup;
    feed->is_good = export_begin(feed->exporter, &feed->export);
}

static void send_op(struct export_feed *feed, const struct run *run, const struct verdict *verdict)
{
    const struct observation *seen = run_observation(run);
    const struct op *op = &run_ops(run)->ops[seen->op];
    struct export_memory memory[OP_HOST_COUNT_MAX];
    size_t call_count = 0;
    const struct device_call *calls = device_calls(run_device(run, op->host), &call_count);
    for (uint32_t i = 0; i < feed->setup.host_count; i++) {
        const struct model *model = run_model(run, i);
        memory[i] = (struct export_memory){.in_use_bytes = model_in_use_bytes(model),
                                           .reserved_bytes = model_reserved_bytes(model),
                                           .largest_hole_bytes = model_largest_hole_bytes(model)};
    }
    const struct export_op sent = {.op = op,
                                   .number = seen->op,
                                   .is_skipped = seen->skipped != 0,
                                   .result = seen->result,
                                   .address = seen->address,
                                   .size_bytes = seen->size_bytes,
                                   .now_ns = seen->now_ns,
                                   .calls = calls,
                                   .call_count = call_count < seen->call_count ? call_count
                                                                               : seen->call_count,
                                   .verdict = verdict,
                                   .message = run_message(run),
                                   .memory = memory,
                                   .model = run_model(run, op->host)};
    feed->exporter->op(&feed->export, &sent);
    note_error(feed);
}

void export_feed_judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct export_feed *feed = context;
    begin_feed(feed, run_setup(run));
    if (feed->is_good && block_events_take(feed->block_events, run, verdict) &&
        feed->exporter->op != NULL) {
        send_op(feed, run, verdict);
    }
}

bool export_feed_finish(struct export_feed *feed, const struct trial *trial)
{
    begin_feed(feed, &trial->setup);
    struct export_final final = {.reserved_bytes = block_events_reserved(feed->block_events),
                                 .ops = &trial->ops,
                                 .now_ns = block_events_now_ns(feed->block_events)};
    final.blocks = block_events_blocks(feed->block_events, &final.block_count);
    feed->is_good = export_end(feed->exporter, &feed->export, feed->is_good ? &final : NULL) &&
                    feed->is_good;
    note_error(feed);
    return feed->is_good;
}
