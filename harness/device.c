#include "harness/device.h"

#include "harness/array.h"
#include "harness/check.h"
#include "harness/device_contents.h"
#include "harness/device_faults.h"

#include <stdlib.h>

/* A block on its way through host memory: the extents it consisted of, from offset 0. */
struct stage {
    uint64_t id; /* 0 = free place */
    uint64_t bytes;
    struct contents_piece piece;
};

/* The copy or stage_in that stopped half-way. */
struct begun {
    bool is_open;
    struct device_call call;
    uint64_t done_bytes; /* from the end that goes first */
};

struct device {
    uint64_t capacity_bytes;
    struct timeline *timeline;
    struct device_services services;
    struct contents contents;
    struct stage *stages;
    size_t stage_count;
    uint64_t stage_id_last;
    struct device_call *calls;
    size_t call_count, call_capacity;
    uint64_t call_count_max;
    uint64_t total_count; /* calls of this op, those that are not logged included */
    uint64_t poll_count;  /* since the last call that can be refused */
    struct device_faults faults;
    struct begun begun;
    uint64_t *half_unloaded; /* programs, half_unloaded_count of them */
    size_t half_unloaded_count, half_unloaded_capacity;
    struct device_images images;
    uint64_t doubled_count; /* completions that the target sees twice */
    const struct device_waiter *waiter; /* NULL = none */
    device_witness *witness; /* NULL = none */
    void *witness_context;
    struct host_memory host_memory;
    bool hung, is_runaway;
    bool is_in_op;
    bool left_range;
};

/* What is left of a copy that FAULT_COPY_HALF halves for ever is no longer halved from here on: 64 KiB. */
enum { HALVED_BYTES_MIN = 65536 };
/* Honest targets poll each of their events after each wait: that is far below 67 million. */
#define POLL_COUNT_MAX ((uint64_t)1 << 26)

/* --- calls ---------------------------------------------------------------------------------- */

enum fault_kind device_call_refusal(enum device_call_kind kind)
{
    static const enum fault_kind refusals[DEVICE_CALL_KIND_COUNT] = {
        [DEVICE_CALL_COPY] = FAULT_COPY,       [DEVICE_CALL_STAGE_OUT] = FAULT_COPY, [DEVICE_CALL_STAGE_IN] = FAULT_COPY,
        [DEVICE_CALL_WAIT] = FAULT_WAIT,       [DEVICE_CALL_UNLOAD] = FAULT_UNLOAD,
        [DEVICE_CALL_HOST_ALLOC] = FAULT_HOST_MEMORY,
    };
    CHECK((unsigned)kind < DEVICE_CALL_KIND_COUNT);
    return refusals[kind];
}

/* Any call that can be refused begins here. */
static struct device_call begin_call(struct device *device, enum device_call_kind kind)
{
    if (device->witness != NULL) {
        device->witness(device->witness_context, kind);
    }
    /* Host memory is none of the device: who takes some need not look at the events again. */
    const bool may_jump = device->is_in_op && kind != DEVICE_CALL_HOST_ALLOC;
    const struct device_fault *jump = may_jump ? faults_strike(&device->faults, FAULT_CLOCK_JUMP) : NULL;
    if (jump != NULL) {
        timeline_advance(device->timeline, jump->delay_ns);
    }
    device->poll_count = 0;
    return (struct device_call){.kind = kind, .completed_before = timeline_completed_count(device->timeline)};
}

static enum device_result end_call(struct device *device, struct device_call *call, enum device_result result)
{
    device->calls = array_grown(device->calls, device->call_count, &device->call_capacity, sizeof *device->calls);
    call->result = result;
    device->calls[device->call_count++] = *call;
    return result;
}

/* Counts a call; true when it must be refused because the op made too many. */
static bool is_over_bound(struct device *device)
{
    if (++device->total_count > device->call_count_max) {
        device->hung = true;
    }
    return device->hung;
}

static bool is_in_range(struct device *device, uint64_t address, uint64_t bytes)
{
    if (bytes <= device->capacity_bytes && address <= device->capacity_bytes - bytes) {
        return true;
    }
    device->left_range = true;
    return false;
}

/* --- contents ------------------------------------------------------------------------------- */

