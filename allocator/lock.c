#include "allocator/private/lock.h"

#include <sched.h>
#include <time.h>

#define SPINS 100
#define YIELDS 100
#define SLEEP_NS 50000

static void pause_attempt(unsigned long attempt)
{
    if (attempt < SPINS) {
        return;
    }
    if (attempt < SPINS + YIELDS) {
        (void)sched_yield();
        return;
    }
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    (void)nanosleep(&pause, NULL);
}

/* Reads until the lock looks free before it tries again, so that waiters do not steal the line. */
void hbm_lock_wait(struct hbm_lock *lock)
{
    for (unsigned long attempt = 0;; attempt++) {
        if (!atomic_load_explicit(&lock->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&lock->taken, true, memory_order_acquire)) {
            return;
        }
        pause_attempt(attempt);
    }
}
