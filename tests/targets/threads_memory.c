/* The example reaper.c with more threads, as a plug-in: what a target's threads leave in the C
 * library is no leak, and what they lose is.  One of these is defined:
 *
 *     LOSES_IN_OPEN     a byte for each instance, lost by the caller of open()
 *     LOSES_IN_THREAD   a byte for each instance, lost by a thread of the target
 *     LOSES_NOTHING     as many threads, with blocks local to each, joined and detached */
#define hbmstress_target reaper_target
#include "targets/example/reaper.c"
#undef hbmstress_target

#include <stdlib.h>

enum { THREAD_COUNT = 9, LOCAL_BYTES = 3000 };

/* The C library makes these when a thread first touches them. */
static _Thread_local unsigned char local[LOCAL_BYTES];
/* A compiler that knew where it goes would not make it. */
#ifndef LOSES_NOTHING
static void *volatile lost;
#endif

static void *touch_local(void *argument)
{
    sem_t *touched = argument;
    local[LOCAL_BYTES - 1]++;
    free(malloc(LOCAL_BYTES));
#ifdef LOSES_IN_THREAD
    if (touched == NULL) {
        lost = malloc(1);
    }
#endif
    if (touched != NULL) {
        sem_post(touched);
    }
    return NULL;
}

static bool run_threads(void)
{
    pthread_t threads[THREAD_COUNT];
    sem_t touched;
    sem_init(&touched, 0, 0);
    for (int i = 0; i < THREAD_COUNT; i++) {
        if (pthread_create(&threads[i], NULL, touch_local, i == 0 ? NULL : &touched) != 0) {
            return false;
        }
    }
    for (int i = 1; i < THREAD_COUNT; i++) {
        sem_wait(&touched);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        if (i % 2 == 0) {
            pthread_join(threads[i], NULL);
        } else {
            pthread_detach(threads[i]);
        }
    }
    sem_destroy(&touched);
    return true;
}

static enum target_result open_with_threads(const struct target_setup *setup,
                                            const struct device_services *device,
                                            struct target_instance **instance,
                                            struct target_contract *contract, char *reason,
                                            size_t reason_bytes)
{
    if (!run_threads()) {
        snprintf(reason, reason_bytes, "no threads");
        return TARGET_FAILED;
    }
#ifdef LOSES_IN_OPEN
    lost = malloc(1);
#endif
    return reaper_target.open(setup, device, instance, contract, reason, reason_bytes);
}

__attribute__((visibility("default"))) struct target hbmstress_target;

/* C has no way to initialise it from another table. */
__attribute__((constructor)) static void fill_in(void)
{
    hbmstress_target = reaper_target;
    hbmstress_target.open = open_with_threads;
}
