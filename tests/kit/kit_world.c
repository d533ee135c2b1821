#include "tests/kit/kit_world.h"
#include "tests/helpers/suite.h"

#include <stdlib.h>
#include <string.h>

struct world world;

/* --- the device --- */

void world_complete(uint64_t event)
{
    if (!world.is_done[event]) {
        world.is_done[event] = true;
        world.completed_count++;
    }
}

static uint64_t completed_count(void *context)
{
    (void)context;
    return world.completed_count;
}

static bool event_done(void *context, uint64_t event)
{
    (void)context;
    const bool is_done = world.is_done[event];
    if (event == world.jumps_at) {
        world_complete(world.jumps_to);
    }
    return is_done;
}

static enum device_result event_wait(void *context, uint64_t event)
{
    (void)context;
    world.wait_count++;
    if (world.refuses_waits) {
        return DEVICE_REFUSED;
    }
    if (world.is_lost[event]) {
        return DEVICE_LOST;
    }
    world_complete(event);
    return DEVICE_OK;
}

static void *host_alloc(void *context, size_t bytes)
{
    (void)context;
    if (++world.host_count == world.refused_at) {
        return NULL;
    }
    world.host_bytes += bytes;
    void *memory = malloc(bytes);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0xa5, bytes);
    return memory;
}

static void host_free(void *context, void *memory, size_t bytes)
{
    (void)context;
    ck_assert_ptr_nonnull(memory);
    world.host_bytes -= bytes;
    free(memory);
}

/* Regions are places one after the other, which are not used again. */
static enum device_result region_take(void *context, uint64_t bytes, struct device_region *region)
{
    (void)context;
    if (world.refuses_regions) {
        return DEVICE_REFUSED;
    }
    *region = (struct device_region){world.region_end, bytes};
    world.region_end += bytes;
    world.region_count++;
    return DEVICE_OK;
}

static void region_give(void *context, uint64_t address)
{
    (void)context;
    ck_assert_uint_lt(address, world.region_end);
    world.region_count--;
}

static const struct device_services services = {.size_bytes = sizeof services,
                                                .completed_count = completed_count,
                                                .event_done = event_done,
                                                .event_wait = event_wait,
                                                .host_alloc = host_alloc,
                                                .host_free = host_free,
                                                .region_take = region_take,
                                                .region_give = region_give};

/* --- the allocator --- */

static uint64_t allocate_place(void *state, uint64_t size, uint64_t align)
{
    (void)state;
    ck_assert_uint_le(align, WORLD_PLACE_BYTES);
    for (uint64_t i = 0; i < WORLD_PLACE_COUNT && size <= WORLD_PLACE_BYTES; i++) {
        if (!world.is_taken[i]) {
            world.is_taken[i] = true;
            return i * WORLD_PLACE_BYTES;
        }
    }
    if (world.completes_in_allocate != 0) {
        world_complete(world.completes_in_allocate);
    }
    return KIT_NOTHING;
}

static void free_place(void *state, uint64_t offset, uint64_t size)
{
    (void)state;
    ck_assert_uint_eq(size, WORLD_PLACE_BYTES);
    ck_assert(world.is_taken[offset / WORLD_PLACE_BYTES]);
    world.is_taken[offset / WORLD_PLACE_BYTES] = false;
    world.free_count++;
}

/* --- calls --- */

enum target_result world_open_with(const struct kit_allocator *allocator, const char *option_help,
                                   const struct target_setup *setup)
{
    struct target_instance *instance = NULL;
    const enum target_result result = kit_open(allocator, option_help, setup, &services, &instance,
                                               &world.contract, world.reason, sizeof world.reason);
    world.instance = result == TARGET_OK ? instance : NULL;
    ck_assert(result == TARGET_OK || world.host_bytes == 0);
    return result;
}

enum target_result world_open(void)
{
    return world_open_places(NULL);
}

enum target_result world_open_places(bool (*reserve)(void *state, uint64_t offset, uint64_t size))
{
    static struct kit_allocator places = {
        .state_bytes = 64, .allocate_offset = allocate_place, .free_offset = free_place};
    places.reserve_offset = reserve;
    const struct target_setup setup = {.capacity_bytes = WORLD_CAPACITY_BYTES,
                                       .granule_bytes = WORLD_PLACE_BYTES};
    return world_open_with(&places, NULL, &setup);
}

void world_begin(void)
{
    world = (struct world){0};
}

void world_close(void)
{
    if (world.instance == NULL) {
        return;
    }
    kit_close(world.instance);
    world.instance = NULL;
    ck_assert_uint_eq(world.host_bytes, 0);
    for (size_t i = 0; i < WORLD_PLACE_COUNT; i++) {
        ck_assert(!world.is_taken[i]);
    }
}

enum target_result world_alloc(struct target_block *block)
{
    struct target_block made = {0};
    const struct target_request request = {.id = 1, .size_bytes = 100, .tag_name = ""};
    const enum target_result result = kit_alloc(world.instance, &request, &made);
    if (block != NULL) {
        *block = made;
    }
    return result;
}

uint64_t world_take(void)
{
    struct target_block block;
    ck_assert_int_eq(world_alloc(&block), TARGET_OK);
    ck_assert_uint_ne(block.handle, 0);
    return block.handle;
}

struct target_stats world_stats(void)
{
    struct target_stats stats;
    kit_stats(world.instance, &stats);
    return stats;
}
