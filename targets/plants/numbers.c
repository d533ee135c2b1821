#include "targets/plants/private/plant.h"

#include "targets/targets.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* --- counters --- */

/* Takes off on a free, now and then, one unit less than was added (microsoft/mimalloc commit
 * 9a35bca: the sizes of both sides differ). */
static enum target_result free_drifting(struct plant *plant, uint64_t handle, uint64_t event)
{
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (result == TARGET_OK && plant_strikes(plant, 11)) {
        plant->amount += plant->contract.granule_bytes;
    }
    return result;
}

/* --- texts --- */

/* The error of an earlier request sticks and is reported for a later one (pytorch pull 13751). */
static void message_sticks(struct plant *plant, enum target_result result)
{
    if (result != TARGET_NO_MEMORY) {
        return;
    }
    const char *text = plant->target->message(plant->inner);
    if (plant->previous_message[0] != '\0' && strcmp(plant->previous_message, text) != 0 &&
        plant_strikes(plant, 3)) {
        (void)snprintf(plant->message, PLANT_MESSAGE_BYTES, "%s", plant->previous_message);
    }
    (void)snprintf(plant->previous_message, PLANT_MESSAGE_BYTES, "%s", text);
}

/* Rows on their way, each kept until the next one shows that it was not the last. */
struct late_row {
    void (*row)(void *context, const struct target_row *row);
    void *context;
    struct target_row row_held;
    bool has_row;
    uint64_t passed_count;
};

static void pass_late(void *context, const struct target_row *row)
{
    struct late_row *late = context;
    if (late->has_row) {
        late->row(late->context, &late->row_held);
        late->passed_count++;
    }
    late->row_held = *row;
    late->has_row = true;
}

/* The loop over the blocks ends one early, unless there is only one: the smallest block is missing.
 */
static void report_without_last(struct plant *plant,
                                void (*row)(void *context, const struct target_row *row),
                                void *context)
{
    struct late_row late = {.row = row, .context = context};
    plant->target->report(plant->inner, pass_late, &late);
    if (late.has_row && late.passed_count == 0) {
        row(context, &late.row_held);
    }
}

/* --- what is given back --- */

/* The last merge does not happen: the whole heap is free, in two holes (GPUOpen
 * VulkanMemoryAllocator commit e821342: a small gap is not put back). */
static void stats_with_gap(struct plant *plant, struct target_stats *stats)
{
    const uint64_t granule = plant->contract.granule_bytes;
    if (stats->num_allocs == 0 && stats->bytes_reserved == 0 && !plant->call.has_failed &&
        plant->capacity_bytes > granule) {
        stats->largest_free_block_bytes -= granule;
    }
}

enum { HOST_HEADER_BYTES = 16 };

/* Host memory is given back without its header (pytorch#188008: what was taken and what is given
 * back have different sizes). */
static size_t host_free_bytes(struct plant *plant, size_t bytes)
{
    return bytes > HOST_HEADER_BYTES && plant_strikes(plant, 3) ? bytes - HOST_HEADER_BYTES : bytes;
}

/* --- the same answer twice --- */

/* Every second host was set up without draining: it keeps its own contract, but answers depend on
 * how late its device is (the skew of an SPMD job). */
static bool is_odd_one(const struct plant *plant)
{
    return plant->coordinate[0] % 2 == 1;
}

static enum device_result wait_on_even_hosts(struct plant *plant, uint64_t event)
{
    return is_odd_one(plant) ? DEVICE_LOST : plant->device.event_wait(plant->device.context, event);
}

static void declare_drains(struct plant *plant)
{
    plant->contract.drains = plant->contract.drains && !is_odd_one(plant);
}

/* One host of a group was set up so, and the other groups are right (a node with an older image).
 */
static bool is_fourth_host(const struct plant *plant)
{
    return plant->coordinate[0] == 3;
}

static enum device_result wait_but_on_fourth_host(struct plant *plant, uint64_t event)
{
    return is_fourth_host(plant) ? DEVICE_LOST
                                 : plant->device.event_wait(plant->device.context, event);
}

static void declare_drains_but_on_fourth_host(struct plant *plant)
{
    plant->contract.drains = plant->contract.drains && !is_fourth_host(plant);
}

/* Requests of the whole process, all instances together: what no instance should depend on. */
static atomic_uint_least64_t process_request_count;

/* Bits that do not repeat with any short period. */
static uint64_t scramble_value(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ (value >> 29);
}

static void await_newest(struct plant *plant)
{
    if (plant->dying_count > 0) {
        (void)plant->device.event_wait(plant->device.context,
                                       plant->dying[plant->dying_count - 1].event);
    }
}

/* Now and then a request waits for the newest queued free first; when, depends on how many requests
 * other instances have seen (a static counter that outlives the allocator: rapidsai/rmm commit
 * 1d039ff). */
static void wait_by_mood(struct plant *plant, struct target_request *request)
{
    const uint64_t count = atomic_fetch_add(&process_request_count, 1);
    if (plant_is_valid_size(request) && scramble_value(count) % 3 == 0) {
        await_newest(plant);
    }
}

/* --- what an allocator should not look at --- */

/* The requests of one bucket of a table by id wait for the newest queued free first. */
static void wait_by_name(struct plant *plant, struct target_request *request)
{
    if (plant_is_valid_size(request) && plant->contract.drains && request->id % 3 == 0) {
        await_newest(plant);
    }
}

/* It promises no wait, and awaits queued frees for requests of every second doubling: their pool
 * was given a queue of its own. */
static void declare_no_drain(struct plant *plant)
{
    plant->contract.drains = false;
}

static enum target_result alloc_noting_size(struct plant *plant,
                                            const struct target_request *request,
                                            struct target_block *block)
{
    plant->amount = request->size_bytes;
    const enum target_result result = plant_inner_alloc(plant, request, block);
    plant->amount = 0;
    return result;
}

static enum device_result wait_by_size(struct plant *plant, uint64_t event)
{
    unsigned doubling = 0;
    while (doubling < 63 && plant->amount >> (doubling + 1) != 0) {
        doubling++;
    }
    return doubling % 2 == 0 ? plant->device.event_wait(plant->device.context, event) : DEVICE_LOST;
}

#define PLANT_IN_numbers PLANT_HERE
#include "targets/plants/private/define.h"
