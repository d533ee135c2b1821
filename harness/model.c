#include "harness/model_update.h"

#include "harness/array.h"
#include "harness/check.h"

#include <stdlib.h>
#include <string.h>

/* What an event ends: one node per use, execution or wait. */
struct waiter {
    uint32_t slot;
    uint32_t next; /* of the same event; SLOT_NONE ends */
    bool is_use;
};
struct waiter_lists {
    uint32_t *heads; /* by event id */
    uint64_t head_capacity;
    struct waiter *nodes;
    size_t node_count, node_capacity;
    uint32_t free_node;
};
struct slot_list {
    uint32_t *slots;
    size_t count, capacity;
};

struct model {
    uint64_t capacity_bytes;
    struct target_contract contract;
    const struct timeline *timeline;
    struct block *blocks; /* by slot */
    size_t block_count, block_capacity;
    struct slot_list free_slots;
    uint32_t *slot_by_op;
    size_t op_capacity;
    struct span_map map;
    struct slot_list live, programs, dying, busy, absent;
    struct waiter_lists waiters;
    struct model_counters counters;
    uint64_t retired_count, retired_bytes;
    uint64_t tag_bytes[OP_TAG_COUNT], tag_counts[OP_TAG_COUNT];
    struct model_gone *gone;
    size_t gone_count, gone_capacity;
    uint64_t largest_hole_bytes, hole_count; /* valid when holes_known */
    uint64_t in_use_before_bytes;            /* after this host's last op, for the peak's upper bound */
    uint64_t completed_count;                /* completed events of the timeline that this model took in */
    enum target_result last_result;
    uint32_t last_op, op;
    bool last_skipped, holes_known, is_unordered;
};

static void slot_list_add(struct slot_list *list, uint32_t slot)
{
    list->slots = array_grown(list->slots, list->count, &list->capacity, sizeof slot);
    list->slots[list->count++] = slot;
}

/* The lists that know a block's place: it is in at most one of live, programs and dying. */
static void list_add(struct model *model, struct slot_list *list, uint32_t slot)
{
    CHECK(model->blocks[slot].live_index == SLOT_NONE);
    model->blocks[slot].live_index = (uint32_t)list->count;
    slot_list_add(list, slot);
}

static void list_remove(struct model *model, struct slot_list *list, uint32_t slot)
{
    const uint32_t index = model->blocks[slot].live_index;
    CHECK(index < list->count);
    CHECK(list->slots[index] == slot);
    const uint32_t last = list->slots[--list->count];
    list->slots[index] = last;
    model->blocks[last].live_index = index;
    model->blocks[slot].live_index = SLOT_NONE;
}

struct model *model_create(uint64_t capacity_bytes, const struct target_contract *contract,
                           const struct timeline *timeline)
{
    struct model *model = calloc(1, sizeof *model);
    CHECK(model != NULL);
    model->capacity_bytes = capacity_bytes;
    model->contract = *contract;
    model->timeline = timeline;
    model->last_op = OP_NONE;
    model->waiters.free_node = SLOT_NONE;
    span_map_init(&model->map);
    return model;
}

void model_destroy(struct model *model)
{
    if (model == NULL) {
        return;
    }
    span_map_deinit(&model->map);
    free(model->blocks);
    free(model->free_slots.slots);
    free(model->slot_by_op);
    free(model->live.slots);
    free(model->programs.slots);
    free(model->dying.slots);
    free(model->busy.slots);
    free(model->absent.slots);
    free(model->waiters.heads);
    free(model->waiters.nodes);
    free(model->gone);
    free(model);
}

void model_begin_op(struct model *model, uint32_t op)
{
    model->op = op;
}

void model_end_op(struct model *model, enum target_result result, bool skipped)
{
    model->last_result = result;
    model->last_skipped = skipped;
    model->last_op = model->op;
    model_end_unseen_op(model, skipped);
}

void model_end_unseen_op(struct model *model, bool skipped)
{
    /* Only a target that was called must have taken in what completed: another host's op does not count. */
    if (!skipped) {
        model->in_use_before_bytes = model->counters.in_use_bytes;
    }
}

const struct model_gone *model_gone(const struct model *model, size_t *count)
{
    *count = model->gone_count;
    return model->gone;
}

