#include "recording/block_events.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/model/model.h"

#include <stdlib.h>
#include <string.h>

enum place_state { PLACE_NONE = 0, PLACE_LIVE, PLACE_DYING, PLACE_RETIRED };

/* The block or the image that an op made. */
struct event_place {
    uint64_t address, size_bytes, requested_bytes;
    uint64_t seen_address; /* in the model, when stamp is that of the look */
    uint64_t stamp;
    size_t present_index; /* in present, unless state is NONE or RETIRED */
    size_t dying_index;   /* in dying of the host, while state is DYING */
    uint32_t op;          /* that made it */
    uint8_t state;        /* enum place_state */
    uint8_t host, lane, tag;
    bool is_program, is_absent, is_seen_absent, is_seen_dying;
    bool is_told; /* the op itself was taken */
};

struct block_events {
    void (*event)(void *context, const struct export_event *event);
    void *context;
    struct event_place *places; /* by op */
    size_t place_count, place_room;
    struct present {
        uint32_t *ops; /* whose blocks are there, retired ones left out */
        size_t count, room;
        uint64_t bytes; /* retired ones counted */
        uint64_t reserved_bytes;
        uint32_t *dying; /* those of them that wait for their end */
        size_t dying_count, dying_room;
    } present[OP_HOST_COUNT_MAX];
    struct export_block *blocks;
    size_t block_room;
    struct ended_free *ended; /* scratch */
    size_t ended_room;
    uint64_t reserved_bytes[OP_HOST_COUNT_MAX];
    uint64_t stamp, now_ns;
    uint64_t device_calls; /* of the run so far: copies, stages and unloads */
    uint32_t looks_left;   /* ops after which every block is looked at */
    bool has_lanes;        /* an op of another lane than 0 was told */
    bool has_no_holes;     /* nobody asks for the largest one */
    const struct run *run; /* of the op under way */
    uint32_t op;
};

struct block_events *block_events_create(void (*event)(void *context,
                                                       const struct export_event *event),
                                         void *context)
{
    struct block_events *block_events = calloc(1, sizeof *block_events);
    if (block_events != NULL) {
        block_events->event = event;
        block_events->context = context;
    }
    return block_events;
}

void block_events_leave_out_holes(struct block_events *block_events)
{
    block_events->has_no_holes = true;
}

void block_events_destroy(struct block_events *block_events)
{
    if (block_events == NULL) {
        return;
    }
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        free(block_events->present[i].ops);
        free(block_events->present[i].dying);
    }
    free(block_events->places);
    free(block_events->blocks);
    free(block_events->ended);
    free(block_events);
}

static void send_event(struct block_events *block_events, enum export_action action,
                       const struct event_place *place, uint64_t address)
{
    const struct model *model = run_model(block_events->run, place->host);
    const struct export_event event = {
        .action = action,
        .op = block_events->op,
        .block = place->op,
        .address = address,
        .size_bytes = place->size_bytes,
        .requested_bytes = place->requested_bytes,
        .lane = place->lane,
        .host = place->host,
        .tag = place->tag,
        .now_ns = block_events->now_ns,
        .in_use_bytes = model_in_use_bytes(model),
        .largest_hole_bytes = block_events->has_no_holes ? 0 : model_largest_hole_bytes(model),
        .is_absent = place->is_absent,
        .is_dying = place->state == PLACE_DYING,
        .is_program = place->is_program};
    block_events->event(block_events->context, &event);
}

/* --- places --- */

static struct event_place *place_of(struct block_events *block_events, uint32_t op)
{
    while (block_events->place_count <= op) {
        block_events->places = array_grown(block_events->places, block_events->place_count,
                                           &block_events->place_room, sizeof *block_events->places);
        block_events->places[block_events->place_count] = (struct event_place){
            .op = (uint32_t)block_events->place_count};
        block_events->place_count++;
    }
    return &block_events->places[op];
}

