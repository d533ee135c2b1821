#include "checker/private/replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool replay_fail(struct checked_replay *replay, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(replay->reason, CERTIFICATE_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* --- blocks and events --- */

/* True if some event of the block is not done; only_away: one on another stream than the block. */
static bool is_pending(const struct checked_replay *replay, const struct held_block *block,
                       bool only_away)
{
    for (size_t i = block->waits; i != 0; i = replay->waits[i].next) {
        const uint32_t event = replay->waits[i].event;
        if (!replay->events[event].is_done &&
            (!only_away || replay->list->ops[event].stream != block->stream)) {
            return true;
        }
    }
    return false;
}

bool replay_is_gone(const struct checked_replay *replay, const struct held_block *block)
{
    return block->is_dying && block->holds == 0 &&
           !is_pending(replay, block, replay->promise->stream_ordered != 0);
}

/* True if the block's recording was not dropped. */
bool replay_is_recorded(const struct checked_replay *replay, const struct held_block *block)
{
    return block->recording != NO_OP && replay->recordings[block->recording] != RECORDING_DROPPED;
}

/* True if the request may not have what the block left. */
bool replay_is_kept(const struct checked_replay *replay, const struct held_block *block,
                    size_t request)
{
    if (!block->is_there || !replay_is_gone(replay, block)) {
        return false;
    }
    return (replay_is_recorded(replay, block) && block->recording != replay->open_recording) ||
           (is_pending(replay, block, false) && block->stream != replay->list->ops[request].stream);
}

/* The block or program that the op is done to; NULL: it is not there.  What was freed can only be
 * released, and bad memory is nobody's. */
static struct held_block *find_held(struct checked_replay *replay, size_t number)
{
    const struct list_op *op = &replay->list->ops[number];
    struct held_block *block = op->ref == NO_OP ? NULL : &replay->blocks[op->ref];
    if (block != NULL && block->is_there && !replay_is_gone(replay, block) &&
        block->kind != OP_RETIRE && (!block->is_dying || op->kind == OP_RELEASE) &&
        (block->kind == OP_LOAD) == (op->kind == OP_UNLOAD || op->kind == OP_EXECUTE)) {
        return block;
    }
    replay_fail(replay, "observations: op %zu is answered ok, but its block is not there", number);
    return NULL;
}

static void add_wait(struct checked_replay *replay, struct held_block *block, uint32_t event,
                     bool is_use)
{
    replay->waits[++replay->wait_count] = (struct replay_wait){block->waits, event, is_use};
    block->waits = replay->wait_count;
}

static uint64_t add_times(uint64_t time, uint64_t delay)
{
    return delay == NEVER_NS || time >= NEVER_NS - delay ? NEVER_NS : time + delay;
}

static void make_event(struct checked_replay *replay, size_t number)
{
    const struct list_op *op = &replay->list->ops[number];
    struct replay_event *event = &replay->events[number];
    const uint64_t start = op->kind == OP_EXECUTE ? replay->log->lines[number].now
                                                  : replay->now_before;
    if (!event->has_other_due) {
        event->due = add_times(start,
                               op->is_collective ? replay->list->collective_bound : op->delay);
    }
}

/* True if the event of the op is on a stream of the host: its own time, and no execution. */
static bool is_on_stream(const struct list *list, const struct list_op *op, uint8_t host)
{
    return op_makes_event(op) && op->kind != OP_EXECUTE && (op->host == host || !list->has_clocks);
}

static void enqueue_event(struct checked_replay *replay, size_t number)
{
    uint32_t *last = &replay->last_events[replay->list->ops[number].stream];
    replay->events[number].before = *last;
    *last = (uint32_t)number;
}

/* A free comes behind all that is enqueued on the stream of the block. */
static void await_stream(struct checked_replay *replay, struct held_block *block)
{
    uint32_t *last = &replay->last_events[block->stream];
    while (*last != NO_OP && replay->events[*last].is_done) {
        *last = replay->events[*last].before;
    }
    if (replay->promise->stream_ordered != 0 && *last != NO_OP) {
        add_wait(replay, block, *last, false);
    }
}

/* The event of use and free_after; NO_OP: there is none. */
static uint32_t find_event(struct checked_replay *replay, size_t number)
{
    const struct list_op *op = &replay->list->ops[number];
    const uint32_t event = op->event == NO_OP ? (uint32_t)number : op->event;
    const struct list_op *maker = &replay->list->ops[event];
    if (op_makes_event(maker) && (maker->host == op->host || !replay->list->has_clocks)) {
        return event;
    }
    replay_fail(replay, "observations: op %zu is answered ok, but op %u has no event", number,
                event);
    return NO_OP;
}

