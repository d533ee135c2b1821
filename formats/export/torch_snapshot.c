/* PyTorch's memory snapshot as JSON, as torch.cuda.memory._dump_snapshot has it, for the memory
 * viewer of PyTorch: one segment a host, which is all of its device, with blocks that tile it, and
 * the events that led there. */
#include "formats/export/export.h"
#include "harness/base/json.h"
#include "harness/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Addresses as a process has them, and below 2^53, above which JavaScript's numbers are not exact.
 */
#define BASE_ADDRESS UINT64_C(0x7F0000000000)

/* The traces come before the segments are known. */
struct torch_state {
    struct writing traces[OP_HOST_COUNT_MAX];
};

/* One frame stands for the stack: a name, and the op as the line. */
static void append_frames(struct writing *text, const char *name, uint32_t op)
{
    json_nest(text, "frames", '[');
    json_nest(text, NULL, '{');
    json_add_string(text, "filename", "ops");
    json_add_number(text, "line", op);
    json_add_string(text, "name", name);
    json_unnest(text, '}');
    json_unnest(text, ']');
}

static void append_tag_frames(struct writing *text, const struct setup *setup, uint8_t tag,
                              uint32_t op)
{
    char name[SETUP_NAME_BYTES];
    (void)export_tag(setup, tag, name);
    utf8_make_printable(name);
    append_frames(text, name, op);
}

static void append_no_frames(struct writing *text)
{
    json_nest(text, "frames", '[');
    json_unnest(text, ']');
}

static bool begin_torch(struct export *export)
{
    struct torch_state *state = calloc(1, sizeof *state);
    export->state = state;
    if (state == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        struct writing *text = &state->traces[i];
        writing_append(text, "[");
        json_break(text, 0);
        json_nest(text, NULL, '{');
        json_add_string(text, "action", "segment_alloc");
        json_add_number(text, "addr", BASE_ADDRESS);
        json_add_number(text, "size", export->setup->capacity_bytes);
        json_add_number(text, "stream", 0);
        json_add_number(text, "time_us", 0);
        append_no_frames(text);
        json_unnest(text, '}');
    }
    return true;
}

/* PyTorch has versions in which a free says what was asked for, and such in which it says what the
 * block took: here it does the latter, which no other event tells.  Free on the device is what lies
 * outside of all segments, and the one here covers the device. */
static void append_event(struct writing *text, const struct export *export,
                         const struct export_event *event, const char *action)
{
    const bool is_free = strncmp(action, "free", strlen("free")) == 0;
    json_break(text, 0);
    json_nest(text, NULL, '{');
    json_add_string(text, "action", action);
    if (event->action == EXPORT_FAILED) {
        json_add_number(text, "device_free", 0);
    } else {
        json_add_number(text, "addr", BASE_ADDRESS + event->address);
    }
    json_add_number(text, "size", is_free ? event->size_bytes : event->requested_bytes);
    json_add_number(text, "stream", event->lane);
    json_add_number(text, "time_us", event->now_ns / 1000);
    append_tag_frames(text, export->setup, event->tag, event->op);
    json_unnest(text, '}');
}

static void append_end(struct writing *text, const struct export *export,
                       const struct export_event *event)
{
    if (!event->is_dying) {
        append_event(text, export, event, "free_requested");
    }
    append_event(text, export, event, "free_completed");
}

/* What a move leaves and takes is freed and allocated; what is freed in host memory was freed when
 * it left. */
static void append_torch_event(struct export *export, const struct export_event *event)
{
    struct torch_state *state = export->state;
    struct writing *text = &state->traces[event->host];
    switch (event->action) {
    case EXPORT_ALLOC:
    case EXPORT_RETIRED:
    case EXPORT_MOVED_IN:
        append_event(text, export, event, "alloc");
        if (event->is_dying) {
            append_event(text, export, event, "free_requested");
        }
        return;
    case EXPORT_FREE_REQUESTED:
        if (!event->is_absent) {
            append_event(text, export, event, "free_requested");
        }
        return;
    case EXPORT_FREE_COMPLETED:
        append_event(text, export, event, "free_completed");
        return;
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT:
        append_end(text, export, event);
        return;
    case EXPORT_FAILED:
        append_event(text, export, event, "oom");
        return;
    case EXPORT_ACTION_COUNT:
        break;
    }
}

/* The blocks at the end have one for the stack of programs, which no event of a run tells: it comes
 * last. */
static void append_stack_frames(struct writing *text)
{
    append_frames(text, "stack of programs", 0);
}

static void append_stack_event(struct writing *text, const struct export_final *final,
                               uint32_t host)
{
    if (final->reserved_bytes[host] == 0) {
        return;
    }
    json_break(text, 0);
    json_nest(text, NULL, '{');
    json_add_string(text, "action", "alloc");
    json_add_number(text, "addr", BASE_ADDRESS);
    json_add_number(text, "size", final->reserved_bytes[host]);
    json_add_number(text, "stream", 0);
    json_add_number(text, "time_us", final->now_ns / 1000);
    append_stack_frames(text);
    json_unnest(text, '}');
}