static void enter_place(struct block_events *block_events, uint32_t op, enum place_state state)
{
    struct event_place *place = place_of(block_events, op);
    struct present *present = &block_events->present[place->host];
    place->state = (uint8_t)state;
    present->bytes += place->size_bytes;
    if (state == PLACE_RETIRED) {
        return;
    }
    present->ops = array_grown(present->ops, present->count, &present->room, sizeof *present->ops);
    place->present_index = present->count;
    present->ops[present->count++] = op;
}

static void begin_dying(struct block_events *block_events, struct event_place *place)
{
    struct present *present = &block_events->present[place->host];
    CHECK(place->state == PLACE_LIVE);
    present->dying = array_grown(present->dying, present->dying_count, &present->dying_room,
                                 sizeof *present->dying);
    place->state = PLACE_DYING;
    place->dying_index = present->dying_count;
    present->dying[present->dying_count++] = place->op;
}

static void end_dying(struct block_events *block_events, const struct event_place *place)
{
    struct present *present = &block_events->present[place->host];
    const uint32_t last = present->dying[--present->dying_count];
    present->dying[place->dying_index] = last;
    block_events->places[last].dying_index = place->dying_index;
}

static void leave_place(struct block_events *block_events, struct event_place *place)
{
    struct present *present = &block_events->present[place->host];
    CHECK(place->state == PLACE_LIVE || place->state == PLACE_DYING);
    if (place->state == PLACE_DYING) {
        end_dying(block_events, place);
    }
    present->bytes -= place->size_bytes;
    present->ops[place->present_index] = present->ops[--present->count];
    block_events->places[present->ops[place->present_index]].present_index = place->present_index;
    place->state = PLACE_NONE;
    place->is_absent = false;
}

/* --- what the model shows --- */

static void note_block(struct block_events *block_events, const struct block *block)
{
    if (block->op >= block_events->place_count) {
        return; /* of a call that is not told yet */
    }
    struct event_place *place = &block_events->places[block->op];
    place->stamp = block_events->stamp;
    place->seen_address = block->address;
    place->is_seen_absent = block->is_absent;
    place->is_seen_dying = block->state == BLOCK_DYING;
}

static void note_all_blocks(struct block_events *block_events, const struct model *model)
{
    block_events->stamp++;
    for (size_t i = 0; i < model_live_count(model); i++) {
        note_block(block_events, model_live(model, i));
    }
    for (size_t i = 0; i < model_dying_count(model); i++) {
        note_block(block_events, model_dying(model, i));
    }
    for (size_t i = 0; i < model_program_count(model); i++) {
        if (model_program(model, i)->state != BLOCK_GONE) {
            note_block(block_events, model_program(model, i));
        }
    }
}

/* It is not there any more: its free is complete, or it was evicted. */
static void end_place(struct block_events *block_events, struct event_place *place)
{
    const struct event_place was = *place;
    leave_place(block_events, place);
    if (was.state == PLACE_LIVE && was.is_program) {
        send_event(block_events, EXPORT_EVICTED, &was, was.address);
        return;
    }
    if (was.state == PLACE_LIVE) { /* its free is told later: it met this call */
        send_event(block_events, EXPORT_FREE_REQUESTED, &was, was.address);
    }
    if (!was.is_absent) {
        send_event(block_events, EXPORT_FREE_COMPLETED, &was, was.address);
    }
}

static bool has_left(const struct event_place *place)
{
    return !place->is_absent && (place->is_seen_absent || place->seen_address != place->address);
}

static void process_ends(struct block_events *block_events, uint32_t host)
{
    const struct present *present = &block_events->present[host];
    for (size_t i = 0; i < present->count;) {
        struct event_place *place = &block_events->places[present->ops[i]];
        if (place->stamp != block_events->stamp) {
            end_place(block_events, place); /* another one takes its index */
        } else {
            i++;
        }
    }
}

