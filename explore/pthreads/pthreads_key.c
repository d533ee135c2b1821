/* Keys: the numbers are the process's, the values in a lane are the lane's. */
#include "explore/private/check.h"
#include "explore/pthreads/private/pthreads_run.h"
#include "explore/pthreads/pthreads.h"

const char pthreads_link_key = 1;

/* A key that lanes have values of their own for; number 0 = no key.  A number is given once: a
 * value of a deleted key is none of the next key of the same index. */
struct key {
    _Atomic uint32_t number;
    void (*_Atomic destructor)(void *value);
};
static struct key keys[PTHREAD_KEYS_MAX];
static _Atomic uint32_t key_count;

static uint32_t find_key_number(pthread_key_t key)
{
    return key < PTHREAD_KEYS_MAX ? atomic_load_explicit(&keys[key].number, memory_order_acquire)
                                  : 0;
}

static struct key_value *find_key_value(struct scheduler *scheduler, pthread_key_t key)
{
    return &pthreads_run_of(scheduler)->values[scheduler_lane(scheduler)][key];
}

/* NULL where nothing is set. */
static void *get_value(struct scheduler *scheduler, pthread_key_t key)
{
    const struct key_value *value = find_key_value(scheduler, key);
    const bool is_set = value->run == pthreads_run_of(scheduler)->number &&
                        value->key == find_key_number(key);
    return is_set ? value->value : NULL;
}

/* A number, because a value may be an address of nothing. */
static void set_value(struct scheduler *scheduler, pthread_key_t key, uintptr_t value)
{
    struct pthreads_run *run = pthreads_run_of(scheduler);
    uint32_t *end = &run->key_ends[scheduler_lane(scheduler)];
    *end = *end > key ? *end : key + 1;
    *find_key_value(scheduler, key) = (struct key_value){
        .value = (void *)value, .run = run->number, .key = find_key_number(key)};
}

static void remember_key(pthread_key_t key, void (*destructor)(void *value))
{
    EXPLORE_CHECK(key < PTHREAD_KEYS_MAX);
    atomic_store_explicit(&keys[key].destructor, destructor, memory_order_relaxed);
    const uint32_t number = atomic_fetch_add_explicit(&key_count, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&keys[key].number, number, memory_order_release);
}

/* --- the end of a lane --- */

/* True: there was a value and its destructor ran. */
static bool destruct_value(struct scheduler *scheduler, pthread_key_t key)
{
    if (find_key_number(key) == 0) {
        return false;
    }
    void (*destructor)(void *) = atomic_load_explicit(&keys[key].destructor, memory_order_relaxed);
    void *value = get_value(scheduler, key);
    if (destructor == NULL || value == NULL) {
        return false;
    }
    set_value(scheduler, key, 0);
    destructor(value);
    return true;
}

static bool destruct_values(struct scheduler *scheduler)
{
    const uint32_t *end = &pthreads_run_of(scheduler)->key_ends[scheduler_lane(scheduler)];
    bool ran = false;
    for (pthread_key_t key = 0; key < *end; key++) {
        ran |= destruct_value(scheduler, key);
    }
    return ran;
}

void pthreads_lane_end(void)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        return;
    }
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && destruct_values(scheduler);
         round++) {
    }
}

/* --- what the code under test calls --- */

INTERPOSED int pthread_key_create(pthread_key_t *key, void (*destructor)(void *value))
{
    const int error = REAL(pthread_key_create)(key, destructor);
    if (error == 0 && (scheduler_current() != NULL || pthreads_are_linked())) {
        remember_key(*key, destructor);
    }
    return error;
}

INTERPOSED int pthread_key_delete(pthread_key_t key)
{
    if (key < PTHREAD_KEYS_MAX) {
        atomic_store_explicit(&keys[key].number, 0, memory_order_release);
    }
    return REAL(pthread_key_delete)(key);
}

INTERPOSED void *pthread_getspecific(pthread_key_t key)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL || find_key_number(key) == 0) {
        return REAL(pthread_getspecific)(key);
    }
    return get_value(scheduler, key);
}

INTERPOSED int pthread_setspecific(pthread_key_t key, const void *value)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL || find_key_number(key) == 0) {
        return REAL(pthread_setspecific)(key, value);
    }
    set_value(scheduler, key, (uintptr_t)value);
    return 0;
}

/* --- the same of C11 --- */

INTERPOSED int tss_create(tss_t *key, tss_dtor_t destructor)
{
    return c11_result(pthread_key_create(key, destructor));
}

INTERPOSED void tss_delete(tss_t key)
{
    (void)pthread_key_delete(key);
}

INTERPOSED void *tss_get(tss_t key)
{
    return pthread_getspecific(key);
}

INTERPOSED int tss_set(tss_t key, void *value)
{
    return c11_result(pthread_setspecific(key, value));
}
