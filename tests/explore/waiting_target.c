/* A sound plug-in whose calls go through one door: the example reaper.c behind one of these.
 *
 *     WAITS_C11     threads of C11: a lock, and a door-keeper who lets each caller in
 *     WAITS_FUTEX   a lock of its own, by syscall(): nobody sees the wait
 *     WAITS_POLL    a token in a pipe, which poll() waits for: its imports show it */
#define hbmstress_target reaper_target
#include "targets/example/reaper.c"
#undef hbmstress_target

#include <stdlib.h>

#if defined(WAITS_C11)

#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static mtx_t door;
static cnd_t knocked, opened;
static unsigned knocks, served;
static bool is_taken, is_over;
static thrd_t keeper;
static tss_t visit_count;

static void init_door(void)
{
    if (mtx_init(&door, mtx_plain) != thrd_success || cnd_init(&knocked) != thrd_success ||
        cnd_init(&opened) != thrd_success || tss_create(&visit_count, free) != thrd_success) {
        abort();
    }
}

static int keep_door(void *argument)
{
    (void)argument;
    mtx_lock(&door);
    while (!is_over) {
        if (served < knocks && !is_taken) {
            served++;
            is_taken = true;
            cnd_broadcast(&opened);
        } else {
            cnd_wait(&knocked, &door);
        }
    }
    mtx_unlock(&door);
    return 7;
}

static void begin_door(void)
{
    call_once(&once, init_door);
    knocks = served = 0;
    is_taken = is_over = false;
    if (thrd_create(&keeper, keep_door, NULL) != thrd_success) {
        abort();
    }
}

static void end_door(void)
{
    int result = 0;
    mtx_lock(&door);
    is_over = true;
    cnd_signal(&knocked);
    mtx_unlock(&door);
    if (thrd_join(keeper, &result) != thrd_success || result != 7) {
        abort();
    }
}

/* In the order of the tickets. */
static void enter_door(void)
{
    mtx_lock(&door);
    const unsigned ticket = ++knocks;
    cnd_signal(&knocked);
    while (served < ticket) {
        cnd_wait(&opened, &door);
    }
    mtx_unlock(&door);
    thrd_yield();
}

static void leave_door(void)
{
    mtx_lock(&door);
    is_taken = false;
    cnd_signal(&knocked);
    mtx_unlock(&door);
}

#elif defined(WAITS_FUTEX)

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic unsigned door; /* 0 open, 1 taken, 2 taken and somebody waits */

static void begin_door(void)
{
}

static void end_door(void)
{
}

static void enter_door(void)
{
    unsigned seen = 0;
    if (atomic_compare_exchange_strong(&door, &seen, 1)) {
        return;
    }
    while (atomic_exchange(&door, 2) != 0) {
        (void)syscall(SYS_futex, &door, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
}

static void leave_door(void)
{
    if (atomic_exchange(&door, 0) == 2) {
        (void)syscall(SYS_futex, &door, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

#elif defined(WAITS_POLL)

#include <poll.h>
#include <unistd.h>

static int token[2];

static void begin_door(void)
{
    if (pipe(token) != 0 || write(token[1], "t", 1) != 1) {
        abort();
    }
}

static void end_door(void)
{
    (void)close(token[0]);
    (void)close(token[1]);
}

static void enter_door(void)
{
    char byte;
    struct pollfd here = {.fd = token[0], .events = POLLIN};
    if (poll(&here, 1, -1) != 1 || read(token[0], &byte, 1) != 1) {
        abort();
    }
}

static void leave_door(void)
{
    if (write(token[1], "t", 1) != 1) {
        abort();
    }
}

#endif

static enum target_result open_behind(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **instance,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    const enum target_result result = reaper_target.open(setup, device, instance, contract, reason,
                                                         reason_bytes);
    if (result == TARGET_OK) {
        begin_door();
    }
    return result;
}

static void close_behind(struct target_instance *instance)
{
    end_door();
    reaper_target.close(instance);
}

static enum target_result alloc_behind(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    enter_door();
    const enum target_result result = reaper_target.alloc(instance, request, block);
    leave_door();
    return result;
}

static enum target_result free_behind(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    enter_door();
    const enum target_result result = reaper_target.free(instance, handle, event);
    leave_door();
    return result;
}

__attribute__((visibility("default"))) struct target hbmstress_target;

/* C has no way to initialise it from another table. */
__attribute__((constructor)) static void fill_in(void)
{
    hbmstress_target = reaper_target;
    hbmstress_target.name = "waiting";
    hbmstress_target.open = open_behind;
    hbmstress_target.close = close_behind;
    hbmstress_target.alloc = alloc_behind;
    hbmstress_target.free = free_behind;
}
