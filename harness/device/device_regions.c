/* The memory that the target has: regions, addresses with memory behind them, and what the device
 * shares with others. */
#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

#include <string.h>

/* --- the part that it has of the memory that it shares with others --- */

static uint64_t sum_regions(const struct device *device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < device->region_count; i++) {
        bytes += device->regions[i].size_bytes;
    }
    return bytes;
}

void device_join_pool(struct device *device, struct device_pool *pool, bool by_regions)
{
    CHECK(device->pool == NULL);
    device->pool = pool;
    device->is_pooled_by_regions = by_regions;
    pool->used_bytes += device_pool_bytes(device);
}

void device_leave_pool(struct device *device)
{
    if (device->pool != NULL) {
        CHECK(device->pool->used_bytes >= device_pool_bytes(device));
        device->pool->used_bytes -= device_pool_bytes(device);
        device->pool = NULL;
    }
}

static void note_refused(struct device *device, uint64_t bytes)
{
    if (device->pool_refusal.asked_bytes == 0) {
        device->pool_refusal = (struct device_pool_refusal){
            .asked_bytes = bytes, .left_bytes = device_pool_left_bytes(device->pool)};
    }
}

void device_pool_refuse_region(struct device *device, uint64_t bytes)
{
    CHECK(device->is_pooled_by_regions);
    device->faults.fired |= 1u << FAULT_REGION;
    note_refused(device, bytes);
}

const struct device_pool *device_pool_of(const struct device *device)
{
    return device->pool;
}

uint64_t device_pool_bytes(const struct device *device)
{
    return device->pool == NULL           ? 0
           : device->is_pooled_by_regions ? sum_regions(device)
                                          : device_mapped_bytes(device);
}

struct device_pool_refusal device_pool_refusal(const struct device *device)
{
    return device->pool_refusal;
}

/* False: it has not so much left; the op's first such call is noted.  Without one all is granted.
 */
static bool pool_take(struct device *device, uint64_t bytes)
{
    if (device->pool == NULL) {
        return true;
    }
    if (bytes > device_pool_left_bytes(device->pool)) {
        note_refused(device, bytes);
        return false;
    }
    device->pool->used_bytes += bytes;
    return true;
}

static void pool_give(struct device *device, uint64_t bytes)
{
    if (device->pool != NULL) {
        CHECK(bytes <= device->pool->used_bytes);
        device->pool->used_bytes -= bytes;
    }
}

/* --- regions: each is the lowest one that was free --- */

/* A short region ends at a multiple of it, if it has as much: no granule of a list is larger. */
#define SHORT_UNIT_BYTES (UINT64_C(1) << 16)

/* The lowest place for so many bytes, and the index that the region there gets.  False: none. */
static bool find_place(const struct device *device, uint64_t bytes, uint64_t *address,
                       size_t *index)
{
    uint64_t start = 0;
    for (size_t i = 0; i <= device->region_count; i++) {
        const bool is_last = i == device->region_count;
        const uint64_t end = is_last ? device->capacity_bytes : device->regions[i].address;
        if (start <= end && bytes <= end - start) {
            *address = start;
            *index = i;
            return true;
        }
        if (!is_last) {
            start = align_up(end + device->regions[i].size_bytes, TARGET_REGION_ALIGN_BYTES);
        }
    }
    return false;
}

static void insert_region(struct device *device, size_t index, const struct device_region *region)
{
    device->regions = array_grown(device->regions, device->region_count, &device->region_capacity,
                                  sizeof *region);
    memmove(&device->regions[index + 1], &device->regions[index],
            (device->region_count - index) * sizeof *region);
    device->regions[index] = *region;
    device->region_count++;
    device->region_changes++;
    CHECK_COSTLY(device->region_count <= device->region_capacity);
    CHECK_COSTLY(region->size_bytes <= device->capacity_bytes - region->address);
}

static uint64_t find_half(uint64_t bytes)
{
    const uint64_t half = bytes / 2 + bytes % 2;
    return half < SHORT_UNIT_BYTES ? half : half - half % SHORT_UNIT_BYTES;
}

/* Returns the bytes that are granted: half of them if FAULT_REGION_SHORT strikes. */
static uint64_t find_granted(struct device *device, uint64_t bytes)
{
    if (faults_strike(&device->faults, FAULT_REGION_SHORT) == NULL) {
        return bytes;
    }
    device->faults.fired |= 1u << FAULT_REGION;
    return find_half(bytes);
}

