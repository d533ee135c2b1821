/* Measures how much of malloc's memory this process holds, without what the C library keeps for
 * itself: the stacks of threads that ended, with what belongs to them, and the small pieces that
 * each thread has ready. */
#ifndef HARNESS_TRIAL_PROCESS_MEMORY_H
#define HARNESS_TRIAL_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* held_bytes of two looks can be compared while arena_count is the same: an arena of malloc's holds
 * some bytes for its own bookkeeping. */
struct process_memory {
    uint64_t held_bytes;
    uint32_t arena_count;
};

/* Returns how many threads the process has now; 0: not known. */
uint32_t process_thread_count(void);

/* Waits up to a second until no more than thread_count threads are left, makes the C library
 * release what it keeps, and looks.  Another thread that allocates meanwhile makes the answer
 * worthless.  False: nothing exact can be said here, and *memory is unchanged.  About a
 * millisecond. */
bool process_memory_look(uint32_t thread_count, struct process_memory *memory);

/* Malloc's count at a glance, with what the C library keeps: where a run did not make it grow, it
 * hardly left anything behind; where one did, looks tell.  0: not known. */
uint64_t process_memory_glance(void);

#endif
