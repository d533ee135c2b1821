#include "harness/trial/process_memory.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A build with sanitizers has this, because its heap is not malloc's; elsewhere it is NULL. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* --- threads --- */

uint32_t process_thread_count(void)
{
    struct stat tasks;
    /* A folder for each thread, and the two that every folder has. */
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2 ? (uint32_t)tasks.st_nlink - 2
                                                                      : 0;
}

/* A thread that was detached, or joined a moment ago, may not be gone yet. */
static void await_thread_ends(uint32_t thread_count)
{
    enum { WAIT_COUNT_MAX = 1000 };
    const struct timespec wait = {.tv_nsec = 1000000};
    for (unsigned i = 0; i < WAIT_COUNT_MAX && process_thread_count() > thread_count; i++) {
        (void)nanosleep(&wait, NULL);
    }
}

/* --- the stacks of ended threads --- */

/* Notes the stack by its frame: an address sanitizer may keep variables elsewhere. */
static void *note_stack(void *context)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    *(uintptr_t *)context = (uintptr_t)__builtin_frame_address(0) & ~(page - 1);
    return NULL;
}

/* Runs a thread on a stack of that size, 0 = what threads have; false: there is none. */
static bool run_thread(size_t stack_bytes, uintptr_t *page)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    const bool has_run = (stack_bytes == 0 ||
                          pthread_attr_setstacksize(&attributes, stack_bytes) == 0) &&
                         pthread_create(&thread, &attributes, note_stack, page) == 0 &&
                         pthread_join(thread, NULL) == 0;
    (void)pthread_attr_destroy(&attributes);
    return has_run;
}

static bool is_unmapped(uintptr_t page)
{
    unsigned char resident;
    return mincore((void *)page, 1, &resident) != 0;
}

/* glibc keeps the stacks of ended threads for new ones, up to 40 MiB in all or what a tunable says,
 * and with each its vector of thread-local blocks, from malloc.  Above that it releases the oldest
 * first (nptl/nptl-stack.c).  A stack larger than all that it may keep is the last to go: when that
 * one is gone, none is left. */
static bool release_stacks(void)
{
    const size_t first_bytes = (size_t)64 << 20, most_bytes = (size_t)4 << 30;
    for (size_t bytes = first_bytes; bytes <= most_bytes; bytes *= 4) {
        uintptr_t page = 0;
        if (!run_thread(bytes, &page)) {
            return false;
        }
        if (is_unmapped(page)) {
            return true;
        }
    }
    return false;
}

/* --- what is in use --- */

#if __GLIBC_PREREQ(2, 33)

static uint64_t glance(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

/* Small pieces that a thread gives back stay its own, a few of each size, and count as in use. */
enum { SMALL_STEP_BYTES = 16, SMALL_SIZE_COUNT = 64, SMALL_PIECE_COUNT = 64 };

static void *take_small(unsigned size, uint64_t *taken_bytes)
{
    void *piece = array_resized(NULL, sizeof(size_t) + (size_t)(size + 1) * SMALL_STEP_BYTES);
    /* malloc counts the piece with the size before it. */
    *taken_bytes += malloc_usable_size(piece) + sizeof(size_t);
    return piece;
}

/* Whatever the calling thread has ready is in use while all of it is taken: then malloc's count is
 * exact. */
static uint64_t measure_held_bytes(void)
{
    static void *pieces[SMALL_SIZE_COUNT][SMALL_PIECE_COUNT];
    uint64_t taken_bytes = 0;
    for (unsigned i = 0; i < SMALL_SIZE_COUNT * SMALL_PIECE_COUNT; i++) {
        pieces[i / SMALL_PIECE_COUNT][i % SMALL_PIECE_COUNT] = take_small(i / SMALL_PIECE_COUNT,
                                                                          &taken_bytes);
    }
    const uint64_t used_bytes = glance();
    for (unsigned i = 0; i < SMALL_SIZE_COUNT * SMALL_PIECE_COUNT; i++) {
        free(pieces[i / SMALL_PIECE_COUNT][i % SMALL_PIECE_COUNT]);
    }
    CHECK(used_bytes >= taken_bytes);
    return used_bytes - taken_bytes;
}

/* 0: not known. */
static uint32_t count_arenas(void)
{
    char *text = NULL;
    size_t length = 0;
    uint32_t count = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        return 0;
    }
    const bool is_written = malloc_info(0, stream) == 0;
    if (fclose(stream) == 0 && is_written) {
        for (const char *at = text; (at = strstr(at, "<heap nr=")) != NULL; at++) {
            count++;
        }
    }
    free(text);
    return count;
}

static bool measure(struct process_memory *memory)
{
    const uint32_t arena_count = count_arenas();
    if (arena_count == 0) {
        return false;
    }
    *memory = (struct process_memory){.held_bytes = measure_held_bytes(),
                                      .arena_count = arena_count};
    return true;
}

#else

/* An older one counts in 32 bits. */
static uint64_t glance(void)
{
    return 0;
}

static bool measure(struct process_memory *memory)
{
    (void)memory;
    return false;
}

#endif

bool process_memory_look(uint32_t thread_count, struct process_memory *memory)
{
    await_thread_ends(thread_count);
    if (!release_stacks()) {
        return false;
    }
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        *memory = (struct process_memory){.held_bytes = __sanitizer_get_current_allocated_bytes()};
        return true;
    }
    return measure(memory);
}

/* The thread sees to it that a stack is kept, with what belongs to it, before as after. */
uint64_t process_memory_glance(void)
{
    uintptr_t page = 0;
    if (!run_thread(0, &page)) {
        return 0;
    }
    return __sanitizer_get_current_allocated_bytes != NULL
               ? (uint64_t)__sanitizer_get_current_allocated_bytes()
               : glance();
}
