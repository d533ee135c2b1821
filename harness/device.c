#include "harness/device.h"

#include "harness/check.h"
#include "harness/span_map.h"

#include <stdlib.h>
#include <string.h>

/* A block on its way through host memory: the extents it consisted of, from offset 0. */
struct stage {
    uint64_t id; /* 0 = free place */
    uint64_t bytes;
    struct span *spans; /* span_count of them; start and end count from the begin of the stage */
    size_t span_count;
};

/* What an owner was last stamped on; bytes 0 = nothing. */
struct record {
    uint64_t address, bytes;
};

struct device {
    uint64_t capacity_bytes;
    struct timeline *timeline;
    struct device_services services;
    struct record *records; /* by owner; what memory holds unless is_detailed */
    size_t record_capacity;
    struct span_map contents; /* range by range, while is_detailed */
    bool is_detailed;
    struct span *scratch; /* extents of the copy under way */
    size_t scratch_capacity;
    struct stage *stages;
    size_t stage_count;
    uint64_t stage_id_last;
    struct device_call *calls;
    size_t call_count, call_capacity;
    uint64_t call_count_max;
    uint64_t total_count; /* calls of this op, those that are not logged included */
    uint64_t armed[FAULT_KIND_COUNT]; /* 0 = no fault; else the call from now that is refused */
    uint32_t fired;
    uint64_t host_bytes;
    bool hung;
    bool left_range;
};

/* Counts a call; true when it must be refused because the op made too many. */
static bool is_over_bound(struct device *device)
{
    if (++device->total_count > device->call_count_max) {
        device->hung = true;
    }
    return device->hung;
}

static bool fault_fires(struct device *device, enum fault_kind fault)
{
    if (device->armed[fault] == 0 || --device->armed[fault] > 0) {
        return false;
    }
    device->fired |= 1u << fault;
    return true;
}