void model_forget_gone(struct model *model)
{
    model->gone_count = 0;
}

/* --- slots ---------------------------------------------------------------------------------- */

uint32_t model_slot_of_op(const struct model *model, uint32_t op)
{
    return op < model->op_capacity ? model->slot_by_op[op] : SLOT_NONE;
}

const struct block *model_block(const struct model *model, uint32_t slot)
{
    CHECK(slot < model->block_count);
    return &model->blocks[slot];
}

static void map_op(struct model *model, uint32_t op, uint32_t slot)
{
    if (op >= model->op_capacity) {
        const size_t capacity = (size_t)op * 2 + 256;
        model->slot_by_op = realloc(model->slot_by_op, capacity * sizeof *model->slot_by_op);
        CHECK(model->slot_by_op != NULL);
        memset(&model->slot_by_op[model->op_capacity], 0xFF,
               (capacity - model->op_capacity) * sizeof *model->slot_by_op);
        model->op_capacity = capacity;
    }
    model->slot_by_op[op] = slot;
}

static uint32_t take_slot(struct model *model)
{
    if (model->free_slots.count > 0) {
        return model->free_slots.slots[--model->free_slots.count];
    }
    model->blocks = array_grown(model->blocks, model->block_count, &model->block_capacity, sizeof *model->blocks);
    CHECK(model->block_count < SLOT_NONE);
    return (uint32_t)model->block_count++;
}

static void give_slot(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->live_index == SLOT_NONE);
    CHECK(block->use_count == 0);
    map_op(model, block->op, SLOT_NONE);
    slot_list_add(&model->free_slots, slot);
}

/* --- room ----------------------------------------------------------------------------------- */

static void count_peaks(struct model *model)
{
    struct model_counters *counters = &model->counters;
    if (counters->in_use_bytes > counters->peak_low_bytes) {
        counters->peak_low_bytes = counters->in_use_bytes;
    }
    if (counters->in_use_bytes > counters->peak_high_bytes) {
        counters->peak_high_bytes = counters->in_use_bytes;
    }
}

/* Takes the range into the map; false: slot *other lies there. */
static bool claim(struct model *model, uint32_t slot, const struct target_block *at, uint32_t *other)
{
    const struct span span = {at->address, at->address + at->size_bytes, slot, 0};
    struct span in_the_way;
    if (span_map_insert_if_free(&model->map, &span, &in_the_way)) {
        return true;
    }
    *other = (uint32_t)in_the_way.owner;
    return false;
}

/* Counts the room that the block has claimed. */
static void count_placed(struct model *model, uint32_t slot)
{
    const struct block *block = &model->blocks[slot];
    struct model_counters *counters = &model->counters;
    counters->block_count++;
    counters->in_use_bytes += block->size_bytes;
    if (block->size_bytes > counters->largest_block_bytes) {
        counters->largest_block_bytes = block->size_bytes;
    }
    /* The target may have placed the block before it took in what completed meanwhile. */
    const uint64_t high = model->in_use_before_bytes + block->size_bytes;
    if (high > counters->peak_high_bytes) {
        counters->peak_high_bytes = high;
    }
    count_peaks(model);
    model->holes_known = false;
    if (block->kind == BLOCK_RETIRED) {
        model->retired_count++;
        model->retired_bytes += block->size_bytes;
        return;
    }
    model->tag_bytes[block->tag] += block->size_bytes;
    model->tag_counts[block->tag]++;
}

/* Takes the slot out of a list without an order, in which it is. */
static void slot_list_take(struct slot_list *list, uint32_t slot)
{
    size_t i = 0;
    while (list->slots[i] != slot) {
        i++;
        CHECK(i < list->count);
    }
    list->slots[i] = list->slots[--list->count];
}

static void displace(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    if (block->is_absent) {
        slot_list_take(&model->absent, slot);
        block->is_absent = false;
    } else {
        span_map_erase(&model->map, block->address, block->address + block->size_bytes);
    }
    model->counters.block_count--;
    model->counters.in_use_bytes -= block->size_bytes;
    model->tag_bytes[block->tag] -= block->size_bytes;
    model->tag_counts[block->tag]--;
    model->holes_known = false;
    model->gone = array_grown(model->gone, model->gone_count, &model->gone_capacity, sizeof *model->gone);
    /* A program's target was told by unload(). */
    const bool is_freed = block->state == BLOCK_DYING && block->kind != BLOCK_PROGRAM;
    model->gone[model->gone_count++] = (struct model_gone){block->handle, slot, is_freed};
}