/* --- segments --- */

struct segment {
    struct writing *text;
    uint64_t end; /* of what is written so far */
};

/* Its frames and its bracket follow. */
static void begin_block(struct segment *segment, uint64_t address, uint64_t size_bytes,
                        uint64_t requested_bytes, const char *state)
{
    json_break(segment->text, 0);
    json_nest(segment->text, NULL, '{');
    json_add_number(segment->text, "address", BASE_ADDRESS + address);
    json_add_number(segment->text, "size", size_bytes);
    json_add_number(segment->text, "requested_size", requested_bytes);
    json_add_string(segment->text, "state", state);
    segment->end = address + size_bytes;
}

static void append_hole(struct segment *segment, uint64_t end)
{
    if (end > segment->end) {
        begin_block(segment, segment->end, end - segment->end, 0, "inactive");
        append_no_frames(segment->text);
        json_unnest(segment->text, '}');
    }
}

static void append_blocks(struct writing *text, const struct export *export,
                          const struct export_final *final, uint32_t host)
{
    struct segment segment = {.text = text};
    if (final->reserved_bytes[host] > 0) {
        begin_block(&segment, 0, final->reserved_bytes[host], final->reserved_bytes[host],
                    "active_allocated");
        append_stack_frames(text);
        json_unnest(text, '}');
    }
    for (size_t i = 0; i < final->block_count; i++) {
        const struct export_block *block = &final->blocks[i];
        if (block->host != host) {
            continue;
        }
        append_hole(&segment, block->address);
        begin_block(&segment, block->address, block->size_bytes, block->requested_bytes,
                    block->is_dying ? "active_pending_free" : "active_allocated");
        append_tag_frames(text, export->setup, block->tag, block->op);
        json_unnest(text, '}');
    }
    append_hole(&segment, export->setup->capacity_bytes);
}

static void append_sums(struct writing *text, const struct export_final *final, uint32_t host)
{
    uint64_t allocated = final->reserved_bytes[host];
    uint64_t active = allocated;
    uint64_t requested = allocated;
    for (size_t i = 0; i < final->block_count; i++) {
        const struct export_block *block = &final->blocks[i];
        if (block->host == host) {
            active += block->size_bytes;
            allocated += block->is_dying ? 0 : block->size_bytes;
            requested += block->requested_bytes;
        }
    }
    json_add_number(text, "allocated_size", allocated);
    json_add_number(text, "active_size", active);
    json_add_number(text, "requested_size", requested);
}

static void append_segment(struct writing *text, const struct export *export,
                           const struct export_final *final, uint32_t host)
{
    json_break(text, 0);
    json_nest(text, NULL, '{');
    json_add_number(text, "device", host);
    json_add_number(text, "address", BASE_ADDRESS);
    json_add_number(text, "total_size", export->setup->capacity_bytes);
    append_sums(text, final, host);
    json_add_number(text, "stream", 0);
    json_add_string(text, "segment_type", "large");
    json_nest(text, "segment_pool_id", '[');
    json_add_number(text, NULL, 0);
    json_add_number(text, NULL, 0);
    json_unnest(text, ']');
    json_add_boolean(text, "is_expandable", false);
    append_no_frames(text);
    json_nest(text, "blocks", '[');
    append_blocks(text, export, final, host);
    writing_append(text, "\n]}");
}

static void put_snapshot(const struct export *export, struct torch_state *state,
                         const struct export_final *final)
{
    struct writing text;
    writing_init(&text);
    writing_append(&text, "{");
    json_nest(&text, "segments", '[');
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        append_segment(&text, export, final, i);
    }
    writing_append(&text, "\n]");
    json_nest(&text, "device_traces", '[');
    (void)writing_print(&text, export->stream);
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        append_stack_event(&state->traces[i], final, i);
        writing_append(&state->traces[i], i + 1 < export->setup->host_count ? "\n]," : "\n]");
        (void)writing_print(&state->traces[i], export->stream);
    }
    (void)fputs("],\"allocator_settings\":{},\"external_annotations\":[]}\n", export->stream);
    writing_deinit(&text);
}

static bool end_torch(struct export *export, const struct export_final *final)
{
    struct torch_state *state = export->state;
    if (state == NULL) {
        return false;
    }
    if (final != NULL) {
        put_snapshot(export, state, final);
    }
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        writing_deinit(&state->traces[i]);
    }
    free(state);
    export->state = NULL;
    return true;
}

const struct exporter exporter_torch_snapshot = {
    .name = "torch_snapshot",
    .summary = "a memory snapshot of PyTorch as JSON, for its memory viewer",
    .begin = begin_torch,
    .event = append_torch_event,
    .end = end_torch,
};
