/* Marks for what every op goes through: millions of calls, most of them smaller than the saving of
 * registers around them. */
#ifndef HARNESS_BASE_OFTEN_H
#define HARNESS_BASE_OFTEN_H

#include <stddef.h>
#include <string.h>

/* With all that it calls in one piece, wherever the compiler sees it, ... */
#define OFTEN __attribute__((flatten))
/* ... but for this, which stays a call of its own. */
#define SELDOM __attribute__((noinline, cold))

/* Zeroes what has up to 128 bytes, a number that the compiler knows.  In two pieces: for one of
 * more than 80 bytes gcc takes a string instruction, which is dear before its first word. */
static inline void zero_often(void *to, size_t bytes)
{
    const size_t half = bytes < 64 ? bytes : 64;
    memset(to, 0, half);
    memset((char *)to + half, 0, bytes - half);
}

#endif
