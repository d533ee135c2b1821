#include "harness/call/driver.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/call/clients.h"
#include "harness/call/progress.h"
#include "harness/call/stamps.h"
#include "harness/device/collectives.h"
#include "harness/device/device_guard.h"
#include "harness/device/host_memory.h"
#include "harness/device/span_map.h"
#include "harness/device/timeline.h"
#include "harness/model/model.h"
#include "harness/op/fit.h"
#include "harness/op/limits.h"

#include <stdio.h>
#include <string.h>

/* --- before the call: whether it is made, and what it names --- */

/* To a target that queues no frees this one is told once nothing keeps the block. */
static void prepare_free(const struct host *host, const struct block *block, struct call *call)
{
    const bool is_done = block->use_count == 0 && block->hold_count == 0 && call->event == 0;
    call->is_deferred = !host->contract.queues_frees && !is_done;
}

static void prepare_donate(const struct host *host, const struct block *block, struct call *call)
{
    call->skipped = host->target->donate == NULL || block->hold_count > 0 ||
                    call->op.size_bytes == 0 ||
                    call->op.size_bytes > block->size_bytes - host->contract.header_bytes;
}

static void prepare_hold(const struct host *host, const struct block *block, struct call *call)
{
    call->skipped = host->target->hold == NULL || host->target->release == NULL ||
                    (call->op.kind == OP_RELEASE && block->hold_count == 0);
}

/* The block or program that the op names; NULL when nobody knows it.  Where lanes overlap the model
 * is behind, and the call gets no slot. */
static const struct block *find_named(const struct host *host, struct call *call)
{
    if (host->clients != NULL) {
        return clients_block(host->clients, host->index, call->op.ref);
    }
    call->slot = model_slot_of_op(host->model, call->op.ref);
    return call->slot == SLOT_NONE ? NULL : model_block(host->model, call->slot);
}

static void prepare_on_block(const struct host *host, struct call *call, uint64_t *handle)
{
    const struct block *block = find_named(host, call);
    /* release() is the one call that may name a block that was already freed. */
    if (block == NULL || block->kind == BLOCK_PROGRAM ||
        (!block->is_known && call->op.kind != OP_RELEASE)) {
        call->slot = SLOT_NONE;
        call->skipped = true;
        return;
    }
    *handle = block->handle;
    if (call->op.kind != OP_RELEASE && host->clients == NULL) {
        call->is_spoiled = !stamps_are_there(host, call->slot);
    }
    switch (call->op.kind) {
    case OP_FREE:
    case OP_FREE_AFTER:
        prepare_free(host, block, call);
        return;
    case OP_USE:
        call->skipped = host->target->use == NULL;
        return;
    case OP_DONATE:
        prepare_donate(host, block, call);
        return;
    case OP_HOLD:
    case OP_RELEASE:
        prepare_hold(host, block, call);
        return;
    default: /* OP_TOUCH: only the device is read */
        return;
    }
}

static void prepare_on_program(const struct host *host, struct call *call, uint64_t *handle)
{
    if (!host->contract.programs) {
        call->skipped = true;
        return;
    }
    if (call->op.kind == OP_LOAD) {
        return;
    }
    const struct block *program = find_named(host, call);
    if (program == NULL || !program->is_known || program->kind != BLOCK_PROGRAM) {
        call->slot = SLOT_NONE;
        call->skipped = true;
        return;
    }
    *handle = program->handle;
    if (call->op.kind == OP_UNLOAD) {
        return;
    }
    /* The execution is enqueued when the call returns: until then its event has no due time. */
    call->event = (uint64_t)call->number + 1;
    call->makes_event = true;
    call->event_delay_ns = call->op.delay_ns;
    timeline_add(host->timeline, call->event, DELAY_NEVER);
}