static void count_reserved(struct model *model)
{
    uint64_t reserved = 0;
    for (size_t i = 0; i < model->busy.count; i++) {
        const uint64_t stack = model->blocks[model->busy.slots[i]].stack_bytes;
        reserved = stack > reserved ? stack : reserved;
    }
    if (reserved != model->counters.reserved_bytes) {
        model->holes_known = false;
    }
    model->counters.reserved_bytes = reserved;
    if (reserved > model->counters.peak_reserved_bytes) {
        model->counters.peak_reserved_bytes = reserved;
    }
}

static void busy_remove(struct model *model, uint32_t slot)
{
    slot_list_take(&model->busy, slot);
    count_reserved(model);
}

/* A dying block with nothing left to wait for gives its room back. */
static void settle(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    if (block->state != BLOCK_DYING || block->use_count > 0 || block->hold_count > 0 || block->wait_count > 0) {
        return;
    }
    displace(model, slot);
    list_remove(model, &model->dying, slot);
    block->state = BLOCK_GONE;
    give_slot(model, slot);
}

/* --- events --------------------------------------------------------------------------------- */

static void await(struct model *model, uint32_t slot, uint64_t event, bool is_use)
{
    struct waiter_lists *waiters = &model->waiters;
    if (event >= waiters->head_capacity) {
        const uint64_t capacity = event * 2 + 256;
        waiters->heads = realloc(waiters->heads, capacity * sizeof *waiters->heads);
        CHECK(waiters->heads != NULL);
        memset(&waiters->heads[waiters->head_capacity], 0xFF,
               (capacity - waiters->head_capacity) * sizeof *waiters->heads);
        waiters->head_capacity = capacity;
    }
    uint32_t node = waiters->free_node;
    if (node == SLOT_NONE) {
        waiters->nodes = array_grown(waiters->nodes, waiters->node_count, &waiters->node_capacity, sizeof *waiters->nodes);
        node = (uint32_t)waiters->node_count++;
    } else {
        waiters->free_node = waiters->nodes[node].next;
    }
    waiters->nodes[node] = (struct waiter){slot, waiters->heads[event], is_use};
    waiters->heads[event] = node;
}

static void end_use(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->use_count > 0);
    if (--block->use_count > 0) {
        return;
    }
    if (block->kind == BLOCK_PROGRAM) {
        busy_remove(model, slot);
    }
    settle(model, slot);
}

void model_complete(struct model *model, uint64_t event)
{
    struct waiter_lists *waiters = &model->waiters;
    CHECK(timeline_completed_at(model->timeline, model->completed_count) == event);
    model->completed_count++;
    if (event >= waiters->head_capacity) {
        return;
    }
    uint32_t node = waiters->heads[event];
    waiters->heads[event] = SLOT_NONE;
    while (node != SLOT_NONE) {
        const struct waiter waiter = waiters->nodes[node];
        waiters->nodes[node].next = waiters->free_node;
        waiters->free_node = node;
        if (waiter.is_use) {
            end_use(model, waiter.slot);
        } else {
            model->blocks[waiter.slot].wait_count--;
            settle(model, waiter.slot);
        }
        node = waiter.next;
    }
}

size_t model_slot_count(const struct model *model)
{
    return model->block_count;
}

static void raise(uint64_t *latest, uint64_t due_ns)
{
    *latest = due_ns > *latest ? due_ns : *latest;
}

/* Whatever waits for the event waits until due_ns at least. */
static void raise_waiters(const struct waiter_lists *waiters, uint64_t event, uint64_t due_ns, uint64_t *wait_due_ns,
                          uint64_t *use_due_ns)
{
    uint32_t node = event < waiters->head_capacity ? waiters->heads[event] : SLOT_NONE;
    for (; node != SLOT_NONE; node = waiters->nodes[node].next) {
        const struct waiter *waiter = &waiters->nodes[node];
        raise(&wait_due_ns[waiter->slot], due_ns);
        if (waiter->is_use) {
            raise(&use_due_ns[waiter->slot], due_ns);
        }
    }
}

