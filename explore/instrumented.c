/* Plain accesses.  The names and types of the entry points are those that gcc and clang call. */
#include "explore/private/instrumented.h"

#include "explore/accesses.h"
#include "explore/private/order_shadow.h"
#include "explore/private/scheduler_state.h"

#include <stdint.h>
#include <stdio.h>

void instrumented_link(void)
{
    instrumented_link_atomic();
    instrumented_link_memory();
}

/* --- the lane --- */

/* The stack of a thread that is a lane; asked for once. */
struct thread_stack {
    uintptr_t start;
    size_t size_bytes;
};
static _Thread_local struct thread_stack thread_stack;

static struct thread_stack find_own_stack(void)
{
    pthread_attr_t attributes;
    if (thread_stack.size_bytes == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *start = NULL;
        size_t size_bytes = 0;
        (void)pthread_attr_getstack(&attributes, &start, &size_bytes);
        (void)pthread_attr_destroy(&attributes);
        thread_stack = (struct thread_stack){(uintptr_t)start, size_bytes};
    }
    return thread_stack;
}

/* True on the running lane's stack: data there comes and goes with calls, also between lanes. */
static bool is_on_own_stack(const struct scheduler *scheduler, const void *address)
{
    if (scheduler->backend == SCHEDULER_FIBERS) {
        const struct fiber *fiber = &scheduler->lanes[scheduler->current].carrier.fiber;
        return (uintptr_t)address - (uintptr_t)fiber->stack < fiber->stack_bytes;
    }
    const struct thread_stack stack = find_own_stack();
    return (uintptr_t)address - stack.start < stack.size_bytes;
}

enum { WHO_BYTES = 40 };

static const char *print_access(const struct access *access, char text[WHO_BYTES])
{
    if (access->op == STEP_OP_NONE) {
        (void)snprintf(text, WHO_BYTES, "lane %u", access->lane);
    } else {
        (void)snprintf(text, WHO_BYTES, "lane %u (op %u)", access->lane, access->op);
    }
    return text;
}

_Noreturn static void end_raced(struct scheduler *scheduler, const struct race *race)
{
    char who[2][WHO_BYTES], place[2][PLACE_TEXT_BYTES];
    scheduler_fail(
        scheduler, SCHEDULER_RACE, "%s %s %zu byte%s at %s; %s %s at %s; nothing orders the two",
        print_access(&race->earlier, who[0]), race->earlier.is_write ? "wrote" : "read",
        race->size_bytes, race->size_bytes == 1 ? "" : "s",
        place_print(race->earlier.place, place[0]), print_access(&race->later, who[1]),
        race->later.is_write ? "writes" : "reads", place_print(race->later.place, place[1]));
}

/* order_access() or order_atomic_access(). */
typedef bool compare(struct order *order, const struct access *access, const void *address,
                     size_t size_bytes, struct race *race);

static void touch_bytes(compare *with_others, const void *address, size_t size_bytes,
                        struct access access)
{
    accesses_of_thread++;
    struct scheduler *scheduler = scheduler_current();
    struct order *order = scheduler == NULL ? NULL : scheduler_order(scheduler);
    if (order == NULL || size_bytes == 0 || is_on_own_stack(scheduler, address)) {
        return;
    }
    struct race race;
    access.lane = scheduler->current;
    access.op = scheduler->lanes[scheduler->current].op;
    if (with_others(order, &access, address, size_bytes, &race)) {
        end_raced(scheduler, &race);
    }
}

void instrumented_touch(const void *address, size_t size_bytes, bool is_write, const void *place)
{
    touch_bytes(order_access, address, size_bytes,
                (struct access){.is_write = is_write, .place = place});
}

void instrumented_touch_atomic(const void *address, size_t size_bytes, bool is_write,
                               const void *place)
{
    touch_bytes(order_atomic_access, address, size_bytes,
                (struct access){.is_write = is_write, .place = place});
}

void instrumented_forget(const void *address, size_t size_bytes)
{
    struct scheduler *scheduler = scheduler_current();
    struct order *order = scheduler == NULL ? NULL : scheduler_order(scheduler);
    if (order != NULL && address != NULL && size_bytes != 0) {
        order_forget(order, address, size_bytes);
    }
}

/* --- entry points --- */

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller);
void __tsan_func_entry(const void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

#define DEFINE_ACCESS(name, size_bytes, is_write)                                       \
    void __tsan_##name(const void *address);                                            \
    void __tsan_##name(const void *address)                                             \
    {                                                                                   \
        instrumented_touch(address, size_bytes, is_write, __builtin_return_address(0)); \
    }

/* read_write is a read and a write after it: the write races with all that the read would. */
#define DEFINE_ACCESSES(size_bytes)                              \
    DEFINE_ACCESS(read##size_bytes, size_bytes, false)           \
    DEFINE_ACCESS(write##size_bytes, size_bytes, true)           \
    DEFINE_ACCESS(read_write##size_bytes, size_bytes, true)      \
    DEFINE_ACCESS(unaligned_read##size_bytes, size_bytes, false) \
    DEFINE_ACCESS(unaligned_write##size_bytes, size_bytes, true) \
    DEFINE_ACCESS(unaligned_read_write##size_bytes, size_bytes, true)

DEFINE_ACCESSES(1)
DEFINE_ACCESSES(2)
DEFINE_ACCESSES(4)
DEFINE_ACCESSES(8)
DEFINE_ACCESSES(16)

void __tsan_read_range(const void *address, size_t size_bytes);
void __tsan_read_range(const void *address, size_t size_bytes)
{
    instrumented_touch(address, size_bytes, false, __builtin_return_address(0));
}

void __tsan_write_range(const void *address, size_t size_bytes);
void __tsan_write_range(const void *address, size_t size_bytes)
{
    instrumented_touch(address, size_bytes, true, __builtin_return_address(0));
}

void __tsan_vptr_read(void *const *table);
void __tsan_vptr_read(void *const *table)
{
    instrumented_touch(table, sizeof *table, false, __builtin_return_address(0));
}

/* Constructors and destructors set it to what it is already, over and over. */
void __tsan_vptr_update(void *const *table, const void *value);
void __tsan_vptr_update(void *const *table, const void *value)
{
    if (*table != value) {
        instrumented_touch(table, sizeof *table, true, __builtin_return_address(0));
    }
}

/* Annotations that code gives of its own accord. */
void __tsan_acquire(void *object);
void __tsan_acquire(void *object)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL && scheduler_order(scheduler) != NULL) {
        order_acquire(scheduler_order(scheduler), scheduler->current, object);
    }
}

void __tsan_release(void *object);
void __tsan_release(void *object)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL && scheduler_order(scheduler) != NULL) {
        order_release(scheduler_order(scheduler), scheduler->current, object);
    }
}
