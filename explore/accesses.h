/* Counts the memory accesses of code that was compiled for races (explore/private/instrumented.h):
 * a measure of work that no machine and no clock has a part in. */
#ifndef EXPLORE_ACCESSES_H
#define EXPLORE_ACCESSES_H

#include <stdint.h>

/* Reads, writes and atomic operations of such code by the calling thread since it began, copies and
 * fills of any length counted as one each for what they read and write.  0 in a build with the real
 * thread sanitizer, and where no such code ran. */
uint64_t accesses_count(void);

/* The calling thread's count; only the entry points of such code add to it. */
extern _Thread_local uint64_t accesses_of_thread;

#endif
