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

/* --- copies and stages --- */

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

static enum device_result service_stage_out(void *context, uint64_t from, uint64_t bytes,
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

static enum device_result service_stage_in(void *context, uint64_t stage_id, uint64_t to)
{
    return put_stage(context, stage_id, to, false);
}

static enum device_result service_stage_copy(void *context, uint64_t stage_id, uint64_t to)
{
    return put_stage(context, stage_id, to, true);
}

static void service_stage_drop(void *context, uint64_t stage_id)
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

/* Honest targets poll each of their events after each wait: that is far below 67 million. */
#define POLL_COUNT_MAX ((uint64_t)1 << 26)

/* --- events and the clock --- */

/* A target that polls and polls would never come back: from then on it is told what it may be
 * waiting for, and device_hung says so. */
static bool is_runaway(struct device *device)
{
    device->look_count++;
    if (device->waiter != NULL) {
        device->waiter->looked(device->waiter->context);
    }
    if (++device->poll_count > POLL_COUNT_MAX) {
        device->hung = device->is_runaway = true;
    }
    CHECK_COSTLY(!device->is_runaway || device->hung);
    CHECK_COSTLY(device->is_runaway || device->poll_count <= POLL_COUNT_MAX);
    return device->is_runaway;
}

/* Lanes complete events between any two steps by themselves. */
static void jump_before_look(struct device *device)
{
    const bool may_jump = device->is_in_op && device->waiter == NULL;
    const struct device_fault *jump = may_jump ? faults_strike(&device->faults, FAULT_POLL_JUMP)
                                               : NULL;
    if (jump == NULL) {
        return;
    }
    const uint64_t count = timeline_completed_count(device->timeline);
    timeline_advance(device->timeline, jump->delay_ns);
    timeline_excuse(device->timeline, count);
    device->unseen_from = count < device->unseen_from ? count : device->unseen_from;
}

static uint64_t service_completed_count(void *context)
{
    struct device *device = context;
    jump_before_look(device);
    const uint64_t more = is_runaway(device) ? device->poll_count : 0;
    return timeline_completed_count(device->timeline) + device->doubled_count + more;
}

static bool service_event_done(void *context, uint64_t event)
{
    struct device *device = context;
    jump_before_look(device);
    return is_runaway(device) || timeline_state(device->timeline, event) == EVENT_DONE;
}

static uint32_t service_event_stream(void *context, uint64_t event)
{
    const struct device *device = context;
    return timeline_stream(device->timeline, event);
}

static uint64_t service_last_event(void *context, uint32_t stream)
{
    const struct device *device = context;
    return timeline_last_enqueued(device->timeline, stream);
}

static uint64_t service_clock_ns(void *context)
{
    struct device *device = context;
    return is_runaway(device)
               ? UINT64_MAX
               : setup_clock_reading(&device->clock, timeline_now_ns(device->timeline));
}

/* Until the pending event is done or lost. */
static enum device_result pass_until(struct device *device, uint64_t event, uint64_t due_ns)
{
    if (device->waiter != NULL) {
        device->waiter->wait(device->waiter->context, event);
        return timeline_state(device->timeline, event) == EVENT_DONE ? DEVICE_OK : DEVICE_LOST;
    }
    const uint64_t now_ns = timeline_now_ns(device->timeline);
    timeline_advance(device->timeline, due_ns > now_ns ? due_ns - now_ns : 0);
    return DEVICE_OK;
}

static enum device_result wait_for_event(struct device *device, uint64_t event)
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
        timeline_give_up(device->timeline, event);
        return DEVICE_LOST;
    }
    return pass_until(device, event, due_ns);
}

static enum device_result service_event_wait(void *context, uint64_t event)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_WAIT);
    call.from = event;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_WAIT)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    if (device->faults.is_pinned && timeline_state(device->timeline, event) == EVENT_PENDING &&
        timeline_due_ns(device->timeline, event) != DELAY_NEVER) {
        device->faults.fired |= 1u << FAULT_WAIT;
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const bool is_doubled = faults_strike(&device->faults, FAULT_EVENT_DOUBLED) != NULL;
    const enum device_result result = wait_for_event(device, event);
    CHECK_COSTLY(result != DEVICE_PARTIAL);
    device->doubled_count += is_doubled && result == DEVICE_OK;
    return end_call(device, &call, result);
}

/* --- programs --- */

/* Takes the program from those that are half unloaded; false: it is none. */
static bool take_half_unloaded(struct device *device, uint64_t program)
{
    CHECK_COSTLY(device->half_unloaded_count <= device->half_unloaded_capacity);
    CHECK_COSTLY(device->half_unloaded != NULL || device->half_unloaded_count == 0);
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
    CHECK_COSTLY(device->faults.resumes);
    uint32_t owner = 0;
    if (device->images.owner_of != NULL &&
        device->images.owner_of(device->images.context, program, &owner)) {
        contents_lose_half(&device->contents, owner);
    }
    device->half_unloaded = array_grown(device->half_unloaded, device->half_unloaded_count,
                                        &device->half_unloaded_capacity, sizeof program);
    CHECK_COSTLY(device->half_unloaded_count < device->half_unloaded_capacity);
    device->half_unloaded[device->half_unloaded_count++] = program;
}

static enum device_result unload_program(struct device *device, uint64_t program)
{
    if (take_half_unloaded(device, program)) {
        return DEVICE_OK;
    }
    if (faults_refuse(&device->faults, FAULT_UNLOAD) ||
        faults_are_busy(&device->faults, timeline_now_ns(device->timeline))) {
        return DEVICE_REFUSED;
    }
    if (faults_strike(&device->faults, FAULT_UNLOAD_HALF) != NULL) {
        unload_half(device, program);
        return DEVICE_PARTIAL;
    }
    return DEVICE_OK;
}

/* Other ids keep their order, because an id that is larger is younger.  What was even is odd, and
 * none is a multiple of 3. */
enum { OTHER_ID_STEP = 3, OTHER_ID_FIRST = 8 };

uint64_t device_id(const struct device *device, uint32_t number)
{
    return device->is_renamed ? (uint64_t)number * OTHER_ID_STEP + OTHER_ID_FIRST
                              : (uint64_t)number + 1;
}

/* The usual id of a program; 0 where nothing has that name. */
static uint64_t usual_id(const struct device *device, uint64_t id)
{
    if (!device->is_renamed) {
        return id;
    }
    const uint64_t beyond = id - OTHER_ID_FIRST;
    return id < OTHER_ID_FIRST || beyond % OTHER_ID_STEP != 0 ? 0 : beyond / OTHER_ID_STEP + 1;
}

static enum device_result service_unload(void *context, uint64_t id)
{
    struct device *device = context;
    const uint64_t program = usual_id(device, id);
    struct device_call call = begin_call(device, DEVICE_CALL_UNLOAD);
    call.from = program;
    return end_call(device, &call,
                    is_over_bound(device) ? DEVICE_REFUSED : unload_program(device, program));
}

/* --- host memory --- */

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

/* --- all of them --- */

struct device_services device_offered(struct device *device)
{
    return (struct device_services){
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
        .unmap = device_unmap,
        .map = device_map,
        .stage_copy = service_stage_copy,
        .region_take = device_region_take,
        .region_give = device_region_give,
        .event_stream = service_event_stream,
        .last_event = service_last_event,
    };
}