/* The event of a free_after or use: a named one, or a new one. */
static void name_event(const struct host *host, struct call *call)
{
    const struct op *op = &call->op;
    if (op->event != OP_NONE) {
        call->event = (uint64_t)op->event + 1;
        call->skipped = timeline_state(host->timeline, call->event) == EVENT_UNKNOWN;
        return;
    }
    call->event = (uint64_t)call->number + 1;
    call->event_delay_ns = op->delay_ns;
    call->makes_event = true;
    if (host->contract.stream_ordered) {
        timeline_enqueue(host->timeline, call->event, op_stream(op), op->delay_ns);
    } else {
        timeline_add(host->timeline, call->event, op->delay_ns);
    }
}

static void call_on_time(struct host *host, struct call *call)
{
    const struct op *op = &call->op;
    if (op->kind == OP_ADVANCE) {
        call->skipped = op->delay_ns == DELAY_NEVER;
        timeline_advance(host->timeline, op->delay_ns);
    } else if (op->kind == OP_FAULT) {
        call->skipped = op->tag >= FAULT_KIND_COUNT;
        if (!call->skipped) {
            device_arm(host->device,
                       &(struct device_fault){.kind = (enum fault_kind)op->tag,
                                              .call = op->size_bytes,
                                              .delay_ns = op->delay_ns,
                                              .is_for_ever = (op->flags & OP_FOR_EVER) != 0});
        }
    } else {
        const uint64_t event = (uint64_t)op->event + 1;
        call->skipped = op->event == OP_NONE ||
                        timeline_state(host->timeline, event) != EVENT_PENDING;
        timeline_complete(host->timeline, call->skipped ? 0 : event);
    }
}

/* True if blocks may move.  They may without a promise if nobody learns where blocks lie. */
static bool may_defragment(const struct host *host)
{
    return host->target->defragment != NULL &&
           (host->contract.defrag != DEFRAG_NONE || host->contract.placement != PLACEMENT_RANGES);
}

/* The range must be free at this moment: the stack, too, is somebody's, and so is the room that is
 * kept for an absent block. */
static bool may_retire(const struct host *host, const struct op *op)
{
    const uint64_t granule = host->contract.granule_bytes;
    const uint64_t capacity = model_capacity_bytes(host->model);
    struct span span;
    return host->target->retire != NULL && host->clients == NULL &&
           host->contract.placement == PLACEMENT_RANGES && host->contract.header_bytes == 0 &&
           model_absent_count(host->model) == 0 && op->size_bytes > 0 &&
           op->size_bytes % granule == 0 && op->address % granule == 0 &&
           op->size_bytes <= capacity && op->address <= capacity - op->size_bytes &&
           op->address >= model_reserved_bytes(host->model) &&
           !span_map_intersects(model_map(host->model), op->address, op->address + op->size_bytes,
                                &span);
}

/* True if the op needs neither the memory nor a call that may change the heap. */
static bool is_taken_asleep(enum op_kind kind)
{
    return kind == OP_WAKE || kind == OP_REPORT || kind == OP_COMPLETE || kind == OP_ADVANCE ||
           kind == OP_FAULT;
}

static bool may_sleep(const struct host *host)
{
    return host->contract.sleeps != SLEEP_NONE && host->clients == NULL &&
           !model_is_asleep(host->model) && model_is_idle(host->model);
}

static void prepare_recording(const struct host *host, struct call *call)
{
    const struct model *model = host->model;
    const bool is_open = model_open_recording(model) != OP_NONE;
    if (call->op.kind == OP_RECORD_DROP) {
        call->skipped = !model_has_recording(model, call->op.ref);
    } else {
        call->skipped = !host->contract.records || host->clients != NULL ||
                        is_open != (call->op.kind == OP_RECORD_END);
    }
}

