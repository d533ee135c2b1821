#include "harness/call/driver.h"

#include "harness/device/host_memory.h"
#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/call/clients.h"
#include "harness/call/progress.h"
#include "harness/device/device_guard.h"
#include "harness/device/timeline.h"
#include "harness/model/fit_bytes.h"

#include <stdio.h>
#include <string.h>

/* What one op may do to the device.  An honest mitigation moves each block, awaits each event and
 * evicts each program about once, and may start over after each eviction; 64 times all of that is
 * far beyond it. */
#define GRANULE_BYTES_MAX ((uint64_t)1 << 30)
enum { DEVICE_CALLS_FACTOR = 64, DEVICE_CALLS_MIN = 4096 };

static uint64_t device_calls_max(const struct host *host)
{
    const uint64_t blocks = host->model == NULL ? 0 : model_counters(host->model)->block_count;
    const uint64_t events = host->model == NULL ? 0 : model_event_count(host->model);
    return DEVICE_CALLS_MIN + DEVICE_CALLS_FACTOR * (blocks + events);
}

/* --- hosts --- */

static bool contract_is_sound(const struct target *target, const struct target_contract *contract,
                              char *reason, size_t reason_bytes)
{
    const char *what = NULL;
    if (contract->granule_bytes == 0 ||
        (contract->granule_bytes & (contract->granule_bytes - 1)) != 0 ||
        contract->granule_bytes > GRANULE_BYTES_MAX) {
        what = "its granule is not a power of two up to 1 GiB";
    } else if (contract->defrag != DEFRAG_NONE && target->locate == NULL) {
        what = "it moves blocks but has no locate()";
    } else if (contract->defrag != DEFRAG_NONE &&
               (!contract->queues_frees || target->use == NULL)) {
        what = "it moves blocks but takes neither queued frees nor uses";
    } else if (contract->drains && !contract->queues_frees) {
        what = "it awaits queued frees but takes none";
    } else if (contract->programs &&
               (target->load == NULL || target->execute == NULL || target->unload == NULL)) {
        what = "it promises programs but lacks load(), execute() or unload()";
    }
    if (what != NULL) {
        snprintf(reason, reason_bytes, "target '%s': %s", target->name, what);
    }
    return what == NULL;
}

enum target_result host_open_target(struct host *host, const struct setup *setup, char *reason,
                                    size_t reason_bytes)
{
    struct target_option options[SETUP_OPTION_COUNT_MAX];
    for (uint32_t i = 0; i < setup->option_count; i++) {
        options[i] = (struct target_option){setup->options[i].key, setup->options[i].value};
    }
    const uint32_t *at = setup->coordinate;
    const struct target_setup target_setup = {
        .capacity_bytes = setup->capacity_bytes,
        .granule_bytes = setup->granule_bytes,
        .coordinate = {at[0] + host->index, at[1], at[2], at[3]},
        .options = options,
        .option_count = setup->option_count,
    };
    const struct device_services *services = host->guarded == NULL
                                                 ? device_services(host->device)
                                                 : guarded_device_services(host->guarded);
    return host->target->open(&target_setup, services, &host->instance, &host->contract, reason,
                              reason_bytes);
}

/* Contents are stamped with the slot. */
static bool image_owner(const void *context, uint64_t program, uint32_t *owner)
{
    const struct model *model = context;
    const uint64_t op = program - 1;
    *owner = op < OP_NONE ? model_slot_of_op(model, (uint32_t)op) : SLOT_NONE;
    return *owner != SLOT_NONE && model_block(model, *owner)->kind == BLOCK_PROGRAM &&
           model_block(model, *owner)->state == BLOCK_LIVE;
}

