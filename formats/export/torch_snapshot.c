/* PyTorch's memory snapshot as JSON, as torch.cuda.memory._dump_snapshot has it, for the memory
 * viewer of PyTorch: one segment a host, which is all of its device, with blocks that tile it, and
 * the events that led there. */
#include "formats/common/utf8.h"
#include "formats/export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Addresses as a process has them, and below 2^53, above which JavaScript's numbers are not exact.
 */
#define BASE_ADDRESS UINT64_C(0x7F0000000000)

/* The traces come before the segments are known. */
struct torch_state {
    FILE *streams[OP_HOST_COUNT_MAX]; /* one a host */
    char *texts[OP_HOST_COUNT_MAX];
    size_t lengths[OP_HOST_COUNT_MAX];
};

static void put_string(FILE *stream, const char *string)
{
    (void)fputc('"', stream);
    while (*string != '\0') {
        const size_t length = utf8_length(string);
        if (*string == '"' || *string == '\\') {
            fprintf(stream, "\\%c", *string);
        } else if (length == 0 || (unsigned char)*string < 0x20) {
            (void)fputc('?', stream);
        } else {
            fwrite(string, 1, length, stream);
        }
        string += length == 0 ? 1 : length;
    }
    (void)fputc('"', stream);
}

/* One frame stands for the stack: the tag, and the op as the line. */
static void put_frames(FILE *stream, const struct setup *setup, uint8_t tag, uint32_t op)
{
    char name[SETUP_NAME_BYTES];
    (void)fputs("\"frames\":[{\"filename\":\"ops\",\"line\":", stream);
    fprintf(stream, "%" PRIu32 ",\"name\":", op);
    put_string(stream, export_tag(setup, tag, name));
    (void)fputs("}]", stream);
}

static bool begin_torch(struct export *export)
{
    struct torch_state *state = calloc(1, sizeof *state);
    export->state = state;
    if (state == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        state->streams[i] = open_memstream(&state->texts[i], &state->lengths[i]);
        if (state->streams[i] == NULL) {
            return false;
        }
        fprintf(state->streams[i],
                "{\"action\":\"segment_alloc\",\"addr\":%" PRIu64 ",\"size\":%" PRIu64
                ",\"stream\":0,\"time_us\":0,\"frames\":[]}",
                BASE_ADDRESS, export->setup->capacity_bytes);
    }
    return true;
}

/* PyTorch has versions in which a free says what was asked for, and such in which it says what the
 * block took: here it does the latter, which no other event tells.  Free on the device is what lies
 * outside of all segments, and the one here covers the device. */
static void put_event(FILE *stream, const struct export *export, const struct export_event *event,
                      const char *action)
{
    const bool is_free = strncmp(action, "free", strlen("free")) == 0;
    fprintf(stream, ",\n{\"action\":\"%s\",", action);
    if (event->action == EXPORT_FAILED) {
        (void)fputs("\"device_free\":0", stream);
    } else {
        fprintf(stream, "\"addr\":%" PRIu64, BASE_ADDRESS + event->address);
    }
    fprintf(stream, ",\"size\":%" PRIu64 ",\"stream\":%u,\"time_us\":%" PRIu64 ",",
            is_free ? event->size_bytes : event->requested_bytes, event->lane,
            event->now_ns / 1000);
    put_frames(stream, export->setup, event->tag, event->op);
    (void)fputc('}', stream);
}

static void put_end(FILE *stream, const struct export *export, const struct export_event *event)
{
    if (!event->is_dying) {
        put_event(stream, export, event, "free_requested");
    }
    put_event(stream, export, event, "free_completed");
}

/* What a move leaves and takes is freed and allocated; what is freed in host memory was freed when
 * it left. */
static void put_torch_event(struct export *export, const struct export_event *event)
{
    struct torch_state *state = export->state;
    FILE *stream = state->streams[event->host];
    switch (event->action) {
    case EXPORT_ALLOC:
    case EXPORT_RETIRED:
    case EXPORT_MOVED_IN:
        put_event(stream, export, event, "alloc");
        if (event->is_dying) {
            put_event(stream, export, event, "free_requested");
        }
        return;
    case EXPORT_FREE_REQUESTED:
        if (!event->is_absent) {
            put_event(stream, export, event, "free_requested");
        }
        return;
    case EXPORT_FREE_COMPLETED:
        put_event(stream, export, event, "free_completed");
        return;
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT:
        put_end(stream, export, event);
        return;
    case EXPORT_FAILED:
        put_event(stream, export, event, "oom");
        return;
    case EXPORT_ACTION_COUNT:
        break;
    }
}

/* The blocks at the end have one for the stack of programs, which no event of a run tells: it comes
 * last. */
