/* Events become ops as they come; what needs the whole log waits for trace_end.c. */
#include "formats/common/private/trace_state.h"
#include "formats/common/room.h"
#include "formats/common/slots.h"
#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* At most half full and well mixed, one table of 2^40 has a probe as long as this: a longer one is
 * somebody's intention. */
enum { PROBE_MAX = 128, ROOM_LOG2_MIN = 8 };

/* Multiplications and shifts of SplitMix64 (Steele, Lea and Flood, 2014), which is a bijection: the
 * high bits decide the place. */
static size_t find_place(const struct trace_blocks *blocks, uint8_t host, uint64_t address)
{
    uint64_t hash = (address ^ blocks->seed) + ((uint64_t)host + 1) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94D049BB133111EB);
    return (size_t)(hash >> (64 - blocks->room_log2));
}

/* Returns the place where the block is or belongs; *probe_count: how many places were looked at. */
static struct trace_block *find_block(const struct trace_blocks *blocks, uint8_t host,
                                      uint64_t address, size_t *probe_count)
{
    size_t place = find_place(blocks, host, address);
    *probe_count = 1;
    for (;;) {
        struct trace_block *block = &blocks->blocks[place];
        if (block->state == TRACE_NEVER_SEEN ||
            (block->address == address && block->host == host)) {
            return block;
        }
        place = (place + 1) & (blocks->room - 1);
        (*probe_count)++;
    }
}

/* Moves all to a new table. */
static void rebuild_table(struct trace_blocks *blocks, unsigned room_log2)
{
    struct trace_blocks fresh = {.room = (size_t)1 << room_log2,
                                 .room_log2 = room_log2,
                                 .seed = blocks->seed,
                                 .count = blocks->count};
    fresh.blocks = calloc(fresh.room, sizeof *fresh.blocks);
    CHECK(fresh.blocks != NULL);
    for (size_t i = 0; i < blocks->room; i++) {
        const struct trace_block *block = &blocks->blocks[i];
        size_t probe_count = 0;
        if (block->state != TRACE_NEVER_SEEN) {
            *find_block(&fresh, block->host, block->address, &probe_count) = *block;
        }
    }
    free(blocks->blocks);
    *blocks = fresh;
}

/* The block of that name, valid until the next call.  If there was none it is TRACE_NEVER_SEEN, and
 * the caller gives it another state.  O(1). */
static struct trace_block *find_or_add_block(struct trace_blocks *blocks, uint8_t host,
                                             uint64_t address)
{
    size_t probe_count = 0;
    if (blocks->count >= blocks->room / 2) { /* room for one more */
        rebuild_table(blocks, blocks->room == 0 ? ROOM_LOG2_MIN : blocks->room_log2 + 1);
    }
    struct trace_block *block = find_block(blocks, host, address, &probe_count);
    while (probe_count > PROBE_MAX) {
        blocks->seed = hash_seed_draw();
        rebuild_table(blocks, blocks->room_log2);
        block = find_block(blocks, host, address, &probe_count);
    }
    if (block->state == TRACE_NEVER_SEEN) {
        block->address = address;
        block->host = host;
        blocks->count++;
    }
    return block;
}

struct event_trace *trace_begin(const struct import_input *input, struct import *import,
                                struct import_error *error)
{
    struct event_trace *trace = calloc(1, sizeof *trace);
    CHECK(trace != NULL && import->ops.count == 0);
    *trace = (struct event_trace){.input = input,
                                  .import = import,
                                  .error = error,
                                  .host_count = 1,
                                  .granule_bytes = input->fixed->granule_bytes != 0
                                                       ? input->fixed->granule_bytes
                                                       : import->setup.granule_bytes};
    op_list_init(&trace->start);
    return trace;
}

void trace_abandon(struct event_trace *trace)
{
    if (trace != NULL) {
        free(trace->blocks.blocks);
        free(trace->streams.blocks);
        op_list_deinit(&trace->start);
        free(trace->failures);
        free(trace);
    }
}

uint8_t trace_tag(struct event_trace *trace, const char *name, size_t length)
{
    return tag_table_add(&trace->tags, &trace->import->setup, name, length);
}