bool host_open(struct host *host, uint8_t index, const struct target *target,
               const struct setup *setup, struct timeline *timeline, char *reason,
               size_t reason_bytes)
{
    *host = (struct host){.target = target, .guard = host->guard, .index = index};
    host->device = device_create(setup->capacity_bytes, timeline);
    host->guarded = host->guard == NULL
                        ? NULL
                        : guarded_device_create(host->guard, device_services(host->device));
    snprintf(reason, reason_bytes, "target '%s' refused the setup", target->name);
    progress_begin(PROGRESS_OPEN, OP_KIND_COUNT, 0);
    const enum target_result opened = host_open_target(host, setup, reason, reason_bytes);
    progress_end();
    if (opened != TARGET_OK) {
        host->instance = NULL;
        host_deinit(host);
        return false;
    }
    host_memory_opened(device_host_memory(host->device));
    const uint64_t granule = host->contract.granule_bytes;
    bool is_good = contract_is_sound(target, &host->contract, reason, reason_bytes);
    if (is_good && setup->capacity_bytes % granule != 0) {
        snprintf(reason, reason_bytes, "the capacity is not a multiple of the granule (%llu)",
                 (unsigned long long)granule);
        is_good = false;
    }
    if (!is_good) {
        host_deinit(host);
        return false;
    }
    host->model = model_create(setup->capacity_bytes, &host->contract, timeline);
    device_set_resumes(host->device, host->contract.resumes);
    device_set_images(host->device, &(struct device_images){image_owner, host->model});
    return true;
}

void host_close(struct host *host)
{
    if (host->instance != NULL) {
        device_begin_op(host->device, device_calls_max(host));
        progress_begin(PROGRESS_CLOSE, OP_KIND_COUNT, 0);
        host->target->close(host->instance);
        progress_end();
        host->instance = NULL;
    }
}

void host_deinit(struct host *host)
{
    host_close(host);
    model_destroy(host->model);
    device_destroy(host->device);
    guarded_device_destroy(host->guarded);
    *host = (struct host){0};
}

/* --- references --- */

static uint32_t resolve_ref(const struct model *model, const struct op_kind_info *info,
                            uint32_t ref)
{
    if (info->has_program) {
        const size_t count = model_program_count(model);
        return count == 0 || ref == OP_NONE ? OP_NONE : model_program(model, ref % count)->op;
    }
    const size_t count = model_live_count(model);
    return count == 0 || ref == OP_NONE ? OP_NONE : model_live(model, ref % count)->op;
}

/* What is free at or above the address, or else from the bottom on, cut to the size asked for; size
 * 0 when nothing is free. */
static void resolve_range(const struct model *model, struct op *op)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t address = align_down(op->address % model_capacity_bytes(model), granule);
    const uint64_t size = op->size_bytes < granule ? granule : align_down(op->size_bytes, granule);
    uint64_t end = 0;
    if (!model_free_range(model, address, &op->address, &end)) {
        op->size_bytes = 0;
        return;
    }
    op->size_bytes = size < end - op->address ? size : end - op->address;
}

/* Makes any bytes a fault that its text can say. */
static void resolve_fault(struct op *op)
{
    op->tag %= FAULT_KIND_COUNT;
    op->flags &= OP_FOR_EVER;
    op->size_bytes = op->size_bytes > UINT32_MAX ? UINT32_MAX : op->size_bytes;
    op->delay_ns = fault_info((enum fault_kind)op->tag)->has_delay ? op->delay_ns : 0;
}

void driver_resolve(const struct host *host, const struct timeline *timeline, struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    if (info->has_point) {
        return;
    }
    if ((op->flags & OP_RELATIVE) != 0) {
        op->ref = resolve_ref(host->model, info, op->ref);
        const size_t count = timeline_pending_count(timeline);
        if (op->event != OP_NONE) {
            op->event = count == 0
                            ? OP_NONE
                            : (uint32_t)(timeline_pending_at(timeline, op->event % count) - 1);
        }
    }
    if ((op->flags & OP_FITTED) != 0 && info->can_be_fitted) {
        const struct fit fit = fit_unpack(op->size_bytes);
        op->size_bytes = fit_bytes(&fit, host->model);
    }
    if (op->kind == OP_FAULT) {
        resolve_fault(op);
    } else if (op->kind == OP_RETIRE && (op->flags & OP_RELATIVE) != 0) {
        resolve_range(host->model, op);
    }
    op->flags &= op->kind == OP_FAULT ? OP_FOR_EVER
                                      : OP_FLAG_MASK & ~(OP_RELATIVE | OP_FITTED | OP_FOR_EVER);
    op->ref = info->has_block || info->has_program ? op->ref : OP_NONE;
    op->event = info->has_event ? op->event : OP_NONE;
    op->size_bytes = info->has_size ? op->size_bytes : 0;
    op->tag = info->has_tag ? op->tag : 0;
    op->align_log2 = info->has_align && op->align_log2 <= OP_ALIGN_LOG2_MAX ? op->align_log2 : 0;
    op->group = (op->flags & (OP_COLLECTIVE | OP_SPMD)) != 0 ? op->group : 0;
    const bool has_amount = info->has_delay || info->has_stack || info->has_unpadded ||
                            info->has_address;
    op->delay_ns = has_amount && op->event == OP_NONE ? op->delay_ns : 0;
}

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
                    call->op.size_bytes == 0 || call->op.size_bytes > block->size_bytes;
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