static const char stack_frames[] =
    "\"frames\":[{\"filename\":\"ops\",\"line\":0,\"name\":\"stack of programs\"}]";

static void put_stack_event(FILE *stream, const struct export_final *final, uint32_t host)
{
    if (final->reserved_bytes[host] > 0) {
        fprintf(stream,
                ",\n{\"action\":\"alloc\",\"addr\":%" PRIu64 ",\"size\":%" PRIu64
                ",\"stream\":0,\"time_us\":%" PRIu64 ",%s}",
                BASE_ADDRESS, final->reserved_bytes[host], final->now_ns / 1000, stack_frames);
    }
}

/* --- segments --- */

struct segment {
    FILE *stream;
    uint64_t end; /* of what is written so far */
    bool is_first;
};

static void put_block(struct segment *segment, uint64_t address, uint64_t size_bytes,
                      uint64_t requested_bytes, const char *state)
{
    fprintf(segment->stream,
            "%s{\"address\":%" PRIu64 ",\"size\":%" PRIu64 ",\"requested_size\":%" PRIu64
            ",\"state\":\"%s\",",
            segment->is_first ? "" : ",\n", BASE_ADDRESS + address, size_bytes, requested_bytes,
            state);
    segment->is_first = false;
    segment->end = address + size_bytes;
}

static void put_hole(struct segment *segment, uint64_t end)
{
    if (end > segment->end) {
        put_block(segment, segment->end, end - segment->end, 0, "inactive");
        (void)fputs("\"frames\":[]}", segment->stream);
    }
}

static void put_blocks(const struct export *export, const struct export_final *final, uint32_t host)
{
    struct segment segment = {.stream = export->stream, .is_first = true};
    if (final->reserved_bytes[host] > 0) {
        put_block(&segment, 0, final->reserved_bytes[host], final->reserved_bytes[host],
                  "active_allocated");
        fprintf(export->stream, "%s}", stack_frames);
    }
    for (size_t i = 0; i < final->block_count; i++) {
        const struct export_block *block = &final->blocks[i];
        if (block->host != host) {
            continue;
        }
        put_hole(&segment, block->address);
        put_block(&segment, block->address, block->size_bytes, block->requested_bytes,
                  block->is_dying ? "active_pending_free" : "active_allocated");
        put_frames(export->stream, export->setup, block->tag, block->op);
        (void)fputc('}', export->stream);
    }
    put_hole(&segment, export->setup->capacity_bytes);
}

static void put_segment(const struct export *export, const struct export_final *final,
                        uint32_t host)
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
    fprintf(
        export->stream,
        "%s{\"device\":%" PRIu32 ",\"address\":%" PRIu64 ",\"total_size\":%" PRIu64
        ",\"allocated_size\":%" PRIu64 ",\"active_size\":%" PRIu64 ",\"requested_size\":%" PRIu64
        ",\"stream\":0,\"segment_type\":\"large\",\"segment_pool_id\":[0,0],\"is_expandable\":false,"
        "\"frames\":[],\"blocks\":[\n",
        host == 0 ? "" : ",\n", host, BASE_ADDRESS, export->setup->capacity_bytes, allocated,
        active, requested);
    put_blocks(export, final, host);
    (void)fputs("\n]}", export->stream);
}

static void put_snapshot(const struct export *export, const struct torch_state *state,
                         const struct export_final *final)
{
    (void)fputs("{\"segments\":[\n", export->stream);
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        put_segment(export, final, i);
    }
    (void)fputs("\n],\"device_traces\":[", export->stream);
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        (void)fputs(i == 0 ? "[\n" : ",[\n", export->stream);
        fwrite(state->texts[i], 1, state->lengths[i], export->stream);
        (void)fputs("\n]", export->stream);
    }
    (void)fputs("],\"allocator_settings\":{},\"external_annotations\":[]}\n", export->stream);
}

static bool end_torch(struct export *export, const struct export_final *final)
{
    struct torch_state *state = export->state;
    bool is_good = state != NULL;
    for (uint32_t i = 0; state != NULL && i < export->setup->host_count; i++) {
        if (final != NULL && state->streams[i] != NULL) {
            put_stack_event(state->streams[i], final, i);
        }
        is_good = state->streams[i] != NULL && fclose(state->streams[i]) == 0 && is_good;
    }
    if (is_good && final != NULL) {
        put_snapshot(export, state, final);
    }
    for (uint32_t i = 0; state != NULL && i < OP_HOST_COUNT_MAX; i++) {
        free(state->texts[i]);
    }
    free(state);
    export->state = NULL;
    return is_good;
}

const struct exporter exporter_torch_snapshot = {
    .name = "torch_snapshot",
    .summary = "a memory snapshot of PyTorch as JSON, for its memory viewer",
    .begin = begin_torch,
    .event = put_torch_event,
    .end = end_torch,
};
