/* Regions of the simulated device: where they lie, what faults do to them, and what is noted. */
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "tests/helpers/suite.h"

#include <check.h>

#define UNIT TARGET_REGION_ALIGN_BYTES
enum { CAPACITY_UNITS = 8 };

static struct timeline *timeline;
static struct device *device;
static const struct device_services *services;

static void set_up_device(void)
{
    timeline = timeline_create();
    device = device_create(CAPACITY_UNITS * UNIT, timeline);
    services = device_services(device);
    device_begin_op(device, 1000);
}

static void tear_down_device(void)
{
    device_destroy(device);
    timeline_destroy(timeline);
}

static uint64_t take_region(uint64_t bytes)
{
    struct device_region region = {0};
    ck_assert_int_eq(services->region_take(services->context, bytes, &region), DEVICE_OK);
    ck_assert_uint_eq(region.size_bytes, bytes);
    return region.address;
}

static void refuse_region(uint64_t bytes)
{
    struct device_region region = {1, 2};
    ck_assert_int_eq(services->region_take(services->context, bytes, &region), DEVICE_REFUSED);
    ck_assert_uint_eq(region.address, 1);
    ck_assert_uint_eq(region.size_bytes, 2);
}

static void give_region(uint64_t address)
{
    services->region_give(services->context, address);
}

TEST(a_region_is_the_lowest_that_is_free_and_aligned)
{
    set_up_device();
    ck_assert_uint_eq(take_region(UNIT), 0);
    ck_assert_uint_eq(take_region(1), UNIT);
    ck_assert_uint_eq(take_region(3 * UNIT), 2 * UNIT);
    ck_assert_uint_eq(take_region(UNIT + 1), 5 * UNIT);
    give_region(UNIT);
    ck_assert_uint_eq(take_region(UNIT), UNIT); /* the whole of what lay between two others */
    refuse_region(UNIT + 1);                    /* from 7 units on there is one */
    ck_assert_uint_eq(take_region(UNIT), 7 * UNIT);
    refuse_region(1);
    size_t count = 0;
    const struct device_region *regions = device_regions(device, &count);
    ck_assert_uint_eq(count, 5);
    ck_assert_uint_eq(regions[3].address, 5 * UNIT);
    ck_assert_uint_eq(regions[3].size_bytes, UNIT + 1);
    tear_down_device();
}

TEST(a_region_that_no_device_has_is_refused)
{
    set_up_device();
    refuse_region(0);
    refuse_region(CAPACITY_UNITS * UNIT + 1);
    refuse_region(UINT64_MAX);
    ck_assert_uint_eq(device_faults_fired(device), 0);
    ck_assert_uint_eq(take_region(CAPACITY_UNITS * UNIT), 0);
    give_region(0);
    ck_assert_uint_eq(take_region(CAPACITY_UNITS * UNIT), 0);
    tear_down_device();
}

TEST(every_call_is_in_the_log)
{
    size_t count = 0;
    set_up_device();
    take_region(UNIT);
    take_region(2 * UNIT);
    give_region(UNIT);
    refuse_region(9 * UNIT);
    const struct device_call *calls = device_calls(device, &count);
    ck_assert_uint_eq(count, 4);
    ck_assert_int_eq(calls[1].kind, DEVICE_CALL_REGION_TAKE);
    ck_assert_uint_eq(calls[1].from, 2 * UNIT);
    ck_assert_uint_eq(calls[1].to, UNIT);
    ck_assert_uint_eq(calls[1].bytes, 2 * UNIT);
    ck_assert_int_eq(calls[2].kind, DEVICE_CALL_REGION_GIVE);
    ck_assert_uint_eq(calls[2].from, UNIT);
    ck_assert_uint_eq(calls[2].bytes, 2 * UNIT);
    ck_assert_int_eq(calls[3].result, DEVICE_REFUSED);
    ck_assert_uint_eq(calls[3].bytes, 0);
    ck_assert_uint_eq(device_region_changes(device), 3);
    tear_down_device();
}

TEST(a_fault_refuses_one_region)
{
    set_up_device();
    device_arm(device, &(struct device_fault){.kind = FAULT_REGION, .call = 2});
    ck_assert_uint_eq(take_region(UNIT), 0);
    refuse_region(UNIT);
    ck_assert_uint_eq(device_faults_fired(device), 1u << FAULT_REGION);
    ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_REGION);
    ck_assert_uint_eq(take_region(UNIT), UNIT);
    tear_down_device();
}

TEST(a_fault_makes_one_region_short)
{
    const struct device_fault fault = {.kind = FAULT_REGION_SHORT, .call = 1};
    struct device_region region = {0};
    set_up_device();
    device_arm(device, &fault);
    ck_assert_int_eq(services->region_take(services->context, 3 * UNIT, &region), DEVICE_OK);
    ck_assert_uint_eq(region.size_bytes, 3 * UNIT / 2);
    ck_assert_uint_eq(device_faults_fired(device), 1u << FAULT_REGION);
    device_arm(device, &fault);
    ck_assert_int_eq(services->region_take(services->context, 1, &region), DEVICE_OK);
    ck_assert_uint_eq(region.size_bytes, 1);
    ck_assert_uint_eq(take_region(UNIT), 3 * UNIT); /* 1.5 units, up to 2, and that of one byte */
    tear_down_device();
}

TEST(what_is_given_back_and_is_no_region_is_noted)
{
    uint64_t address = 0;
    set_up_device();
    take_region(2 * UNIT);
    ck_assert(!device_gave_wrongly(device, &address));
    give_region(UNIT); /* it is inside of one */
    give_region(7 * UNIT);
    ck_assert(device_gave_wrongly(device, &address));
    ck_assert_uint_eq(address, UNIT);
    ck_assert_uint_eq(device_region_changes(device), 1);
    tear_down_device();
}
