/* Each fault of the simulated device: what it does to its call, and to no other. */
#include "harness/device/collectives.h"
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

#define CAPACITY ((uint64_t)1 << 40)

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
    device_set_resumes(device, true);
    services = device_services(device);
    device_begin_op(device, 1000);
}

static void tear_down_device(void)
{
    device_destroy(device);
    timeline_destroy(timeline);
    collectives_destroy(collectives);
}

static void arm_fault(enum fault_kind kind, uint64_t call, uint64_t delay_ns, bool is_for_ever)
{
    device_arm(device, &(struct device_fault){kind, call, delay_ns, is_for_ever});
}

/* --- calls --- */

static enum device_result copy_bytes(uint64_t from, uint64_t to, uint64_t bytes)
{
    return services->copy(services->context, from, to, bytes);
}

static enum device_result wait_for(uint64_t event)
{
    return services->event_wait(services->context, event);
}

static enum device_result unload_program(uint64_t program)
{
    return services->unload(services->context, program);
}

static enum device_result stage_out(uint64_t from, uint64_t bytes, uint64_t *stage)
{
    return services->stage_out(services->context, from, bytes, stage);
}

static enum device_result stage_in(uint64_t stage, uint64_t to)
{
    return services->stage_in(services->context, stage, to);
}

static enum device_result stage_and_drop(void)
{
    uint64_t stage = 0;
    const enum device_result result = stage_out(0, 8, &stage);
    if (result == DEVICE_OK) {
        services->stage_drop(services->context, stage);
    }
    return result;
}

static enum device_result take_host_memory(void)
{
    void *memory = services->host_alloc(services->context, 8);
    services->host_free(services->context, memory, 8);
    return memory == NULL ? DEVICE_REFUSED : DEVICE_OK;
}

/* A call of each kind that would be granted.  Event 1 is done. */
static enum device_result call_of(enum fault_kind call)
{
    switch (call) {
    case FAULT_COPY:
        return copy_bytes(0, 64, 8);
    case FAULT_WAIT:
        return wait_for(1);
    case FAULT_UNLOAD:
        return unload_program(7);
    default:
        return take_host_memory();
    }
}

EVERY_TEST(.timeout_s = 120);

TEST(a_refusing_fault_strikes_its_nth_call_once_or_for_ever_until_it_is_disarmed)
{
    for (unsigned kind = 0; kind < FAULT_CALL_COUNT; kind++) {
        for (uint64_t nth = 1; nth <= 3; nth++) {
            for (int for_ever = 0; for_ever < 2; for_ever++) {
                set_up_device();
                timeline_add(timeline, 1, 0);
                arm_fault((enum fault_kind)kind, nth, 0, for_ever == 1);
                for (uint64_t i = 1; i <= 5; i++) {
                    const bool strikes = for_ever ? i >= nth : i == nth;
                    device_begin_op(device, 1000);
                    for (unsigned other = 0; other < FAULT_CALL_COUNT; other++) {
                        const enum device_result expected = strikes && other == kind
                                                                ? DEVICE_REFUSED
                                                                : DEVICE_OK;
                        ck_assert_int_eq(call_of((enum fault_kind)other), expected);
                    }
                    ck_assert_uint_eq(device_faults_fired(device), strikes ? 1u << kind : 0);
                    ck_assert_uint_eq(device_faults_struck(device), strikes ? 1u << kind : 0);
                }
                arm_fault((enum fault_kind)kind, 0, 0, for_ever == 1);
                ck_assert_int_eq(call_of((enum fault_kind)kind), DEVICE_OK);
                tear_down_device();
            }
        }
    }
}