static void raise_all(const struct model *model, uint64_t *wait_due_ns, uint64_t *use_due_ns)
{
    const struct waiter_lists *waiters = &model->waiters;
    /* What is done but was not taken in yet was unfinished at the instant that the model shows. */
    for (uint64_t i = model->completed_count; i < timeline_completed_count(model->timeline); i++) {
        const uint64_t event = timeline_completed_at(model->timeline, i);
        const uint64_t due_ns = timeline_was_lost(model->timeline, event) ? DELAY_NEVER : 1;
        raise_waiters(waiters, event, due_ns, wait_due_ns, use_due_ns);
    }
    for (size_t i = 0; i < timeline_pending_count(model->timeline); i++) {
        const uint64_t event = timeline_pending_at(model->timeline, i);
        raise_waiters(waiters, event, timeline_due_ns(model->timeline, event), wait_due_ns, use_due_ns);
    }
}

/* Whether a free that waiting can end waits for the event: whoever drains awaits it. */
static bool is_awaited(const struct model *model, uint64_t event, const uint64_t *wait_due_ns)
{
    const struct waiter_lists *waiters = &model->waiters;
    uint32_t node = event < waiters->head_capacity ? waiters->heads[event] : SLOT_NONE;
    for (; node != SLOT_NONE; node = waiters->nodes[node].next) {
        const uint32_t slot = waiters->nodes[node].slot;
        const struct block *block = &model->blocks[slot];
        if (block->state == BLOCK_DYING && block->hold_count == 0 && wait_due_ns[slot] != DELAY_NEVER) {
            return true;
        }
    }
    return false;
}

/* Events that complete in any order have no times: to await one tells nothing of another.  A use ends by draining only
 * when its own event is among those that are awaited. */
static void forget_times(const struct model *model, uint64_t *wait_due_ns, uint64_t *use_due_ns)
{
    const struct waiter_lists *waiters = &model->waiters;
    memset(use_due_ns, 0, model->block_count * sizeof *use_due_ns);
    for (size_t slot = 0; slot < model->block_count; slot++) {
        wait_due_ns[slot] = wait_due_ns[slot] == 0 || wait_due_ns[slot] == DELAY_NEVER ? wait_due_ns[slot] : 1;
    }
    for (uint64_t event = 1; event < waiters->head_capacity; event++) {
        const uint32_t first = waiters->heads[event];
        if (first == SLOT_NONE) {
            continue;
        }
        const uint64_t due_ns = is_awaited(model, event, wait_due_ns) ? 1 : DELAY_NEVER;
        for (uint32_t node = first; node != SLOT_NONE; node = waiters->nodes[node].next) {
            if (waiters->nodes[node].is_use) {
                raise(&use_due_ns[waiters->nodes[node].slot], due_ns);
            }
        }
    }
}

void model_due_times(const struct model *model, uint64_t *wait_due_ns, uint64_t *use_due_ns)
{
    if (model->block_count == 0) {
        return;
    }
    memset(wait_due_ns, 0, model->block_count * sizeof *wait_due_ns);
    memset(use_due_ns, 0, model->block_count * sizeof *use_due_ns);
    raise_all(model, wait_due_ns, use_due_ns);
    if (model->is_unordered) {
        forget_times(model, wait_due_ns, use_due_ns);
    }
}

/* --- what ops do ---------------------------------------------------------------------------- */

bool model_add(struct model *model, const struct model_new *what, const struct target_block *at, uint32_t *slot,
               uint32_t *other)
{
    const uint32_t taken = take_slot(model);
    if (!claim(model, taken, at, other)) {
        slot_list_add(&model->free_slots, taken);
        return false;
    }
    model->blocks[taken] = (struct block){
        .address = at->address,
        .size_bytes = at->size_bytes,
        .handle = at->handle,
        .requested_bytes = what->requested_bytes,
        .align_bytes = what->align_bytes,
        .stack_bytes = what->stack_bytes,
        .stack_requested_bytes = what->stack_requested_bytes,
        .op = model->op,
        .live_index = SLOT_NONE,
        .state = BLOCK_LIVE,
        .kind = (uint8_t)what->kind,
        .tag = what->tag,
        .hold_count = what->kind == BLOCK_RETIRED,
        .is_known = what->kind != BLOCK_RETIRED,
    };
    if (what->kind != BLOCK_RETIRED) {
        map_op(model, model->op, taken);
        list_add(model, what->kind == BLOCK_PROGRAM ? &model->programs : &model->live, taken);
    }
    count_placed(model, taken);
    *slot = taken;
    return true;
}