static void prepare_on_program(const struct host *host, struct timeline *timeline,
                               struct call *call, uint64_t *handle)
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
    timeline_add(timeline, call->event, DELAY_NEVER);
}

/* The event of free_after and use: a named one, or a new one. */
static void set_event(struct timeline *timeline, struct call *call)
{
    const struct op *op = &call->op;
    if (op->kind != OP_FREE_AFTER && op->kind != OP_USE) {
        return;
    }
    if (op->event != OP_NONE) {
        call->event = (uint64_t)op->event + 1;
        call->skipped = timeline_state(timeline, call->event) == EVENT_UNKNOWN;
        return;
    }
    call->event = (uint64_t)call->number + 1;
    call->event_delay_ns = op->delay_ns;
    call->makes_event = true;
    timeline_add(timeline, call->event, op->delay_ns);
}

static void call_on_time(struct host *host, struct timeline *timeline, struct call *call)
{
    const struct op *op = &call->op;
    if (op->kind == OP_ADVANCE) {
        call->skipped = op->delay_ns == DELAY_NEVER;
        timeline_advance(timeline, op->delay_ns);
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
        call->skipped = op->event == OP_NONE || timeline_state(timeline, event) != EVENT_PENDING;
        timeline_complete(timeline, call->skipped ? 0 : event);
    }
}

/* The range must be free at this moment: the stack, too, is somebody's, and so is the room that is
 * kept for an absent block. */
static bool may_retire(const struct host *host, const struct op *op)
{
    const uint64_t granule = host->contract.granule_bytes;
    const uint64_t capacity = model_capacity_bytes(host->model);
    struct span span;
    return host->target->retire != NULL && host->clients == NULL &&
           model_absent_count(host->model) == 0 && op->size_bytes > 0 &&
           op->size_bytes % granule == 0 && op->address % granule == 0 &&
           op->size_bytes <= capacity && op->address <= capacity - op->size_bytes &&
           op->address >= model_reserved_bytes(host->model) &&
           !span_map_intersects(model_map(host->model), op->address, op->address + op->size_bytes,
                                &span);
}

static void prepare(struct host *host, struct timeline *timeline, struct call *call,
                    uint64_t *handle)
{
    switch ((enum op_kind)call->op.kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_REPORT:
        return;
    case OP_LOAD:
    case OP_UNLOAD:
    case OP_EXECUTE:
        prepare_on_program(host, timeline, call, handle);
        return;
    case OP_DEFRAGMENT:
        call->skipped = host->target->defragment == NULL || host->contract.defrag == DEFRAG_NONE;
        return;
    case OP_COMPLETE:
    case OP_ADVANCE:
    case OP_FAULT:
        call_on_time(host, timeline, call);
        return;
    case OP_RETIRE:
        call->skipped = !may_retire(host, &call->op);
        return;
    case OP_SWITCH:
        call->skipped = true;
        return;
    default:
        prepare_on_block(host, call, handle);
    }
}

/* --- calls --- */

static const char *tag_name(const struct setup *setup, uint8_t tag)
{
    return setup->tags[tag];
}

static struct target_request make_request(const struct setup *setup, const struct call *call,
                                          enum block_kind kind)
{
    const struct op *op = &call->op;
    return (struct target_request){
        .id = (uint64_t)call->number + 1,
        .size_bytes = op->size_bytes,
        .align_bytes = op->align_log2 == 0 ? 0 : (uint64_t)1 << op->align_log2,
        .unpadded_bytes = op->unpadded_bytes,
        .kind = kind,
        .tag = op->tag,
        .tag_name = tag_name(setup, op->tag),
    };
}