static void prepare_call(struct host *host, struct call *call, uint64_t *handle)
{
    if (model_is_asleep(host->model) && !is_taken_asleep((enum op_kind)call->op.kind)) {
        call->skipped = true;
        return;
    }
    if (limits_are_exceeded(&host->target->limits, &call->op)) {
        call->skipped = true;
        return;
    }
    switch ((enum op_kind)call->op.kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_REPORT:
        return;
    case OP_LOAD:
    case OP_UNLOAD:
    case OP_EXECUTE:
        prepare_on_program(host, call, handle);
        return;
    case OP_DEFRAGMENT:
        call->skipped = !may_defragment(host);
        return;
    case OP_COMPLETE:
    case OP_ADVANCE:
    case OP_FAULT:
        call_on_time(host, call);
        return;
    case OP_RETIRE:
        call->skipped = !may_retire(host, &call->op);
        return;
    case OP_SWITCH:
        call->skipped = true;
        return;
    case OP_SLEEP:
        call->skipped = !may_sleep(host);
        return;
    case OP_WAKE:
        call->skipped = !model_is_asleep(host->model) || host->clients != NULL;
        return;
    case OP_RECORD:
    case OP_RECORD_END:
    case OP_RECORD_DROP:
        prepare_recording(host, call);
        return;
    default:
        prepare_on_block(host, call, handle);
    }
}

/* --- calls --- */

static struct target_request make_request(const struct host *host, const struct setup *setup,
                                          const struct call *call, enum block_kind kind)
{
    const struct op *op = &call->op;
    return (struct target_request){
        .id = device_id(host->device, call->number),
        .size_bytes = op->size_bytes,
        .align_bytes = op->align_log2 == 0 ? 0 : (uint64_t)1 << op->align_log2,
        .unpadded_bytes = op->unpadded_bytes,
        .kind = kind,
        .tag = op->tag,
        .tag_name = setup->tags[op->tag],
        .stream = host->contract.stream_ordered ? op_stream(op) : 0,
    };
}

static enum target_result call_alloc(struct host *host, const struct setup *setup,
                                     struct call *call)
{
    const struct target_request request = make_request(
        host, setup, call, call->op.kind == OP_ALLOC ? BLOCK_BUFFER : BLOCK_OUTPUT);
    return host->target->alloc(host->instance, &request, &call->block);
}

static enum target_result call_donate(struct host *host, const struct setup *setup, uint64_t handle,
                                      struct call *call)
{
    const struct target_request request = make_request(host, setup, call, BLOCK_OUTPUT);
    return host->target->donate(host->instance, handle, &request, &call->block);
}

static enum target_result call_load(struct host *host, const struct setup *setup, struct call *call)
{
    const struct target_program program = {
        .id = device_id(host->device, call->number),
        .image_bytes = call->op.size_bytes,
        .stack_bytes = call->op.stack_bytes,
        .name = setup->tags[call->op.tag],
    };
    return host->target->load(host->instance, &program, &call->block);
}

static enum target_result call_retire(struct host *host, struct call *call)
{
    call->block = (struct target_block){.address = call->op.address,
                                        .size_bytes = call->op.size_bytes};
    return host->target->retire(host->instance, call->op.address, call->op.size_bytes);
}

static enum target_result call_recording(struct host *host, const struct call *call)
{
    const struct target *target = host->target;
    const uint32_t number = call->op.kind == OP_RECORD       ? call->number
                            : call->op.kind == OP_RECORD_END ? model_open_recording(host->model)
                                                             : call->op.ref;
    const uint64_t id = device_id(host->device, number);
    return call->op.kind == OP_RECORD       ? target->record_begin(host->instance, id)
           : call->op.kind == OP_RECORD_END ? target->record_end(host->instance, id)
                                            : target->record_drop(host->instance, id);
}

