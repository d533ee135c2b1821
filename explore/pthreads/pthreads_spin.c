/* Spin locks: a lane that cannot get one waits at its gate, and does not spin. */
#include "explore/pthreads/private/pthreads_link.h"
#include "explore/pthreads/private/pthreads_real.h"
#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>

const char pthreads_link_spin = 1;

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