void device_stamp(struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    if (bytes > 0 && is_in_range(device, address, bytes)) {
        contents_stamp(&device->contents, address, bytes, owner);
    }
}

bool device_holds(const struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    return contents_hold(&device->contents, address, bytes, owner);
}

/* Whether the piece is the owner's bytes [0, bytes), in order and without a gap. */
static bool piece_holds(const struct contents_piece *piece, uint32_t owner, uint64_t bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i < piece->count && at < bytes; i++) {
        const struct span *span = &piece->spans[i];
        if (span->owner != owner || span->start != at || span->offset != at) {
            return false;
        }
        at = span->end;
    }
    return at >= bytes;
}

bool device_has_staged(const struct device *device, uint32_t owner, uint64_t bytes)
{
    for (size_t i = 0; i < device->stage_count; i++) {
        if (device->stages[i].id != 0 && piece_holds(&device->stages[i].piece, owner, bytes)) {
            return true;
        }
    }
    return false;
}

void device_stamp_stage(struct device *device, uint64_t stage, uint64_t bytes, uint32_t owner)
{
    for (size_t i = 0; i < device->stage_count; i++) {
        struct contents_piece *piece = &device->stages[i].piece;
        if (device->stages[i].id == stage) {
            piece->spans = array_resized(piece->spans, sizeof *piece->spans);
            piece->spans[0] = (struct span){.end = bytes, .owner = owner};
            piece->count = 1;
        }
    }
}

static void piece_scrub(struct contents_piece *piece, uint32_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < piece->count; i++) {
        if (piece->spans[i].owner != owner) {
            piece->spans[kept++] = piece->spans[i];
        }
    }
    piece->count = kept;
}

void device_scrub(struct device *device, uint32_t owner)
{
    contents_scrub(&device->contents, owner);
    for (size_t i = 0; i < device->stage_count; i++) {
        piece_scrub(&device->stages[i].piece, owner);
    }
}

void device_settle(struct device *device)
{
    contents_settle(&device->contents);
    device->begun.done_bytes = 0; /* what had arrived is forgotten, too: the same call brings all of it */
}

uint64_t device_footprint_bytes(const struct device *device)
{
    return sizeof *device + contents_footprint_bytes(&device->contents) +
           device->call_capacity * sizeof(struct device_call);
}

/* --- services: moves ------------------------------------------------------------------------ */

static struct stage *stage_find(struct device *device, uint64_t id)
{
    for (size_t i = 0; i < device->stage_count; i++) {
        if (device->stages[i].id == id) {
            return &device->stages[i];
        }
    }
    return NULL;
}

static struct stage *stage_add(struct device *device)
{
    struct stage *stage = stage_find(device, 0);
    if (stage == NULL) {
        device->stages = array_resized(device->stages, (device->stage_count + 1) * sizeof *device->stages);
        stage = &device->stages[device->stage_count++];
    }
    *stage = (struct stage){.id = ++device->stage_id_last};
    return stage;
}

static void stage_end(struct stage *stage)
{
    free(stage->piece.spans);
    *stage = (struct stage){0};
}

/* The same call as the one that stopped half-way: it goes on, and no fault refuses it. */
static bool is_begun(const struct device *device, const struct device_call *call)
{
    const struct device_call *begun = &device->begun.call;
    return device->begun.is_open && begun->kind == call->kind && begun->from == call->from && begun->to == call->to &&
           begun->bytes == call->bytes;
}

static bool move_is_refused(struct device *device, const struct device_call *call)
{
    if (device->hung || (!is_begun(device, call) &&
                         (is_over_bound(device) || faults_refuse(&device->faults, FAULT_COPY)))) {
        return true;
    }
    return !is_in_range(device, call->to, call->bytes) ||
           (call->kind == DEVICE_CALL_COPY && !is_in_range(device, call->from, call->bytes));
}

/* How many of the bytes that are left arrive by this call. */
static uint64_t next_part_bytes(struct device *device, uint64_t rest_bytes, bool goes_on)
{
    const bool halves =
        goes_on ? rest_bytes > HALVED_BYTES_MIN && faults_goes_on(&device->faults, FAULT_COPY_HALF)
                : faults_strike(&device->faults, FAULT_COPY_HALF) != NULL;
    return halves ? rest_bytes / 2 + rest_bytes % 2 : rest_bytes;
}

