#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

#include "harness/device/timeline.h"

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
        .copy = device_copy,
        .stage_out = device_stage_out,
        .stage_in = device_stage_in,
        .stage_drop = device_stage_drop,
        .completed_count = service_completed_count,
        .event_done = service_event_done,
        .event_wait = service_event_wait,
        .unload = service_unload,
        .clock_ns = service_clock_ns,
        .host_alloc = service_host_alloc,
        .host_free = service_host_free,
        .unmap = device_unmap,
        .map = device_map,
        .stage_copy = device_stage_copy,
        .region_take = device_region_take,
        .region_give = device_region_give,
        .event_stream = service_event_stream,
        .last_event = service_last_event,
    };
}
