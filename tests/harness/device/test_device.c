/* The simulated device: what memory holds after copies, and when events complete. */
#include "harness/device/collectives.h"
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { CAPACITY = 64 };

static struct timeline *timeline;
static struct setup setup; /* of two hosts with one time */
static struct collectives *collectives;
static struct device *device;
static const struct device_services *services;

static void set_up_device(void)
{
    timeline = timeline_create();
    setup_init(&setup);
    setup.host_count = 2;
    collectives = collectives_create(&setup, (struct timeline *[]){timeline, timeline});
    device = device_create(CAPACITY, timeline);
    services = device_services(device);
    device_begin_op(device, 1000);
}

static void tear_down_device(void)
{
    device_destroy(device);
    timeline_destroy(timeline);
    collectives_destroy(collectives);
}

static enum device_result copy_bytes(uint64_t from, uint64_t to, uint64_t bytes)
{
    return services->copy(services->context, from, to, bytes);
}

TEST(a_block_holds_itself_until_it_is_written_over)
{
    set_up_device();
    device_stamp(device, 8, 16, 0);
    device_stamp(device, 32, 8, 1);
    ck_assert(device_holds(device, 8, 16, 0));
    ck_assert(!device_holds(device, 8, 17, 0));
    ck_assert(!device_holds(device, 9, 15, 0)); /* not from offset 0 */
    ck_assert(!device_holds(device, 8, 16, 1));
    ck_assert_int_eq(copy_bytes(32, 12, 4),
                     DEVICE_OK); /* a torn piece of owner 1 in the middle of owner 0 */
    ck_assert(!device_holds(device, 8, 16, 0));
    ck_assert(device_holds(device, 8, 4, 0));
    ck_assert(device_holds(device, 32, 8, 1));
    tear_down_device();
}

TEST(copies_may_overlap_in_both_directions)
{
    for (uint64_t to = 0; to <= 16; to++) {
        set_up_device();
        device_stamp(device, 8, 16, 0);
        ck_assert_int_eq(copy_bytes(8, to, 16), DEVICE_OK);
        ck_assert(device_holds(device, to, 16, 0));
        ck_assert_int_eq(copy_bytes(to, 40, 16), DEVICE_OK);
        ck_assert(device_holds(device, 40, 16, 0));
        tear_down_device();
    }
}

TEST(a_block_copied_in_pieces_is_whole_and_one_with_a_piece_missing_is_not)
{
    for (uint64_t missing = 0; missing <= 4; missing++) {
        set_up_device();
        device_stamp(device, 0, 16, 3);
        for (uint64_t piece = 0; piece < 4; piece++) {
            if (piece + 1 != missing) {
                ck_assert_int_eq(copy_bytes(piece * 4, 32 + piece * 4, 4), DEVICE_OK);
            }
        }
        ck_assert_int_eq(device_holds(device, 32, 16, 3), missing == 0);
        tear_down_device();
    }
    /* The pieces in the wrong order are not the block. */
    set_up_device();
    device_stamp(device, 0, 8, 3);
    ck_assert_int_eq(copy_bytes(0, 36, 4), DEVICE_OK);
    ck_assert_int_eq(copy_bytes(4, 32, 4), DEVICE_OK);
    ck_assert(!device_holds(device, 32, 8, 3));
    tear_down_device();
}

TEST(a_stage_keeps_what_it_took_out)
{
    set_up_device();
    uint64_t stage = 0;
    device_stamp(device, 0, 8, 0);
    device_stamp(device, 8, 8, 1);
    ck_assert_int_eq(services->stage_out(services->context, 0, 8, &stage), DEVICE_OK);
    ck_assert_uint_ne(stage, 0);
    ck_assert_int_eq(copy_bytes(8, 0, 8), DEVICE_OK);
    ck_assert_int_eq(services->stage_in(services->context, stage, 8), DEVICE_OK);
    ck_assert(device_holds(device, 0, 8, 1));
    ck_assert(device_holds(device, 8, 8, 0));
    ck_assert_int_eq(services->stage_in(services->context, stage, 16), DEVICE_REFUSED);
    ck_assert_int_eq(services->stage_out(services->context, 0, 8, &stage), DEVICE_OK);
    services->stage_drop(services->context, stage);
    ck_assert_int_eq(services->stage_in(services->context, stage, 16), DEVICE_REFUSED);
    tear_down_device();
}

