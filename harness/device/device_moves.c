#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

#include "harness/device/timeline.h"

/* The rest of a copy that FAULT_COPY_HALF no longer halves, though armed forever: at most 64 KiB.
 */
enum { HALVED_BYTES_MIN = 65536 };

/* --- a copy or stage_in, whole or in halves --- */

/* True if this call repeats the one that stopped half-way: it goes on, and no fault refuses it. */
static bool is_begun(const struct device *device, const struct device_call *call)
{
    const struct device_call *begun = &device->begun.call;
    return device->begun.is_open && begun->kind == call->kind && begun->from == call->from &&
           begun->to == call->to && begun->bytes == call->bytes;
}

static bool move_is_refused(struct device *device, const struct device_call *call)
{
    if (device->hung || (!is_begun(device, call) &&
                         (is_over_bound(device) || faults_refuse(&device->faults, FAULT_COPY)))) {
        return true;
    }
    return !is_mapped(device, call->to, call->bytes) ||
           (call->kind == DEVICE_CALL_COPY && !is_mapped(device, call->from, call->bytes));
}

/* Returns how many of the bytes that are left arrive by this call. */
static uint64_t next_part_bytes(struct device *device, uint64_t rest_bytes, bool goes_on)
{
    const bool halves = goes_on ? rest_bytes > HALVED_BYTES_MIN &&
                                      faults_goes_on(&device->faults, FAULT_COPY_HALF)
                                : faults_strike(&device->faults, FAULT_COPY_HALF) != NULL;
    return halves ? rest_bytes / 2 + rest_bytes % 2 : rest_bytes;
}

/* A range that is copied up into itself goes from its end, as with memmove: what is left of the
 * source stays whole. */
static bool goes_from_end(const struct device_call *call)
{
    return call->kind == DEVICE_CALL_COPY && call->to > call->from &&
           call->to - call->from < call->bytes;
}

static void move_part(struct device *device, const struct device_call *call,
                      const struct stage *stage, uint64_t bytes)
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
    } else if (call->kind == DEVICE_CALL_COPY && call->from >= call->to &&
               call->from + done < end) {
        end = call->from + done;
    }
    contents_erase(&device->contents, start, end);
}

/* A granted copy or stage_in (stage; else NULL). */
static enum device_result move_bytes(struct device *device, const struct device_call *call,
                                     const struct stage *stage)
{
    struct begun *begun = &device->begun;
    const bool goes_on = is_begun(device, call);
    if (!goes_on) {
        *begun = (struct begun){.call = *call};
    }
    CHECK_COSTLY(begun->done_bytes <= call->bytes);
    const uint64_t bytes = next_part_bytes(device, call->bytes - begun->done_bytes, goes_on);
    CHECK_COSTLY(bytes <= call->bytes - begun->done_bytes);
    move_part(device, call, stage, bytes);
    begun->done_bytes += bytes;
    CHECK_COSTLY(begun->done_bytes <= call->bytes);
    begun->is_open = begun->done_bytes < call->bytes;
    if (!begun->is_open) {
        return DEVICE_OK;
    }
    spoil_rest(device, call);
    return DEVICE_PARTIAL;
}

/* After a copy or stage that was done: it may have taken its time. */
static void spend_move_time(struct device *device)
{
    const struct device_fault *late = faults_strike(&device->faults, FAULT_COPY_LATE);
    if (late != NULL) {
        timeline_advance(device->timeline, late->delay_ns);
    }
}

/* --- the services --- */

enum device_result device_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
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
    spend_move_time(device);
    return end_call(device, &call, result);
}

static struct stage *stage_add(struct device *device)
{
    struct stage *stage = device->stage_count_live == device->stage_count ? NULL
                                                                          : stage_find(device, 0);
    if (stage == NULL) {
        device->stages = array_resized(device->stages,
                                       (device->stage_count + 1) * sizeof *device->stages);
        stage = &device->stages[device->stage_count++];
    }
    device->stage_count_live++;
    CHECK_COSTLY(device->stage_id_last < UINT64_MAX);
    *stage = (struct stage){.id = ++device->stage_id_last};
    CHECK_COSTLY(stage->id != 0);
    return stage;
}

enum device_result device_stage_out(void *context, uint64_t from, uint64_t bytes,
                                    uint64_t *stage_id)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_STAGE_OUT);
    call.from = from;
    call.bytes = bytes;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_COPY) ||
        !is_mapped(device, from, bytes)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    struct stage *stage = stage_add(device);
    stage->bytes = bytes;
    stage->piece = contents_take(&device->contents, from, bytes);
    CHECK_COSTLY(stage->id == device->stage_id_last);
    CHECK_COSTLY(stage->piece.spans != NULL);
    CHECK_COSTLY(device->stage_count > 0);
    *stage_id = call.to = stage->id;
    spend_move_time(device);
    return end_call(device, &call, DEVICE_OK);
}

/* A stage that stays is there for another time. */
static enum device_result put_stage(struct device *device, uint64_t stage_id, uint64_t to,
                                    bool stays)
{
    struct device_call call = begin_call(device, DEVICE_CALL_STAGE_IN);
    struct stage *stage = stage_of(device, stage_id);
    call.from = stage_id;
    call.to = to;
    call.bytes = stage == NULL ? 0 : stage->bytes;
    call.owner = stage == NULL || stage->piece.count == 0 ? UINT32_MAX
                                                          : (uint32_t)stage->piece.spans[0].owner;
    if (stage == NULL) {
        (void)is_over_bound(device);
        return end_call(device, &call, DEVICE_REFUSED);
    }
    if (move_is_refused(device, &call)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const enum device_result result = move_bytes(device, &call, stage);
    if (result == DEVICE_OK && !stays) {
        stage_end(device, stage);
    }
    spend_move_time(device);
    return end_call(device, &call, result);
}

enum device_result device_stage_in(void *context, uint64_t stage_id, uint64_t to)
{
    return put_stage(context, stage_id, to, false);
}

enum device_result device_stage_copy(void *context, uint64_t stage_id, uint64_t to)
{
    return put_stage(context, stage_id, to, true);
}

void device_stage_drop(void *context, uint64_t stage_id)
{
    struct device *device = context;
    struct stage *stage = stage_of(device, stage_id);
    if (stage == NULL) {
        return;
    }
    if (device->begun.call.kind == DEVICE_CALL_STAGE_IN && device->begun.call.from == stage_id) {
        device->begun.is_open = false;
    }
    CHECK_COSTLY(stage->id == stage_id);
    stage_end(device, stage);
    CHECK_COSTLY(stage_of(device, stage_id) == NULL);
}