static enum target_result dispatch_call(struct host *host, const struct setup *setup,
                                        uint64_t handle, struct call *call)
{
    const struct target *target = host->target;
    switch ((enum op_kind)call->op.kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        return call_alloc(host, setup, call);
    case OP_FREE:
    case OP_FREE_AFTER:
        return call->is_deferred ? TARGET_OK : target->free(host->instance, handle, call->event);
    case OP_USE:
        return target->use(host->instance, handle, call->event);
    case OP_HOLD:
        return target->hold(host->instance, handle);
    case OP_RELEASE:
        return target->release(host->instance, handle);
    case OP_DONATE:
        return call_donate(host, setup, handle, call);
    case OP_LOAD:
        return call_load(host, setup, call);
    case OP_UNLOAD:
        return target->unload(host->instance, handle);
    case OP_EXECUTE:
        return target->execute(host->instance, handle, call->event, &call->block);
    case OP_DEFRAGMENT:
        return target->defragment(host->instance);
    case OP_RETIRE:
        return call_retire(host, call);
    case OP_SLEEP:
        return target->sleep(host->instance);
    case OP_WAKE:
        return target->wake(host->instance);
    case OP_RECORD:
    case OP_RECORD_END:
    case OP_RECORD_DROP:
        return call_recording(host, call);
    default: /* of time, of the device, or of what the target says anyway */
        return TARGET_OK;
    }
}

void driver_call_target(struct host *host, const struct setup *setup, uint64_t handle,
                        struct call *call)
{
    if (!call->skipped) {
        call->result = dispatch_call(host, setup, handle, call);
    }
}

/* --- where the block is --- */

/* Blocks without an address get one of their own for the harness, above every device, so that no
 * two of them and no stack meet. */
#define PLACE_LOWEST (UINT64_C(1) << 51)
#define PLACE_HIGHEST (UINT64_C(1) << 62)
#define PLACE_ALIGN_BYTES (UINT64_C(1) << 30)

static uint64_t choose_address(struct host *host, uint64_t size_bytes)
{
    struct span span;
    uint64_t at = host->next_address;
    at = at < PLACE_LOWEST || at > PLACE_HIGHEST ? PLACE_LOWEST : at;
    while (span_map_intersects(model_map(host->model), at, at + size_bytes, &span)) {
        at = align_up(span.end, PLACE_ALIGN_BYTES);
    }
    host->next_address = align_up(at + size_bytes, PLACE_ALIGN_BYTES);
    return at;
}

static bool sets_block(const struct call *call)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)call->op.kind);
    return !call->skipped && call->result == TARGET_OK &&
           (info->makes_block || info->makes_program || call->op.kind == OP_EXECUTE) &&
           call->block.size_bytes > 0 && call->block.size_bytes <= PLACE_LOWEST;
}

/* Turns what the target said into where the block's range begins. */
static void find_range(struct host *host, struct call *call)
{
    const uint64_t header_bytes = host->contract.header_bytes;
    if (!sets_block(call)) {
        return;
    }
    if (host->contract.placement == PLACEMENT_RANGES) {
        call->block.address = call->block.address < header_bytes
                                  ? UINT64_MAX
                                  : call->block.address - header_bytes;
        return;
    }
    const bool is_there = call->op.kind == OP_DONATE || call->op.kind == OP_EXECUTE;
    const struct block *block = is_there ? model_block(host->model, call->slot) : NULL;
    call->block.address = block != NULL && block->state != BLOCK_GONE
                              ? block->address
                              : choose_address(host, call->block.size_bytes);
}

/* --- around it --- */

/* True if the op that is to be asked again was answered out of memory.  A request to several hosts
 * alike is not repeated on one of them alone. */
static bool was_refused(const struct host *host, const struct op *op, uint32_t number)
{
    return host->clients != NULL ? clients_were_refused(host->clients, op)
                                 : host->refused_op != OP_NONE && host->refused_op + 1 == number;
}

static void note_refusal(struct host *host, const struct call *call)
{
    const bool is_refused = !call->skipped && call->result == TARGET_NO_MEMORY &&
                            (call->op.flags & (OP_SPMD | OP_COLLECTIVE)) == 0;
    host->refused_op = is_refused ? call->number : OP_NONE;
}

uint64_t driver_begin_call(struct host *host, const struct op *op, uint32_t number,
                           struct call *call)
{
    uint64_t handle = 0;
    const bool is_retry = (op->flags & OP_RETRY) != 0;
    *call = (struct call){.op = *op,
                          .number = number,
                          .slot = SLOT_NONE,
                          .skipped = is_retry && !was_refused(host, op, number),
                          .is_pinned = is_retry && host->clients == NULL,
                          .result = TARGET_OK};
    host_begin_call(host);
    device_pin(host->device, call->is_pinned);
    if (op->kind == OP_FREE_AFTER || op->kind == OP_USE) {
        name_event(host, call);
    }
    if (!call->skipped) {
        prepare_call(host, call, &handle);
    }
    return handle;
}

