/* Two objects: the lock at its address, with the writer as holder and a gate that is open while
 * nobody holds it; and its readers one byte on.  What a reader did comes before the next writer,
 * not before the next reader. */
#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>

const char pthreads_link_rwlock = 1;

/* lock->gate: holds of either sort.  readers->detail: bit per lane that reads; readers->count: a
 * lane reads more than once, so from now on, until nobody reads, it is not known which lane holds
 * how many. */
struct rwlock {
    pthread_rwlock_t *real;
    struct object *lock, *readers;
    const void *readers_address, *place;
};

static struct rwlock find_rwlock(struct scheduler *scheduler, pthread_rwlock_t *real,
                                 const void *place)
{
    const void *readers_address = (const char *)real + 1;
    return (struct rwlock){
        .real = real,
        .lock = scheduler_object(scheduler, real, "rwlock"),
        .readers = scheduler_object(scheduler, readers_address, "readers of a rwlock"),
        .readers_address = readers_address,
        .place = place};
}

/* For the sanitizer of threads.  The real lock is free when the model says so, unless a run that
 * was given up left it taken: then this run does without it (the gate of the readers is 1). */
static void take_real_rwlock(const struct rwlock *rwlock, bool is_write)
{
#ifdef EXPLORE_REAL_LOCKS
    struct object *readers = rwlock->readers;
    readers->gate |= readers->gate != 0 ||
                     (is_write ? REAL(pthread_rwlock_trywrlock)(rwlock->real)
                               : REAL(pthread_rwlock_tryrdlock)(rwlock->real)) != 0;
#else
    (void)rwlock;
    (void)is_write;
#endif
}

static void leave_real_rwlock(const struct rwlock *rwlock)
{
#ifdef EXPLORE_REAL_LOCKS
    if (rwlock->readers->gate == 0) {
        REAL(pthread_rwlock_unlock)(rwlock->real);
    }
#else
    (void)rwlock;
#endif
}

static void take_rwlock_to_read(struct scheduler *scheduler, const struct rwlock *rwlock)
{
    const uint32_t bit = UINT32_C(1) << scheduler_lane(scheduler);
    take_real_rwlock(rwlock, false);
    rwlock->readers->count |= (rwlock->readers->detail & bit) != 0;
    rwlock->readers->detail |= bit;
    rwlock->lock->gate++;
    pthreads_acquire(scheduler, rwlock->real);
}

static void take_rwlock_to_write(struct scheduler *scheduler, const struct rwlock *rwlock)
{
    take_real_rwlock(rwlock, true);
    rwlock->lock->gate++;
    rwlock->lock->holder = self_holder(scheduler);
    rwlock->lock->held_since = rwlock->place;
    pthreads_acquire(scheduler, rwlock->real);
    pthreads_acquire(scheduler, rwlock->readers_address);
}

static int take_rwlock(struct scheduler *scheduler, const struct rwlock *rwlock, bool is_write)
{
    if (is_write) {
        take_rwlock_to_write(scheduler, rwlock);
    } else {
        take_rwlock_to_read(scheduler, rwlock);
    }
    return 0;
}

/* deadline_ns 0: waits for ever.  Reads among themselves may come in any order. */
static int lock_rwlock(struct scheduler *scheduler, struct rwlock rwlock, bool is_write,
                       uint64_t deadline_ns)
{
    if (rwlock.lock->holder == self_holder(scheduler)) {
        scheduler_step(
            scheduler,
            &(struct step){.kind = STEP_LOCK, .object = rwlock.real, .place = rwlock.place});
        return EDEADLK;
    }
    const struct step step = {.kind = STEP_LOCK,
                              .object = rwlock.real,
                              .reads_only = !is_write,
                              .gate = is_write ? &rwlock.lock->gate : &rwlock.lock->holder,
                              .deadline_ns = deadline_ns,
                              .place = rwlock.place};
    if (pthreads_step(scheduler, rwlock.lock, &step) == STEP_TIMED_OUT) {
        return ETIMEDOUT;
    }
    return take_rwlock(scheduler, &rwlock, is_write);
}