static enum target_result call_alloc(struct host *host, const struct setup *setup,
                                     struct call *call)
{
    const struct target_request request = make_request(
        setup, call, call->op.kind == OP_ALLOC ? BLOCK_BUFFER : BLOCK_OUTPUT);
    return host->target->alloc(host->instance, &request, &call->block);
}

static enum target_result call_donate(struct host *host, const struct setup *setup, uint64_t handle,
                                      struct call *call)
{
    const struct target_request request = make_request(setup, call, BLOCK_OUTPUT);
    return host->target->donate(host->instance, handle, &request, &call->block);
}

static enum target_result call_load(struct host *host, const struct setup *setup, struct call *call)
{
    const struct target_program program = {
        .id = (uint64_t)call->number + 1,
        .image_bytes = call->op.size_bytes,
        .stack_bytes = call->op.stack_bytes,
        .name = tag_name(setup, call->op.tag),
    };
    return host->target->load(host->instance, &program, &call->block);
}

static enum target_result call_retire(struct host *host, struct call *call)
{
    call->block = (struct target_block){.address = call->op.address,
                                        .size_bytes = call->op.size_bytes};
    return host->target->retire(host->instance, call->op.address, call->op.size_bytes);
}

static enum target_result dispatch(struct host *host, const struct setup *setup, uint64_t handle,
                                   struct call *call)
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
    default: /* of time, of the device, or of what the target says anyway */
        return TARGET_OK;
    }
}

void driver_call_target(struct host *host, const struct setup *setup, uint64_t handle,
                        struct call *call)
{
    if (!call->skipped) {
        call->result = dispatch(host, setup, handle, call);
    }
}

/* --- around it --- */

/* Calls that overlap have one log. */
static void begin_call(struct host *host)
{
    if (host->call_count++ == 0) {
        device_begin_op(host->device, device_calls_max(host));
    } else {
        device_join_op(host->device, device_calls_max(host));
    }
}

static void end_call(struct host *host)
{
    CHECK(host->call_count > 0);
    if (--host->call_count == 0) {
        device_end_op(host->device);
    }
}

void host_begin_overlap(struct host *host)
{
    begin_call(host);
}

void host_end_overlap(struct host *host)
{
    end_call(host);
}

uint64_t driver_begin_call(struct host *host, struct timeline *timeline, const struct op *op,
                           uint32_t number, struct call *call)
{
    uint64_t handle = 0;
    *call = (struct call){.op = *op, .number = number, .slot = SLOT_NONE, .result = TARGET_OK};
    begin_call(host);
    set_event(timeline, call);
    if (!call->skipped) {
        prepare(host, timeline, call, &handle);
    }
    return handle;
}

/* Enqueues the execution whose call has returned. */
static void start_execution(const struct host *host, struct timeline *timeline,
                            const struct setup *setup, const struct call *call)
{
    if (call->result != TARGET_OK) {
        timeline_complete(timeline, call->event);
    } else if ((call->op.flags & OP_COLLECTIVE) != 0) {
        timeline_start_collective(timeline, call->event, call->op.group, host->index,
                                  setup->host_count, call->event_delay_ns);
    } else {
        timeline_start(timeline, call->event, call->event_delay_ns);
    }
}

void driver_end_call(struct host *host, struct timeline *timeline, const struct setup *setup,
                     struct call *call)
{
    if (call->op.kind == OP_EXECUTE && !call->skipped) {
        start_execution(host, timeline, setup, call);
    }
    end_call(host);
    if (call->result != TARGET_OK) {
        call->block = (struct target_block){0}; /* whatever a call that failed left there */
    }
    if (call->skipped && call->makes_event) {
        timeline_complete(timeline, call->event); /* nothing waits for it */
    }
}

void driver_call(struct host *host, struct timeline *timeline, const struct setup *setup,
                 const struct op *op, uint32_t number, struct call *call)
{
    const uint64_t handle = driver_begin_call(host, timeline, op, number, call);
    driver_call_target(host, setup, handle, call);
    driver_end_call(host, timeline, setup, call);
}
