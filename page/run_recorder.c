/* Follows a run and records it: block_events says what became of each block, and the model of the
 * host in which state it is. */
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/model/model.h"
#include "page/run_record.h"
#include "recording/block_events.h"

#include <stdlib.h>
#include <string.h>

/* Looking at the largest hole walks over all blocks: this many blocks a turn, on average. */
enum { HOLE_CREDIT = 64 };

/* --- what is known while it runs --- */

enum { NOT_THERE = UINT32_MAX };

/* The state of the block or program that an op made. */
struct block_track {
    uint32_t turn;         /* of the op; RECORD_NONE: not judged yet */
    uint32_t block;        /* in record->blocks; NOT_THERE */
    uint32_t pins;         /* references and unfinished uses */
    uint32_t watch;        /* in the host's watched; NOT_THERE */
    uint64_t from_address; /* that it left: where it comes from when it is there again */
    uint32_t from_turn;
    uint8_t host;
    bool is_program, has_left;
};

struct watched_host {
    uint32_t *ops; /* whose blocks have pins; with lanes all that are there */
    size_t count, room;
    uint64_t pins;         /* the sum of theirs */
    uint64_t unseen_pins;  /* the model's beyond that, at the last look */
    uint64_t queued_bytes; /* of blocks in state dying */
    uint32_t program_count;
    uint32_t stack; /* in record->blocks; NOT_THERE */
    uint64_t largest_hole_bytes, hole_credit;
};

struct recorder {
    struct run_record *record;
    struct block_events *block_events;
    struct history *history;
    struct block_track *tracks; /* by op of the list */
    size_t track_count;
    struct watched_host hosts[OP_HOST_COUNT_MAX];
    unsigned filler_tag;
    const struct run *run; /* of the turn under way */
    uint32_t turn;
};

static struct block_track *find_track(struct recorder *recorder, uint32_t op)
{
    return op < recorder->track_count ? &recorder->tracks[op] : NULL;
}

/* --- blocks --- */

static void count_state(struct recorder *recorder, const struct record_block *block, bool is_there)
{
    const uint64_t bytes = block->state == RECORD_DYING ? block->size_bytes : 0;
    recorder->hosts[block->host].queued_bytes += is_there ? bytes : 0 - bytes;
}

/* Finds the places of blocks in the array again, after some were dropped. */
static void find_again(struct recorder *recorder)
{
    const struct run_record *record = recorder->record;
    for (size_t i = 0; i < recorder->track_count; i++) {
        recorder->tracks[i].block = NOT_THERE;
    }
    for (size_t i = 0; i < record->block_count; i++) {
        const struct record_block *block = &record->blocks[i];
        if (block->end != RECORD_OPEN) {
            continue;
        }
        if (block->state == RECORD_STACK) {
            recorder->hosts[block->host].stack = (uint32_t)i;
        } else {
            recorder->tracks[record->ops[block->maker].op].block = (uint32_t)i;
        }
    }
}

static uint32_t add_block(struct recorder *recorder, const struct record_block *block)
{
    struct run_record *record = recorder->record;
    if (record->block_count == record->block_room) {
        run_record_thin(record, record->block_room / 2);
        find_again(recorder);
    }
    CHECK(record->block_count < record->block_room);
    record->blocks[record->block_count] = *block;
    count_state(recorder, block, true);
    return (uint32_t)record->block_count++;
}

static void end_block(struct recorder *recorder, uint32_t index)
{
    struct record_block *block = &recorder->record->blocks[index];
    CHECK(block->end == RECORD_OPEN);
    count_state(recorder, block, false);
    block->end = recorder->turn;
}

static void set_state(struct recorder *recorder, struct block_track *track, enum record_state state)
{
    struct record_block *block = &recorder->record->blocks[track->block];
    if (block->state == state) {
        return;
    }
    if (block->begin == recorder->turn) {
        count_state(recorder, block, false);
        block->state = (uint8_t)state;
        count_state(recorder, block, true);
        return;
    }
    struct record_block next = *block;
    next.begin = recorder->turn;
    next.state = (uint8_t)state;
    end_block(recorder, track->block);
    track->block = add_block(recorder, &next);
}

static void watch_track(struct recorder *recorder, struct block_track *track)
{
    struct watched_host *host = &recorder->hosts[track->host];
    if (track->watch != NOT_THERE) {
        return;
    }
    host->ops = array_grown(host->ops, host->count, &host->room, sizeof *host->ops);
    track->watch = (uint32_t)host->count;
    host->ops[host->count++] = (uint32_t)(track - recorder->tracks);
}

