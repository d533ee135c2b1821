#include "checker/private/rebuild.h"
#include "checker/private/kept.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger sizes are written as this one, and later times by their order. */
static const uint64_t number_max = UINT64_C(1) << 62;

/* An event that a block awaits; the next one of the same block. */
struct wait {
    size_t next; /* 0: there is none; the first wait is 1 */
    uint32_t event;
    bool is_use;
};
/* By the op that made it. */
struct event {
    uint64_t due;
    uint32_t before; /* enqueued on the same stream; NO_OP */
    bool has_other_due, is_done;
};
struct held {
    uint64_t address, size, align, stack, most; /* most: what its size may be */
    size_t waits;
    uint32_t holds, recording; /* the op that began it; or NO_OP */
    uint8_t kind, stream;      /* kind: of its op */
    bool is_there, is_dying, is_evicted;
};
/* By the op that began it. */
enum recording { RECORDING_NONE, RECORDING_OPEN, RECORDING_ENDED, RECORDING_DROPPED };
struct replay {
    const struct list *list;
    const struct log *log;
    const struct promise *promise;
    struct held *blocks;
    struct event *events;
    struct wait *waits;
    size_t wait_count;
    uint8_t *recordings; /* enum recording */
    uint32_t open_recording;
    uint32_t last_events[STREAM_COUNT]; /* enqueued there; NO_OP */
    struct fact_regions regions;        /* of the host */
    size_t region_capacity;
    uint64_t now_before;      /* when the op at hand began */
    uint64_t nows[HOSTS_MAX]; /* by host: when its last op ended; 0 where all have one time */
    char *reason;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct replay *replay, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(replay->reason, CERTIFICATE_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int64_t round_stack(uint64_t stack, uint64_t granule)
{
    return (int64_t)((least(stack, number_max) + granule - 1) / granule * granule);
}

/* --- blocks and events --- */

/* Whether some event of the block is not done; only_away: one on another stream than the block. */
static bool is_pending(const struct replay *replay, const struct held *block, bool only_away)
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

static bool is_gone(const struct replay *replay, const struct held *block)
{
    return block->is_dying && block->holds == 0 &&
           !is_pending(replay, block, replay->promise->stream_ordered != 0);
}

/* Whether its recording was not dropped. */
static bool is_recorded(const struct replay *replay, const struct held *block)
{
    return block->recording != NO_OP && replay->recordings[block->recording] != RECORDING_DROPPED;
}

/* Whether the request may not have what the block left. */
static bool is_kept(const struct replay *replay, const struct held *block, size_t request)
{
    if (!block->is_there || !is_gone(replay, block)) {
        return false;
    }
    return (is_recorded(replay, block) && block->recording != replay->open_recording) ||
           (is_pending(replay, block, false) && block->stream != replay->list->ops[request].stream);
}

/* The block or program that the op is done to; NULL: it is not there.  What was freed can only be
 * released, and bad memory is nobody's. */
static struct held *find_held(struct replay *replay, size_t number)
{
    const struct op *op = &replay->list->ops[number];
    struct held *block = op->ref == NO_OP ? NULL : &replay->blocks[op->ref];
    if (block != NULL && block->is_there && !is_gone(replay, block) && block->kind != OP_RETIRE &&
        (!block->is_dying || op->kind == OP_RELEASE) &&
        (block->kind == OP_LOAD) == (op->kind == OP_UNLOAD || op->kind == OP_EXECUTE)) {
        return block;
    }
    fail(replay, "observations: op %zu is answered ok, but its block is not there", number);
    return NULL;
}

static void add_wait(struct replay *replay, struct held *block, uint32_t event, bool is_use)
{
    replay->waits[++replay->wait_count] = (struct wait){block->waits, event, is_use};
    block->waits = replay->wait_count;
}

static uint64_t add_times(uint64_t time, uint64_t delay)
{
    return delay == NEVER_NS || time >= NEVER_NS - delay ? NEVER_NS : time + delay;
}

static void make_event(struct replay *replay, size_t number)
{
    const struct op *op = &replay->list->ops[number];
    struct event *event = &replay->events[number];
    const uint64_t start = op->kind == OP_EXECUTE ? replay->log->lines[number].now
                                                  : replay->now_before;
    if (!event->has_other_due) {
        event->due = add_times(start,
                               op->is_collective ? replay->list->collective_bound : op->delay);
    }
}

/* Whether the event of the op is on a stream of the host: of its own time, and no execution. */
static bool is_on_stream(const struct list *list, const struct op *op, uint8_t host)
{
    return op_makes_event(op) && op->kind != OP_EXECUTE && (op->host == host || !list->has_clocks);
}

static void enqueue_event(struct replay *replay, size_t number)
{
    uint32_t *last = &replay->last_events[replay->list->ops[number].stream];
    replay->events[number].before = *last;
    *last = (uint32_t)number;
}

/* A free comes behind all that is enqueued on the stream of the block. */
static void await_stream(struct replay *replay, struct held *block)
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
static uint32_t find_event(struct replay *replay, size_t number)
{
    const struct op *op = &replay->list->ops[number];
    const uint32_t event = op->event == NO_OP ? (uint32_t)number : op->event;
    const struct op *maker = &replay->list->ops[event];
    if (op_makes_event(maker) && (maker->host == op->host || !replay->list->has_clocks)) {
        return event;
    }
    fail(replay, "observations: op %zu is answered ok, but op %u has no event", number, event);
    return NO_OP;
}

/* --- what each op does if it is answered ok --- */

static void put_block(struct replay *replay, size_t number, struct held block)
{
    block.is_there = true;
    block.kind = replay->list->ops[number].kind;
    replay->blocks[number] = block;
}

/* What the block of an op must be aligned to. */
static uint64_t find_align(const struct replay *replay, const struct op *op, uint64_t most)
{
    const uint64_t granule = replay->promise->granule;
    const uint64_t asked = op->align > granule ? op->align : granule;
    const bool is_natural = replay->promise->aligns_naturally != 0;
    return is_natural && most > asked && most <= replay->list->capacity ? most : asked;
}

static bool do_make(struct replay *replay, size_t number)
{
    const struct op *op = &replay->list->ops[number];
    const struct observed *seen = &replay->log->lines[number];
    const uint64_t granule = replay->promise->granule;
    const uint64_t most = rounding_most(&replay->promise->rounding, granule, op->size);
    put_block(replay, number,
              (struct held){.address = seen->address,
                            .size = seen->size,
                            .align = find_align(replay, op, most),
                            .stack = (uint64_t)round_stack(op->stack, granule),
                            .recording = op->kind == OP_LOAD ? NO_OP : replay->open_recording,
                            .stream = op->stream,
                            .most = most});
    return true;
}

static bool do_retire(struct replay *replay, size_t number)
{
    const struct op *op = &replay->list->ops[number];
    put_block(replay, number,
              (struct held){.address = op->address,
                            .size = op->size,
                            .align = replay->promise->granule,
                            .most = op->size,
                            .recording = NO_OP,
                            .holds = 1});
    return true;
}

static bool do_donate(struct replay *replay, size_t number)
{
    struct held *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    struct held donated = *block;
    donated.align = replay->promise->granule;
    block->is_there = false;
    put_block(replay, number, donated);
    return true;
}

static bool do_use(struct replay *replay, size_t number)
{
    struct held *block = find_held(replay, number);
    const uint32_t event = find_event(replay, number);
    if (block == NULL || event == NO_OP) {
        return false;
    }
    add_wait(replay, block, event, true);
    return true;
}

static bool do_hold(struct replay *replay, size_t number)
{
    struct held *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    block->holds++;
    return true;
}

static bool do_release(struct replay *replay, size_t number)
{
    struct held *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    if (block->holds == 0) {
        return fail(replay, "observations: op %zu releases no hold", number);
    }
    block->holds--;
    return true;
}

static bool do_free(struct replay *replay, size_t number)
{
    struct held *block = find_held(replay, number);
    if (block == NULL) {
        return false;
    }
    await_stream(replay, block);
    block->is_dying = true;
    block->is_there = !block->is_evicted;
    return true;
}

static bool do_free_after(struct replay *replay, size_t number)
{
    struct held *block = find_held(replay, number);
    const uint32_t event = find_event(replay, number);
    if (block == NULL || event == NO_OP) {
        return false;
    }
    add_wait(replay, block, event, false);
    await_stream(replay, block);
    block->is_dying = true;
    return true;
}

static bool do_execute(struct replay *replay, size_t number)
{
    const struct observed *seen = &replay->log->lines[number];
    struct held *program = find_held(replay, number);
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

static bool fail_recording(struct replay *replay, size_t number)
{
    return fail(replay, "observations: op %zu is answered ok, but has no such recording", number);
}

static bool do_record(struct replay *replay, size_t number)
{
    if (replay->promise->records == 0 || replay->open_recording != NO_OP) {
        return fail_recording(replay, number);
    }
    replay->open_recording = (uint32_t)number;
    replay->recordings[number] = RECORDING_OPEN;
    return true;
}

static bool do_record_end(struct replay *replay, size_t number)
{
    if (replay->open_recording == NO_OP) {
        return fail_recording(replay, number);
    }
    replay->recordings[replay->open_recording] = RECORDING_ENDED;
    replay->open_recording = NO_OP;
    return true;
}

static bool do_record_drop(struct replay *replay, size_t number)
{
    const uint32_t recording = replay->list->ops[number].ref;
    if (recording == NO_OP || replay->recordings[recording] != RECORDING_ENDED) {
        return fail_recording(replay, number);
    }
    replay->recordings[recording] = RECORDING_DROPPED;
    return true;
}

static bool (*const effects[OP_KIND_COUNT])(struct replay *replay, size_t number) = {
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

static bool give_region(struct replay *replay, size_t number, uint64_t start)
{
    struct fact_regions *regions = &replay->regions;
    const size_t i = find_region(regions, start);
    if (i == regions->count || regions->ranges[i][0] != start) {
        return fail(replay, "observations: in op %zu a region is given back that was not taken",
                    number);
    }
    regions->count--;
    memmove(&regions->ranges[i], &regions->ranges[i + 1],
            (regions->count - i) * sizeof *regions->ranges);
    return true;
}

static bool take_region(struct replay *replay, size_t number, const struct change *change)
{
    struct fact_regions *regions = &replay->regions;
    const size_t i = find_region(regions, change->value);
    if ((i > 0 && regions->ranges[i - 1][1] > change->value) ||
        (i < regions->count && regions->ranges[i][0] < change->end)) {
        return fail(replay, "observations: in op %zu a region is taken that lies on another one",
                    number);
    }
    void *ranges = array_with_room(regions->ranges, regions->count, &replay->region_capacity,
                                   sizeof *regions->ranges);
    if (ranges == NULL) {
        return fail(replay, "no memory");
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

/* What the target of the host did with its regions. */
static bool take_region_change(struct replay *replay, size_t number, const struct change *change)
{
    return change->kind == CHANGE_GIVEN ? give_region(replay, number, change->value)
                                        : take_region(replay, number, change);
}

static void take_change(struct replay *replay, const struct change *change)
{
    struct held *block = &replay->blocks[change->op];
    struct event *event = &replay->events[change->op];
    switch (change->kind) {
    case CHANGE_MOVED:
        block->address = is_gone(replay, block) ? block->address : change->value;
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

static bool take_line(struct replay *replay, size_t number, uint8_t host)
{
    const struct op *op = &replay->list->ops[number];
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

/* --- the facts --- */

/* When the last event is due of those that are not done; 0: all are. */
static uint64_t find_end(const struct replay *replay, const struct held *block, bool uses_only)
{
    uint64_t end = 0;
    for (size_t i = block->waits; i != 0; i = replay->waits[i].next) {
        const struct wait *wait = &replay->waits[i];
        const struct event *event = &replay->events[wait->event];
        if (!event->is_done && (wait->is_use || !uses_only) && event->due > end) {
            end = event->due;
        }
    }
    return end;
}

static struct fact_block describe_block(const struct replay *replay, size_t op)
{
    static const char *const kinds[OP_KIND_COUNT] = {[OP_ALLOC] = "buffer",
                                                     [OP_OUTPUT] = "output",
                                                     [OP_DONATE] = "output",
                                                     [OP_LOAD] = "program",
                                                     [OP_RETIRE] = "retired"};
    const struct held *block = &replay->blocks[op];
    const bool has_address = replay->promise->placement == 0;
    const bool has_align = has_address && replay->promise->header == 0;
    /* The times are cut to 63 bits when all are known. */
    return (struct fact_block){
        .kind = kinds[block->kind],
        .state = block->is_dying ? "dying" : "live",
        .op = (int64_t)op,
        .address = has_address ? (int64_t)block->address : 0,
        .size = (int64_t)least(least(block->size, block->most), number_max),
        .align = (int64_t)(has_align ? block->align : replay->promise->granule),
        .stack = (int64_t)block->stack,
        .holds = block->holds,
        .used_until = (int64_t)find_end(replay, block, true),
        .freed_at = block->is_dying ? (int64_t)find_end(replay, block, false) : 0};
}

static bool is_in_document(const struct replay *replay, size_t op)
{
    const struct held *block = &replay->blocks[op];
    return block->is_there && !block->is_evicted && !is_gone(replay, block);
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* What the document writes for a time; late: all above number_max, ascending. */
static int64_t rank_time(int64_t time, const uint64_t *late, size_t late_count)
{
    const uint64_t value = (uint64_t)time;
    size_t low = 0, high = late_count;
    if (value <= number_max || value == NEVER_NS) {
        return time;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (late[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)(number_max + 1 + low);
}

static bool rank_late_times(struct facts *facts)
{
    uint64_t *late = calloc(2 * facts->block_count + 1, sizeof *late);
    size_t count = 0;
    if (late == NULL) {
        return false;
    }
    for (size_t i = 0; i < facts->block_count; i++) {
        const uint64_t times[] = {(uint64_t)facts->blocks[i].used_until,
                                  (uint64_t)facts->blocks[i].freed_at};
        for (size_t k = 0; k < 2; k++) {
            late[count] = times[k];
            count += times[k] > number_max && times[k] != NEVER_NS;
        }
    }
    qsort(late, count, sizeof *late, compare_times);
    for (size_t i = 0; i < facts->block_count; i++) {
        struct fact_block *block = &facts->blocks[i];
        block->used_until = rank_time(block->used_until, late, count);
        block->freed_at = rank_time(block->freed_at, late, count);
    }
    free(late);
    return true;
}

/* What the block left, all of it. */
static struct fact_block describe_left(const struct replay *replay, size_t op)
{
    const struct held *block = &replay->blocks[op];
    struct fact_block left = describe_block(replay, op);
    left.state = "kept";
    left.size = (int64_t)block->size;
    left.align = (int64_t)replay->promise->granule;
    left.holds = is_recorded(replay, block) && block->recording != replay->open_recording;
    left.used_until = 0;
    return left;
}

static void collect_kept(const struct replay *replay, size_t request, struct kept *kept)
{
    for (size_t i = 0; i <= request; i++) {
        const struct held *block = &replay->blocks[i];
        const bool has_place = block->address != IN_HOST_MEMORY_ADDRESS;
        if (has_place && is_in_document(replay, i)) {
            kept->taken[kept->taken_count++] = (struct kept_taken){block->address, block->size};
        }
        if (has_place && is_kept(replay, block, request)) {
            kept->left[kept->left_count++] = describe_left(replay, i);
        }
    }
}

/* Without addresses, a piece is all that a block left. */
static bool cut_kept(const struct replay *replay, struct kept *kept)
{
    if (replay->promise->placement == 0) {
        return kept_cut(kept);
    }
    kept->pieces = kept->left;
    kept->piece_count = kept->left_count;
    kept->left = NULL;
    return true;
}

static int compare_facts(const void *left, const void *right)
{
    const struct fact_block *a = left, *b = right;
    return a->op != b->op ? (a->op > b->op) - (a->op < b->op)
                          : (a->address > b->address) - (a->address < b->address);
}

/* The blocks that are there and the pieces of what is kept. */
static bool join_blocks(const struct replay *replay, size_t request, const struct kept *kept,
                        struct facts *facts)
{
    for (size_t i = 0; i <= request; i++) {
        facts->block_count += is_in_document(replay, i);
    }
    facts->blocks = calloc(facts->block_count + kept->piece_count + 1, sizeof *facts->blocks);
    if (facts->blocks == NULL) {
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i <= request; i++) {
        if (is_in_document(replay, i)) {
            facts->blocks[count++] = describe_block(replay, i);
        }
    }
    for (size_t i = 0; i < kept->piece_count; i++) {
        facts->blocks[count++] = kept->pieces[i];
    }
    facts->block_count = count;
    qsort(facts->blocks, count, sizeof *facts->blocks, compare_facts);
    return rank_late_times(facts);
}

static bool describe_blocks(const struct replay *replay, size_t request, struct facts *facts)
{
    struct kept kept = {.taken = calloc(request + 1, sizeof *kept.taken),
                        .left = calloc(request + 1, sizeof *kept.left)};
    bool is_good = kept.taken != NULL && kept.left != NULL;
    if (is_good && !facts->hides_kept) {
        collect_kept(replay, request, &kept);
        is_good = cut_kept(replay, &kept);
    }
    is_good = is_good && join_blocks(replay, request, &kept, facts);
    free(kept.taken);
    free(kept.left);
    free(kept.pieces);
    return is_good;
}

struct fact_request request_of_op(const struct list *list, size_t number, uint64_t granule,
                                  const struct rounding *rounding)
{
    const struct op *op = &list->ops[number];
    const struct op *load = op->kind == OP_EXECUTE ? &list->ops[op->ref] : op;
    const bool is_buffer = op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
    return (struct fact_request){
        .class = is_buffer ? "buffer" : "program",
        .bytes = (int64_t)least(rounding_needed(rounding, granule, load->size), number_max),
        .align = (int64_t)(op->align > granule ? op->align : granule),
        .stack = round_stack(load->stack, granule),
        .program = NO_OP};
}

static bool describe_request(struct replay *replay, size_t number, struct facts *facts)
{
    const struct op *op = &replay->list->ops[number];
    facts->request = request_of_op(replay->list, number, replay->promise->granule,
                                   &replay->promise->rounding);
    if (op->kind != OP_EXECUTE) {
        return true;
    }
    const struct held *program = &replay->blocks[op->ref];
    if (!program->is_there || is_gone(replay, program)) {
        return fail(replay, "observations: the program of op %zu is not there", number);
    }
    if (!program->is_evicted) {
        facts->request.bytes = 0;
        facts->request.program = op->ref;
    }
    return true;
}

static bool run_lines(struct replay *replay, size_t op, struct facts *facts)
{
    bool is_good = true;
    for (size_t i = 0; is_good && i <= op; i++) {
        is_good = take_line(replay, i, replay->list->ops[op].host);
    }
    return is_good && describe_request(replay, op, facts);
}

enum certificate_result facts_rebuild(const struct certificate_history *history, size_t op,
                                      struct facts *facts, char reason[CERTIFICATE_REASON_BYTES])
{
    struct replay replay = {.list = &history->list,
                            .log = &history->log,
                            .promise = &history->log.promises[history->list.ops[op].host],
                            .blocks = calloc(op + 1, sizeof *replay.blocks),
                            .events = calloc(op + 1, sizeof *replay.events),
                            .waits = calloc(2 * (op + 2), sizeof *replay.waits),
                            .recordings = calloc(op + 1, sizeof *replay.recordings),
                            .open_recording = NO_OP,
                            .reason = reason};
    enum certificate_result result = CERTIFICATE_UNREADABLE;
    *facts = (struct facts){.hides_kept = facts->hides_kept};
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        replay.last_events[i] = NO_OP;
    }
    fail(&replay, "no memory");
    if (replay.blocks != NULL && replay.events != NULL && replay.waits != NULL &&
        replay.recordings != NULL) {
        result = !run_lines(&replay, op, facts)        ? CERTIFICATE_REFUTED
                 : describe_blocks(&replay, op, facts) ? CERTIFICATE_VALID
                                                       : CERTIFICATE_UNREADABLE;
    }
    facts->regions = replay.regions;
    free(replay.blocks);
    free(replay.events);
    free(replay.waits);
    free(replay.recordings);
    return result;
}