/* --- what each op does if it is answered ok --- */

static void put_block(struct checked_replay *replay, size_t number, struct held_block block)
{
    block.is_there = true;
    block.kind = replay->list->ops[number].kind;
    replay->blocks[number] = block;
}

/* Returns the alignment that the block of an op must have. */
static uint64_t find_align(const struct checked_replay *replay, const struct list_op *op,
                           uint64_t most)
{
    const uint64_t granule = replay->promise->granule;
    const uint64_t asked = op->align > granule ? op->align : granule;
    const bool is_natural = replay->promise->aligns_naturally != 0;
    return is_natural && most > asked && most <= replay->list->capacity ? most : asked;
}

static bool do_make(struct checked_replay *replay, size_t number)
{
    const struct list_op *op = &replay->list->ops[number];
    const struct observed *seen = &replay->log->lines[number];
    const uint64_t granule = replay->promise->granule;
    const uint64_t most = rounding_most(&replay->promise->rounding, granule, op->size);
    put_block(replay, number,
              (struct held_block){.address = seen->address,
                                  .size = seen->size,
                                  .align = find_align(replay, op, most),
                                  .stack = (uint64_t)round_stack(op->stack, granule),
                                  .recording = op->kind == OP_LOAD ? NO_OP : replay->open_recording,
                                  .stream = op->stream,
                                  .most = most});
    return true;
}

static bool do_retire(struct checked_replay *replay, size_t number)
{
    const struct list_op *op = &replay->list->ops[number];
    put_block(replay, number,
              (struct held_block){.address = op->address,
                                  .size = op->size,
                                  .align = replay->promise->granule,
                                  .most = op->size,
                                  .recording = NO_OP,
                                  .holds = 1});
    return true;
}

static bool do_donate(struct checked_replay *replay, size_t number)
{
    struct held_block *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    struct held_block donated = *block;
    donated.align = replay->promise->granule;
    block->is_there = false;
    put_block(replay, number, donated);
    return true;
}

static bool do_use(struct checked_replay *replay, size_t number)
{
    struct held_block *block = find_held(replay, number);
    const uint32_t event = find_event(replay, number);
    if (block == NULL || event == NO_OP) {
        return false;
    }
    add_wait(replay, block, event, true);
    return true;
}

static bool do_hold(struct checked_replay *replay, size_t number)
{
    struct held_block *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    block->holds++;
    return true;
}

static bool do_release(struct checked_replay *replay, size_t number)
{
    struct held_block *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    if (block->holds == 0) {
        return replay_fail(replay, "observations: op %zu releases no hold", number);
    }
    block->holds--;
    return true;
}

static bool do_free(struct checked_replay *replay, size_t number)
{
    struct held_block *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    await_stream(replay, block);
    block->is_dying = true;
    block->is_there = !block->is_evicted;
    return true;
}

static bool do_free_after(struct checked_replay *replay, size_t number)
{
    struct held_block *block = find_held(replay, number);
    const uint32_t event = find_event(replay, number);
    if (block == NULL || event == NO_OP) {
        return false;
    }
    add_wait(replay, block, event, false);
    await_stream(replay, block);
    block->is_dying = true;
    return true;
}

static bool do_execute(struct checked_replay *replay, size_t number)
{
    const struct observed *seen = &replay->log->lines[number];
    struct held_block *program = find_held(replay, number);
    if (program == NULL) {
        return false;
    }
    if (program->is_evicted) {
        program->address = seen->address;
        program->size = seen->size;
        program->is_evicted = false;
    }
    add_wait(replay, program, (uint32_t)number, true);
    return true;
}

static bool fail_recording(struct checked_replay *replay, size_t number)
{
    return replay_fail(replay, "observations: op %zu is answered ok, but has no such recording",
                       number);
}

static bool do_record(struct checked_replay *replay, size_t number)
{
    if (replay->promise->records == 0 || replay->open_recording != NO_OP) {
        return fail_recording(replay, number);
    }
    replay->open_recording = (uint32_t)number;
    replay->recordings[number] = RECORDING_OPEN;
    return true;
}

static bool do_record_end(struct checked_replay *replay, size_t number)
{
    if (replay->open_recording == NO_OP) {
        return fail_recording(replay, number);
    }
    replay->recordings[replay->open_recording] = RECORDING_ENDED;
    replay->open_recording = NO_OP;
    return true;
}

static bool do_record_drop(struct checked_replay *replay, size_t number)
{
    const uint32_t recording = replay->list->ops[number].ref;
    if (recording == NO_OP || replay->recordings[recording] != RECORDING_ENDED) {
        return fail_recording(replay, number);
    }
    replay->recordings[recording] = RECORDING_DROPPED;
    return true;
}