static void unwatch_track(struct recorder *recorder, struct block_track *track)
{
    struct watched_host *host = &recorder->hosts[track->host];
    if (track->watch == NOT_THERE) {
        return;
    }
    const uint32_t last = host->ops[--host->count];
    host->ops[track->watch] = last;
    recorder->tracks[last].watch = track->watch;
    track->watch = NOT_THERE;
}

static void set_pins(struct recorder *recorder, struct block_track *track, uint32_t pins)
{
    struct watched_host *host = &recorder->hosts[track->host];
    host->pins += pins;
    host->pins -= track->pins;
    track->pins = pins;
    if (pins > 0 || (recorder->record->has_lanes && track->block != NOT_THERE)) {
        watch_track(recorder, track);
    } else {
        unwatch_track(recorder, track);
    }
}

static enum record_state find_state(const struct block *block)
{
    if (block->state == BLOCK_DYING) {
        return RECORD_DYING;
    }
    if (block->kind == BLOCK_PROGRAM) {
        return block->use_count > 0 ? RECORD_BUSY : RECORD_IDLE;
    }
    return block->hold_count > 0 || block->use_count > 0 ? RECORD_HELD : RECORD_MOVABLE;
}

/* Takes what the model shows of the block that the op made. */
static void refresh_track(struct recorder *recorder, uint32_t op)
{
    struct block_track *track = find_track(recorder, op);
    if (track == NULL || track->turn == RECORD_NONE) {
        return;
    }
    const struct model *model = run_model(recorder->run, track->host);
    const uint32_t slot = model_slot_of_op(model, op);
    const struct block *block = slot == SLOT_NONE ? NULL : model_block(model, slot);
    if (block == NULL || block->state == BLOCK_GONE || block->kind == BLOCK_RETIRED) {
        set_pins(recorder, track, 0);
        return;
    }
    if (track->block != NOT_THERE) {
        set_state(recorder, track, find_state(block));
    }
    set_pins(recorder, track, block->hold_count + block->use_count);
}

static uint64_t count_pins(const struct model *model)
{
    return model_pinned_count_max(model) - model_dying_count(model);
}

/* A use that ended is no op of its own: it is looked for where the sum changed. */
static void refresh_watched(struct recorder *recorder, uint32_t number)
{
    struct watched_host *host = &recorder->hosts[number];
    const uint64_t pins = count_pins(run_model(recorder->run, number));
    if (!recorder->record->has_lanes && pins == host->pins + host->unseen_pins) {
        return;
    }
    for (size_t i = host->count; i > 0; i--) { /* one that goes is replaced by a later one */
        refresh_track(recorder, host->ops[i - 1]);
    }
    host->unseen_pins = pins - host->pins;
}

static void refresh_stack(struct recorder *recorder, uint32_t number)
{
    struct watched_host *host = &recorder->hosts[number];
    const uint64_t bytes = model_reserved_bytes(run_model(recorder->run, number));
    const uint64_t was = host->stack == NOT_THERE
                             ? 0
                             : recorder->record->blocks[host->stack].size_bytes;
    if (bytes == was) {
        return;
    }
    if (host->stack != NOT_THERE) {
        end_block(recorder, host->stack);
        host->stack = NOT_THERE;
    }
    if (bytes > 0) {
        const struct record_block block = {.size_bytes = bytes,
                                           .begin = recorder->turn,
                                           .end = RECORD_OPEN,
                                           .maker = recorder->turn,
                                           .state = RECORD_STACK,
                                           .host = (uint8_t)number};
        host->stack = add_block(recorder, &block);
    }
}

/* --- what happened --- */

/* Adds what the turn under way did, of what has room. */
static void add_mark(struct recorder *recorder, struct record_mark mark)
{
    struct run_record *record = recorder->record;
    mark.turn = recorder->turn;
    if (record->mark_count < record->mark_room) {
        record->marks[record->mark_count++] = mark;
    } else {
        record->mark_left_out_count++;
    }
}

static void enter_block(struct recorder *recorder, struct block_track *track,
                        const struct export_event *event, enum record_state state)
{
    const struct record_block block = {.address = event->address,
                                       .size_bytes = event->size_bytes,
                                       .begin = recorder->turn,
                                       .end = RECORD_OPEN,
                                       .maker = track->turn,
                                       .state = (uint8_t)state,
                                       .tag = event->tag,
                                       .host = event->host};
    track->host = event->host;
    track->has_left = false;
    track->block = add_block(recorder, &block);
    recorder->hosts[track->host].program_count += track->is_program;
}