/* A range that is copied up into itself goes from its end, as with memmove: what is left of the source stays whole. */
static bool goes_from_end(const struct device_call *call)
{
    return call->kind == DEVICE_CALL_COPY && call->to > call->from && call->to - call->from < call->bytes;
}

static void move_part(struct device *device, const struct device_call *call, const struct stage *stage, uint64_t bytes)
{
    const uint64_t done = device->begun.done_bytes;
    const uint64_t offset = goes_from_end(call) ? call->bytes - done - bytes : done;
    if (stage != NULL) {
        contents_put(&device->contents, &stage->piece, offset, call->to + offset, bytes);
    } else {
        contents_copy(&device->contents, call->from + offset, call->to + offset, bytes);
    }
}

/* Until the rest arrives its place holds nothing of use, but for what is still to be read there. */
static void spoil_rest(struct device *device, const struct device_call *call)
{
    const uint64_t done = device->begun.done_bytes;
    const uint64_t rest = call->bytes - done;
    uint64_t start = call->to + (goes_from_end(call) ? 0 : done);
    uint64_t end = start + rest;
    if (goes_from_end(call)) {
        start = call->from + rest > start ? call->from + rest : start;
    } else if (call->kind == DEVICE_CALL_COPY && call->from >= call->to && call->from + done < end) {
        end = call->from + done;
    }
    contents_erase(&device->contents, start, end);
}

/* A granted copy or stage_in (stage; else NULL). */
static enum device_result move_bytes(struct device *device, const struct device_call *call, const struct stage *stage)
{
    struct begun *begun = &device->begun;
    const bool goes_on = is_begun(device, call);
    if (!goes_on) {
        *begun = (struct begun){.call = *call};
    }
    const uint64_t bytes = next_part_bytes(device, call->bytes - begun->done_bytes, goes_on);
    move_part(device, call, stage, bytes);
    begun->done_bytes += bytes;
    begun->is_open = begun->done_bytes < call->bytes;
    if (!begun->is_open) {
        return DEVICE_OK;
    }
    spoil_rest(device, call);
    return DEVICE_PARTIAL;
}

/* After a copy or stage that was done: it may have taken its time. */
static void take_time(struct device *device)
{
    const struct device_fault *late = faults_strike(&device->faults, FAULT_COPY_LATE);
    if (late != NULL) {
        timeline_advance(device->timeline, late->delay_ns);
    }
}

static enum device_result service_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_COPY);
    call.from = from;
    call.to = to;
    call.bytes = bytes;
    if (move_is_refused(device, &call)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const enum device_result result = move_bytes(device, &call, NULL);
    take_time(device);
    return end_call(device, &call, result);
}

static enum device_result service_stage_out(void *context, uint64_t from, uint64_t bytes, uint64_t *stage_id)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_STAGE_OUT);
    call.from = from;
    call.bytes = bytes;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_COPY) || !is_in_range(device, from, bytes)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    struct stage *stage = stage_add(device);
    stage->bytes = bytes;
    stage->piece = contents_take(&device->contents, from, bytes);
    *stage_id = call.to = stage->id;
    take_time(device);
    return end_call(device, &call, DEVICE_OK);
}

static enum device_result service_stage_in(void *context, uint64_t stage_id, uint64_t to)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_STAGE_IN);
    struct stage *stage = stage_id == 0 ? NULL : stage_find(device, stage_id);
    call.from = stage_id;
    call.to = to;
    call.bytes = stage == NULL ? 0 : stage->bytes;
    call.owner = stage == NULL || stage->piece.count == 0 ? UINT32_MAX : (uint32_t)stage->piece.spans[0].owner;
    if (stage == NULL) {
        (void)is_over_bound(device);
        return end_call(device, &call, DEVICE_REFUSED);
    }
    if (move_is_refused(device, &call)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const enum device_result result = move_bytes(device, &call, stage);
    if (result == DEVICE_OK) {
        stage_end(stage);
    }
    take_time(device);
    return end_call(device, &call, result);
}