static int try_lock_rwlock(struct scheduler *scheduler, struct rwlock rwlock, bool is_write)
{
    pthreads_step(scheduler, rwlock.lock,
                  &(struct step){.kind = STEP_TRY_LOCK,
                                 .object = rwlock.real,
                                 .reads_only = !is_write,
                                 .place = rwlock.place});
    if (rwlock.lock->holder != 0 || (is_write && rwlock.lock->gate != 0)) {
        return EBUSY;
    }
    return take_rwlock(scheduler, &rwlock, is_write);
}

static int lock_rwlock_until(struct scheduler *scheduler, struct rwlock rwlock, bool is_write,
                             const struct timespec *time)
{
    uint64_t deadline_ns;
    if (!time_parse(time, &deadline_ns)) {
        return EINVAL;
    }
    return lock_rwlock(scheduler, rwlock, is_write, deadline_ns);
}

static void leave_rwlock_written(struct scheduler *scheduler, const struct rwlock *rwlock)
{
    pthreads_release(scheduler, rwlock->real);
    rwlock->lock->holder = rwlock->lock->gate = 0;
    rwlock->lock->held_since = NULL;
}

static void leave_rwlock_read(struct scheduler *scheduler, const struct rwlock *rwlock)
{
    const uint32_t bit = UINT32_C(1) << scheduler_lane(scheduler);
    if ((rwlock->readers->detail & bit) == 0) {
        pthreads_misuse(scheduler, rwlock->lock, "unlocks, without holding it,", rwlock->place);
    }
    pthreads_release(scheduler, rwlock->readers_address);
    if (rwlock->readers->count == 0) {
        rwlock->readers->detail &= ~bit;
    }
    if (--rwlock->lock->gate == 0) {
        rwlock->readers->count = rwlock->readers->detail = 0;
    }
}

static int unlock_rwlock(struct scheduler *scheduler, struct rwlock rwlock)
{
    scheduler_step(
        scheduler,
        &(struct step){.kind = STEP_UNLOCK, .object = rwlock.real, .place = rwlock.place});
    if (rwlock.lock->holder == self_holder(scheduler)) {
        leave_real_rwlock(&rwlock);
        leave_rwlock_written(scheduler, &rwlock);
    } else {
        leave_rwlock_read(scheduler, &rwlock);
        leave_real_rwlock(&rwlock);
    }
    return 0;
}

static int destroy_rwlock(struct scheduler *scheduler, struct rwlock rwlock)
{
    pthreads_end(scheduler, rwlock.lock, &(struct ending){.place = rwlock.place, .is_gated = true});
    scheduler_object_forget(scheduler, rwlock.readers_address);
    return REAL(pthread_rwlock_destroy)(rwlock.real);
}

/* --- what the code under test calls --- */

INTERPOSED int pthread_rwlock_init(pthread_rwlock_t *real, const pthread_rwlockattr_t *attributes)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        const struct rwlock rwlock = find_rwlock(scheduler, real, PLACE);
        pthreads_begin(scheduler, rwlock.lock, rwlock.place);
        rwlock.lock->holder = rwlock.lock->gate = 0;
        rwlock.readers->count = rwlock.readers->detail = rwlock.readers->gate = 0;
    }
    return REAL(pthread_rwlock_init)(real, attributes);
}

INTERPOSE(int, pthread_rwlock_destroy, (pthread_rwlock_t * real), (real),
          destroy_rwlock(scheduler, find_rwlock(scheduler, real, PLACE)))

INTERPOSE(int, pthread_rwlock_rdlock, (pthread_rwlock_t * real), (real),
          lock_rwlock(scheduler, find_rwlock(scheduler, real, PLACE), false, 0))

INTERPOSE(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * real), (real),
          try_lock_rwlock(scheduler, find_rwlock(scheduler, real, PLACE), false))

INTERPOSE(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * real, const struct timespec *time),
          (real, time),
          lock_rwlock_until(scheduler, find_rwlock(scheduler, real, PLACE), false, time))

INTERPOSE(int, pthread_rwlock_clockrdlock,
          (pthread_rwlock_t * real, clockid_t clock, const struct timespec *time),
          (real, clock, time),
          lock_rwlock_until(scheduler, find_rwlock(scheduler, real, PLACE), false, time))

INTERPOSE(int, pthread_rwlock_wrlock, (pthread_rwlock_t * real), (real),
          lock_rwlock(scheduler, find_rwlock(scheduler, real, PLACE), true, 0))

INTERPOSE(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * real), (real),
          try_lock_rwlock(scheduler, find_rwlock(scheduler, real, PLACE), true))

