/* Four threads on one libhbm: nothing races, nothing is lost. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

#define THREADS 4
#define OPS 4000
#define SLOTS 12

static struct hbm_rig rig;
static atomic_uint_least64_t next_event;

static uint64_t random_step(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void slot_step(struct hbm_buffer **slot, uint64_t draw)
{
    if (*slot == NULL) {
        struct hbm_request request = {.size_bytes = 1 + draw % (24 * 512)};
        if (hbm_allocate(rig.hbm, &request, slot) != HBM_OK) {
            *slot = NULL;
        }
        return;
    }
    uint64_t event = 1 + atomic_fetch_add(&next_event, 1);
    if (draw % 3 == 0) {
        hbm_free(rig.hbm, *slot);
    } else if (hbm_free_after(rig.hbm, *slot, event) != HBM_OK) {
        return;
    }
    *slot = NULL;
    if (draw % 5 != 0) {
        hbm_device_complete(&rig.device, event);
    }
}

static void *thread_run(void *argument)
{
    uint64_t state = 88172645463325252u + (uint64_t)(uintptr_t)argument;
    struct hbm_buffer *slots[SLOTS] = {NULL};
    struct hbm_program *program = NULL;
    struct hbm_program_request request = {
        .id = (uint64_t)(uintptr_t)argument, .image_bytes = 8 * 512, .stack_bytes = 8 * 512};
    if (hbm_program_load(rig.hbm, &request, &program) != HBM_OK) {
        program = NULL;
    }
    for (int i = 0; i < OPS; i++) {
        uint64_t draw = random_step(&state);
        slot_step(&slots[draw % SLOTS], draw >> 8);
        if (program == NULL || draw % 16 != 0) {
            continue;
        }
        uint64_t event = 1 + atomic_fetch_add(&next_event, 1);
        if (hbm_execute(rig.hbm, program, event) == HBM_OK) {
            hbm_device_complete(&rig.device, event);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i] != NULL) {
            hbm_free(rig.hbm, slots[i]);
        }
    }
    if (program != NULL) {
        hbm_program_unload(rig.hbm, program);
    }
    return NULL;
}

EVERY_TEST(.timeout_s = 120);

TEST(four_threads_leave_an_empty_device, .to = 3)
{
    pthread_t threads[THREADS];
    rig_start(&rig, 256, (enum hbm_defrag)_i);
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, thread_run, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    ck_assert(hbm_invariants_hold(rig.hbm));
    for (uint64_t event = 1; event <= next_event; event++) {
        hbm_device_complete(&rig.device, event);
    }
    struct hbm_stats stats = rig_stats(&rig);
    ck_assert_uint_eq(stats.num_allocs, 0);
    ck_assert_uint_eq(stats.bytes_reserved, 0);
    ck_assert_uint_eq(stats.largest_free_block_bytes, stats.bytes_limit);
    atomic_store(&next_event, 0);
    rig_stop(&rig);
}

/* --- two requests that wait at once --- */

static enum hbm_service_result other_waits; /* what the second thread is told */
static enum hbm_result other_result;
static int wait_count;

static void *request_run(void *unused)
{
    (void)unused;
    other_result = rig_try(&rig, 16);
    return NULL;
}

/* The first wait lasts as long as another thread makes the same request. */
static enum hbm_service_result wait_in_vain(void *context, uint64_t event)
{
    pthread_t thread;
    (void)context, (void)event;
    if (wait_count++ > 0) {
        return other_waits;
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, request_run, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return HBM_SERVICE_LOST;
}

/* If each asked for itself alone, they would make each other forget.  A request for which another
 * one was refused a wait has not waited for all it might. */
TEST(what_one_request_awaited_in_vain_no_other_awaits_meanwhile)
{
    const struct {
        enum hbm_service_result waits;
        enum hbm_result result;
    } rows[] = {{HBM_SERVICE_LOST, HBM_NO_MEMORY}, {HBM_SERVICE_REFUSED, HBM_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig_init(&rig, 16, HBM_DEFRAG_NONE);
        struct hbm_services services = hbm_device_services(&rig.device);
        services.event_wait = wait_in_vain;
        ck_assert_int_eq(hbm_create(&services, &rig.options, &rig.hbm), HBM_OK);
        ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 4), 1), HBM_OK);
        ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 4), 2), HBM_OK);
        other_waits = rows[i].waits;
        wait_count = 0;
        ck_assert_int_eq(rig_try(&rig, 16), rows[i].result);
        ck_assert_int_eq(other_result, rows[i].result);
        ck_assert_int_eq(wait_count, 3); /* one wait of this thread, and both of the other */
        rig_stop(&rig);
    }
}
