/* Code under test of test_instrumented.c, compiled as an explored target: each function is the body
 * of a lane. */
#ifndef TESTS_EXPLORE_EXPLORED_CODE_H
#define TESTS_EXPLORE_EXPLORED_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXPLORED_COUNT = 3, EXPLORED_BYTES = 100 };

struct explored_block {
    unsigned char bytes[EXPLORED_BYTES];
};

/* Zero before each run. */
struct explored {
    uint64_t plain;
    atomic_uint_fast64_t counter;
    atomic_bool flag;
    uint64_t published, read;
    atomic_bool is_taken;
    atomic_uint_fast32_t owner_count;
    uint64_t guarded;
    struct explored_block from, to;
    struct {
        unsigned char one, two;
    } bytes;
};

void explored_count_plain(void *explored);
void explored_count_atomic(void *explored);
void explored_publish(void *explored);
void explored_publish_relaxed(void *explored);
/* Spins until the flag is up. */
void explored_await(void *explored);
/* Looks at the flag as at any variable. */
void explored_look_plainly(void *explored);
/* Takes what nobody has taken, in two operations. */
void explored_take_carelessly(void *explored);
/* A lock made of an exchange that spins, around a plain count. */
void explored_count_locked(void *explored);
void explored_copy(void *explored);
void explored_assign(void *explored);
void explored_clear(void *explored);
void explored_write_one(void *explored);
void explored_write_two(void *explored);
/* Blocks that the C library gives to one lane after the other. */
void explored_use_blocks(void *explored);

/* Tries each atomic operation on each width.  NULL: all results are right; else one that is not. */
const char *explored_atomics(void);

#endif
