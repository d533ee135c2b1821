/* Functions of the C library that instrumented code calls by name: they are linked under the names
 * that the linker's
 * --wrap gives them, so that only that code comes here. */
#include "explore/private/instrumented.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void instrumented_link_memory(void)
{
}

/* --- bytes --- */

static void touch_both(const void *to, const void *from, size_t size_bytes, const void *place)
{
    instrumented_touch(from, size_bytes, false, place);
    instrumented_touch(to, size_bytes, true, place);
}

void *__tsan_memcpy(void *to, const void *from, size_t size_bytes);
void *__tsan_memcpy(void *to, const void *from, size_t size_bytes)
{
    touch_both(to, from, size_bytes, __builtin_return_address(0));
    return memcpy(to, from, size_bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t size_bytes);
void *__tsan_memmove(void *to, const void *from, size_t size_bytes)
{
    touch_both(to, from, size_bytes, __builtin_return_address(0));
    return memmove(to, from, size_bytes);
}

void *__tsan_memset(void *to, int value, size_t size_bytes);
void *__tsan_memset(void *to, int value, size_t size_bytes)
{
    instrumented_touch(to, size_bytes, true, __builtin_return_address(0));
    return memset(to, value, size_bytes);
}

void *__wrap_memcpy(void *to, const void *from, size_t size_bytes)
    __attribute__((alias("__tsan_memcpy")));
void *__wrap_memmove(void *to, const void *from, size_t size_bytes)
    __attribute__((alias("__tsan_memmove")));
void *__wrap_memset(void *to, int value, size_t size_bytes) __attribute__((alias("__tsan_memset")));

/* --- blocks --- */

/* The C library orders what was done before a block was freed with what is done after it is given
 * again, and nobody else can say where it will be. */
static void *forget_new_memory(void *block)
{
    if (block != NULL) {
        instrumented_forget(block, malloc_usable_size(block));
    }
    return block;
}

/* Touches and forgets freed memory: any lane that still uses it races with that. */
static void forget_freed_memory(void *block, const void *place)
{
    if (block != NULL) {
        instrumented_touch(block, malloc_usable_size(block), true, place);
        instrumented_forget(block, malloc_usable_size(block));
    }
}

void *__wrap_malloc(size_t size_bytes);
void *__wrap_malloc(size_t size_bytes)
{
    return forget_new_memory(malloc(size_bytes));
}

void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes)
{
    return forget_new_memory(calloc(count, size_bytes));
}

void *__wrap_aligned_alloc(size_t align_bytes, size_t size_bytes);
void *__wrap_aligned_alloc(size_t align_bytes, size_t size_bytes)
{
    return forget_new_memory(aligned_alloc(align_bytes, size_bytes));
}

int __wrap_posix_memalign(void **block, size_t align_bytes, size_t size_bytes);
int __wrap_posix_memalign(void **block, size_t align_bytes, size_t size_bytes)
{
    const int error = posix_memalign(block, align_bytes, size_bytes);
    if (error == 0) {
        (void)forget_new_memory(*block);
    }
    return error;
}

/* May be where it was: then all of it is the caller's alone, as it must be for a block that may
 * move. */
void *__wrap_realloc(void *block, size_t size_bytes);
void *__wrap_realloc(void *block, size_t size_bytes)
{
    if (block != NULL) {
        instrumented_touch(block, malloc_usable_size(block), true, __builtin_return_address(0));
    }
    return forget_new_memory(realloc(block, size_bytes));
}

void __wrap_free(void *block);
void __wrap_free(void *block)
{
    forget_freed_memory(block, __builtin_return_address(0));
    free(block);
}
