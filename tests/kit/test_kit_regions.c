/* The kit's upstream: regions come from the device and go back to it, and the contract says so. */
#include "tests/helpers/suite.h"
#include "tests/kit/kit_world.h"

#include <string.h>

EVERY_TEST(.setup = world_begin, .teardown = world_close);

/* An allocator that takes a region for each block. */
struct growing {
    struct kit_host *host;
};

static const char *open_growing(void *state, const struct kit_setup *setup)
{
    ((struct growing *)state)->host = setup->host;
    return NULL;
}

static uint64_t allocate_region(void *state, uint64_t size, uint64_t align)
{
    struct device_region region;
    (void)align;
    return kit_region_take(((struct growing *)state)->host, size, &region) ? region.address
                                                                           : KIT_NOTHING;
}

static void free_region(void *state, uint64_t offset, uint64_t size)
{
    (void)size;
    kit_region_give(((struct growing *)state)->host, offset);
}

static uint64_t find_largest(void *state)
{
    (void)state;
    return 0;
}

static const struct kit_allocator growing = {
    .state_bytes = sizeof(struct growing),
    .regions = {.grows = true, .trims = true, .step_bytes = WORLD_PLACE_BYTES},
    .open = open_growing,
    .allocate_offset = allocate_region,
    .free_offset = free_region,
    .largest_free_bytes = find_largest,
};
static const struct target_setup growing_setup = {.capacity_bytes = WORLD_CAPACITY_BYTES,
                                                  .granule_bytes = WORLD_PLACE_BYTES};

TEST(regions_are_declared_taken_and_given_back)
{
    struct target_block block;
    ck_assert_int_eq(world_open_with(&growing, NULL, &growing_setup), TARGET_OK);
    ck_assert(world.contract.regions.grows);
    ck_assert(world.contract.regions.trims);
    ck_assert_uint_eq(world.contract.regions.step_bytes, WORLD_PLACE_BYTES);
    ck_assert_int_eq(world_alloc(&block), TARGET_OK);
    ck_assert_uint_eq(block.address, 0);
    ck_assert_int_eq(world_alloc(NULL), TARGET_OK);
    ck_assert_uint_eq(world.region_count, 2);
    ck_assert_int_eq(kit_free(world.instance, block.handle, 0), TARGET_OK);
    ck_assert_uint_eq(world.region_count, 1);
    world_close();
    ck_assert_uint_eq(world.region_count, 0);
}

TEST(a_region_that_is_refused_is_out_of_memory)
{
    ck_assert_int_eq(world_open_with(&growing, NULL, &growing_setup), TARGET_OK);
    world.refuses_regions = true;
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
    world.refuses_regions = false;
    ck_assert_int_eq(world_alloc(NULL), TARGET_OK);
}

TEST(an_allocator_that_grows_has_offsets_and_says_its_largest_hole)
{
    struct kit_allocator lacking = growing;
    lacking.largest_free_bytes = NULL;
    ck_assert_int_eq(world_open_with(&lacking, NULL, &growing_setup), TARGET_INVALID);
    ck_assert_ptr_nonnull(strstr(world.reason, "needs allocate_offset and largest_free_bytes"));
}