static void service_stage_drop(void *context, uint64_t stage_id)
{
    struct device *device = context;
    struct stage *stage = stage_id == 0 ? NULL : stage_find(device, stage_id);
    if (stage == NULL) {
        return;
    }
    if (device->begun.call.kind == DEVICE_CALL_STAGE_IN && device->begun.call.from == stage_id) {
        device->begun.is_open = false;
    }
    stage_end(stage);
}

/* --- services: events ----------------------------------------------------------------------- */

/* A target that polls and polls would never come back: from then on it is told what it may be waiting for, and
 * device_hung says so. */
static bool is_runaway(struct device *device)
{
    if (device->waiter != NULL) {
        device->waiter->looked(device->waiter->context);
    }
    if (++device->poll_count > POLL_COUNT_MAX) {
        device->hung = device->is_runaway = true;
    }
    return device->is_runaway;
}

static uint64_t service_completed_count(void *context)
{
    struct device *device = context;
    const uint64_t more = is_runaway(device) ? device->poll_count : 0;
    return timeline_completed_count(device->timeline) + device->doubled_count + more;
}

static bool service_event_done(void *context, uint64_t event)
{
    struct device *device = context;
    return is_runaway(device) || timeline_state(device->timeline, event) == EVENT_DONE;
}

static uint64_t service_clock_ns(void *context)
{
    struct device *device = context;
    return is_runaway(device) ? UINT64_MAX : timeline_now_ns(device->timeline);
}

static enum device_result wait_for(struct device *device, uint64_t event)
{
    if (timeline_state(device->timeline, event) == EVENT_UNKNOWN ||
        faults_disturb_wait(&device->faults, device->timeline, event)) {
        return DEVICE_REFUSED;
    }
    if (timeline_state(device->timeline, event) == EVENT_DONE) {
        return DEVICE_OK;
    }
    const uint64_t due_ns = timeline_due_ns(device->timeline, event);
    if (due_ns == DELAY_NEVER) {
        return DEVICE_LOST;
    }
    if (device->waiter != NULL) {
        device->waiter->wait(device->waiter->context, event);
        return timeline_state(device->timeline, event) == EVENT_DONE ? DEVICE_OK : DEVICE_LOST;
    }
    const uint64_t now_ns = timeline_now_ns(device->timeline);
    timeline_advance(device->timeline, due_ns > now_ns ? due_ns - now_ns : 0);
    return DEVICE_OK;
}

static enum device_result service_event_wait(void *context, uint64_t event)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_WAIT);
    call.from = event;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_WAIT)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const bool is_doubled = faults_strike(&device->faults, FAULT_EVENT_DOUBLED) != NULL;
    const enum device_result result = wait_for(device, event);
    device->doubled_count += is_doubled && result == DEVICE_OK;
    return end_call(device, &call, result);
}

/* --- services: programs, host memory -------------------------------------------------------- */

/* Takes the program from those that are half unloaded; false: it is none. */
static bool take_half_unloaded(struct device *device, uint64_t program)
{
    for (size_t i = 0; i < device->half_unloaded_count; i++) {
        if (device->half_unloaded[i] == program) {
            device->half_unloaded[i] = device->half_unloaded[--device->half_unloaded_count];
            return true;
        }
    }
    return false;
}

static void unload_half(struct device *device, uint64_t program)
{
    uint32_t owner = 0;
    if (device->images.owner_of != NULL && device->images.owner_of(device->images.context, program, &owner)) {
        contents_lose_half(&device->contents, owner);
    }
    device->half_unloaded = array_grown(device->half_unloaded, device->half_unloaded_count,
                                        &device->half_unloaded_capacity, sizeof program);
    device->half_unloaded[device->half_unloaded_count++] = program;
}

static enum device_result service_unload(void *context, uint64_t program)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_UNLOAD);
    call.from = program;
    if (is_over_bound(device)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    if (take_half_unloaded(device, program)) {
        return end_call(device, &call, DEVICE_OK);
    }
    if (faults_refuse(&device->faults, FAULT_UNLOAD) ||
        faults_are_busy(&device->faults, timeline_now_ns(device->timeline))) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    if (faults_strike(&device->faults, FAULT_UNLOAD_HALF) != NULL) {
        unload_half(device, program);
        return end_call(device, &call, DEVICE_PARTIAL);
    }
    return end_call(device, &call, DEVICE_OK);
}