TEST(any_refuses_the_nth_call_of_whatever_kind)
{
    for (uint64_t nth = 1; nth <= 6; nth++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            set_up_device();
            timeline_add(timeline, 1, 0);
            uint64_t stage = 0;
            ck_assert_int_eq(stage_out(0, 8, &stage), DEVICE_OK);
            arm_fault(FAULT_ANY, nth, 0, for_ever == 1);
            const enum device_result results[] = {copy_bytes(0, 64, 8), stage_and_drop(),
                                                  stage_in(stage, 8),   wait_for(1),
                                                  unload_program(7),    take_host_memory()};
            static const enum fault_kind kinds[] = {FAULT_COPY, FAULT_COPY,   FAULT_COPY,
                                                    FAULT_WAIT, FAULT_UNLOAD, FAULT_HOST_MEMORY};
            uint32_t fired = 0;
            for (uint64_t i = 1; i <= 6; i++) {
                const bool strikes = for_ever ? i >= nth : i == nth;
                ck_assert_int_eq(results[i - 1], strikes ? DEVICE_REFUSED : DEVICE_OK);
                fired |= strikes ? 1u << kinds[i - 1] : 0;
            }
            ck_assert_uint_eq(device_faults_fired(device), fired);
            ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_ANY);
            tear_down_device();
        }
    }
}

/* --- copies that stop half-way --- */

TEST(a_copy_that_stops_half_way_ends_right_when_it_is_called_again)
{
    for (uint64_t to = 0; to <= 80; to++) {
        set_up_device();
        device_stamp(device, 24, 16, 0);
        arm_fault(FAULT_COPY_HALF, 1, 0, false);
        ck_assert_int_eq(copy_bytes(24, to, 16), DEVICE_PARTIAL);
        ck_assert(to == 24 || !device_holds(device, to, 16, 0));
        ck_assert_uint_eq(device_faults_fired(device), 0);
        ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_COPY_HALF);
        const bool overlaps = to < 40 && to + 16 > 24 && to != 24;
        ck_assert_int_eq(device_holds(device, 24, 16, 0), !overlaps);
        arm_fault(FAULT_COPY, 1, 0, true); /* nothing refuses what goes on */
        arm_fault(FAULT_ANY, 1, 0, true);
        ck_assert_int_eq(copy_bytes(24, to, 16), DEVICE_OK);
        ck_assert(device_holds(device, to, 16, 0));
        ck_assert_int_eq(copy_bytes(24, to, 16), DEVICE_REFUSED); /* a new one */
        tear_down_device();
    }
}

TEST(half_of_a_copy_is_half_of_its_bytes)
{
    set_up_device();
    device_stamp(device, 0, 16, 0);
    arm_fault(FAULT_COPY_HALF, 2, 0, false);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_int_eq(copy_bytes(0, 200, 16), DEVICE_PARTIAL);
    ck_assert(device_holds(device, 200, 8, 0));
    ck_assert(!device_holds(device, 200, 9, 0));
    ck_assert(device_holds(device, 0, 16, 0));
    device_stamp(device, 600, 16, 1);
    arm_fault(FAULT_COPY_HALF, 1, 0, false);
    ck_assert_int_eq(copy_bytes(0, 592, 16),
                     DEVICE_PARTIAL); /* where nothing has arrived nothing of use is left */
    ck_assert(device_holds(device, 592, 8, 0));
    ck_assert(!device_holds(device, 600, 1, 1));
    arm_fault(FAULT_COPY_HALF, 2, 0, false);
    ck_assert_int_eq(copy_bytes(0, 592, 16), DEVICE_OK);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_int_eq(copy_bytes(0, 200, 16), DEVICE_PARTIAL);
    ck_assert_int_eq(copy_bytes(0, 300, 16),
                     DEVICE_OK); /* another one: the begun one is given up */
    ck_assert_int_eq(copy_bytes(0, 200, 16), DEVICE_OK); /* from its beginning */
    ck_assert(device_holds(device, 200, 16, 0));
    arm_fault(FAULT_COPY_HALF, 1, 0, false);
    ck_assert_int_eq(copy_bytes(0, 400, 16), DEVICE_PARTIAL);
    arm_fault(FAULT_COPY, 1, 0, false);
    ck_assert_int_eq(copy_bytes(0, 500, 16),
                     DEVICE_REFUSED); /* has no effect: the begun one is still begun */
    arm_fault(FAULT_COPY, 1, 0, false);
    ck_assert_int_eq(copy_bytes(0, 400, 16), DEVICE_OK);
    tear_down_device();
}