uint8_t trace_give_tag(void *trace, size_t rank, const char *name)
{
    (void)rank;
    return trace_tag(trace, name, strlen(name));
}

/* --- what events share --- */

static enum import_result fail_event(const struct event_trace *trace,
                                     const struct trace_event *event, const char *reason)
{
    return IMPORT_REFUSE(trace->error, event->line, reason, event->address);
}

static uint32_t find_stream(struct event_trace *trace, uint64_t stream)
{
    if (trace->stream_count == 0 || trace->stream_last != stream) {
        struct trace_block *known = find_or_add_block(&trace->streams, 0, stream);
        if (known->state == TRACE_NEVER_SEEN) {
            known->state = TRACE_LIVE;
            known->op = trace->stream_count++;
        }
        trace->stream_last = stream;
        trace->stream_last_number = known->op;
    }
    return trace->stream_last_number;
}

/* Appends an op in the lane of the event's stream. */
static enum import_result add_op(struct event_trace *trace, const struct trace_event *event,
                                 struct op *op)
{
    if (trace->import->ops.count >= TRACE_OPS_MAX) {
        return IMPORT_REFUSE(trace->error, event->line, "more than %" PRIu32 " ops", TRACE_OPS_MAX);
    }
    const uint32_t stream = find_stream(trace, event->stream);
    op->lane = stream < LANES_CLIENT_COUNT_MAX ? (uint8_t)stream : 0;
    op->host = event->host;
    *room_next(&trace->import->ops) = *op;
    return IMPORT_OK;
}

static enum import_result check_host(struct event_trace *trace, const struct trace_event *event)
{
    if (event->host >= OP_HOST_COUNT_MAX) {
        return IMPORT_REFUSE(trace->error, event->line,
                             "device %u: at most %d devices are accepted, counted from 0",
                             event->host, OP_HOST_COUNT_MAX);
    }
    trace->host_count = event->host >= trace->host_count ? (uint8_t)(event->host + 1)
                                                         : trace->host_count;
    return IMPORT_OK;
}

static enum import_result check_size(struct event_trace *trace, const struct trace_event *event)
{
    if (event->size_bytes == 0) {
        return IMPORT_REFUSE(trace->error, event->line, "the block has 0 bytes");
    }
    if (event->size_bytes > IMPORT_CAPACITY_MAX) {
        return IMPORT_REFUSE(trace->error, event->line,
                             "the block has %" PRIu64 " bytes, more than 2^50", event->size_bytes);
    }
    return check_host(trace, event);
}

/* --- sums --- */

static uint64_t round_size(const struct event_trace *trace, uint64_t size_bytes)
{
    return trace->granule_bytes == 0 ? size_bytes : align_up(size_bytes, trace->granule_bytes);
}

/* base and peak stay below 2^51: no sum overflows. */
static enum import_result check_sum(const struct event_trace *trace,
                                    const struct trace_event *event)
{
    const struct trace_sum *sum = &trace->hosts[event->host].rounded;
    if (sum->base + (uint64_t)sum->peak > IMPORT_CAPACITY_MAX) {
        return IMPORT_REFUSE(trace->error, event->line,
                             "with this block of %" PRIu64 " bytes, more than 2^50 bytes are live",
                             event->size_bytes);
    }
    return IMPORT_OK;
}

static enum import_result count_in(struct event_trace *trace, const struct trace_event *event)
{
    struct trace_host *host = &trace->hosts[event->host];
    host->said.now += (int64_t)event->size_bytes;
    host->said.peak = host->said.now > host->said.peak ? host->said.now : host->said.peak;
    host->rounded.now += (int64_t)round_size(trace, event->size_bytes);
    host->rounded.peak = host->rounded.now > host->rounded.peak ? host->rounded.now
                                                                : host->rounded.peak;
    trace->totals.live_count++;
    trace->size_bits |= event->size_bytes;
    return check_sum(trace, event);
}

static void count_out(struct event_trace *trace, const struct trace_block *block)
{
    struct trace_host *host = &trace->hosts[block->host];
    host->said.now -= (int64_t)block->size_bytes;
    host->rounded.now -= (int64_t)round_size(trace, block->size_bytes);
    trace->totals.live_count--;
}