TEST(what_is_given_back_holds_nothing_until_it_is_taken_and_written_again)
{
    set_up_device();
    uint64_t stage = 0;
    device_stamp(device, 0, 8, 0);
    device_stamp(device, 8, 8, 1);
    ck_assert_uint_eq(device_mapped_bytes(device), CAPACITY);
    ck_assert_int_eq(services->stage_out(services->context, 0, 8, &stage), DEVICE_OK);
    services->unmap(services->context, 0, 8);
    services->unmap(services->context, 4, 2); /* once more is no matter */
    ck_assert_uint_eq(device_mapped_bytes(device), CAPACITY - 8);
    ck_assert(!device_holds(device, 0, 8, 0));
    ck_assert(device_holds(device, 8, 8, 1));
    ck_assert(!device_left_range(device));
    ck_assert_int_eq(services->stage_copy(services->context, stage, 0), DEVICE_REFUSED);
    ck_assert(device_left_range(device));
    ck_assert_int_eq(services->map(services->context, 0, 8), DEVICE_OK);
    ck_assert_uint_eq(device_mapped_bytes(device), CAPACITY);
    ck_assert(!device_holds(device, 0, 8, 0));
    ck_assert_int_eq(services->stage_copy(services->context, stage, 0), DEVICE_OK);
    ck_assert(device_holds(device, 0, 8, 0));
    ck_assert_uint_eq(device_stage_count(device), 1);
    services->stage_drop(services->context, stage);
    ck_assert_uint_eq(device_stage_count(device), 0);
    tear_down_device();
}

TEST(a_refused_map_takes_nothing)
{
    set_up_device();
    services->unmap(services->context, 0, CAPACITY);
    device_arm(device, &(struct device_fault){.kind = FAULT_COPY, .call = 1});
    ck_assert_int_eq(services->map(services->context, 0, CAPACITY), DEVICE_REFUSED);
    ck_assert_uint_eq(device_mapped_bytes(device), 0);
    ck_assert_int_eq(services->map(services->context, 0, CAPACITY + 1), DEVICE_REFUSED);
    ck_assert(device_left_range(device));
    ck_assert_int_eq(services->map(services->context, 0, CAPACITY), DEVICE_OK);
    tear_down_device();
}

/* What the judge does around an op that moves: an owner goes, a new one takes its number, all
 * settles. */
TEST(a_stage_has_an_owner_s_bytes_until_it_ends_or_the_owner_goes)
{
    for (int ending = 0; ending < 3; ending++) {
        set_up_device();
        uint64_t stage = 0;
        device_stamp(device, 0, 8, 0);
        device_stamp(device, 8, 8, 1);
        ck_assert(!device_has_staged(device, 0, 8));
        ck_assert_int_eq(services->stage_out(services->context, 0, 8, &stage), DEVICE_OK);
        ck_assert(device_has_staged(device, 0, 8));
        ck_assert(
            device_has_staged(device, 0, 6)); /* what was asked for may be less than the block */
        ck_assert(!device_has_staged(device, 0, 9));
        ck_assert(!device_has_staged(device, 1, 8));
        ck_assert_int_eq(copy_bytes(8, 0, 8), DEVICE_OK);
        device_settle(device);
        ck_assert(device_has_staged(device, 0, 8));
        if (ending == 0) {
            services->stage_drop(services->context, stage);
        } else if (ending == 1) {
            ck_assert_int_eq(services->stage_in(services->context, stage, 16), DEVICE_OK);
        } else {
            device_scrub(device, 1);
            ck_assert(device_has_staged(device, 0, 8));
            device_scrub(device, 0);
        }
        ck_assert(!device_has_staged(device, 0, 8));
        tear_down_device();
    }
}