TEST(a_copy_that_is_halved_for_ever_ends_within_64_calls)
{
    static const uint64_t sizes[] = {1, 2, 65536, 65537, 131073, 1000003, UINT64_C(1) << 39};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int up = 0; up < 2; up++) {
            set_up_device();
            const uint64_t from = up ? 0 : 1000;
            const uint64_t to = up ? 1000 : 0;
            device_begin_op(device, 1); /* calls that go on are not counted */
            device_stamp(device, from, sizes[i], 0);
            arm_fault(FAULT_COPY_HALF, 1, 0, true);
            unsigned calls = 1;
            while (copy_bytes(from, to, sizes[i]) == DEVICE_PARTIAL) {
                calls++;
                ck_assert_uint_le(calls, 64);
            }
            ck_assert_uint_ge(calls, sizes[i] > 200000 ? 3 : sizes[i] > 1 ? 2 : 1);
            ck_assert(device_holds(device, to, sizes[i], 0));
            ck_assert(!device_hung(device));
            tear_down_device();
        }
    }
}

TEST(a_stage_that_stops_half_way_stays_until_it_has_arrived)
{
    set_up_device();
    uint64_t stage = 0;
    device_stamp(device, 0, 16, 0);
    arm_fault(FAULT_COPY_HALF, 1, 0, false);
    ck_assert_int_eq(stage_out(0, 16, &stage), DEVICE_OK);
    ck_assert_uint_eq(device_faults_struck(device), 0);
    ck_assert_int_eq(stage_in(stage, 100), DEVICE_PARTIAL);
    ck_assert(device_holds(device, 100, 8, 0));
    ck_assert(!device_holds(device, 100, 16, 0));
    ck_assert_int_eq(stage_in(stage, 100), DEVICE_OK);
    ck_assert(device_holds(device, 100, 16, 0));
    ck_assert_int_eq(stage_in(stage, 100),
                     DEVICE_REFUSED); /* its bytes are there, the stage is gone */
    arm_fault(FAULT_COPY_HALF, 1, 0, false);
    ck_assert_int_eq(stage_out(0, 16, &stage), DEVICE_OK);
    ck_assert_int_eq(stage_in(stage, 200), DEVICE_PARTIAL);
    services->stage_drop(services->context, stage);
    ck_assert_int_eq(stage_in(stage, 200), DEVICE_REFUSED);
    tear_down_device();
}

TEST(a_begun_copy_brings_all_of_it_after_the_contents_were_settled)
{
    set_up_device();
    device_stamp(device, 0, 16, 0);
    arm_fault(FAULT_COPY_HALF, 1, 0, false);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_PARTIAL);
    device_settle(device);
    device_stamp(device, 0, 16, 0);
    arm_fault(FAULT_COPY, 1, 0, true);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert(device_holds(device, 100, 16, 0));
    tear_down_device();
}

static bool owner_is_program(const void *context, uint64_t program, uint32_t *owner)
{
    (void)context;
    *owner = (uint32_t)program;
    return program < 3;
}

TEST(half_of_an_image_is_gone_wherever_it_lies)
{
    set_up_device();
    device_set_images(device, &(struct device_images){owner_is_program, NULL});
    device_stamp(device, 0, 16, 1);
    device_stamp(device, 32, 16, 2);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    arm_fault(FAULT_UNLOAD_HALF, 1, 0, false);
    ck_assert_int_eq(unload_program(1), DEVICE_PARTIAL);
    ck_assert(!device_holds(device, 100, 1, 1));
    ck_assert(!device_holds(device, 0, 1, 1));
    ck_assert(device_holds(device, 32, 16, 2));
    ck_assert_uint_eq(device_faults_fired(device), 0);
    arm_fault(FAULT_UNLOAD, 1, 0, true);
    ck_assert_int_eq(unload_program(2), DEVICE_REFUSED);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_int_eq(unload_program(1), DEVICE_REFUSED);
    arm_fault(FAULT_UNLOAD, 0, 0, false);
    arm_fault(FAULT_UNLOAD_HALF, 1, 0, true);
    for (uint64_t program = 2; program < 4; program++) { /* the device has no image of program 3 */
        ck_assert_int_eq(unload_program(program), DEVICE_PARTIAL);
        ck_assert_int_eq(unload_program(program), DEVICE_OK);
    }
    ck_assert(!device_holds(device, 32, 1, 2));
    tear_down_device();
}