static void process_moves(struct block_events *block_events, uint32_t host)
{
    const struct present *present = &block_events->present[host];
    for (size_t i = 0; i < present->count; i++) {
        const struct event_place *place = &block_events->places[present->ops[i]];
        if (has_left(place)) {
            send_event(block_events, EXPORT_MOVED_OUT, place, place->address);
        }
    }
    for (size_t i = 0; i < present->count; i++) {
        struct event_place *place = &block_events->places[present->ops[i]];
        const bool comes = !place->is_seen_absent &&
                           (place->is_absent || place->seen_address != place->address);
        place->is_absent = place->is_seen_absent;
        if (comes) {
            place->address = place->seen_address;
            send_event(block_events, EXPORT_MOVED_IN, place, place->address);
        }
    }
}

/* A queued free that ended, and where its block stands in present. */
struct ended_free {
    size_t index;
    uint32_t op;
};

static int compare_ended(const void *a, const void *b)
{
    return compare_numbers(((const struct ended_free *)a)->index,
                           ((const struct ended_free *)b)->index);
}

static size_t find_ended(struct block_events *block_events, uint32_t host)
{
    const struct present *present = &block_events->present[host];
    const struct model *model = run_model(block_events->run, host);
    size_t count = 0;
    for (size_t i = 0; i < present->dying_count; i++) {
        const struct event_place *place = &block_events->places[present->dying[i]];
        const uint32_t slot = model_slot_of_op(model, place->op);
        if (slot == SLOT_NONE || model_block(model, slot)->state != BLOCK_DYING) {
            block_events->ended = array_grown(block_events->ended, count, &block_events->ended_room,
                                              sizeof *block_events->ended);
            block_events->ended[count++] = (struct ended_free){place->present_index, place->op};
        }
    }
    return count;
}

/* Queued frees alone, which is all that ends where the device was not called; in the order of
 * process_ends(), where the last block takes the index of one that ended. */
static void process_queued_ends(struct block_events *block_events, uint32_t host)
{
    size_t end = find_ended(block_events, host);
    struct ended_free *ended = block_events->ended;
    if (end > 1) {
        qsort(ended, end, sizeof *ended, compare_ended);
    }
    for (size_t i = 0; i < end;) {
        uint32_t op = ended[i++].op;
        for (;;) {
            const size_t last = block_events->present[host].count - 1;
            end_place(block_events, &block_events->places[op]);
            if (i == end || ended[end - 1].index != last) {
                break;
            }
            op = ended[--end].op;
        }
    }
}

static void compare_with_model(struct block_events *block_events, uint32_t host)
{
    note_all_blocks(block_events, run_model(block_events->run, host));
    process_ends(block_events, host);
    process_moves(block_events, host);
}

/* --- ops --- */

static void begin_place(struct block_events *block_events, const struct op *op,
                        const struct observation *seen, uint32_t number)
{
    struct event_place *place = place_of(block_events, number);
    const bool is_told = place->is_told;
    *place = (struct event_place){.address = seen->address,
                                  .size_bytes = seen->size_bytes,
                                  .requested_bytes = op->size_bytes,
                                  .host = op->host,
                                  .lane = op->lane,
                                  .tag = op->tag,
                                  .op = number,
                                  .is_told = is_told,
                                  .is_program = op->kind == OP_LOAD};
    enter_place(block_events, number, PLACE_LIVE);
    send_event(block_events, EXPORT_ALLOC, place, place->address);
}

/* The place that an op names, or NULL. */
static struct event_place *find_named_place(struct block_events *block_events, const struct op *op)
{
    return op->ref < block_events->place_count ? &block_events->places[op->ref] : NULL;
}

/* The same, when it is there. */
static struct event_place *find_live_place(struct block_events *block_events, const struct op *op)
{
    struct event_place *place = find_named_place(block_events, op);
    return place != NULL && place->state == PLACE_LIVE ? place : NULL;
}

static void process_free(struct block_events *block_events, const struct op *op)
{
    struct event_place *place = find_live_place(block_events, op);
    if (place == NULL) {
        return;
    }
    begin_dying(block_events, place);
    place->lane = op->lane;
    send_event(block_events, EXPORT_FREE_REQUESTED, place, place->address);
}