enum device_result device_region_take(void *context, uint64_t bytes, struct device_region *region)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_REGION_TAKE);
    size_t index = 0;
    call.from = bytes;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_REGION) || bytes == 0 ||
        !find_place(device, bytes, &call.to, &index)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    call.bytes = find_granted(device, bytes);
    if (device->is_pooled_by_regions && !pool_take(device, call.bytes)) {
        call.bytes = 0;
        return end_call(device, &call, DEVICE_REFUSED);
    }
    *region = (struct device_region){call.to, call.bytes};
    insert_region(device, index, region);
    return end_call(device, &call, DEVICE_OK);
}

static size_t find_region(const struct device *device, uint64_t address)
{
    size_t i = 0;
    while (i < device->region_count && device->regions[i].address != address) {
        i++;
    }
    return i;
}

void device_region_give(void *context, uint64_t address)
{
    struct device *device = context;
    const size_t index = find_region(device, address);
    /* A call that cannot fail begins here: no witness hears of it, and the clock does not jump. */
    device->unseen_from = UINT64_MAX;
    struct device_call call = {.kind = DEVICE_CALL_REGION_GIVE,
                               .from = address,
                               .completed_before = device_seen_count(device)};
    if (index == device->region_count) {
        device->wrong_address = device->gave_wrongly ? device->wrong_address : address;
        device->gave_wrongly = true;
        (void)end_call(device, &call, DEVICE_REFUSED);
        return;
    }
    call.bytes = device->regions[index].size_bytes;
    if (device->is_pooled_by_regions) {
        pool_give(device, call.bytes);
    }
    device->region_count--;
    memmove(&device->regions[index], &device->regions[index + 1],
            (device->region_count - index) * sizeof *device->regions);
    device->region_changes++;
    (void)end_call(device, &call, DEVICE_OK);
}

const struct device_region *device_regions(const struct device *device, size_t *count)
{
    *count = device->region_count;
    return device->regions;
}

uint64_t device_region_changes(const struct device *device)
{
    return device->region_changes;
}

bool device_gave_wrongly(const struct device *device, uint64_t *address)
{
    *address = device->wrong_address;
    return device->gave_wrongly;
}

/* --- addresses with memory behind them: a target that sleeps gives it back --- */

/* Returns how many bytes of [start, end) are unmapped. */
static uint64_t find_unmapped_bytes(const struct device *device, uint64_t start, uint64_t end)
{
    uint64_t unmapped_bytes = 0;
    struct span span;
    if (device->unmapped.count == 0) {
        return 0;
    }
    EACH_SPAN_BETWEEN(&device->unmapped, start, end, &span) {
        const uint64_t first = span.start > start ? span.start : start;
        const uint64_t last = span.end < end ? span.end : end;
        unmapped_bytes += last - first;
    }
    CHECK_COSTLY(unmapped_bytes <= end - start);
    return unmapped_bytes;
}

uint64_t device_mapped_bytes(const struct device *device)
{
    return device->capacity_bytes - find_unmapped_bytes(device, 0, device->capacity_bytes);
}

void device_unmap(void *context, uint64_t address, uint64_t bytes)
{
    struct device *device = context;
    if (bytes == 0 || !is_in_range(device, address, bytes)) {
        return;
    }
    pool_give(device, bytes - find_unmapped_bytes(device, address, address + bytes));
    contents_erase(&device->contents, address, address + bytes);
    span_map_erase(&device->unmapped, address, address + bytes);
    span_map_insert(&device->unmapped, &(struct span){.start = address, .end = address + bytes});
    /* The part of a copy that had arrived is lost with the rest. */
    device->begun.is_open = false;
}

enum device_result device_map(void *context, uint64_t address, uint64_t bytes)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_MAP);
    call.to = address;
    call.bytes = bytes;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_COPY) ||
        !is_in_range(device, address, bytes)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const uint64_t more_bytes = find_unmapped_bytes(device, address, address + bytes);
    if (!pool_take(device, more_bytes)) {
        device->faults.fired |= 1u << FAULT_COPY;
        return end_call(device, &call, DEVICE_REFUSED);
    }
    span_map_erase(&device->unmapped, address, address + bytes);
    return end_call(device, &call, DEVICE_OK);
}