TEST(who_does_not_resume_never_sees_half_of_anything)
{
    set_up_device();
    device_set_resumes(device, false);
    arm_fault(FAULT_COPY_HALF, 1, 0, true);
    arm_fault(FAULT_UNLOAD_HALF, 1, 0, true);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_uint_eq(device_faults_struck(device), 0);
    tear_down_device();
}

/* --- time --- */

TEST(a_late_copy_lets_events_complete_before_it_answers)
{
    set_up_device();
    uint64_t stage = 0;
    size_t count = 0;
    timeline_add(timeline, 1, 50);
    arm_fault(FAULT_COPY_LATE, 2, 50, false);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 0);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 50);
    ck_assert_int_eq(timeline_state(timeline, 1), EVENT_DONE);
    ck_assert_uint_eq(device_calls(device, &count)[1].completed_before,
                      0); /* it began before that */
    arm_fault(FAULT_COPY_LATE, 1, 10, true);
    ck_assert_int_eq(stage_out(0, 16, &stage), DEVICE_OK);
    ck_assert_int_eq(stage_in(stage, 16), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 70);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 70);
    arm_fault(FAULT_COPY_LATE, 0, 0, false);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 70);
    tear_down_device();
}

TEST(the_clock_jumps_before_the_nth_device_call)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    size_t count = 0;
    arm_fault(FAULT_CLOCK_JUMP, 2, 100, false);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_int_eq(take_host_memory(), DEVICE_OK);        /* not of the device */
    ck_assert(!services->event_done(services->context, 1)); /* cannot be refused: not counted */
    ck_assert_uint_eq(services->clock_ns(services->context), 0);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_uint_eq(services->clock_ns(services->context), 100);
    ck_assert(services->event_done(services->context, 1));
    ck_assert_uint_eq(device_calls(device, &count)[1].completed_before, 1);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 100);
    arm_fault(FAULT_CLOCK_JUMP, 1, 100, true);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 300);
    device_end_op(device);
    ck_assert_int_eq(unload_program(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 300);
    tear_down_device();
}

static bool is_done(uint64_t event)
{
    return services->event_done(services->context, event);
}

static uint64_t count_completed(void)
{
    return services->completed_count(services->context);
}

TEST(the_clock_jumps_before_the_nth_look_at_the_events)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    timeline_add(timeline, 2, 100);
    arm_fault(FAULT_POLL_JUMP, 3, 100, false);
    ck_assert_uint_eq(count_completed(), 0);
    ck_assert(!is_done(1));
    ck_assert_uint_eq(services->clock_ns(services->context), 0); /* not counted */
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);         /* nor is that */
    ck_assert(is_done(2));
    ck_assert(is_done(1));
    ck_assert_uint_eq(count_completed(), 2);
    ck_assert_uint_eq(timeline_now_ns(timeline), 100);
    ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_POLL_JUMP);
    arm_fault(FAULT_POLL_JUMP, 1, 100, true);
    ck_assert(is_done(1));
    ck_assert_uint_eq(count_completed(), 2);
    ck_assert_uint_eq(timeline_now_ns(timeline), 300);
    device_end_op(device);
    ck_assert(is_done(1));
    ck_assert_uint_eq(timeline_now_ns(timeline), 300);
    tear_down_device();
}

static void wait_nowhere(void *context, uint64_t event)
{
    (void)context;
    (void)event;
}
static void look_nowhere(void *context)
{
    (void)context;
}
static void give_nothing(void *context, const void *memory, size_t bytes)
{
    (void)context;
    (void)memory;
    (void)bytes;
}