static void leave_block(struct recorder *recorder, struct block_track *track)
{
    if (track->block == NOT_THERE) {
        return;
    }
    end_block(recorder, track->block);
    track->block = NOT_THERE;
    recorder->hosts[track->host].program_count -= track->is_program;
}

/* Adds what became of the block of the event; from: where it lay. */
static void mark_block(struct recorder *recorder, const struct block_track *track,
                       const struct export_event *event, enum record_mark_kind kind, uint64_t from)
{
    add_mark(recorder, (struct record_mark){.from = from,
                                            .to = event->address,
                                            .size_bytes = event->size_bytes,
                                            .maker = track->turn,
                                            .kind = (uint8_t)kind,
                                            .host = event->host});
}

/* A block is there again that left in this op, or in an earlier one. */
static void mark_move(struct recorder *recorder, const struct block_track *track,
                      const struct export_event *event)
{
    const struct observation *seen = run_observation(recorder->run);
    const bool is_staged = track->from_turn != recorder->turn ||
                           (seen->stage_count > 0 && seen->copy_count == 0);
    if (track->has_left) {
        mark_block(recorder, track, event, is_staged ? RECORD_STAGING : RECORD_MOVE,
                   track->from_address);
    }
}

static void hear_event(void *context, const struct export_event *event)
{
    struct recorder *recorder = context;
    struct block_track *track = find_track(recorder, event->block);
    if (track == NULL) {
        return;
    }
    switch (event->action) {
    case EXPORT_ALLOC:
        track->is_program = recorder->record->list->ops[event->block].kind == OP_LOAD;
        enter_block(recorder, track, event, track->is_program ? RECORD_IDLE : RECORD_MOVABLE);
        return;
    case EXPORT_RETIRED:
        enter_block(recorder, track, event, RECORD_RETIRED);
        return;
    case EXPORT_FREE_REQUESTED:
        if (track->block != NOT_THERE) {
            set_state(recorder, track, RECORD_DYING);
        }
        return;
    case EXPORT_FREE_COMPLETED:
        leave_block(recorder, track);
        return;
    case EXPORT_EVICTED:
        mark_block(recorder, track, event, RECORD_EVICTION, event->address);
        leave_block(recorder, track);
        return;
    case EXPORT_MOVED_OUT:
        leave_block(recorder, track);
        track->from_address = event->address;
        track->from_turn = recorder->turn;
        track->has_left = true;
        return;
    case EXPORT_MOVED_IN:
        mark_move(recorder, track, event);
        enter_block(recorder, track, event, event->is_dying ? RECORD_DYING : RECORD_MOVABLE);
        refresh_track(recorder, event->block);
        return;
    default:
        return;
    }
}

/* --- failures --- */

static void hear_failure(struct recorder *recorder, const struct op *op,
                         const struct verdict *verdict)
{
    struct run_record *record = recorder->record;
    const struct observation *seen = run_observation(recorder->run);
    const bool is_oom = seen->skipped == 0 && seen->result == TARGET_NO_MEMORY;
    const bool is_judged = verdict->kind != VERDICT_NONE;
    const bool is_usual = verdict->kind == VERDICT_NONE || verdict->kind == VERDICT_JUSTIFIED;
    if (!is_oom && !is_judged) {
        return;
    }
    if (record->failure_count >=
        (is_usual ? RECORD_FAILURE_FIRST_COUNT : RECORD_FAILURE_COUNT_MAX)) {
        record->failure_left_out_count++;
        return;
    }
    const struct model *model = run_model(recorder->run, op->host);
    struct record_failure *failure = &record->failures[record->failure_count];
    *failure = (struct record_failure){
        .verdict = *verdict,
        .turn = recorder->turn,
        .host = op->host,
        .is_oom = is_oom,
        .is_judged = is_judged,
        .requested_bytes = verdict->requested_bytes > 0 ? verdict->requested_bytes : op->size_bytes,
        .align_bytes = op->align_log2 == 0 ? model_granule_bytes(model)
                                           : UINT64_C(1) << op->align_log2,
        .free_bytes = model_free_bytes(model),
        .largest_hole_bytes = model_largest_hole_bytes(model)};
    record_failure_find_holes(failure, model);
    snprintf(failure->message, sizeof failure->message, "%s", run_message(recorder->run));
    record->failure_count++;
}