/* At the instant that the model shows: what completed later is not done yet. */
static bool is_pending(const struct model *model, uint64_t event)
{
    const enum event_state state = timeline_state(model->timeline, event);
    return state == EVENT_PENDING ||
           (state == EVENT_DONE && timeline_completed_index(model->timeline, event) >= model->completed_count);
}

void model_free(struct model *model, uint32_t slot, uint64_t event)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->is_known);
    list_remove(model, block->kind == BLOCK_PROGRAM ? &model->programs : &model->live, slot);
    block->is_known = false;
    if (block->state == BLOCK_GONE) { /* an evicted program */
        give_slot(model, slot);
        return;
    }
    block->state = BLOCK_DYING;
    list_add(model, &model->dying, slot);
    if (event != 0 && is_pending(model, event)) {
        block->wait_count++;
        await(model, slot, event, false);
    }
    settle(model, slot);
}

void model_use(struct model *model, uint32_t slot, uint64_t event)
{
    if (!is_pending(model, event)) {
        return;
    }
    struct block *block = &model->blocks[slot];
    await(model, slot, event, true);
    if (block->use_count++ == 0 && block->kind == BLOCK_PROGRAM) {
        slot_list_add(&model->busy, slot);
        count_reserved(model);
    }
}

void model_hold(struct model *model, uint32_t slot)
{
    model->blocks[slot].hold_count++;
}

void model_release(struct model *model, uint32_t slot)
{
    CHECK(model->blocks[slot].hold_count > 0);
    model->blocks[slot].hold_count--;
    settle(model, slot);
}

/* The new block keeps the slot: its place, uses and the waits of its events go on. */
uint32_t model_donate(struct model *model, uint32_t slot, const struct model_new *what, const struct target_block *at)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->hold_count == 0);
    map_op(model, block->op, SLOT_NONE);
    model->tag_bytes[block->tag] -= block->size_bytes;
    model->tag_counts[block->tag]--;
    block->op = model->op;
    block->handle = at->handle;
    block->requested_bytes = what->requested_bytes;
    block->align_bytes = what->align_bytes;
    block->kind = (uint8_t)what->kind;
    block->tag = what->tag;
    model->tag_bytes[block->tag] += block->size_bytes;
    model->tag_counts[block->tag]++;
    map_op(model, model->op, slot);
    return slot;
}

void model_reserve_briefly(struct model *model, uint64_t stack_bytes)
{
    if (stack_bytes > model->counters.peak_reserved_bytes) {
        model->counters.peak_reserved_bytes = stack_bytes;
    }
}

void model_evict(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->kind == BLOCK_PROGRAM);
    CHECK(block->state == BLOCK_LIVE);
    displace(model, slot);
    block->state = BLOCK_GONE;
}

bool model_reload(struct model *model, uint32_t slot, const struct target_block *at, uint32_t *other)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->state == BLOCK_GONE);
    if (!claim(model, slot, at, other)) {
        return false;
    }
    block->address = at->address;
    block->size_bytes = at->size_bytes;
    block->state = BLOCK_LIVE;
    count_placed(model, slot);
    return true;
}

void model_set_unordered(struct model *model)
{
    model->is_unordered = true;
}

void model_widen_peak(struct model *model, uint64_t low_bytes, uint64_t high_bytes)
{
    struct model_counters *counters = &model->counters;
    CHECK(low_bytes <= high_bytes);
    counters->peak_low_bytes = low_bytes > counters->in_use_bytes ? low_bytes : counters->in_use_bytes;
    counters->peak_high_bytes = high_bytes > counters->peak_low_bytes ? high_bytes : counters->peak_low_bytes;
}