TEST(no_clock_jumps_before_a_look_where_others_pass_the_time)
{
    const struct device_waiter waiter = {NULL, wait_nowhere, look_nowhere, give_nothing};
    set_up_device();
    device_set_waiter(device, &waiter);
    arm_fault(FAULT_POLL_JUMP, 1, 100, true);
    ck_assert_uint_eq(count_completed(), 0);
    ck_assert_uint_eq(timeline_now_ns(timeline), 0);
    ck_assert_uint_eq(device_faults_struck(device), 0);
    tear_down_device();
}

TEST(what_completes_between_two_looks_is_seen_after_the_next_call)
{
    set_up_device();
    size_t count = 0;
    for (uint64_t event = 1; event <= 4; event++) {
        timeline_add(timeline, event, event * 100);
    }
    ck_assert_int_eq(wait_for(1), DEVICE_OK);
    ck_assert_uint_eq(device_seen_count(device), 1);
    arm_fault(FAULT_POLL_JUMP, 1, 100, false);
    ck_assert(is_done(2));
    arm_fault(FAULT_POLL_JUMP, 1, 100, false);
    ck_assert_uint_eq(count_completed(), 3);
    ck_assert_uint_eq(device_seen_count(device), 1);
    arm_fault(FAULT_HOST_MEMORY, 1, 0, false);
    ck_assert_int_eq(take_host_memory(), DEVICE_REFUSED); /* not of the device */
    ck_assert_uint_eq(device_seen_count(device), 1);
    ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_OK);
    ck_assert_uint_eq(device_seen_count(device), 3);
    ck_assert_uint_eq(device_calls(device, &count)[1].completed_before, 1);
    ck_assert_uint_eq(device_calls(device, &count)[2].completed_before, 3);
    ck_assert(!timeline_was_lost(timeline, 1));
    ck_assert(timeline_was_lost(timeline, 2));
    arm_fault(FAULT_POLL_JUMP, 1, 100, false);
    ck_assert(is_done(4));
    ck_assert_uint_eq(device_seen_count(device), 3);
    device_end_op(device);
    ck_assert_uint_eq(device_seen_count(device), 3);
    device_begin_op(device, 1000);
    ck_assert_uint_eq(device_seen_count(device), 4);
    tear_down_device();
}

TEST(a_wait_times_out_unless_the_event_is_done_by_then)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    timeline_add(timeline, 2, 101);
    timeline_add(timeline, 3, DELAY_NEVER);
    arm_fault(FAULT_WAIT_TIMEOUT, 1, 100, true);
    ck_assert_int_eq(wait_for(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 100);
    ck_assert_uint_eq(device_faults_fired(device), 0);
    arm_fault(FAULT_WAIT_TIMEOUT, 1, 0, false);
    ck_assert_int_eq(wait_for(2), DEVICE_REFUSED);
    ck_assert_uint_eq(device_faults_fired(device), 1u << FAULT_WAIT);
    ck_assert_int_eq(wait_for(2), DEVICE_OK);
    arm_fault(FAULT_WAIT_TIMEOUT, 1, 7, true);
    ck_assert_int_eq(wait_for(2), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 101);
    ck_assert_int_eq(wait_for(3),
                     DEVICE_REFUSED); /* who stops waiting does not know that it is lost */
    ck_assert_uint_eq(timeline_now_ns(timeline), 108);
    arm_fault(FAULT_WAIT_TIMEOUT, 0, 0, false);
    ck_assert_int_eq(wait_for(3), DEVICE_LOST);
    tear_down_device();
}

