/* A lock for sections of some ten nanoseconds: one atomic exchange to take, one store to give back,
 * half of what a mutex costs.  A thread that does not get it spins a little, then yields, then
 * sleeps, because a section that plans a defragmentation is long. */
#ifndef ALLOCATOR_PRIVATE_LOCK_H
#define ALLOCATOR_PRIVATE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

struct hbm_lock {
    atomic_bool taken;
};

void hbm_lock_wait(struct hbm_lock *lock);

static inline void hbm_lock_take(struct hbm_lock *lock)
{
    if (__builtin_expect(atomic_exchange_explicit(&lock->taken, true, memory_order_acquire), 0)) {
        hbm_lock_wait(lock);
    }
}

static inline void hbm_lock_give(struct hbm_lock *lock)
{
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