/* --- moves ---------------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
    const struct span *left = a;
    const struct span *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

bool model_relocate(struct model *model, const uint64_t *addresses, uint32_t *slot)
{
    const size_t count = model->map.count;
    struct span *spans = malloc((count + 1) * sizeof *spans);
    CHECK(spans != NULL);
    struct span_cursor cursor;
    size_t i = 0;
    for (bool found = span_map_first(&model->map, &cursor); found; found = span_map_next(&model->map, &cursor)) {
        span_map_get(&model->map, &cursor, &spans[i]);
        spans[i].end = addresses[i] + (spans[i].end - spans[i].start);
        spans[i].start = addresses[i];
        i++;
    }
    qsort(spans, count, sizeof *spans, compare_spans);
    for (i = 1; i < count; i++) {
        if (spans[i].start < spans[i - 1].end) {
            *slot = (uint32_t)spans[i].owner;
            free(spans);
            return false;
        }
    }
    span_map_clear(&model->map);
    for (i = 0; i < count; i++) {
        model->blocks[spans[i].owner].address = spans[i].start;
        span_map_insert(&model->map, &spans[i]);
    }
    model->holes_known = false;
    free(spans);
    return true;
}

void model_strand(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->state != BLOCK_GONE);
    CHECK(!block->is_absent);
    span_map_erase(&model->map, block->address, block->address + block->size_bytes);
    slot_list_add(&model->absent, slot);
    block->is_absent = true;
    model->holes_known = false;
}

bool model_return(struct model *model, uint32_t slot, uint64_t address, uint32_t *other)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->is_absent);
    if (!claim(model, slot, &(struct target_block){.address = address, .size_bytes = block->size_bytes}, other)) {
        return false;
    }
    slot_list_take(&model->absent, slot);
    block->is_absent = false;
    block->address = address;
    model->holes_known = false;
    return true;
}

size_t model_absent_count(const struct model *model)
{
    return model->absent.count;
}

uint32_t model_absent_slot(const struct model *model, size_t index)
{
    CHECK(index < model->absent.count);
    return model->absent.slots[index];
}

/* --- reading -------------------------------------------------------------------------------- */

const struct span_map *model_map(const struct model *model)
{
    return &model->map;
}

size_t model_live_count(const struct model *model)
{
    return model->live.count;
}

const struct block *model_live(const struct model *model, size_t index)
{
    CHECK(index < model->live.count);
    return &model->blocks[model->live.slots[index]];
}

size_t model_program_count(const struct model *model)
{
    return model->programs.count;
}

const struct block *model_program(const struct model *model, size_t index)
{
    CHECK(index < model->programs.count);
    return &model->blocks[model->programs.slots[index]];
}

const struct block *model_find(const struct model *model, uint32_t op)
{
    const uint32_t slot = model_slot_of_op(model, op);
    return slot == SLOT_NONE || !model->blocks[slot].is_known ? NULL : &model->blocks[slot];
}

size_t model_dying_count(const struct model *model)
{
    return model->dying.count;
}

const struct block *model_dying(const struct model *model, size_t index)
{
    CHECK(index < model->dying.count);
    return &model->blocks[model->dying.slots[index]];
}

size_t model_busy_count(const struct model *model)
{
    return model->busy.count;
}

size_t model_event_count(const struct model *model)
{
    return timeline_pending_count(model->timeline);
}

uint32_t model_event_op(const struct model *model, size_t index)
{
    return (uint32_t)(timeline_pending_at(model->timeline, index) - 1);
}

uint64_t model_capacity_bytes(const struct model *model)
{
    return model->capacity_bytes;
}

uint64_t model_granule_bytes(const struct model *model)
{
    return model->contract.granule_bytes;
}

uint64_t model_in_use_bytes(const struct model *model)
{
    return model->counters.in_use_bytes;
}

uint64_t model_reserved_bytes(const struct model *model)
{
    return model->counters.reserved_bytes;
}

uint64_t model_free_bytes(const struct model *model)
{
    return model->capacity_bytes - model->counters.in_use_bytes - model->counters.reserved_bytes;
}

static void add_hole(uint64_t bytes, uint64_t *largest, uint64_t *count)
{
    *largest = bytes > *largest ? bytes : *largest;
    *count += bytes > 0;
}