TEST(an_unload_is_busy_for_a_while_and_then_granted)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        set_up_device();
        arm_fault(FAULT_UNLOAD_BUSY, 2, 100, for_ever == 1);
        ck_assert_int_eq(unload_program(1), DEVICE_OK);
        ck_assert_int_eq(unload_program(2), DEVICE_REFUSED);
        timeline_advance(timeline, 99);
        device_begin_op(device, 1000);
        ck_assert_int_eq(unload_program(2), DEVICE_REFUSED);
        ck_assert_uint_eq(device_faults_fired(device), 1u << FAULT_UNLOAD);
        ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_UNLOAD_BUSY);
        timeline_advance(timeline, 1);
        ck_assert_int_eq(unload_program(2), DEVICE_OK);
        ck_assert_int_eq(unload_program(3), for_ever ? DEVICE_REFUSED : DEVICE_OK);
        arm_fault(FAULT_UNLOAD_BUSY, 0, 0, false);
        ck_assert_int_eq(unload_program(3), DEVICE_OK);
        arm_fault(FAULT_UNLOAD_BUSY, 1, DELAY_NEVER, false);
        ck_assert_int_eq(unload_program(3), DEVICE_REFUSED);
        timeline_advance(timeline, UINT64_C(1) << 62);
        ck_assert_int_eq(unload_program(3), DEVICE_REFUSED);
        device_disarm_all(device);
        ck_assert_int_eq(unload_program(3), DEVICE_OK);
        tear_down_device();
    }
}

/* --- events --- */

TEST(a_lost_event_stays_lost)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    timeline_add(timeline, 2, 200);
    arm_fault(FAULT_EVENT_LOST, 1, 0, false);
    ck_assert_int_eq(wait_for(1), DEVICE_LOST);
    ck_assert_uint_eq(timeline_due_ns(timeline, 1), DELAY_NEVER);
    ck_assert_int_eq(wait_for(2), DEVICE_OK);
    ck_assert_int_eq(timeline_state(timeline, 1), EVENT_PENDING);
    ck_assert_int_eq(wait_for(1), DEVICE_LOST);
    arm_fault(FAULT_EVENT_LATE, 1, 10, false);
    ck_assert_int_eq(wait_for(1), DEVICE_LOST);
    arm_fault(FAULT_EVENT_EARLY, 1, 0, false);
    ck_assert_int_eq(wait_for(1), DEVICE_LOST);
    timeline_complete(timeline, 1); /* an OP_COMPLETE */
    arm_fault(FAULT_EVENT_LOST, 1, 0, true);
    ck_assert_int_eq(wait_for(1), DEVICE_OK); /* too late to lose it */
    ck_assert_uint_eq(device_faults_fired(device), 0);
    tear_down_device();
}

TEST(a_lost_event_of_a_collective_does_not_start)
{
    for (uint64_t delay_ns = 0; delay_ns <= 10; delay_ns += 10) {
        set_up_device();
        timeline_add(timeline, 1, DELAY_NEVER);
        collectives_join(collectives, 1, 7, 0, delay_ns);
        arm_fault(FAULT_EVENT_LOST, 1, 0, false);
        ck_assert_int_eq(wait_for(1), DEVICE_LOST);
        timeline_add(timeline, 2, DELAY_NEVER);
        collectives_join(collectives, 2, 7, 1, delay_ns);
        ck_assert_int_eq(wait_for(2), DEVICE_OK);
        ck_assert_int_eq(wait_for(1), DEVICE_LOST);
        tear_down_device();
    }
}

TEST(a_late_event_is_awaited_to_its_new_time)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    timeline_add(timeline, 2, 120);
    arm_fault(FAULT_EVENT_LATE, 1, 50, false);
    ck_assert_int_eq(wait_for(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 150);
    ck_assert_uint_eq(timeline_completed_at(timeline, 0), 2);
    ck_assert_uint_eq(timeline_completed_at(timeline, 1), 1);
    ck_assert_uint_eq(timeline_completed_count(timeline), 2);
    timeline_add(timeline, 3, 100);
    arm_fault(FAULT_EVENT_LATE, 1, UINT64_MAX - 10, false);
    ck_assert_int_eq(wait_for(3), DEVICE_LOST); /* past the end of time */
    tear_down_device();
}