static bool (*const effects[OP_KIND_COUNT])(struct checked_replay *replay, size_t number) = {
    [OP_ALLOC] = do_make,    [OP_OUTPUT] = do_make,           [OP_LOAD] = do_make,
    [OP_RETIRE] = do_retire, [OP_DONATE] = do_donate,         [OP_USE] = do_use,
    [OP_HOLD] = do_hold,     [OP_RELEASE] = do_release,       [OP_FREE] = do_free,
    [OP_UNLOAD] = do_free,   [OP_FREE_AFTER] = do_free_after, [OP_EXECUTE] = do_execute,
    [OP_RECORD] = do_record, [OP_RECORD_END] = do_record_end, [OP_RECORD_DROP] = do_record_drop,
};

/* --- the regions that are held --- */

/* The first that begins at the address or above. */
static size_t find_region(const struct fact_regions *regions, uint64_t start)
{
    size_t i = 0;
    while (i < regions->count && regions->ranges[i][0] < start) {
        i++;
    }
    return i;
}

static bool give_region(struct checked_replay *replay, size_t number, uint64_t start)
{
    struct fact_regions *regions = &replay->regions;
    const size_t i = find_region(regions, start);
    if (i == regions->count || regions->ranges[i][0] != start) {
        return replay_fail(
            replay, "observations: in op %zu a region is given back that was not taken", number);
    }
    regions->count--;
    memmove(&regions->ranges[i], &regions->ranges[i + 1],
            (regions->count - i) * sizeof *regions->ranges);
    return true;
}

static bool take_region(struct checked_replay *replay, size_t number, const struct change *change)
{
    struct fact_regions *regions = &replay->regions;
    const size_t i = find_region(regions, change->value);
    if ((i > 0 && regions->ranges[i - 1][1] > change->value) ||
        (i < regions->count && regions->ranges[i][0] < change->end)) {
        return replay_fail(
            replay, "observations: in op %zu a region is taken that lies on another one", number);
    }
    void *ranges = array_with_room(regions->ranges, regions->count, &replay->region_capacity,
                                   sizeof *regions->ranges);
    if (ranges == NULL) {
        return replay_fail(replay, "no memory");
    }
    regions->ranges = ranges;
    memmove(&regions->ranges[i + 1], &regions->ranges[i],
            (regions->count - i) * sizeof *regions->ranges);
    regions->ranges[i][0] = change->value;
    regions->ranges[i][1] = change->end;
    regions->count++;
    return true;
}

/* --- the lines up to the op --- */

/* Takes in what the target of the host did with its regions. */
static bool take_region_change(struct checked_replay *replay, size_t number,
                               const struct change *change)
{
    return change->kind == CHANGE_GIVEN ? give_region(replay, number, change->value)
                                        : take_region(replay, number, change);
}

static void take_change(struct checked_replay *replay, const struct change *change)
{
    struct held_block *block = &replay->blocks[change->op];
    struct replay_event *event = &replay->events[change->op];
    switch (change->kind) {
    case CHANGE_MOVED:
        block->address = replay_is_gone(replay, block) ? block->address : change->value;
        break;
    case CHANGE_EVICTED:
        block->is_evicted = true;
        block->is_there = block->is_there && !block->is_dying;
        break;
    case CHANGE_DONE:
        event->is_done = true;
        break;
    case CHANGE_DUE:
    default:
        event->due = change->value;
        event->has_other_due = true;
        break;
    }
}

bool replay_take_line(struct checked_replay *replay, size_t number, uint8_t host)
{
    const struct list_op *op = &replay->list->ops[number];
    const struct observed *lines = replay->log->lines;
    size_t i = number == 0 ? 0 : lines[number - 1].change_end;
    for (; i < lines[number].change_end; i++) {
        const struct change *change = &replay->log->changes[i];
        const bool is_of_region = change->kind == CHANGE_GIVEN || change->kind == CHANGE_TAKEN;
        if (!is_of_region) {
            take_change(replay, change);
        } else if (op->host == host && !take_region_change(replay, number, change)) {
            return false;
        }
    }
    uint64_t *now = &replay->nows[replay->list->has_clocks ? op->host : 0];
    replay->now_before = *now;
    *now = lines[number].now;
    if (op_makes_event(op)) {
        make_event(replay, number);
    }
    if (is_on_stream(replay->list, op, host)) {
        enqueue_event(replay, number);
    }
    return op->host != host || lines[number].answer != ANSWER_OK || effects[op->kind] == NULL ||
           effects[op->kind](replay, number);
}