/* The cache is not part of what the model says: it may be filled through a const pointer. */
static void know_holes(const struct model *model)
{
    if (model->holes_known) {
        return;
    }
    uint64_t largest = 0;
    uint64_t count = 0;
    uint64_t at = model->counters.reserved_bytes;
    struct span_cursor cursor;
    struct span span;
    for (bool found = span_map_first(&model->map, &cursor); found; found = span_map_next(&model->map, &cursor)) {
        span_map_get(&model->map, &cursor, &span);
        add_hole(span.start > at ? span.start - at : 0, &largest, &count);
        at = span.end;
    }
    add_hole(model->capacity_bytes > at ? model->capacity_bytes - at : 0, &largest, &count);
    struct model *cache = (struct model *)(uintptr_t)model;
    cache->largest_hole_bytes = largest;
    cache->hole_count = count;
    cache->holes_known = true;
}

uint64_t model_largest_hole_bytes(const struct model *model)
{
    know_holes(model);
    return model->largest_hole_bytes;
}

uint64_t model_hole_count(const struct model *model)
{
    know_holes(model);
    return model->hole_count;
}

uint64_t model_now_ns(const struct model *model)
{
    return timeline_now_ns(model->timeline);
}

const struct target_contract *model_contract(const struct model *model)
{
    return &model->contract;
}

enum target_result model_last_result(const struct model *model)
{
    return model->last_result;
}

bool model_last_skipped(const struct model *model)
{
    return model->last_skipped;
}

uint32_t model_last_op(const struct model *model)
{
    return model->last_op;
}

const struct model_counters *model_counters(const struct model *model)
{
    return &model->counters;
}

uint64_t model_retired_count(const struct model *model)
{
    return model->retired_count;
}

uint64_t model_retired_bytes(const struct model *model)
{
    return model->retired_bytes;
}

/* The same from `at` up alone. */
static bool free_range_above(const struct model *model, uint64_t at, uint64_t *start, uint64_t *end)
{
    struct span_cursor cursor;
    struct span span;
    at = at > model->counters.reserved_bytes ? at : model->counters.reserved_bytes;
    for (bool found = span_map_find(&model->map, at, &cursor); found; found = span_map_next(&model->map, &cursor)) {
        span_map_get(&model->map, &cursor, &span);
        if (span.start > at) {
            *start = at;
            *end = span.start;
            return true;
        }
        at = span.end;
    }
    *start = at;
    *end = model->capacity_bytes;
    return at < model->capacity_bytes;
}

bool model_free_range(const struct model *model, uint64_t address, uint64_t *start, uint64_t *end)
{
    return free_range_above(model, address, start, end) || free_range_above(model, 0, start, end);
}

const uint64_t *model_tag_bytes(const struct model *model)
{
    return model->tag_bytes;
}

uint64_t model_tag_count(const struct model *model, uint8_t tag)
{
    return model->tag_counts[tag];
}

/* Each absent block is in the list once: a second time would make the sums wrong. */
static bool absent_hold(const struct model *model, uint64_t *in_use)
{
    for (size_t i = 0; i < model->absent.count; i++) {
        const struct block *block = &model->blocks[model->absent.slots[i]];
        if (block->state == BLOCK_GONE || !block->is_absent) {
            return false;
        }
        *in_use += block->size_bytes;
    }
    return true;
}

bool model_invariants_hold(const struct model *model)
{
    uint64_t in_use = 0;
    struct span_cursor cursor;
    struct span span;
    if (!span_map_invariants_hold(&model->map) || !absent_hold(model, &in_use) ||
        model->map.count + model->absent.count != model->counters.block_count) {
        return false;
    }
    for (bool found = span_map_first(&model->map, &cursor); found; found = span_map_next(&model->map, &cursor)) {
        span_map_get(&model->map, &cursor, &span);
        const struct block *block = &model->blocks[span.owner];
        if (block->state == BLOCK_GONE || block->is_absent || block->address != span.start ||
            block->address + block->size_bytes != span.end) {
            return false;
        }
        in_use += block->size_bytes;
    }
    return in_use == model->counters.in_use_bytes;
}