TEST(a_stage_of_other_bytes_is_none_of_the_block)
{
    const struct {
        uint64_t from, bytes;
    } rows[] = {{1, 7}, {4, 8}, {0, 4}}; /* not from its first byte, half of another's, too short */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_up_device();
        uint64_t stage = 0;
        device_stamp(device, 0, 8, 0);
        ck_assert_int_eq(
            services->stage_out(services->context, rows[i].from, rows[i].bytes, &stage), DEVICE_OK);
        ck_assert_msg(!device_has_staged(device, 0, 7), "row %zu", i);
        tear_down_device();
    }
    set_up_device();
    uint64_t stage = 0;
    device_stamp(device, 0, 8, 0);
    device_stamp(device, 16, 2, 1);
    ck_assert_int_eq(copy_bytes(16, 3, 2), DEVICE_OK); /* a piece of another in the middle */
    ck_assert_int_eq(services->stage_out(services->context, 0, 8, &stage), DEVICE_OK);
    ck_assert(!device_has_staged(device, 0, 8));
    ck_assert(device_has_staged(device, 0, 3));
    tear_down_device();
}

TEST(the_number_of_an_owner_that_went_is_used_again)
{
    set_up_device();
    device_stamp(device, 0, 8, 0);
    device_stamp(device, 16, 8, 1);
    ck_assert_int_eq(copy_bytes(16, 4, 8), DEVICE_OK); /* over half of owner 0 */
    device_scrub(device, 0);
    ck_assert(!device_holds(device, 0, 4, 0));
    ck_assert(device_holds(device, 4, 8, 1));
    device_settle(device);
    device_stamp(device, 4, 8, 1);
    device_stamp(device, 16, 8, 0); /* where the other one was */
    ck_assert(device_holds(device, 4, 8, 1));
    ck_assert(device_holds(device, 16, 8, 0));
    ck_assert(!device_holds(device, 0, 4, 0));
    ck_assert_int_eq(copy_bytes(16, 32, 8), DEVICE_OK);
    ck_assert(device_holds(device, 32, 8, 0));
    tear_down_device();
}

TEST(a_copy_out_of_the_device_changes_nothing_and_is_seen)
{
    set_up_device();
    device_stamp(device, 0, 8, 0);
    ck_assert_int_eq(copy_bytes(0, CAPACITY - 8, 8), DEVICE_OK);
    ck_assert(!device_left_range(device));
    ck_assert_int_eq(copy_bytes(0, CAPACITY - 7, 8), DEVICE_REFUSED);
    ck_assert(device_left_range(device));
    device_begin_op(device, 1000);
    ck_assert(!device_left_range(device));
    ck_assert_int_eq(copy_bytes(UINT64_MAX - 3, 0, 8), DEVICE_REFUSED);
    ck_assert(device_left_range(device));
    ck_assert(device_holds(device, 0, 8, 0));
    tear_down_device();
}

TEST(a_fault_fires_once_at_its_call)
{
    set_up_device();
    device_arm(device, &(struct device_fault){.kind = FAULT_COPY, .call = 2});
    ck_assert_int_eq(copy_bytes(0, 8, 4), DEVICE_OK);
    ck_assert_uint_eq(device_faults_fired(device), 0);
    ck_assert_int_eq(copy_bytes(0, 8, 4), DEVICE_REFUSED);
    ck_assert_uint_eq(device_faults_fired(device), 1u << FAULT_COPY);
    ck_assert_int_eq(copy_bytes(0, 8, 4), DEVICE_OK);
    device_begin_op(device, 1000);
    ck_assert_uint_eq(device_faults_fired(device), 0);
    device_arm(device, &(struct device_fault){.kind = FAULT_HOST_MEMORY, .call = 1});
    ck_assert_ptr_null(services->host_alloc(services->context, 8));
    void *memory = services->host_alloc(services->context, 8);
    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq(device_host_bytes(device), 8);
    services->host_free(services->context, memory, 8);
    ck_assert_uint_eq(device_host_bytes(device), 0);
    tear_down_device();
}

TEST(an_op_beyond_its_bound_is_hung)
{
    set_up_device();
    device_begin_op(device, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(copy_bytes(0, 8, 4), DEVICE_OK);
        ck_assert(!device_hung(device));
    }
    ck_assert_int_eq(copy_bytes(0, 8, 4), DEVICE_REFUSED);
    ck_assert(device_hung(device));
    tear_down_device();
}

/* --- time --- */