/* Enqueues the execution whose call has returned. */
static void start_execution(const struct host *host, const struct call *call)
{
    if (call->result != TARGET_OK) {
        timeline_complete(host->timeline, call->event);
    } else if ((call->op.flags & OP_COLLECTIVE) != 0) {
        collectives_join(host->collectives, call->event, call->op.group, host->index,
                         call->event_delay_ns);
    } else {
        timeline_start(host->timeline, call->event, call->event_delay_ns);
    }
}

void driver_end_call(struct host *host, struct call *call)
{
    if (call->op.kind == OP_EXECUTE && !call->skipped) {
        start_execution(host, call);
    }
    host_end_call(host);
    if (host->clients == NULL) {
        device_pin(host->device, false);
        note_refusal(host, call);
    }
    if (call->result != TARGET_OK) {
        call->block = (struct target_block){0}; /* whatever a call that failed left there */
    }
    find_range(host, call);
    if (call->skipped && call->makes_event) {
        timeline_cancel(host->timeline, call->event); /* nothing waits for it */
    }
}

/* --- the short road --- */

/* Plain allocs and frees are nearly all of the calls, and nothing but the limits of the target and
 * the block that is freed decides whether they are made. */
static bool is_plain_op(const struct host *host, const struct op *op)
{
    return host->is_plain && op->flags == 0 && (op->kind == OP_ALLOC || op->kind == OP_FREE) &&
           host->clients == NULL && model_is_plain(host->model);
}

static void free_plain(struct host *host, struct call *call)
{
    call->slot = model_slot_of_op(host->model, call->op.ref);
    const struct block *block = call->slot == SLOT_NONE ? NULL
                                                        : model_block(host->model, call->slot);
    if (block == NULL || block->kind == BLOCK_PROGRAM || !block->is_known) {
        call->slot = SLOT_NONE;
        call->skipped = true;
        return;
    }
    prepare_free(host, block, call);
    if (!call->is_deferred) {
        call->result = host->target->free(host->instance, block->handle, 0);
    }
}

static void begin_plain(struct call *call, const struct op *op, uint32_t number)
{
    const struct op copy = *op;
    zero_often(call, sizeof *call);
    call->op = copy;
    call->number = number;
    call->slot = SLOT_NONE;
    call->result = TARGET_OK;
}

/* Calls such an op as the long road does.  A free has no limits to keep, and the op meets no other
 * call. */
static void call_plain(struct host *host, const struct setup *setup, const struct op *op,
                       uint32_t number, struct call *call)
{
    begin_plain(call, op, number);
    device_begin_op(host->device, host_device_calls_max(host));
    if (op->kind == OP_FREE) {
        free_plain(host, call);
    } else if (limits_are_exceeded(&host->target->limits, op)) {
        call->skipped = true;
    } else {
        call->result = call_alloc(host, setup, call);
    }
    const bool was_quiet = device_end_op(host->device);
    note_refusal(host, call);
    if (call->result != TARGET_OK) {
        call->block = (struct target_block){0};
    }
    call->is_plain = was_quiet && call->result == TARGET_OK && !call->skipped && !call->is_deferred;
}

static SELDOM void call_whole(struct host *host, const struct setup *setup, const struct op *op,
                              uint32_t number, struct call *call)
{
    const uint64_t handle = driver_begin_call(host, op, number, call);
    driver_call_target(host, setup, handle, call);
    driver_end_call(host, call);
}

void driver_call(struct host *host, const struct setup *setup, const struct op *op, uint32_t number,
                 struct call *call)
{
    if (is_plain_op(host, op)) {
        call_plain(host, setup, op, number, call);
    } else {
        call_whole(host, setup, op, number, call);
    }
}