/* --- blocks that are made --- */

static struct op make_alloc(const struct trace_event *event)
{
    const bool is_padded = event->requested_bytes < event->size_bytes;
    return OP_TO_MAKE(OP_ALLOC, .size_bytes = event->size_bytes, .tag = event->tag,
                      .host = event->host,
                      .unpadded_bytes = is_padded ? event->requested_bytes : 0);
}

enum import_result trace_alloc(struct event_trace *trace, const struct trace_event *event)
{
    IMPORT_TRY(check_size(trace, event));
    struct trace_block *block = find_or_add_block(&trace->blocks, event->host, event->address);
    if (block->state == TRACE_LIVE || block->state == TRACE_QUEUED) {
        return fail_event(trace, event, "a block is allocated at 0x%" PRIx64 ", where one is live");
    }
    struct op op = make_alloc(event);
    block->size_bytes = event->size_bytes;
    block->op = (uint32_t)trace->import->ops.count;
    block->state = TRACE_LIVE;
    trace->totals.allocs++;
    IMPORT_TRY(add_op(trace, event, &op));
    stacks_say(trace->import->stacks, block->op, event->stack);
    return count_in(trace, event);
}

enum import_result trace_failed(struct event_trace *trace, const struct trace_event *event)
{
    struct trace_event cut = *event;
    /* True of real logs: a negative number of elements. */
    if (cut.size_bytes > IMPORT_CAPACITY_MAX) {
        cut.size_bytes = IMPORT_CAPACITY_MAX;
        cut.requested_bytes = 0;
        trace->cut_request_count++;
    }
    IMPORT_TRY(check_size(trace, &cut));
    struct op op = make_alloc(&cut);
    IMPORT_TRY(add_op(trace, event, &op));
    const uint32_t number = (uint32_t)trace->import->ops.count - 1;
    stacks_say(trace->import->stacks, number, event->stack);
    ARRAY_ADD(trace->failures, trace->failure_count, trace->failure_room) = (struct trace_failure){
        number, trace->hosts[event->host].rounded.now};
    trace->size_bits |= cut.size_bytes;
    trace->totals.failures++;
    import_say(trace->import, number, SAID_FAILED, 0);
    return IMPORT_OK;
}

/* --- blocks of the missing start --- */

/* The event shows that the block was there before the log began. */
static enum import_result add_to_start(struct event_trace *trace, const struct trace_event *event,
                                       struct trace_block *block)
{
    IMPORT_TRY(check_size(trace, event));
    if (trace->start.count >= TRACE_OPS_MAX) {
        return IMPORT_REFUSE(trace->error, event->line, "more than %" PRIu32 " ops", TRACE_OPS_MAX);
    }
    const struct op op = make_alloc(event);
    block->op = TRACE_START_REF | (uint32_t)trace->start.count;
    block->size_bytes = event->size_bytes;
    block->state = TRACE_LIVE;
    op_list_append(&trace->start, &op);
    stacks_say(trace->import->stacks, block->op, event->stack);
    trace->hosts[event->host].said.base += event->size_bytes;
    trace->hosts[event->host].rounded.base += round_size(trace, event->size_bytes);
    trace->start_bytes += event->size_bytes;
    trace->size_bits |= event->size_bytes;
    trace->totals.at_start++;
    trace->totals.live_count++;
    return check_sum(trace, event);
}

enum import_result trace_was_there(struct event_trace *trace, const struct trace_event *event)
{
    IMPORT_TRY(check_size(trace, event));
    struct trace_block *block = find_or_add_block(&trace->blocks, event->host, event->address);
    if (block->state == TRACE_NEVER_SEEN) {
        return add_to_start(trace, event, block);
    }
    if (block->state != TRACE_LIVE || block->size_bytes != event->size_bytes) {
        return fail_event(
            trace, event,
            "the events leave a different block than the final state shows at 0x%" PRIx64);
    }
    return IMPORT_OK;
}

void trace_limit_host(struct event_trace *trace, uint8_t host, uint64_t bytes)
{
    CHECK(host < OP_HOST_COUNT_MAX);
    if (import_fixed_capacity(trace->input->fixed, 0) == 0) {
        trace->hosts[host].limit_bytes = bytes;
    }
}

