/* Atomic operations.  The names and types of the entry points are those that gcc and clang call. */
#include "explore/private/instrumented.h"
#include "explore/private/order_shadow.h"
#include "explore/scheduler.h"

#include <stdint.h>

void instrumented_link_atomic(void)
{
}

/* --- memory orders --- */

/* Compilers add bits of their own above the order. */
enum { MEMORY_ORDER_MASK = 7 };

/* memory_order_consume is memory_order_acquire, as in every compiler. */
static bool is_acquiring(int memory_order)
{
    const int asked = memory_order & MEMORY_ORDER_MASK;
    return asked != __ATOMIC_RELAXED && asked != __ATOMIC_RELEASE;
}

static bool is_releasing(int memory_order)
{
    const int asked = memory_order & MEMORY_ORDER_MASK;
    return asked == __ATOMIC_RELEASE || asked == __ATOMIC_ACQ_REL || asked == __ATOMIC_SEQ_CST;
}

/* --- steps --- */

/* The effects of an operation.  A look is one that left everything as it was. */
struct atomic_act {
    const volatile void *address;
    size_t size_bytes;
    bool loads, stores, is_look;
    int memory_order;
    const void *place;
};

static void step_at_atomic(const volatile void *address, bool reads_only, const void *place)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        scheduler_step(scheduler, &(struct step){.kind = STEP_ATOMIC,
                                                 .object = (const void *)(uintptr_t)address,
                                                 .reads_only = reads_only,
                                                 .place = place});
    }
}

/* Orders an operation behind what its load sees, and before what its store tells. */
static void take_order(struct scheduler *scheduler, const struct atomic_act *act)
{
    struct order *order = scheduler_order(scheduler);
    const void *object = (const void *)(uintptr_t)act->address;
    const uint8_t lane = scheduler_lane(scheduler);
    if (order == NULL) {
        return;
    }
    if (act->loads) {
        order_atomic_load(order, lane, object, is_acquiring(act->memory_order));
    }
    instrumented_touch_atomic(object, act->size_bytes, act->stores, act->place);
    if (act->stores && act->loads) {
        order_atomic_update(order, lane, object, is_releasing(act->memory_order));
    } else if (act->stores) {
        order_atomic_store(order, lane, object, is_releasing(act->memory_order));
    }
}

/* The scheduler takes so many looks in a row, without a change by the same lane, for a wait. */
enum { LOOK_COUNT_MAX = 64 };

/* The count is kept in an object, of which every run has its own: what one run did may not reach
 * the next. */
static void count_looks(struct scheduler *scheduler, const struct atomic_act *act)
{
    static const char looks_of_lane[LANE_COUNT_MAX];
    struct object *looks = scheduler_object(scheduler, &looks_of_lane[scheduler_lane(scheduler)],
                                            "looks");
    looks->count = act->is_look ? looks->count + 1 : 0;
    if (looks->count == LOOK_COUNT_MAX) {
        looks->count = 0;
        scheduler_yield(scheduler, act->place);
    }
}

static void finish_atomic(const struct atomic_act *act)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        take_order(scheduler, act);
        count_looks(scheduler, act);
    }
}

/* --- values --- */

#define DEFINE_VALUES(bits, type)                                                               \
    static inline type load##bits(const volatile type *address)                                 \
    {                                                                                           \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                      \
    }                                                                                           \
    /* Returns what was there: `expected` when it was changed. */                               \
    static inline type swap##bits(volatile type *address, type expected, type desired)          \
    {                                                                                           \
        (void)__atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_SEQ_CST, \
                                          __ATOMIC_SEQ_CST);                                    \
        return expected;                                                                        \
    }

DEFINE_VALUES(8, uint8_t)
DEFINE_VALUES(16, uint16_t)
DEFINE_VALUES(32, uint32_t)
DEFINE_VALUES(64, uint64_t)

#if defined(__x86_64__)
__extension__ typedef unsigned __int128 uint128;

/* The compiler's own 16 bytes would need libatomic; so would these where clang moves them into a
 * function that is not compiled for this instruction. */