INTERPOSE(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * real, const struct timespec *time),
          (real, time),
          lock_rwlock_until(scheduler, find_rwlock(scheduler, real, PLACE), true, time))

INTERPOSE(int, pthread_rwlock_clockwrlock,
          (pthread_rwlock_t * real, clockid_t clock, const struct timespec *time),
          (real, clock, time),
          lock_rwlock_until(scheduler, find_rwlock(scheduler, real, PLACE), true, time))

INTERPOSE(int, pthread_rwlock_unlock, (pthread_rwlock_t * real), (real),
          unlock_rwlock(scheduler, find_rwlock(scheduler, real, PLACE)))

/* Spin locks: a lane that cannot get one waits at its gate, and does not spin. */

static struct object *find_spinlock(struct scheduler *scheduler, pthread_spinlock_t *spinlock)
{
    return scheduler_object(scheduler, (const void *)(uintptr_t)spinlock, "spin lock");
}

static void take_spinlock(struct scheduler *scheduler, struct object *object,
                          pthread_spinlock_t *spinlock, const void *place)
{
#ifdef EXPLORE_REAL_LOCKS
    /* A run that was given up may have left it taken: then this run does without it. */
    object->gate |= object->gate != 0 || REAL(pthread_spin_trylock)(spinlock) != 0;
#else
    (void)spinlock;
#endif
    object->holder = self_holder(scheduler);
    object->held_since = place;
    pthreads_acquire(scheduler, object->address);
}

static int lock_spinlock(struct scheduler *scheduler, pthread_spinlock_t *spinlock,
                         const void *place)
{
    struct object *object = find_spinlock(scheduler, spinlock);
    pthreads_step(
        scheduler, object,
        &(struct step){
            .kind = STEP_LOCK, .object = object->address, .gate = &object->holder, .place = place});
    take_spinlock(scheduler, object, spinlock, place);
    return 0;
}

static int try_lock_spinlock(struct scheduler *scheduler, pthread_spinlock_t *spinlock,
                             const void *place)
{
    struct object *object = find_spinlock(scheduler, spinlock);
    pthreads_step(scheduler, object,
                  &(struct step){.kind = STEP_TRY_LOCK, .object = object->address, .place = place});
    if (object->holder != 0) {
        return EBUSY;
    }
    take_spinlock(scheduler, object, spinlock, place);
    return 0;
}

static int unlock_spinlock(struct scheduler *scheduler, pthread_spinlock_t *spinlock,
                           const void *place)
{
    struct object *object = find_spinlock(scheduler, spinlock);
    scheduler_step(scheduler,
                   &(struct step){.kind = STEP_UNLOCK, .object = object->address, .place = place});
    if (object->holder != self_holder(scheduler)) {
        pthreads_misuse(scheduler, object, "unlocks, without holding it,", place);
    }
#ifdef EXPLORE_REAL_LOCKS
    if (object->gate == 0) {
        REAL(pthread_spin_unlock)(spinlock);
    }
#endif
    pthreads_release(scheduler, object->address);
    object->held_since = NULL;
    object->holder = 0;
    return 0;
}

/* --- what the code under test calls --- */

INTERPOSED int pthread_spin_init(pthread_spinlock_t *spinlock, int shared)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        struct object *object = find_spinlock(scheduler, spinlock);
        pthreads_begin(scheduler, object, PLACE);
        object->holder = object->gate = 0;
    }
    return REAL(pthread_spin_init)(spinlock, shared);
}

INTERPOSE_BEFORE(int, pthread_spin_destroy, (pthread_spinlock_t * spinlock), (spinlock),
                 pthreads_end(scheduler, find_spinlock(scheduler, spinlock),
                              &(struct ending){.place = PLACE}))

INTERPOSE(int, pthread_spin_lock, (pthread_spinlock_t * spinlock), (spinlock),
          lock_spinlock(scheduler, spinlock, PLACE))

INTERPOSE(int, pthread_spin_trylock, (pthread_spinlock_t * spinlock), (spinlock),
          try_lock_spinlock(scheduler, spinlock, PLACE))

INTERPOSE(int, pthread_spin_unlock, (pthread_spinlock_t * spinlock), (spinlock),
          unlock_spinlock(scheduler, spinlock, PLACE))