static void process_donation(struct block_events *block_events, const struct op *op,
                             const struct observation *seen, uint32_t number)
{
    struct event_place *place = find_live_place(block_events, op);
    if (place != NULL) {
        begin_dying(block_events, place);
        send_event(block_events, EXPORT_FREE_REQUESTED, place, place->address);
        end_place(block_events, place);
    }
    begin_place(block_events, op, seen, number);
}

/* The program that an execution loads again, or NULL. */
static struct event_place *find_reloaded_place(struct block_events *block_events,
                                               const struct op *op)
{
    struct event_place *place = find_named_place(block_events, op);
    return place != NULL && place->is_program && place->state == PLACE_NONE ? place : NULL;
}

/* An evicted program is loaded again. */
static void process_execution(struct block_events *block_events, const struct op *op,
                              const struct observation *seen)
{
    struct event_place *place = find_reloaded_place(block_events, op);
    if (place == NULL) {
        return;
    }
    place->address = seen->address;
    place->lane = op->lane;
    enter_place(block_events, op->ref, PLACE_LIVE);
    send_event(block_events, EXPORT_ALLOC, place, place->address);
}

static void process_retirement(struct block_events *block_events, const struct op *op,
                               uint32_t number)
{
    struct event_place *place = place_of(block_events, number);
    place->address = op->address;
    place->size_bytes = place->requested_bytes = op->size_bytes;
    place->host = op->host;
    enter_place(block_events, number, PLACE_RETIRED);
    send_event(block_events, EXPORT_RETIRED, place, place->address);
}

static void process_failure(struct block_events *block_events, const struct op *op,
                            const struct verdict *verdict)
{
    const bool is_judged = verdict->requested_bytes != 0;
    const struct event_place *program = op->kind == OP_EXECUTE
                                            ? find_reloaded_place(block_events, op)
                                            : NULL;
    const uint64_t own_bytes = program == NULL ? op->size_bytes : program->requested_bytes;
    const uint64_t bytes = own_bytes + (op->kind == OP_LOAD ? op->stack_bytes : 0);
    const struct event_place place = {.size_bytes = is_judged ? verdict->requested_bytes : bytes,
                                      .requested_bytes = is_judged ? verdict->requested_bytes
                                                                   : bytes,
                                      .host = op->host,
                                      .lane = op->lane,
                                      .op = block_events->op,
                                      .is_program = program != NULL || op->kind == OP_LOAD,
                                      .tag = program == NULL ? op->tag : program->tag};
    send_event(block_events, EXPORT_FAILED, &place, 0);
}

static void process_success(struct block_events *block_events, const struct op *op,
                            const struct observation *seen)
{
    switch (op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_LOAD:
        begin_place(block_events, op, seen, seen->op);
        return;
    case OP_DONATE:
        process_donation(block_events, op, seen, seen->op);
        return;
    case OP_FREE:
    case OP_FREE_AFTER:
    case OP_UNLOAD:
        process_free(block_events, op);
        return;
    case OP_EXECUTE:
        process_execution(block_events, op, seen);
        return;
    case OP_RETIRE:
        process_retirement(block_events, op, seen->op);
        return;
    default:
        return;
    }
}

/* Bytes that the op under way took on a host, and that have no place here yet: what ended meanwhile
 * may be as much. */
static uint64_t count_new_bytes(struct block_events *block_events, const struct op *op,
                                const struct observation *seen, uint32_t host)
{
    if (op->host != host || seen->skipped != 0 || seen->result != TARGET_OK) {
        return 0;
    }
    if (op->kind == OP_RETIRE) {
        return op->size_bytes;
    }
    if (op->kind == OP_EXECUTE) {
        const struct event_place *place = find_reloaded_place(block_events, op);
        return place == NULL ? 0 : place->size_bytes;
    }
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ? seen->size_bytes
                                                                                : 0;
}

static bool has_other_bytes(const struct block_events *block_events, uint32_t host, uint64_t new)
{
    return block_events->present[host].bytes + new !=
           model_in_use_bytes(run_model(block_events->run, host));
}