__attribute__((target("cx16"), noinline)) static uint128 swap128(volatile uint128 *address,
                                                                 uint128 expected, uint128 desired)
{
    return __sync_val_compare_and_swap(address, expected, desired);
}

/* Writes what is there: it cannot read memory that is read-only. */
static uint128 load128(const volatile uint128 *address)
{
    return swap128((volatile uint128 *)(uintptr_t)address, 0, 0);
}
#endif

/* --- entry points --- */

#define DEFINE_LOAD(bits, type)                                                      \
    type __tsan_atomic##bits##_load(const volatile type *address, int memory_order); \
    type __tsan_atomic##bits##_load(const volatile type *address, int memory_order)  \
    {                                                                                \
        const void *place = __builtin_return_address(0);                             \
        step_at_atomic(address, true, place);                                        \
        const type value = load##bits(address);                                      \
        finish_atomic(&(struct atomic_act){.address = address,                       \
                                           .size_bytes = sizeof(type),               \
                                           .loads = true,                            \
                                           .is_look = true,                          \
                                           .memory_order = memory_order,             \
                                           .place = place});                         \
        return value;                                                                \
    }

/* Replaces value, what is there, by desired: the expression, of value and operand. */
#define CHANGE(bits, type, expression)                                       \
    type value = load##bits(address);                                        \
    type desired = (type)(expression);                                       \
    for (type found; (found = swap##bits(address, value, desired)) != value; \
         desired = (type)(expression)) {                                     \
        value = found;                                                       \
    }

#define DEFINE_STORE(bits, type)                                                              \
    void __tsan_atomic##bits##_store(volatile type *address, type operand, int memory_order); \
    void __tsan_atomic##bits##_store(volatile type *address, type operand, int memory_order)  \
    {                                                                                         \
        const void *place = __builtin_return_address(0);                                      \
        step_at_atomic(address, false, place);                                                \
        CHANGE(bits, type, operand)                                                           \
        finish_atomic(&(struct atomic_act){.address = address,                                \
                                           .size_bytes = sizeof(type),                        \
                                           .stores = true,                                    \
                                           .memory_order = memory_order,                      \
                                           .place = place});                                  \
    }

#define DEFINE_UPDATE(bits, type, name, expression)                                            \
    type __tsan_atomic##bits##_##name(volatile type *address, type operand, int memory_order); \
    type __tsan_atomic##bits##_##name(volatile type *address, type operand, int memory_order)  \
    {                                                                                          \
        const void *place = __builtin_return_address(0);                                       \
        step_at_atomic(address, false, place);                                                 \
        CHANGE(bits, type, expression)                                                         \
        finish_atomic(&(struct atomic_act){.address = address,                                 \
                                           .size_bytes = sizeof(type),                         \
                                           .loads = true,                                      \
                                           .stores = true,                                     \
                                           .is_look = desired == value,                        \
                                           .memory_order = memory_order,                       \
                                           .place = place});                                   \
        return value;                                                                          \
    }

/* The result is what was there; only a failure is without a store, and has the other memory order.
 */
#define DEFINE_COMPARE_EXCHANGE(bits, type)                                                        \
    static type compare_exchange##bits(volatile type *address, type expected, type desired,        \
                                       struct atomic_act act, int failure_order)                   \
    {                                                                                              \
        step_at_atomic(address, false, act.place);                                                 \
        const type found = swap##bits(address, expected, desired);                                 \
        act.address = address;                                                                     \
        act.size_bytes = sizeof(type);                                                             \
        act.loads = true;                                                                          \
        act.stores = found == expected;                                                            \
        act.is_look = !act.stores || desired == expected;                                          \
        act.memory_order = act.stores ? act.memory_order : failure_order;                          \
        finish_atomic(&act);                                                                       \
        return found;                                                                              \
    }                                                                                              \
    type __tsan_atomic##bits##_compare_exchange_val(                                               \
        volatile type *address, type expected, type desired, int memory_order, int failure_order); \
    type __tsan_atomic##bits##_compare_exchange_val(                                               \
        volatile type *address, type expected, type desired, int memory_order, int failure_order)  \
    {                                                                                              \
        const struct atomic_act act = {.memory_order = memory_order,                               \
                                       .place = __builtin_return_address(0)};                      \
        return compare_exchange##bits(address, expected, desired, act, failure_order);             \
    }                                                                                              \
    DEFINE_COMPARE_EXCHANGE_INTO(bits, type, strong)                                               \
    DEFINE_COMPARE_EXCHANGE_INTO(bits, type, weak)

