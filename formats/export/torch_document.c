#include "formats/export/private/document.h"

#include "harness/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Addresses as a process has them, and below 2^53, above which JavaScript's numbers are not exact.
 */
#define BASE_ADDRESS UINT64_C(0x7F0000000000)

/* One frame stands for the stack: a name, and the op as the line. */
static void append_frames(struct export_document *out, const char *name, uint32_t op)
{
    document_write(out, "frames:[ { filename=ops line:n name:s } ]", (uint64_t)op, name);
}

static void append_tag_frames(struct export_document *out, const struct setup *setup, uint8_t tag,
                              uint32_t op)
{
    char name[SETUP_NAME_BYTES];
    (void)export_tag(setup, tag, name);
    utf8_make_printable(name);
    append_frames(out, name, op);
}

bool torch_document_begin(struct export *export, bool is_pickle)
{
    struct torch_export *state = export->state;
    state->is_pickle = is_pickle;
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        struct export_document *out = &state->traces[i];
        document_init(out, is_pickle);
        document_write(out, i > 0 ? ", [" : "[");
        document_write(out,
                       "~ { action=segment_alloc addr:n size:n stream#0 time_us#0 frames:[ ] }",
                       BASE_ADDRESS, export->setup->capacity_bytes);
    }
    return true;
}

/* PyTorch has versions in which a free says what was asked for, and such in which it says what the
 * block took: here it does the latter, which no other event tells.  Free on the device is what lies
 * outside of all segments, and the one here covers the device. */
static void append_event(struct export_document *out, const struct export *export,
                         const struct export_event *event, const char *action)
{
    const bool is_free = strncmp(action, "free", strlen("free")) == 0;
    document_write(out, "~ { action:s", action);
    if (event->action == EXPORT_FAILED) {
        document_write(out, "device_free#0");
    } else {
        document_write(out, "addr:n", BASE_ADDRESS + event->address);
    }
    document_write(out, "size:n stream:n time_us:n",
                   is_free ? event->size_bytes : event->requested_bytes, (uint64_t)event->lane,
                   event->now_ns / 1000);
    append_tag_frames(out, export->setup, event->tag, event->op);
    document_write(out, "}");
}

/* Writes a move as a free of the old place and an allocation of the new one.  A block that is freed
 * in host memory was freed when it left. */
void torch_document_event(struct export *export, const struct export_event *event)
{
    struct torch_export *state = export->state;
    struct export_document *out = &state->traces[event->host];
    switch (event->action) {
    case EXPORT_ALLOC:
    case EXPORT_RETIRED:
    case EXPORT_MOVED_IN:
        append_event(out, export, event, "alloc");
        if (event->is_dying) {
            append_event(out, export, event, "free_requested");
        }
        return;
    case EXPORT_FREE_REQUESTED:
        if (!event->is_absent) {
            append_event(out, export, event, "free_requested");
        }
        return;
    case EXPORT_FREE_COMPLETED:
        append_event(out, export, event, "free_completed");
        return;
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT:
        if (!event->is_dying) {
            append_event(out, export, event, "free_requested");
        }
        append_event(out, export, event, "free_completed");
        return;
    case EXPORT_FAILED:
        append_event(out, export, event, "oom");
        return;
    case EXPORT_ACTION_COUNT:
        break;
    }
}

static void append_stack_event(struct export_document *out, const struct export_final *final,
                               uint32_t host)
{
    if (final->reserved_bytes[host] == 0) {
        return;
    }
    document_write(out, "~ { action=alloc addr:n size:n stream#0 time_us:n", BASE_ADDRESS,
                   final->reserved_bytes[host], final->now_ns / 1000);
    append_frames(out, "stack of programs", 0);
    document_write(out, "}");
}

/* --- segments --- */

struct torch_segment {
    struct export_document *out;
    uint64_t end; /* of what is written so far */
};

/* Begins a block.  Its frames and its bracket follow. */
static void begin_block(struct torch_segment *segment, uint64_t address, uint64_t size_bytes,
                        uint64_t requested_bytes, const char *state)
{
    document_write(segment->out, "~ { address:n size:n requested_size:n state:s",
                   BASE_ADDRESS + address, size_bytes, requested_bytes, state);
    segment->end = address + size_bytes;
}

static void append_hole(struct torch_segment *segment, uint64_t end)
{
    if (end > segment->end) {
        begin_block(segment, segment->end, end - segment->end, 0, "inactive");
        document_write(segment->out, "frames:[ ] }");
    }
}

static void append_blocks(struct export_document *out, const struct export *export,
                          const struct export_final *final, uint32_t host)
{
    struct torch_segment segment = {.out = out};
    if (final->reserved_bytes[host] > 0) {
        begin_block(&segment, 0, final->reserved_bytes[host], final->reserved_bytes[host],
                    "active_allocated");
        append_frames(out, "stack of programs", 0);
        document_write(out, "}");
    }
    for (size_t i = 0; i < final->block_count; i++) {
        const struct export_block *block = &final->blocks[i];
        if (block->host != host) {
            continue;
        }
        append_hole(&segment, block->address);
        begin_block(&segment, block->address, block->size_bytes, block->requested_bytes,
                    block->is_dying ? "active_pending_free" : "active_allocated");
        append_tag_frames(out, export->setup, block->tag, block->op);
        document_write(out, "}");
    }
    append_hole(&segment, export->setup->capacity_bytes);
}

static void append_segment(struct export_document *out, const struct export *export,
                           const struct export_final *final, uint32_t host)
{
    uint64_t allocated = final->reserved_bytes[host], active = allocated, requested = allocated;
    for (size_t i = 0; i < final->block_count; i++) {
        const struct export_block *block = &final->blocks[i];
        if (block->host == host) {
            active += block->size_bytes;
            allocated += block->is_dying ? 0 : block->size_bytes;
            requested += block->requested_bytes;
        }
    }
    document_write(out, "~ { device:n address:n total_size:n", (uint64_t)host, BASE_ADDRESS,
                   export->setup->capacity_bytes);
    document_write(out,
                   "allocated_size:n active_size:n requested_size:n stream#0 segment_type=large "
                   "segment_pool_id:[ :n :n ] is_expandable:f frames:[ ] blocks:[",
                   allocated, active, requested, UINT64_C(0), UINT64_C(0));
    append_blocks(out, export, final, host);
    document_write(out, ". ] }");
}

/* The parts are printed one behind the other. */
static void put_snapshot(const struct export *export, struct torch_export *state,
                         const struct export_final *final)
{
    struct export_document out;
    document_init(&out, state->is_pickle);
    document_begin(&out);
    document_write(&out, "{ segments:[");
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        append_segment(&out, export, final, i);
    }
    document_write(&out, ". ] device_traces:[");
    document_print(&out, export->stream);
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        append_stack_event(&state->traces[i], final, i);
        document_write(&state->traces[i], ". ]");
        document_print(&state->traces[i], export->stream);
    }
    document_write(&out, "] allocator_settings:{ } external_annotations:[ ] }");
    document_end(&out);
    document_print(&out, export->stream);
    document_deinit(&out);
}

bool torch_document_end(struct export *export, const struct export_final *final)
{
    struct torch_export *state = export->state;
    if (final != NULL) {
        put_snapshot(export, state, final);
    }
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        document_deinit(&state->traces[i]);
    }
    return true;
}
