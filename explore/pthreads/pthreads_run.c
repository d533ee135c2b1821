#include "explore/pthreads/private/pthreads_run.h"

#include "explore/order.h"
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

#include <stdlib.h>
#include <string.h>

#ifdef EXPLORE_REAL_LOCKS
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));
#endif

/* --- the run --- */

static struct pthreads_run *find_run(struct scheduler *scheduler)
{
    if (scheduler->threads == NULL) {
        scheduler->threads = calloc(1, sizeof *scheduler->threads);
        EXPLORE_CHECK(scheduler->threads != NULL);
    }
    return scheduler->threads;
}

struct pthreads_run *pthreads_run_of(struct scheduler *scheduler)
{
    /* The scheduler forgets its objects when a run begins: one that knows of no pthreads_run is of
     * a new run. */
    static const char anchor;
    struct object *object = scheduler_object(scheduler, &anchor, "threads");
    if (object->held_since == NULL) {
        struct pthreads_run *run = find_run(scheduler);
        run->number++;
        run->ticket_count = 0;
        memset(run->threads, 0, sizeof run->threads);
        memset(run->waiters, 0, sizeof run->waiters);
        memset(run->key_ends, 0, sizeof run->key_ends);
        object->held_since = run;
    }
    return (struct pthreads_run *)(uintptr_t)object->held_since;
}

/* --- waiters --- */

struct waiter *waiter_begin(struct scheduler *scheduler, const void *object)
{
    struct pthreads_run *run = pthreads_run_of(scheduler);
    struct waiter *waiter = &run->waiters[scheduler_lane(scheduler)];
    EXPLORE_CHECK(waiter->object == NULL);
    *waiter = (struct waiter){.object = object, .gate = 1, .ticket = ++run->ticket_count};
    return waiter;
}

bool waiter_wake(struct scheduler *scheduler, const void *object)
{
    struct pthreads_run *run = pthreads_run_of(scheduler);
    struct waiter *first = NULL;
    for (uint8_t i = 0; i < scheduler_lane_count(scheduler); i++) {
        struct waiter *waiter = &run->waiters[i];
        if (waiter->object == object && waiter->gate != 0 &&
            (first == NULL || waiter->ticket < first->ticket)) {
            first = waiter;
        }
    }
    if (first != NULL) {
        first->gate = 0;
    }
    return first != NULL;
}

bool waiter_end(struct waiter *waiter)
{
    waiter->object = NULL;
    return waiter->gate == 0;
}

/* --- steps --- */

enum step_result pthreads_step(struct scheduler *scheduler, struct object *object,
                               const struct step *step)
{
    object->detail++;
    const enum step_result result = scheduler_step(scheduler, step);
    object->detail--;
    return result;
}

void pthreads_begin(struct scheduler *scheduler, const struct object *object, const void *place)
{
    if (object->detail != 0) {
        pthreads_misuse(scheduler, object, "initialises, while another lane is in a call on it,",
                        place);
    }
}

static void check_unused(struct scheduler *scheduler, const struct object *object,
                         const struct ending *ending)
{
    if (object->holder != 0) {
        pthreads_misuse(scheduler, object, "destroys, while it is held,", ending->place);
    }
    if (object->detail != 0) {
        pthreads_misuse(scheduler, object, "destroys, while another lane is in a call on it,",
                        ending->place);
    }
    if (ending->is_counted && object->count != 0) {
        pthreads_misuse(scheduler, object, "destroys, while another lane waits on it,",
                        ending->place);
    }
    if (ending->is_gated && object->gate != 0) {
        pthreads_misuse(scheduler, object, "destroys, while it is read,", ending->place);
    }
}

void pthreads_end(struct scheduler *scheduler, const struct object *object,
                  const struct ending *ending)
{
    const void *address = object->address;
    scheduler_step(scheduler,
                   &(struct step){.kind = STEP_ATOMIC, .object = address, .place = ending->place});
    check_unused(scheduler, object, ending);
    scheduler_object_forget(scheduler, address);
}

_Noreturn void pthreads_misuse(struct scheduler *scheduler, const struct object *object,
                               const char *does, const void *place)
{
    char text[PLACE_TEXT_BYTES];
    const unsigned lane = scheduler_lane(scheduler);
    const char *kind = object->kind == NULL ? "object" : object->kind;
    place_print(place, text);
    if (object->holder != 0) {
        scheduler_fail(scheduler, SCHEDULER_MISUSE, "lane %u %s %s #%u (held by lane %u), at %s",
                       lane, does, kind, object->number, object->holder - 1, text);
    }
    scheduler_fail(scheduler, SCHEDULER_MISUSE, "lane %u %s %s #%u, at %s", lane, does, kind,
                   object->number, text);
}

/* --- order --- */

void pthreads_release(struct scheduler *scheduler, const void *address)
{
    struct order *order = scheduler_order(scheduler);
    if (order != NULL) {
        order_release(order, scheduler_lane(scheduler), address);
    }
#ifdef EXPLORE_REAL_LOCKS
    if (__tsan_release != NULL) {
        __tsan_release((void *)(uintptr_t)address);
    }
#endif
}

void pthreads_acquire(struct scheduler *scheduler, const void *address)
{
    struct order *order = scheduler_order(scheduler);
    if (order != NULL) {
        order_acquire(order, scheduler_lane(scheduler), address);
    }
#ifdef EXPLORE_REAL_LOCKS
    if (__tsan_acquire != NULL) {
        __tsan_acquire((void *)(uintptr_t)address);
    }
#endif
}

/* --- time --- */

bool time_parse(const struct timespec *time, uint64_t *time_ns)
{
    const uint64_t second_ns = UINT64_C(1000000000);
    if (time->tv_nsec < 0 || (uint64_t)time->tv_nsec >= second_ns) {
        return false;
    }
    if (time->tv_sec < 0) {
        *time_ns = 1;
        return true;
    }
    const uint64_t seconds = (uint64_t)time->tv_sec;
    const uint64_t latest_ns = STEP_NO_DEADLINE - 1;
    *time_ns = seconds >= latest_ns / second_ns ? latest_ns
                                                : seconds * second_ns + (uint64_t)time->tv_nsec;
    *time_ns = *time_ns == 0 ? 1 : *time_ns;
    return true;
}