/* new: bytes that have no place here yet. */
static void process_changes(struct block_events *block_events, uint32_t host, uint64_t new)
{
    const bool is_plain = block_events->looks_left == 0 && !block_events->has_lanes;
    if (is_plain && has_other_bytes(block_events, host, new)) {
        process_queued_ends(block_events, host);
    }
    if (block_events->looks_left > 0 || has_other_bytes(block_events, host, new)) {
        compare_with_model(block_events, host);
    }
}

/* Calls that overlap are told one after the other, and the device calls of all of them with the
 * first. */
static void count_looks(struct block_events *block_events, const struct op *op)
{
    const struct run_totals *totals = run_totals(block_events->run);
    const uint64_t device_calls = totals->moves + totals->stagings + totals->evictions;
    block_events->has_lanes = block_events->has_lanes || op->lane != 0;
    if (device_calls != block_events->device_calls) {
        block_events->looks_left = block_events->has_lanes ? OP_LANE_COUNT_MAX : 1;
    } else if (block_events->looks_left > 0) {
        block_events->looks_left--;
    }
    block_events->device_calls = device_calls;
}

/* Handles what made room for the op's own block: it comes before that block. */
static void process_before(struct block_events *block_events, const struct op *op,
                           const struct observation *seen)
{
    for (uint32_t i = 0; i < run_setup(block_events->run)->host_count; i++) {
        process_changes(block_events, i, count_new_bytes(block_events, op, seen, i));
    }
}

static void process_after(struct block_events *block_events)
{
    for (uint32_t i = 0; i < run_setup(block_events->run)->host_count; i++) {
        process_changes(block_events, i, 0);
        block_events->reserved_bytes[i] = model_reserved_bytes(run_model(block_events->run, i));
    }
}

bool block_events_take(struct block_events *block_events, const struct run *run,
                       const struct verdict *verdict)
{
    const struct observation *seen = run_observation(run);
    if (seen->op >= run_ops(run)->count || place_of(block_events, seen->op)->is_told) {
        return false;
    }
    const struct op *op = &run_ops(run)->ops[seen->op];
    block_events->run = run;
    block_events->op = seen->op;
    block_events->now_ns = seen->now_ns;
    block_events->places[seen->op].is_told = true;
    count_looks(block_events, op);
    const bool is_free = op->kind == OP_FREE || op->kind == OP_FREE_AFTER ||
                         op->kind == OP_UNLOAD || op->kind == OP_DONATE;
    if (!is_free || seen->skipped != 0 || seen->result != TARGET_OK) {
        process_before(block_events, op, seen);
    }
    if (seen->skipped == 0 && seen->result == TARGET_OK) {
        process_success(block_events, op, seen);
    } else if (seen->skipped == 0 && seen->result == TARGET_NO_MEMORY) {
        process_failure(block_events, op, verdict);
    }
    process_after(block_events);
    block_events->run = NULL;
    return true;
}

/* --- the end --- */

static int compare_blocks(const void *a, const void *b)
{
    const struct export_block *left = a, *right = b;
    return compare_places(left->host, left->address, right->host, right->address);
}

const struct export_block *block_events_blocks(struct block_events *block_events, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < block_events->place_count; i++) {
        const struct event_place *place = &block_events->places[i];
        if (place->state == PLACE_NONE || place->is_absent) {
            continue;
        }
        block_events->blocks = array_grown(block_events->blocks, *count, &block_events->block_room,
                                           sizeof *block_events->blocks);
        block_events->blocks[(*count)++] = (struct export_block){
            .address = place->address,
            .size_bytes = place->size_bytes,
            .requested_bytes = place->requested_bytes,
            .host = place->host,
            .tag = place->tag,
            .lane = place->lane,
            .is_dying = place->state == PLACE_DYING,
            .op = (uint32_t)i};
    }
    if (*count > 0) {
        qsort(block_events->blocks, *count, sizeof *block_events->blocks, compare_blocks);
    }
    return block_events->blocks;
}

const uint64_t *block_events_reserved(const struct block_events *block_events)
{
    return block_events->reserved_bytes;
}

uint64_t block_events_now_ns(const struct block_events *block_events)
{
    return block_events->now_ns;
}