/* --- each op --- */

/* A heap of many blocks is looked at now and then alone. */
static uint64_t look_at_holes(struct recorder *recorder, const struct model *model, uint32_t number,
                              bool is_wanted)
{
    struct watched_host *host = &recorder->hosts[number];
    const uint64_t cost = 1 + model_counters(model)->block_count;
    host->hole_credit += HOLE_CREDIT;
    if (is_wanted || host->hole_credit >= cost) {
        host->largest_hole_bytes = model_largest_hole_bytes(model);
        host->hole_credit = 0;
    }
    return host->largest_hole_bytes;
}

static uint64_t sum_regions(const struct model *model)
{
    size_t count;
    uint64_t bytes = 0;
    const struct device_region *regions = model_regions(model, &count);
    for (size_t i = 0; i < count; i++) {
        bytes += regions[i].size_bytes;
    }
    return bytes;
}

static void take_op(struct recorder *recorder, const struct op *op, const struct verdict *verdict)
{
    struct run_record *record = recorder->record;
    const struct observation *seen = run_observation(recorder->run);
    const struct model *model = run_model(recorder->run, op->host);
    const struct block_track *ref = find_track(recorder, op->ref);
    const struct op_kind_info *info = op_kind_info(op->kind);
    const bool makes = info->makes_block || info->makes_program || op->kind == OP_EXECUTE;
    const bool has_acted = seen->skipped == 0;
    record->capacity_bytes[op->host] = model_capacity_bytes(model);
    record->has_places = model_contract(model)->placement == PLACEMENT_RANGES;
    record->ops[recorder->turn] = (struct record_op){
        .size_bytes = info->has_size ? op->size_bytes : 0,
        .address = seen->address,
        .makes_block = makes && has_acted && seen->result == TARGET_OK,
        .now_ns = seen->now_ns,
        .in_use_bytes = model_in_use_without(model, recorder->filler_tag) +
                        model_reserved_bytes(model),
        .reserved_bytes = model_contract(model)->regions.grows ? sum_regions(model)
                                                               : model_reserved_bytes(model),
        .queued_bytes = recorder->hosts[op->host].queued_bytes,
        .free_bytes = model_free_bytes(model),
        .largest_hole_bytes = look_at_holes(recorder, model, op->host,
                                            verdict->kind != VERDICT_NONE),
        .program_count = recorder->hosts[op->host].program_count,
        .op = seen->op,
        .ref = ref == NULL ? RECORD_NONE : ref->turn,
        .kind = op->kind,
        .lane = op->lane,
        .host = op->host,
        .tag = info->has_tag && op->kind != OP_FAULT     ? op->tag
               : ref != NULL && ref->turn != RECORD_NONE ? record->ops[ref->turn].tag
                                                         : 0,
        .result = has_acted ? (uint8_t)seen->result : RECORD_SKIPPED};
}

static void take_turn(struct recorder *recorder, const struct op *op, const struct verdict *verdict)
{
    const struct observation *seen = run_observation(recorder->run);
    if (seen->wait_count > 0) {
        add_mark(recorder, (struct record_mark){
                               .maker = RECORD_NONE, .kind = RECORD_DRAIN, .host = op->host});
    }
    recorder->tracks[seen->op].host = op->host;
    recorder->record->ops[recorder->turn].op = seen->op;
    block_events_take(recorder->block_events, recorder->run, verdict);
    refresh_track(recorder, seen->op);
    refresh_track(recorder, op->ref);
    for (uint32_t i = 0; i < recorder->record->setup.host_count; i++) {
        refresh_watched(recorder, i);
        refresh_stack(recorder, i);
    }
    take_op(recorder, op, verdict);
    hear_failure(recorder, op, verdict);
}

/* Records an op.  The ops that the end of the run adds are left out. */
static void hear_op(void *context, const struct run *run, const struct verdict *verdict)
{
    struct recorder *recorder = context;
    struct run_record *record = recorder->record;
    const uint32_t number = run_observation(run)->op;
    struct block_track *track = find_track(recorder, number);
    if (number >= run_ops(run)->count || track == NULL || track->turn != RECORD_NONE) {
        return;
    }
    recorder->run = run;
    recorder->turn = record->op_count;
    track->turn = recorder->turn;
    take_turn(recorder, &run_ops(run)->ops[number], verdict);
    history_step(recorder->history, run);
    record->op_count++;
    recorder->run = NULL;
}

