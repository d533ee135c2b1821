#include "explore/private/baton.h"

#include "explore/private/check.h"

#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- futexes: not interposed, and not seen by a thread sanitizer --- */

/* The kernel is called only where somebody sleeps. */
enum futex_state { FUTEX_CLEAR = 0, FUTEX_SET, FUTEX_AWAITED };

static void await_futex(_Atomic uint32_t *word)
{
    uint32_t state = FUTEX_CLEAR;
    if (!atomic_compare_exchange_strong_explicit(word, &state, FUTEX_AWAITED, memory_order_acquire,
                                                 memory_order_acquire)) {
        return;
    }
    while (atomic_load_explicit(word, memory_order_acquire) == FUTEX_AWAITED) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, FUTEX_AWAITED, NULL, NULL, 0);
    }
}

static void set_futex(_Atomic uint32_t *word)
{
    if (atomic_exchange_explicit(word, FUTEX_SET, memory_order_acq_rel) == FUTEX_AWAITED) {
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

/* --- threads --- */

static void park_thread(struct carrier *carrier)
{
    set_futex(&carrier->parked);
    await_futex(&carrier->turn);
    atomic_store_explicit(&carrier->turn, FUTEX_CLEAR, memory_order_relaxed);
    atomic_store_explicit(&carrier->parked, FUTEX_CLEAR, memory_order_relaxed);
}

void carrier_note_task(struct carrier *carrier)
{
    atomic_store_explicit(&carrier->task, (int)syscall(SYS_gettid), memory_order_relaxed);
}

/* Comes back to its top after each body, and when a body is given up. */
static void *carry_lanes(void *context)
{
    struct carrier *carrier = context;
    carrier_note_task(carrier);
    (void)_setjmp(carrier->top);
    for (;;) {
        scheduler_of_thread = NULL;
        park_thread(carrier);
        if (carrier->quits) {
            return NULL;
        }
        carrier->is_under_way = true;
        scheduler_of_thread = carrier->scheduler;
        carrier->body(carrier->context);
        EXPLORE_CHECK(false);
    }
}

static void await_turn(struct carrier *carrier)
{
    EXPLORE_CHECK(!carrier->is_main || !carrier->gives_up);
    await_futex(&carrier->turn);
    atomic_store_explicit(&carrier->turn, FUTEX_CLEAR, memory_order_relaxed);
    if (carrier->gives_up) {
        carrier->gives_up = false;
        _longjmp(carrier->top, 1);
    }
}

static void start_thread(struct carrier *carrier)
{
    EXPLORE_CHECK(!carrier->has_thread);
    struct scheduler *outer = scheduler_of_thread;
    scheduler_of_thread = NULL; /* this one is a real thread, whoever asks for it */
    EXPLORE_CHECK(pthread_create(&carrier->thread, NULL, carry_lanes, carrier) == 0);
    scheduler_of_thread = outer;
    carrier->has_thread = true;
}

void carrier_pin(const struct carrier *carrier, int processor)
{
    EXPLORE_CHECK(processor >= 0);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (carrier->has_thread) {
        (void)pthread_setaffinity_np(carrier->thread, sizeof set,
                                     &set); /* it is faster, nothing more */
    }
}

/* --- either --- */

void carrier_init_main(struct carrier *carrier, struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler != NULL);
    *carrier = (struct carrier){.is_main = true, .scheduler = scheduler};
}

void carrier_init(struct carrier *carrier, struct scheduler *scheduler,
                  enum scheduler_backend backend)
{
    EXPLORE_CHECK(scheduler != NULL);
    EXPLORE_CHECK(backend == SCHEDULER_FIBERS || backend == SCHEDULER_THREADS);
    *carrier = (struct carrier){.scheduler = scheduler};
    if (backend == SCHEDULER_FIBERS) {
        fiber_init(&carrier->fiber);
    } else {
        start_thread(carrier);
    }
}

void carrier_deinit(struct carrier *carrier, enum scheduler_backend backend)
{
    EXPLORE_CHECK(!carrier->is_main);
    if (backend == SCHEDULER_FIBERS) {
        fiber_deinit(&carrier->fiber);
    } else if (carrier->has_thread) {
        carrier->quits = true;
        await_futex(&carrier->parked);
        set_futex(&carrier->turn);
        EXPLORE_CHECK(pthread_join(carrier->thread, NULL) == 0);
    }
}

void carrier_start(struct carrier *carrier, enum scheduler_backend backend,
                   void (*body)(void *context), void *context)
{
    EXPLORE_CHECK(!carrier->is_main);
    EXPLORE_CHECK(body != NULL);
    carrier->body = body;
    carrier->context = context;
    if (backend == SCHEDULER_FIBERS) {
        fiber_start(&carrier->fiber, body, context);
    } else {
        carrier->is_under_way =
            false; /* the thread may still be on its way back to the top: it reads nothing there */
    }
}

void carrier_switch(struct carrier *from, struct carrier *to, enum scheduler_backend backend)
{
    EXPLORE_CHECK(from != to);
    if (backend == SCHEDULER_FIBERS) {
        fiber_switch(&from->fiber, &to->fiber);
        return;
    }
    set_futex(&to->turn);
    await_turn(from);
}

_Noreturn void carrier_end(struct carrier *from, struct carrier *to, enum scheduler_backend backend)
{
    EXPLORE_CHECK(from != to);
    EXPLORE_CHECK(!from->is_main);
    if (backend == SCHEDULER_FIBERS) {
        fiber_switch(&from->fiber, &to->fiber);
        EXPLORE_CHECK(false);
    }
    set_futex(&to->turn);
    _longjmp(from->top, 1);
}

void carrier_give_up(struct carrier *carrier, enum scheduler_backend backend)
{
    EXPLORE_CHECK(!carrier->is_main);
    EXPLORE_CHECK(!carrier->gives_up);
    if (backend == SCHEDULER_FIBERS || !carrier->is_under_way) {
        return; /* its stack is used anew; or it had no turn, and stands at its top */
    }
    carrier->gives_up = true;
    set_futex(&carrier->turn);
    await_futex(&carrier->parked);
}