static enum device_result log_call(struct device *device, enum device_call_kind kind, uint64_t from, uint64_t to,
                                   uint64_t bytes, uint64_t completed_before, enum device_result result)
{
    if (device->call_count == device->call_capacity) {
        device->call_capacity = device->call_capacity == 0 ? 64 : device->call_capacity * 2;
        device->calls = realloc(device->calls, device->call_capacity * sizeof *device->calls);
        CHECK(device->calls != NULL);
    }
    device->calls[device->call_count++] = (struct device_call){
        .kind = kind, .result = result, .from = from, .to = to, .bytes = bytes, .completed_before = completed_before};
    return result;
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

/* Copies the extents of [from, from + bytes) into scratch, counted from 0; returns how many. */
static size_t read_extents(struct device *device, uint64_t from, uint64_t bytes)
{
    size_t count = 0;
    struct span_cursor cursor;
    struct span span;
    for (bool found = span_map_find(&device->contents, from, &cursor); found;
         found = span_map_next(&device->contents, &cursor)) {
        span_map_get(&device->contents, &cursor, &span);
        if (span.start >= from + bytes) {
            break;
        }
        const uint64_t start = span.start < from ? from : span.start;
        const uint64_t end = span.end > from + bytes ? from + bytes : span.end;
        if (count == device->scratch_capacity) {
            device->scratch_capacity = count == 0 ? 16 : count * 2;
            device->scratch = realloc(device->scratch, device->scratch_capacity * sizeof span);
            CHECK(device->scratch != NULL);
        }
        device->scratch[count++] =
            (struct span){start - from, end - from, span.owner, span.offset + (start - span.start)};
    }
    return count;
}

/* Puts extents that count from 0 down at `to`, over whatever was there. */
static void write_extents(struct device *device, const struct span *spans, size_t count, uint64_t to, uint64_t bytes)
{
    span_map_erase(&device->contents, to, to + bytes);
    for (size_t i = 0; i < count; i++) {
        span_map_insert(&device->contents, &(struct span){spans[i].start + to, spans[i].end + to, spans[i].owner,
                                                          spans[i].offset});
    }
}

static void put(struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    const struct span span = {address, address + bytes, owner, 0};
    struct span other;
    if (!span_map_insert_if_free(&device->contents, &span, &other)) {
        span_map_erase(&device->contents, address, address + bytes);
        span_map_insert(&device->contents, &span);
    }
}

/* From here on contents are kept range by range. */
static void write_down(struct device *device)
{
    if (device->is_detailed) {
        return;
    }
    device->is_detailed = true;
    for (size_t owner = 0; owner < device->record_capacity; owner++) {
        if (device->records[owner].bytes > 0) {
            put(device, device->records[owner].address, device->records[owner].bytes, (uint32_t)owner);
        }
    }
}

void device_stamp(struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    if (bytes == 0 || !is_in_range(device, address, bytes)) {
        return;
    }
    if (owner >= device->record_capacity) {
        const size_t capacity = (size_t)owner * 2 + 64;
        device->records = realloc(device->records, capacity * sizeof *device->records);
        CHECK(device->records != NULL);
        memset(&device->records[device->record_capacity], 0,
               (capacity - device->record_capacity) * sizeof *device->records);
        device->record_capacity = capacity;
    }
    device->records[owner] = (struct record){address, bytes};
    if (device->is_detailed) {
        put(device, address, bytes, owner);
    }
}

/* Walks the ranges: the byte at `at` must be byte `at - address` of the owner. */
static bool ranges_hold(const struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    struct span_cursor cursor;
    struct span span;
    uint64_t at = address;
    for (bool found = span_map_find(&device->contents, address, &cursor); found;
         found = span_map_next(&device->contents, &cursor)) {
        span_map_get(&device->contents, &cursor, &span);
        if (span.start > at || span.owner != owner || span.offset + (at - span.start) != at - address) {
            return false;
        }
        at = span.end;
        if (at >= address + bytes) {
            return true;
        }
    }
    return false;
}

bool device_holds(const struct device *device, uint64_t address, uint64_t bytes, uint32_t owner)
{
    if (bytes == 0 || device->is_detailed) {
        return bytes == 0 || ranges_hold(device, address, bytes, owner);
    }
    return owner < device->record_capacity && device->records[owner].address == address &&
           device->records[owner].bytes >= bytes;
}

void device_scrub(struct device *device, uint32_t owner)
{
    if (owner >= device->record_capacity) {
        return;
    }
    const struct record record = device->records[owner];
    device->records[owner].bytes = 0;
    if (device->is_detailed && record.bytes > 0) {
        span_map_erase_owner(&device->contents, record.address, record.address + record.bytes, owner);
    }
}

void device_settle(struct device *device)
{
    span_map_clear(&device->contents);
    device->is_detailed = false;
    if (device->record_capacity > 0) {
        memset(device->records, 0, device->record_capacity * sizeof *device->records);
    }
}

uint64_t device_footprint_bytes(const struct device *device)
{
    return sizeof *device + device->contents.footprint_bytes + device->scratch_capacity * sizeof(struct span) +
           device->record_capacity * sizeof(struct record) +
           device->call_capacity * sizeof(struct device_call);
}

/* --- services: moves ------------------------------------------------------------------------ */

static enum device_result service_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    struct device *device = context;
    const uint64_t completed = timeline_completed_count(device->timeline);
    enum device_result result = DEVICE_OK;
    if (is_over_bound(device) || fault_fires(device, FAULT_COPY) || !is_in_range(device, from, bytes) ||
        !is_in_range(device, to, bytes)) {
        result = DEVICE_REFUSED;
    } else {
        write_down(device);
        const size_t count = read_extents(device, from, bytes);
        write_extents(device, device->scratch, count, to, bytes);
    }
    return log_call(device, DEVICE_CALL_COPY, from, to, bytes, completed, result);
}

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
        device->stages = realloc(device->stages, (device->stage_count + 1) * sizeof *device->stages);
        CHECK(device->stages != NULL);
        stage = &device->stages[device->stage_count++];
    }
    *stage = (struct stage){.id = ++device->stage_id_last};
    return stage;
}

static void stage_end(struct stage *stage)
{
    free(stage->spans);
    *stage = (struct stage){0};
}

static enum device_result service_stage_out(void *context, uint64_t from, uint64_t bytes, uint64_t *stage_id)
{
    struct device *device = context;
    const uint64_t completed = timeline_completed_count(device->timeline);
    if (is_over_bound(device) || fault_fires(device, FAULT_COPY) || !is_in_range(device, from, bytes)) {
        return log_call(device, DEVICE_CALL_STAGE_OUT, from, 0, bytes, completed, DEVICE_REFUSED);
    }
    write_down(device);
    struct stage *stage = stage_add(device);
    stage->bytes = bytes;
    stage->span_count = read_extents(device, from, bytes);
    stage->spans = malloc((stage->span_count + 1) * sizeof *stage->spans);
    CHECK(stage->spans != NULL);
    if (stage->span_count > 0) {
        memcpy(stage->spans, device->scratch, stage->span_count * sizeof *stage->spans);
    }
    *stage_id = stage->id;
    return log_call(device, DEVICE_CALL_STAGE_OUT, from, 0, bytes, completed, DEVICE_OK);
}

