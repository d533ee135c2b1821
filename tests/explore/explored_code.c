#include "tests/explore/explored_code.h"

#include <stdlib.h>
#include <string.h>

void explored_count_plain(void *context)
{
    struct explored *explored = context;
    for (int i = 0; i < EXPLORED_COUNT; i++) {
        explored->plain++;
    }
}

void explored_count_atomic(void *context)
{
    struct explored *explored = context;
    for (int i = 0; i < EXPLORED_COUNT; i++) {
        (void)atomic_fetch_add_explicit(&explored->counter, 1, memory_order_relaxed);
    }
}

void explored_publish(void *context)
{
    struct explored *explored = context;
    explored->published = 7;
    atomic_store_explicit(&explored->flag, true, memory_order_release);
}

void explored_publish_relaxed(void *context)
{
    struct explored *explored = context;
    explored->published = 7;
    atomic_store_explicit(&explored->flag, true, memory_order_relaxed);
}

void explored_await(void *context)
{
    struct explored *explored = context;
    while (!atomic_load_explicit(&explored->flag, memory_order_acquire)) {
    }
    explored->read = explored->published;
}

void explored_look_plainly(void *context)
{
    struct explored *explored = context;
    const bool *flag = (const bool *)(const void *)&explored->flag;
    explored->read = *flag;
}

void explored_take_carelessly(void *context)
{
    struct explored *explored = context;
    if (!atomic_load(&explored->is_taken)) {
        atomic_store(&explored->is_taken, true);
        (void)atomic_fetch_add(&explored->owner_count, 1);
    }
}

void explored_count_locked(void *context)
{
    struct explored *explored = context;
    for (int i = 0; i < EXPLORED_COUNT; i++) {
        while (atomic_exchange_explicit(&explored->is_taken, true, memory_order_acquire)) {
        }
        explored->guarded++;
        atomic_store_explicit(&explored->is_taken, false, memory_order_release);
    }
}

void explored_copy(void *context)
{
    struct explored *explored = context;
    memcpy(&explored->to, &explored->from, sizeof explored->to);
}

void explored_assign(void *context)
{
    struct explored *explored = context;
    explored->to = explored->from;
}

void explored_clear(void *context)
{
    struct explored *explored = context;
    memset(&explored->from.bytes[EXPLORED_BYTES - 8], 0, 8);
}

void explored_write_one(void *context)
{
    struct explored *explored = context;
    explored->bytes.one = 1;
}

void explored_write_two(void *context)
{
    struct explored *explored = context;
    explored->bytes.two = 2;
}

void explored_use_blocks(void *context)
{
    struct explored *explored = context;
    for (size_t i = 0; i < 4; i++) {
        unsigned char *block = malloc(64);
        if (block == NULL) {
            return;
        }
        memset(block, (int)i, 64);
        (void)atomic_fetch_add_explicit(&explored->counter, block[i], memory_order_relaxed);
        unsigned char *larger = realloc(block, 4096);
        free(larger == NULL ? block : larger);
    }
}

/* --- each operation --- */

#define TRY(is_right)     \
    if (!(is_right)) {    \
        return #is_right; \
    }

#define DEFINE_TRY(name, type)                                    \
    static const char *try_##name(void)                           \
    {                                                             \
        static _Atomic type name;                                 \
        type expected = 5;                                        \
        atomic_store(&name, 12);                                  \
        TRY(atomic_load(&name) == 12)                             \
        TRY(atomic_exchange(&name, 10) == 12)                     \
        TRY(atomic_fetch_add(&name, 5) == 10)                     \
        TRY(atomic_fetch_sub(&name, 3) == 15)                     \
        TRY(atomic_fetch_and(&name, 6) == 12)                     \
        TRY(atomic_fetch_or(&name, 3) == 4)                       \
        TRY(atomic_fetch_xor(&name, 1) == 7)                      \
        TRY(!atomic_compare_exchange_strong(&name, &expected, 9)) \
        TRY(expected == 6)                                        \
        TRY(atomic_compare_exchange_strong(&name, &expected, 9))  \
        expected = 8;                                             \
        TRY(!atomic_compare_exchange_weak(&name, &expected, 1))   \
        TRY(atomic_compare_exchange_weak(&name, &expected, 1))    \
        TRY(atomic_fetch_sub(&name, 2) == 1)                      \
        TRY(atomic_load(&name) == (type)-1)                       \
        return NULL;                                              \
    }

DEFINE_TRY(u8, uint8_t)
DEFINE_TRY(u16, uint16_t)
DEFINE_TRY(u32, uint32_t)
DEFINE_TRY(u64, uint64_t)
#if defined(__x86_64__) && !defined(__clang__)
__extension__ typedef unsigned __int128 uint128;
DEFINE_TRY(u128, uint128)
#else
static const char *try_u128(void)
{
    return NULL;
}
#endif

static const char *try_nand(void)
{
    static uint32_t value;
    __atomic_store_n(&value, 12, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    TRY(__atomic_fetch_nand(&value, 10u, __ATOMIC_SEQ_CST) == 12)
    TRY(__atomic_load_n(&value, __ATOMIC_SEQ_CST) == ~8u)
    return NULL;
}

const char *explored_atomics(void)
{
    const char *(*const tries[])(void) = {try_u8, try_u16, try_u32, try_u64, try_u128, try_nand};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        const char *wrong = tries[i]();
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}