/* --- frees --- */

enum how { HOW_AT_ONCE, HOW_REQUESTED, HOW_COMPLETED };

static enum import_result free_live(struct event_trace *trace, const struct trace_event *event,
                                    struct trace_block *block, enum how how)
{
    const bool is_queued = how == HOW_REQUESTED;
    struct op op = OP_ON(is_queued ? OP_FREE_AFTER : OP_FREE, block->op,
                         .delay_ns = is_queued ? DELAY_NEVER : 0);
    trace->totals.frees++;
    if (is_queued) {
        block->op = (uint32_t)trace->import->ops.count;
    } else {
        count_out(trace, block);
    }
    block->state = is_queued ? TRACE_QUEUED : TRACE_FREED;
    return add_op(trace, event, &op);
}

/* With nothing between, a free that was requested and completes is a free. */
static enum import_result complete_free(struct event_trace *trace, const struct trace_event *event,
                                        struct trace_block *block)
{
    struct op_list *ops = &trace->import->ops;
    count_out(trace, block);
    block->state = TRACE_FREED;
    if (block->op == ops->count - 1) {
        ops->ops[block->op].kind = OP_FREE;
        ops->ops[block->op].delay_ns = 0;
        return IMPORT_OK;
    }
    struct op op = op_make(OP_COMPLETE);
    op.event = block->op;
    return add_op(trace, event, &op);
}

static enum import_result free_unseen(struct event_trace *trace, const struct trace_event *event,
                                      struct trace_block *block, enum how how)
{
    if (event->size_bytes == 0) {
        block->state = how == HOW_REQUESTED ? TRACE_UNKNOWN_QUEUED : TRACE_FREED;
        trace->totals.unknown_frees++;
        return IMPORT_OK;
    }
    IMPORT_TRY(add_to_start(trace, event, block));
    return free_live(trace, event, block, how);
}

static enum import_result free_block(struct event_trace *trace, const struct trace_event *event,
                                     enum how how)
{
    IMPORT_TRY(check_host(trace, event));
    struct trace_block *block = find_or_add_block(&trace->blocks, event->host, event->address);
    const enum trace_state state = block->state;
    const bool is_queued = state == TRACE_QUEUED || state == TRACE_UNKNOWN_QUEUED;
    if (state == TRACE_NEVER_SEEN) {
        return free_unseen(trace, event, block, how);
    }
    if (state == TRACE_FREED) {
        return fail_event(trace, event, "0x%" PRIx64 " is freed twice");
    }
    if (state != TRACE_UNKNOWN_QUEUED && event->size_bytes != 0 &&
        event->size_bytes != block->size_bytes) {
        return IMPORT_REFUSE(trace->error, event->line,
                             "the free of 0x%" PRIx64 " gives %" PRIu64
                             " bytes; the block was allocated with %" PRIu64,
                             event->address, event->size_bytes, block->size_bytes);
    }
    if (is_queued && how != HOW_COMPLETED) {
        return fail_event(trace, event, "0x%" PRIx64 " is freed again while its free is queued");
    }
    if (state == TRACE_UNKNOWN_QUEUED) {
        block->state = TRACE_FREED;
        return IMPORT_OK;
    }
    return is_queued ? complete_free(trace, event, block) : free_live(trace, event, block, how);
}

enum import_result trace_free(struct event_trace *trace, const struct trace_event *event)
{
    return free_block(trace, event, HOW_AT_ONCE);
}

enum import_result trace_free_requested(struct event_trace *trace, const struct trace_event *event)
{
    return free_block(trace, event, HOW_REQUESTED);
}

enum import_result trace_free_completed(struct event_trace *trace, const struct trace_event *event)
{
    return free_block(trace, event, HOW_COMPLETED);
}

bool trace_is_live(const struct event_trace *trace, uint8_t host, uint64_t address)
{
    size_t probe_count = 0;
    return trace->blocks.room > 0 &&
           find_block(&trace->blocks, host, address, &probe_count)->state == TRACE_LIVE;
}