TEST(an_early_event_takes_no_time_and_a_doubled_one_counts_twice)
{
    set_up_device();
    timeline_add(timeline, 1, 100);
    timeline_add(timeline, 2, 100);
    timeline_add(timeline, 3, DELAY_NEVER);
    arm_fault(FAULT_EVENT_EARLY, 1, 0, false);
    ck_assert_int_eq(wait_for(1), DEVICE_OK);
    ck_assert_uint_eq(timeline_now_ns(timeline), 0);
    ck_assert_uint_eq(services->completed_count(services->context), 1);
    arm_fault(FAULT_EVENT_DOUBLED, 1, 0, true);
    ck_assert_int_eq(wait_for(2), DEVICE_OK);
    ck_assert_uint_eq(services->completed_count(services->context), 3);
    ck_assert_uint_eq(timeline_completed_count(timeline), 2);
    ck_assert_int_eq(wait_for(3), DEVICE_LOST);
    ck_assert_uint_eq(services->completed_count(services->context), 3);
    device_begin_op(device, 1000);
    ck_assert_uint_eq(services->completed_count(services->context), 3);
    tear_down_device();
}

static void add_five(void)
{
    timeline_add(timeline, 1, 30);
    timeline_add(timeline, 2, 40);
    timeline_add(timeline, 3, 20);
    timeline_add(timeline, 4, 40);
    timeline_add(timeline, 5, DELAY_NEVER);
}

TEST(events_come_in_another_order)
{
    const struct {
        enum fault_kind kind;
        uint64_t awaited;
        uint64_t order[4];
        uint64_t now_ns;
    } rows[] = {
        {FAULT_EVENT_ORDER, 3, {4, 3}, 20},
        {FAULT_EVENT_ORDER, 4, {2, 3, 1, 4}, 40},
        {FAULT_EVENT_OTHERS, 4, {3, 1, 2, 4}, 40},
        {FAULT_EVENT_OTHERS, 3, {1, 2, 4, 3}, 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_up_device();
        add_five();
        arm_fault(rows[i].kind, 1, 0, false);
        ck_assert_int_eq(wait_for(rows[i].awaited), DEVICE_OK);
        ck_assert_uint_eq(timeline_now_ns(timeline), rows[i].now_ns);
        for (uint64_t k = 0; k < timeline_completed_count(timeline); k++) {
            ck_assert_uint_eq(timeline_completed_at(timeline, k), rows[i].order[k]);
        }
        ck_assert_uint_eq(timeline_completed_count(timeline), rows[i].order[2] == 0 ? 2 : 4);
        ck_assert_int_eq(timeline_state(timeline, 5), EVENT_PENDING);
        ck_assert_uint_eq(device_faults_struck(device), 1u << rows[i].kind);
        tear_down_device();
    }
    set_up_device(); /* the only one has no others */
    timeline_add(timeline, 1, 30);
    arm_fault(FAULT_EVENT_ORDER, 1, 0, true);
    arm_fault(FAULT_EVENT_OTHERS, 1, 0, true);
    ck_assert_int_eq(wait_for(1), DEVICE_OK);
    ck_assert_int_eq(wait_for(1), DEVICE_OK);
    ck_assert_int_eq(wait_for(9), DEVICE_REFUSED); /* there is no such event */
    ck_assert_uint_eq(device_faults_fired(device), 0);
    tear_down_device();
}

/* --- polling --- */

TEST(who_polls_for_ever_comes_back_and_is_hung)
{
    for (int what = 0; what < 3; what++) {
        set_up_device();
        timeline_add(timeline, 1, 100);
        if (what == 0) {
            while (!services->event_done(services->context, 1)) {
            }
        } else if (what == 1) {
            const uint64_t count = services->completed_count(services->context);
            while (services->completed_count(services->context) == count) {
            }
        } else {
            while (services->clock_ns(services->context) < 100) {
            }
        }
        ck_assert(device_hung(device));
        ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_REFUSED);
        device_begin_op(device, 1000);
        ck_assert(!device_hung(device));
        ck_assert(!services->event_done(services->context, 1));
        ck_assert_uint_eq(services->completed_count(services->context), 0);
        ck_assert_uint_eq(services->clock_ns(services->context), 0);
        tear_down_device();
    }
}