static void *service_host_alloc(void *context, size_t bytes)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_HOST_ALLOC);
    call.bytes = bytes;
    if (faults_refuse(&device->faults, FAULT_HOST_MEMORY)) {
        (void)end_call(device, &call, DEVICE_REFUSED);
        return NULL;
    }
    return host_memory_alloc(&device->host_memory, bytes);
}

static void service_host_free(void *context, void *memory, size_t bytes)
{
    struct device *device = context;
    if (memory == NULL) {
        return;
    }
    if (device->waiter != NULL) {
        device->waiter->gave_back(device->waiter->context, memory, bytes);
    }
    host_memory_free(&device->host_memory, memory, bytes);
}

/* --- life ----------------------------------------------------------------------------------- */

struct device *device_create(uint64_t capacity_bytes, struct timeline *timeline)
{
    CHECK(capacity_bytes >= 1);
    struct device *device = calloc(1, sizeof *device);
    CHECK(device != NULL);
    device->capacity_bytes = capacity_bytes;
    device->timeline = timeline;
    device->call_count_max = UINT64_MAX;
    contents_init(&device->contents);
    host_memory_init(&device->host_memory);
    device->services = (struct device_services){
        .size_bytes = sizeof(struct device_services),
        .context = device,
        .copy = service_copy,
        .stage_out = service_stage_out,
        .stage_in = service_stage_in,
        .stage_drop = service_stage_drop,
        .completed_count = service_completed_count,
        .event_done = service_event_done,
        .event_wait = service_event_wait,
        .unload = service_unload,
        .clock_ns = service_clock_ns,
        .host_alloc = service_host_alloc,
        .host_free = service_host_free,
    };
    return device;
}

void device_destroy(struct device *device)
{
    if (device == NULL) {
        return;
    }
    for (size_t i = 0; i < device->stage_count; i++) {
        stage_end(&device->stages[i]);
    }
    contents_deinit(&device->contents);
    host_memory_deinit(&device->host_memory);
    free(device->stages);
    free(device->half_unloaded);
    free(device->calls);
    free(device);
}

const struct device_services *device_services(struct device *device)
{
    return &device->services;
}

void device_begin_op(struct device *device, uint64_t call_count_max)
{
    device->is_in_op = true;
    device->call_count_max = call_count_max;
    device->call_count = 0;
    device->total_count = 0;
    device->poll_count = 0;
    device->faults.fired = device->faults.struck = 0;
    device->hung = device->is_runaway = false;
    device->left_range = false;
}

void device_join_op(struct device *device, uint64_t call_count_max)
{
    if (__builtin_add_overflow(device->call_count_max, call_count_max, &device->call_count_max)) {
        device->call_count_max = UINT64_MAX;
    }
}

void device_end_op(struct device *device)
{
    device->is_in_op = false;
}

const struct device_call *device_calls(const struct device *device, size_t *count)
{
    *count = device->call_count;
    return device->calls;
}

bool device_hung(const struct device *device)
{
    return device->hung;
}

uint64_t device_host_bytes(const struct device *device)
{
    return device->host_memory.held_bytes;
}

struct host_memory *device_host_memory(struct device *device)
{
    return &device->host_memory;
}

bool device_left_range(const struct device *device)
{
    return device->left_range;
}

/* --- faults --------------------------------------------------------------------------------- */

void device_arm(struct device *device, const struct device_fault *fault)
{
    faults_arm(&device->faults, fault);
}

void device_disarm_all(struct device *device)
{
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        faults_arm(&device->faults, &(struct device_fault){.kind = (enum fault_kind)kind});
    }
}

void device_set_resumes(struct device *device, bool resumes)
{
    device->faults.resumes = resumes;
}

void device_set_images(struct device *device, const struct device_images *images)
{
    device->images = *images;
}

void device_set_waiter(struct device *device, const struct device_waiter *waiter)
{
    device->waiter = waiter;
}

void device_set_witness(struct device *device, device_witness *witness, void *context)
{
    device->witness = witness;
    device->witness_context = context;
}

uint32_t device_faults_fired(const struct device *device)
{
    return device->faults.fired;
}

uint32_t device_faults_struck(const struct device *device)
{
    return device->faults.struck;
}
