/* Two lanes that share numbers, each guarded by another sort of object; a thread sanitizer must
 * find nothing.  With an argument they share one that nothing guards, and it must find that. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/pthreads_rig.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

enum { RUN_COUNT = 50 };

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static pthread_once_t once;
static sem_t semaphore;
static int by_mutex, by_rwlock, by_spinlock, by_semaphore, by_once, by_nothing;
static bool is_unordered;

static void initialise_once(void)
{
    by_once = 1;
}

static void lock_all(void)
{
    pthread_mutex_lock(&mutex);
    by_mutex++;
    sched_yield();
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    by_rwlock++;
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spinlock);
    by_spinlock++;
    pthread_spin_unlock(&spinlock);
    sem_wait(&semaphore);
    by_semaphore++;
    sem_post(&semaphore);
}

static void *share_locks(void *argument)
{
    lock_all();
    pthread_once(&once, initialise_once);
    if (by_once != 1) {
        abort();
    }
    pthread_barrier_wait(&barrier);
    if (by_mutex + by_rwlock + by_spinlock + by_semaphore != 8) {
        abort();
    }
    if (is_unordered) {
        by_nothing++;
    }
    return argument;
}

static void run_threads(void *context)
{
    (void)context;
    pthread_t threads[2];
    by_mutex = by_rwlock = by_spinlock = by_semaphore = by_once = 0;
    once = PTHREAD_ONCE_INIT;
    pthread_mutex_init(&mutex, NULL);
    pthread_rwlock_init(&rwlock, NULL);
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 1);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, share_locks, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(int argument_count, char **arguments)
{
    (void)arguments;
    struct outcomes outcomes;
    pthreads_link();
    is_unordered = argument_count > 1;
    rig_run(SCHEDULER_THREADS, RUN_COUNT, run_threads, &outcomes);
    return outcomes.counts[SCHEDULER_FINISHED] == RUN_COUNT ? EXIT_SUCCESS : EXIT_FAILURE;
}
