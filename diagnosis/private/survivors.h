/* Finds the blocks that outlive everything else: for each tag, when those that are still there were
 * made, and how many of their kind were freed at such an age. */
#ifndef DIAGNOSIS_PRIVATE_SURVIVORS_H
#define DIAGNOSIS_PRIVATE_SURVIVORS_H

#include "diagnosis/evidence.h"

enum { SURVIVORS_WINDOW_COUNT = 32, SURVIVORS_PART_COUNT = 3 };
/* The share of the list that makes a block old, one in so many, tried in this order. */
extern const uint32_t survivors_parts[SURVIVORS_PART_COUNT];

/* The list until now is [0, op_count).  A block is old when it was made at least old_age ops ago:
 * the least power of two that is op_count / part or more.  The windows divide [op_count / 8,
 * op_count - old_age) evenly: what was made before is warm-up. */
struct survivors {
    uint64_t old_age;
    uint64_t counts[SURVIVORS_WINDOW_COUNT]; /* blocks that were made then, and were not freed until
                                                now */
    uint64_t count, bytes;                   /* their sums */
    uint64_t recent_count;                   /* made after the windows */
    uint64_t least_bytes, most_bytes;        /* of one block among them */
    uint32_t first_op;                       /* that made the oldest of them */
    uint64_t first_window_op, end_window_op; /* the windows; equal: the list is too short for any */
    uint64_t old_death_count; /* of the tag, made at any time, freed at age old_age or later */
};

/* Collects, for each tag, the blocks on evidence->host that nobody freed.  O(tags + blocks). */
void survivors_take(const struct evidence *evidence, uint32_t part,
                    struct survivors survivors[OP_TAG_COUNT]);

/* They pile up: at least 16 of them, spread over the time (as if at least 12 of the 32 windows had
 * equal shares, and half of those since the first block unless the tag's floor is known to rise;
 * windows that stand out by far count for less), not ever fewer, still coming at the end, and few
 * blocks freed so late: at most one for six of them, or for three when the floor rises.  Where
 * blocks are replaced, in whichever order, either none gets old or some that are old go. */
bool survivors_pile_up(const struct survivors *survivors, bool floor_rises);

#endif
