#include "allocator/private/base.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Noreturn void hbm_check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: libhbm invariant broken: %s\n", file, line, condition);
    abort();
}

void *hbm_host_array(struct hbm_host *host, size_t count, size_t element_bytes)
{
    HBM_CHECK(host->services.host_alloc != NULL);
    size_t bytes;
    if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes == 0) {
        return NULL;
    }
    void *memory = host->services.host_alloc(host->services.context, bytes);
    if (memory != NULL) {
        host->bytes += bytes;
        HBM_CHECK(host->bytes >= bytes);
    }
    return memory;
}

void *hbm_host_zeroed(struct hbm_host *host, size_t count, size_t element_bytes)
{
    void *memory = hbm_host_array(host, count, element_bytes);
    return memory == NULL ? NULL : memset(memory, 0, count * element_bytes);
}

void hbm_host_free(struct hbm_host *host, void *memory, size_t count, size_t element_bytes)
{
    if (memory == NULL) {
        return;
    }
    HBM_CHECK(element_bytes != 0);
    HBM_CHECK(count <= host->bytes / element_bytes);
    host->bytes -= count * element_bytes;
    host->services.host_free(host->services.context, memory, count * element_bytes);
}

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

typedef bool comparison(const void *context, uint32_t left, uint32_t right);

static void sift_down(uint32_t *numbers, size_t root, size_t count, comparison *comes_before,
                      const void *context)
{
    const uint32_t moved = numbers[root];
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && comes_before(context, numbers[child], numbers[child + 1])) {
            child++;
        }
        if (!comes_before(context, moved, numbers[child])) {
            break;
        }
        numbers[root] = numbers[child];
        root = child;
    }
    numbers[root] = moved;
}

void hbm_sort(uint32_t *numbers, size_t count, comparison *comes_before, const void *context)
{
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(numbers, i, count, comes_before, context);
    }
    for (size_t end = count; end-- > 1;) {
        const uint32_t last = numbers[end];
        numbers[end] = numbers[0];
        numbers[0] = last;
        sift_down(numbers, 0, end, comes_before, context);
    }
}
