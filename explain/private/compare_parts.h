/* What explain A B knows of its two runs: explain_compare.c takes it, explain_compare_print.c
 * prints it.  Only these include it. */
#ifndef EXPLAIN_PRIVATE_COMPARE_PARTS_H
#define EXPLAIN_PRIVATE_COMPARE_PARTS_H

#include "harness/base/writing.h"
#include "recording/recording.h"
#include "recording/step_axis.h"

/* Without steps both lists are cut into so many parts of equal length; a table over time has no
 * more rows. */
enum { COMPARE_PART_COUNT = 16 };
/* What no tag holds. */
enum { COMPARE_DYING = 0, COMPARE_RETIRED, COMPARE_STACK, COMPARE_COUNT };

struct compare_sum {
    uint64_t bytes, blocks;
};

/* What the child answers; a peak for each step or part follows. */
struct compare_answer {
    uint64_t is_whole; /* 1; anything else is no answer */
    uint32_t host, peak_op;
    uint64_t peak_bytes, capacity_bytes, op_count;
    uint64_t oom_count, first_oom_op;
    uint64_t part_count;
    struct compare_sum tags[OP_TAG_COUNT], others[COMPARE_COUNT];
};

/* One of the two runs. */
struct compare_side {
    const char *path;
    struct recording recording;
    struct step_axis steps;
    struct compare_answer answer;
    uint64_t *parts; /* part_count: the most in use in each step or part */
};

/* Appends what changed from sides[0] to sides[1], as text or as JSON lines. */
void compare_describe(const struct compare_side sides[2], bool is_json, struct writing *text);

#endif