TEST(waiting_completes_what_is_due_by_then_in_order)
{
    set_up_device();
    timeline_add(timeline, 1, 30);
    timeline_add(timeline, 2, 10);
    timeline_add(timeline, 3, 20);
    timeline_add(timeline, 4, 20);
    timeline_add(timeline, 5, DELAY_NEVER);
    timeline_add(timeline, 6, UINT64_MAX - 1);
    ck_assert_int_eq(services->event_wait(services->context, 3), DEVICE_OK);
    ck_assert_uint_eq(timeline_completed_count(timeline), 3);
    ck_assert_uint_eq(timeline_completed_at(timeline, 0), 2);
    ck_assert_uint_eq(timeline_completed_at(timeline, 1), 3);
    ck_assert_uint_eq(timeline_completed_at(timeline, 2), 4);
    ck_assert_uint_eq(timeline_now_ns(timeline), 20);
    ck_assert_int_eq(services->event_wait(services->context, 5), DEVICE_LOST);
    ck_assert_int_eq(services->event_wait(services->context, 7), DEVICE_REFUSED);
    ck_assert_int_eq(services->event_wait(services->context, 2), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 20);
    timeline_add(timeline, 7, UINT64_MAX - 1); /* past the end of time: lost */
    ck_assert_int_eq(services->event_wait(services->context, 7), DEVICE_LOST);
    timeline_complete(timeline, 5);
    ck_assert_int_eq(services->event_wait(services->context, 5), DEVICE_OK);
    tear_down_device();
}

TEST(a_collective_ends_after_the_last_host_or_at_its_bound)
{
    set_up_device();
    timeline_add(timeline, 1, DELAY_NEVER);
    collectives_join(collectives, 1, 7, 0, 100);
    ck_assert_uint_eq(timeline_due_ns(timeline, 1), COLLECTIVE_BOUND_NS);
    timeline_advance(timeline, 50);
    timeline_add(timeline, 2, DELAY_NEVER);
    collectives_join(collectives, 2, 7, 1, 10);
    ck_assert_uint_eq(timeline_due_ns(timeline, 1), 150);
    ck_assert_uint_eq(timeline_due_ns(timeline, 2), 60);
    timeline_advance(timeline, 1000);
    ck_assert_uint_eq(timeline_pending_count(timeline), 0);
    ck_assert_uint_eq(timeline_completed_count(timeline), 2);
    tear_down_device();
}

/* The oracle takes due time 0 for "waits for nothing": no pending event may have it. */
TEST(a_pending_event_is_due_later_than_now)
{
    set_up_device();
    timeline_add(timeline, 1, 0);
    ck_assert_int_eq(timeline_state(timeline, 1), EVENT_DONE);
    for (uint64_t event = 2; event <= 3; event++) {
        timeline_add(timeline, event, DELAY_NEVER);
        collectives_join(collectives, event, 7, (uint32_t)event - 2, 0);
    }
    ck_assert_int_eq(timeline_state(timeline, 2), EVENT_DONE);
    ck_assert_int_eq(timeline_state(timeline, 3), EVENT_DONE);
    ck_assert_uint_eq(timeline_pending_count(timeline), 0);
    timeline_advance(timeline, 2 * COLLECTIVE_BOUND_NS);
    ck_assert_uint_eq(timeline_completed_count(timeline), 3);
    tear_down_device();
}

TEST(what_is_enqueued_without_a_delay_is_done_unless_its_stream_is_busy)
{
    set_up_device();
    timeline_enqueue(timeline, 1, 3, 0);
    ck_assert_int_eq(timeline_state(timeline, 1), EVENT_DONE);
    timeline_enqueue(timeline, 2, 3, 50);
    timeline_enqueue(timeline, 3, 3, 0);
    ck_assert_int_eq(timeline_state(timeline, 3), EVENT_PENDING);
    ck_assert_uint_eq(timeline_due_ns(timeline, 3), 50);
    tear_down_device();
}

TEST(the_event_that_is_due_last_is_found_wherever_it_stands)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    timeline_add(timeline, 2, 50);
    timeline_add(timeline, 3, 100);
    timeline_add(timeline, 4, DELAY_NEVER);
    ck_assert_uint_eq(timeline_last_due(timeline, 4), 3);
    ck_assert_uint_eq(timeline_last_due(timeline, 3),
                      1); /* the first, before one that is due earlier */
    timeline_complete(timeline, 1);
    timeline_complete(timeline, 3);
    ck_assert_uint_eq(timeline_last_due(timeline, 2), 0);
    tear_down_device();
}
