/* The events of a snapshot as ops: what was there at the start, the events of all devices in order
 * of time, and what was there all the time. */
#include "formats/torch/private/torch.h"

#include "formats/common/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct torch_player {
    struct torch_snapshot *snapshot;
    struct event_trace *trace;
    uint8_t *tags; /* by number of the name */
    size_t at[OP_HOST_COUNT_MAX],
        end[OP_HOST_COUNT_MAX]; /* the events of each device that are still to come */
    unsigned host_count;        /* no later one has events */
};

/* --- capacity --- */

/* The bytes that a device had for the allocator, as the file says. */
struct device_bytes {
    uint64_t segments; /* at most: so much it had at least */
    uint64_t all;      /* with what was free besides; 0: no failure says it */
};

/* Seen from the end: the segments now, less what came, and with what went. */
static void measure_devices(const struct torch_snapshot *snapshot,
                            struct device_bytes devices[OP_HOST_COUNT_MAX])
{
    uint64_t now[OP_HOST_COUNT_MAX];
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        now[host] = snapshot->segment_bytes[host];
        devices[host] = (struct device_bytes){.segments = now[host]};
    }
    for (size_t i = snapshot->event_count; i-- > 0;) {
        const struct torch_event *event = &snapshot->events[i];
        struct device_bytes *device = &devices[event->host];
        uint64_t *segments = &now[event->host];
        if (*segments > IMPORT_CAPACITY_MAX) {
            continue; /* nonsense, from here on */
        }
        if (event->action == TORCH_SEGMENT_ALLOC) {
            *segments -= event->size_bytes < *segments ? event->size_bytes : *segments;
        } else if (event->action == TORCH_SEGMENT_FREE) {
            *segments += event->size_bytes;
        } else if (event->action == TORCH_OOM && event->free_bytes != UINT64_MAX &&
                   *segments + event->free_bytes > device->all) {
            device->all = *segments + event->free_bytes;
        }
        device->segments = *segments > device->segments ? *segments : device->segments;
        if (*segments > IMPORT_CAPACITY_MAX) {
            *device = (struct device_bytes){0};
        }
    }
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if (devices[host].all > 0 && devices[host].all < devices[host].segments) {
            devices[host].all = devices[host].segments;
        }
    }
}

uint64_t torch_capacity(const struct torch_snapshot *snapshot, uint8_t host)
{
    struct device_bytes devices[OP_HOST_COUNT_MAX];
    measure_devices(snapshot, devices);
    return devices[host].all > IMPORT_CAPACITY_MAX ? 0 : devices[host].all;
}

static void choose_capacity(const struct torch_player *player, const struct import_input *input,
                            struct import *import)
{
    const struct torch_snapshot *snapshot = player->snapshot;
    struct device_bytes devices[OP_HOST_COUNT_MAX];
    uint64_t most = 0; /* of all; 0: no failure says what any of them had */
    bool is_said = false;
    measure_devices(snapshot, devices);
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        const uint64_t bytes = devices[host].all > 0 ? devices[host].all : devices[host].segments;
        is_said = is_said || devices[host].all > 0;
        most = bytes > most ? bytes : most;
    }
    const uint64_t granule = input->fixed->granule_bytes > snapshot->granule_bytes
                                 ? input->fixed->granule_bytes
                                 : snapshot->granule_bytes;
    most = is_said ? most / granule * granule : 0;
    if (most == 0 || most > IMPORT_CAPACITY_MAX) {
        return;
    }
    import->setup.capacity_bytes = most;
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        trace_limit_host(player->trace, (uint8_t)host, devices[host].all);
    }
    if (import_fixed_capacity(input->fixed, 0) == 0) {
        import_assume(
            import,
            "capacity: the segments plus the bytes that the device had free when a request failed");
    }
}

/* --- events --- */

static struct trace_event make_event(const struct torch_player *player,
                                     const struct torch_event *event)
{
    const bool is_request = event->action == TORCH_ALLOC || event->action == TORCH_OOM;
    struct trace_event made = {
        .address = event->action == TORCH_OOM ? 0 : event->address,
        .size_bytes = event->action == TORCH_OOM && event->size_bytes <= IMPORT_CAPACITY_MAX
                          ? torch_rounded(player->snapshot, event->size_bytes)
                          : event->taken_bytes,
        .stream = event->stream,
        .host = event->host,
        .tag = torch_name_tag(player->tags, event->name),
        .stack = event->stack,
    };
    if (event->size_bytes > IMPORT_CAPACITY_MAX) {
        made.size_bytes = event->size_bytes; /* a failure: trace_failed knows what to do */
    }
    made.requested_bytes = is_request && event->size_bytes < made.size_bytes ? event->size_bytes
                                                                             : 0;
    return made;
}

static struct trace_event make_event_of_block(const struct torch_player *player,
                                              const struct torch_block *block)
{
    return (struct trace_event){
        .address = block->address,
        .size_bytes = block->size_bytes,
        .requested_bytes = block->requested_bytes < block->size_bytes ? block->requested_bytes : 0,
        .host = block->host,
        .tag = torch_name_tag(player->tags, block->name),
        .stack = block->stack,
    };
}