/* --- the end --- */

/* The most that a tag held on a host. */
struct held_most {
    uint64_t bytes;
    uint32_t host, tag;
};

/* Who held most comes first. */
static int compare_held(const void *a, const void *b)
{
    const struct held_most *left = a, *right = b;
    return compare_then(compare_numbers(right->bytes, left->bytes),
                        compare_places(left->host, left->tag, right->host, right->tag));
}

static void fill_growth(const struct history *history, const struct held_most *held,
                        struct record_growth *growth)
{
    const struct history_host *host = &history->hosts[held->host];
    *growth = (struct record_growth){
        .count = host->count, .tag = (uint8_t)held->tag, .host = (uint8_t)held->host};
    for (uint32_t i = 0; i < host->count; i++) {
        growth->first_op[i] = host->samples[i].first_op;
        growth->floor_bytes[i] = host->samples[i].floor_bytes[growth->tag];
    }
    growth->has_trend = tag_trend_find(history, growth->host, growth->tag, &growth->trend);
}

/* The growth of the tags of which most was held. */
static void take_growth(struct recorder *recorder)
{
    static struct held_most all[OP_HOST_COUNT_MAX * OP_TAG_COUNT];
    struct run_record *record = recorder->record;
    size_t count = 0;
    for (uint32_t host = 0; host < record->setup.host_count; host++) {
        const struct history_host *held = &recorder->history->hosts[host];
        for (uint32_t tag = 0; tag < OP_TAG_COUNT; tag++) {
            struct held_most *most = &all[count];
            *most = (struct held_most){.host = host, .tag = tag};
            for (uint32_t i = 0; i < held->count; i++) {
                const uint64_t floor = held->samples[i].floor_bytes[tag];
                most->bytes = floor > most->bytes ? floor : most->bytes;
            }
            count += most->bytes > 0 && tag != recorder->filler_tag;
        }
    }
    qsort(all, count, sizeof *all, compare_held);
    for (size_t i = 0; i < count && i < RECORD_GROWTH_COUNT_MAX; i++) {
        fill_growth(recorder->history, &all[i], &record->growth[record->growth_count++]);
    }
}

static struct recorder *recorder_create(struct run_record *record)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    CHECK(recorder != NULL);
    recorder->record = record;
    recorder->block_events = block_events_create(hear_event, recorder);
    recorder->history = malloc(sizeof *recorder->history);
    recorder->track_count = record->list->count;
    recorder->tracks = calloc(recorder->track_count + 1, sizeof *recorder->tracks);
    CHECK(recorder->block_events != NULL && recorder->history != NULL);
    CHECK(recorder->tracks != NULL);
    block_events_leave_out_holes(recorder->block_events);
    history_init(recorder->history);
    recorder->history->whole = record->list;
    recorder->history->has_lanes = record->has_lanes;
    recorder->filler_tag = setup_filler_tag(&record->setup);
    for (size_t i = 0; i < recorder->track_count; i++) {
        recorder->tracks[i].turn = RECORD_NONE;
        recorder->tracks[i].block = NOT_THERE;
        recorder->tracks[i].watch = NOT_THERE;
    }
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        recorder->hosts[i].stack = NOT_THERE;
        recorder->hosts[i].hole_credit = UINT32_MAX;
    }
    return recorder;
}

static void recorder_destroy(struct recorder *recorder)
{
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        free(recorder->hosts[i].ops);
    }
    block_events_destroy(recorder->block_events);
    history_deinit(recorder->history);
    free(recorder->history);
    free(recorder->tracks);
    free(recorder);
}

void run_record_run(struct run_record *record, const struct target *target)
{
    struct recorder *recorder = recorder_create(record);
    const struct run_listener listener = {recorder, hear_op};
    const struct setup setup = record->setup;
    struct trial trial;
    record->is_refused = !trial_repeat(target, &setup, record->list, &listener, &trial,
                                       record->why);
    if (!record->is_refused) {
        setup_copy(&record->setup, &trial.setup);
        record->first = trial.first;
        record->totals = trial.totals;
        snprintf(record->why, sizeof record->why, "%s", trial.why_not_modelled);
        take_growth(recorder);
        record->is_done = true;
        trial_deinit(&trial);
    }
    recorder_destroy(recorder);
}