#define DEFINE_COMPARE_EXCHANGE_INTO(bits, type, strength)                                         \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile type *address, type *expected,  \
                                                          type desired, int memory_order,          \
                                                          int failure_order);                      \
    int __tsan_atomic##bits##_compare_exchange_##strength(                                         \
        volatile type *address, type *expected, type desired, int memory_order, int failure_order) \
    {                                                                                              \
        const struct atomic_act act = {.memory_order = memory_order,                               \
                                       .place = __builtin_return_address(0)};                      \
        const type found = compare_exchange##bits(address, *expected, desired, act,                \
                                                  failure_order);                                  \
        const bool is_done = found == *expected;                                                   \
        *expected = found;                                                                         \
        return is_done;                                                                            \
    }

#define DEFINE_ATOMICS(bits, type)                            \
    DEFINE_LOAD(bits, type)                                   \
    DEFINE_STORE(bits, type)                                  \
    DEFINE_UPDATE(bits, type, exchange, operand)              \
    DEFINE_UPDATE(bits, type, fetch_add, value + operand)     \
    DEFINE_UPDATE(bits, type, fetch_sub, value - operand)     \
    DEFINE_UPDATE(bits, type, fetch_and, value &operand)      \
    DEFINE_UPDATE(bits, type, fetch_or, value | operand)      \
    DEFINE_UPDATE(bits, type, fetch_xor, value ^ operand)     \
    DEFINE_UPDATE(bits, type, fetch_nand, ~(value & operand)) \
    DEFINE_COMPARE_EXCHANGE(bits, type)

DEFINE_ATOMICS(8, uint8_t)
DEFINE_ATOMICS(16, uint16_t)
DEFINE_ATOMICS(32, uint32_t)
DEFINE_ATOMICS(64, uint64_t)
#if defined(__x86_64__)
DEFINE_ATOMICS(128, uint128)
#endif

/* A fence is no step: nobody else can tell when it happens. */
void __tsan_atomic_thread_fence(int memory_order);
void __tsan_atomic_thread_fence(int memory_order)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL && scheduler_order(scheduler) != NULL) {
        order_atomic_fence(scheduler_order(scheduler), scheduler_lane(scheduler),
                           is_acquiring(memory_order), is_releasing(memory_order));
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Orders within one thread only. */
void __tsan_atomic_signal_fence(int memory_order);
void __tsan_atomic_signal_fence(int memory_order)
{
    (void)memory_order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* --- volatile accesses --- */

/* The access itself is made by the code, after this. */
static void touch_volatile(const volatile void *address, bool is_write, const void *place)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        step_at_atomic(address, !is_write, place);
        count_looks(scheduler,
                    &(struct atomic_act){.address = address, .is_look = !is_write, .place = place});
    }
}

#define DEFINE_VOLATILE(name, is_write)                                 \
    void __tsan_##name(const volatile void *address);                   \
    void __tsan_##name(const volatile void *address)                    \
    {                                                                   \
        touch_volatile(address, is_write, __builtin_return_address(0)); \
    }

#define DEFINE_VOLATILES(size_bytes)                            \
    DEFINE_VOLATILE(volatile_read##size_bytes, false)           \
    DEFINE_VOLATILE(volatile_write##size_bytes, true)           \
    DEFINE_VOLATILE(unaligned_volatile_read##size_bytes, false) \
    DEFINE_VOLATILE(unaligned_volatile_write##size_bytes, true)

DEFINE_VOLATILES(1)
DEFINE_VOLATILES(2)
DEFINE_VOLATILES(4)
DEFINE_VOLATILES(8)
DEFINE_VOLATILES(16)