/* Blocks whose free was requested before the ring begins. */
static enum import_result play_before(struct torch_player *player)
{
    const struct torch_snapshot *snapshot = player->snapshot;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const struct torch_block *block = &snapshot->blocks[i];
        if (block->state == TORCH_AWAITING_FREE && !block->is_in_trace) {
            const struct trace_event made = make_event_of_block(player, block);
            IMPORT_TRY(trace_free_requested(player->trace, &made));
        }
    }
    for (size_t i = 0; i < snapshot->event_count; i++) {
        const struct torch_event *event = &snapshot->events[i];
        if (event->is_there_before && event->action == TORCH_FREE_COMPLETED) {
            const struct trace_event made = make_event(player, event);
            IMPORT_TRY(trace_free_requested(player->trace, &made));
        }
    }
    return IMPORT_OK;
}

/* Plays the next event of that device. */
static enum import_result play_next(struct torch_player *player, unsigned host)
{
    const size_t i = player->at[host]++;
    const struct torch_event *event = &player->snapshot->events[i];
    const struct trace_event made = make_event(player, event);
    switch ((enum torch_action)event->action) {
    case TORCH_ALLOC:
        return trace_alloc(player->trace, &made);
    case TORCH_FREE_REQUESTED:
        if (i + 1 < player->snapshot->event_count && event[1].action == TORCH_FREE_COMPLETED &&
            event[1].host == host && event[1].address == event->address) {
            player->at[host]++;
            return trace_free(player->trace, &made);
        }
        return trace_free_requested(player->trace, &made);
    case TORCH_FREE_COMPLETED:
        return trace_free_completed(player->trace, &made);
    case TORCH_OOM:
        return trace_failed(player->trace, &made);
    case TORCH_SEGMENT_ALLOC:
    case TORCH_SEGMENT_FREE:
    case TORCH_OTHER:
        break;
    }
    return IMPORT_OK;
}

/* The device whose next event is the earliest, the first of them when the file gives no times.
 * OP_HOST_COUNT_MAX: none has one. */
static unsigned find_earliest(const struct torch_player *player)
{
    unsigned found = OP_HOST_COUNT_MAX;
    int64_t time_us = 0;
    for (unsigned host = 0; host < player->host_count; host++) {
        if (player->at[host] == player->end[host]) {
            continue;
        }
        const int64_t next_us = player->snapshot->events[player->at[host]].time_us;
        if (found == OP_HOST_COUNT_MAX || next_us < time_us) {
            found = host;
            time_us = next_us;
        }
    }
    return found;
}

static enum import_result play_all(struct torch_player *player)
{
    const struct torch_snapshot *snapshot = player->snapshot;
    for (size_t i = snapshot->event_count; i-- > 0;) {
        const uint8_t host = snapshot->events[i].host;
        player->end[host] = player->end[host] == 0 ? i + 1 : player->end[host];
        player->at[host] = i;
        player->host_count = host >= player->host_count ? host + 1u : player->host_count;
    }
    IMPORT_TRY(play_before(player));
    for (unsigned host; (host = find_earliest(player)) < OP_HOST_COUNT_MAX;) {
        IMPORT_TRY(play_next(player, host));
    }
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const struct torch_block *block = &snapshot->blocks[i];
        if (block->state == TORCH_ALLOCATED && !block->is_in_trace) { /* of no event */
            const struct trace_event made = make_event_of_block(player, block);
            IMPORT_TRY(trace_was_there(player->trace, &made));
        }
    }
    return IMPORT_OK;
}

/* Notes what the allocator gave beyond the rounded request, because it did not split its block. */
static void note_slack(const struct torch_snapshot *snapshot, struct import *import)
{
    uint64_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const struct torch_block *block = &snapshot->blocks[i];
        const uint64_t rounded = torch_rounded(snapshot, block->requested_bytes);
        if (block->state != TORCH_INACTIVE && block->size_bytes > rounded) {
            count++;
            bytes += block->size_bytes - rounded;
        }
    }
    if (count > 0) {
        import_note(import,
                    "%" PRIu64 " blocks of the final state have %" PRIu64
                    " bytes more than their requests, rounded up to %" PRIu64
                    "; for blocks that were freed before, this is unknown",
                    count, bytes, snapshot->granule_bytes);
    }
}

enum import_result torch_build_trace(struct torch_snapshot *snapshot,
                                     const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    import->setup.granule_bytes = snapshot->granule_bytes;
    struct torch_player player = {.snapshot = snapshot, .trace = trace_begin(input, import, error)};
    player.tags = name_table_give_tags(&snapshot->names.table, trace_give_tag, player.trace);
    choose_capacity(&player, input, import);
    note_slack(snapshot, import);
    const struct torch_event *failure = NULL;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        failure = snapshot->events[i].action == TORCH_OOM ? &snapshot->events[i] : failure;
    }
    if (failure != NULL) {
        import_assume(
            import,
            "blocks lie where the replay places them, in one pool, and may move: PyTorch's "
            "are in segments of its pools and never move (-f torch_state has them in place)");
        torch_quote_failure(snapshot, failure, import);
    }
    const enum import_result result = play_all(&player);
    free(player.tags);
    if (result != IMPORT_OK) {
        trace_abandon(player.trace);
        return result;
    }
    return trace_end(player.trace, NULL);
}