static enum device_result service_stage_in(void *context, uint64_t stage_id, uint64_t to)
{
    struct device *device = context;
    const uint64_t completed = timeline_completed_count(device->timeline);
    struct stage *stage = stage_id == 0 ? NULL : stage_find(device, stage_id);
    const uint64_t bytes = stage == NULL ? 0 : stage->bytes;
    if (is_over_bound(device) || stage == NULL || fault_fires(device, FAULT_COPY) ||
        !is_in_range(device, to, bytes)) {
        return log_call(device, DEVICE_CALL_STAGE_IN, stage_id, to, bytes, completed, DEVICE_REFUSED);
    }
    write_down(device);
    write_extents(device, stage->spans, stage->span_count, to, bytes);
    stage_end(stage);
    return log_call(device, DEVICE_CALL_STAGE_IN, stage_id, to, bytes, completed, DEVICE_OK);
}

static void service_stage_drop(void *context, uint64_t stage_id)
{
    struct device *device = context;
    struct stage *stage = stage_id == 0 ? NULL : stage_find(device, stage_id);
    if (stage != NULL) {
        stage_end(stage);
    }
}

/* --- services: events, programs, clock, host memory ------------------------------------------ */

static uint64_t service_completed_count(void *context)
{
    const struct device *device = context;
    return timeline_completed_count(device->timeline);
}

static bool service_event_done(void *context, uint64_t event)
{
    const struct device *device = context;
    return timeline_state(device->timeline, event) == EVENT_DONE;
}

static enum device_result wait_for(struct device *device, uint64_t event)
{
    if (timeline_state(device->timeline, event) == EVENT_UNKNOWN) {
        return DEVICE_REFUSED;
    }
    if (timeline_state(device->timeline, event) == EVENT_DONE) {
        return DEVICE_OK;
    }
    const uint64_t due_ns = timeline_due_ns(device->timeline, event);
    if (due_ns == DELAY_NEVER) {
        return DEVICE_LOST;
    }
    const uint64_t now_ns = timeline_now_ns(device->timeline);
    timeline_advance(device->timeline, due_ns > now_ns ? due_ns - now_ns : 0);
    return DEVICE_OK;
}

static enum device_result service_event_wait(void *context, uint64_t event)
{
    struct device *device = context;
    const uint64_t completed = timeline_completed_count(device->timeline);
    enum device_result result = DEVICE_REFUSED;
    if (!is_over_bound(device) && !fault_fires(device, FAULT_WAIT)) {
        result = wait_for(device, event);
    }
    return log_call(device, DEVICE_CALL_WAIT, event, 0, 0, completed, result);
}

static enum device_result service_unload(void *context, uint64_t program)
{
    struct device *device = context;
    const uint64_t completed = timeline_completed_count(device->timeline);
    const bool refused = is_over_bound(device) || fault_fires(device, FAULT_UNLOAD);
    return log_call(device, DEVICE_CALL_UNLOAD, program, 0, 0, completed, refused ? DEVICE_REFUSED : DEVICE_OK);
}

static uint64_t service_clock_ns(void *context)
{
    const struct device *device = context;
    return timeline_now_ns(device->timeline);
}

static void *service_host_alloc(void *context, size_t bytes)
{
    struct device *device = context;
    if (fault_fires(device, FAULT_HOST_MEMORY)) {
        (void)log_call(device, DEVICE_CALL_HOST_ALLOC, 0, 0, bytes, timeline_completed_count(device->timeline),
                       DEVICE_REFUSED);
        return NULL;
    }
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    if (memory != NULL) {
        device->host_bytes += bytes;
    }
    return memory;
}

static void service_host_free(void *context, void *memory, size_t bytes)
{
    struct device *device = context;
    if (memory == NULL) {
        return;
    }
    device->host_bytes -= bytes;
    free(memory);
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
    span_map_init(&device->contents);
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
    span_map_deinit(&device->contents);
    free(device->records);
    free(device->stages);
    free(device->scratch);
    free(device->calls);
    free(device);
}

const struct device_services *device_services(struct device *device)
{
    return &device->services;
}

void device_begin_op(struct device *device, uint64_t call_count_max)
{
    device->call_count_max = call_count_max;
    device->call_count = 0;
    device->total_count = 0;
    device->fired = 0;
    device->hung = false;
    device->left_range = false;
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
    return device->host_bytes;
}

bool device_left_range(const struct device *device)
{
    return device->left_range;
}

void device_arm(struct device *device, enum fault_kind fault, uint64_t call)
{
    CHECK(fault < FAULT_KIND_COUNT);
    device->armed[fault] = call;
}

uint32_t device_faults_fired(const struct device *device)
{
    return device->fired;
}
