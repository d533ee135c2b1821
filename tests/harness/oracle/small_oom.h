/* Small out-of-memories, drawn as text: one letter for each granule, "." where nothing is.  "mm.mM"
 * is a heap of five granules with a movable block of two, a free granule, and two movable blocks of
 * one: an upper-case letter is the same state as its lower-case one, so that two blocks may touch.
 */
#ifndef TESTS_HARNESS_ORACLE_SMALL_OOM_H
#define TESTS_HARNESS_ORACLE_SMALL_OOM_H

#include "harness/oracle/oom.h"

enum { SMALL_GRANULE = 512, SMALL_BLOCKS_MAX = 16, SMALL_TEXT_BYTES = 512 };

/* What a block is; times are in nanoseconds, stacks in granules. */
struct small_state {
    char letter;
    uint8_t kind, state;
    uint64_t used_until_ns, freed_at_ns;
    uint32_t hold_count;
    uint64_t stack;
    bool is_own; /* the program that the request executes or loads again: one block at most */
};
enum { SMALL_STATE_COUNT = 20 };
extern const struct small_state small_states[SMALL_STATE_COUNT];
const struct small_state *small_state(char letter); /* NULL: there is none */

/* An out-of-memory with its blocks; oom.blocks points into it, so it is not to be copied. */
struct small_oom {
    struct oom oom;
    struct oom_block blocks[SMALL_BLOCKS_MAX];
    char letters[SMALL_BLOCKS_MAX];
};

/* An empty heap; the contract and the request are those of *like. */
void small_oom_init(struct small_oom *small, const struct oom *like, uint64_t granules);
/* Adds a block behind all others; start and size in granules. */
void small_oom_add(struct small_oom *small, const struct small_state *state, uint64_t start,
                   uint64_t size);
/* Takes the last block away. */
void small_oom_drop(struct small_oom *small);
/* Both of the above. */
void small_oom_draw(struct small_oom *small, const struct oom *like, const char *drawing);
/* The drawing, the contract and the request, for messages. */
void small_oom_print(const struct small_oom *small, char text[SMALL_TEXT_BYTES]);

#endif
