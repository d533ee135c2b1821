/* Out-of-memories drawn at random as plain data, without a model: what a run could show, and states
 * that are rare in runs. */
#ifndef TESTS_HARNESS_ORACLE_RANDOM_OOM_H
#define TESTS_HARNESS_ORACLE_RANDOM_OOM_H

#include "harness/base/random.h"
#include "harness/oracle/oom.h"

struct random_oom_wish {
    uint64_t granules_max; /* of the capacity; at least 4 */
    size_t block_count_max;
    bool has_alignments; /* some blocks and requests want more than the granule */
};

/* All contracts, refused calls, requests and states of blocks.  *oom keeps its memory from one draw
 * to the next: zero is a valid start, oom_deinit ends it. */
void random_oom_draw(struct random *random, const struct random_oom_wish *wanted, struct oom *oom);

/* Under repack: up to 20 spans that hold up to 60 movable blocks, and a request for nearly all that
 * is left. */
void random_oom_draw_tight(struct random *random, bool has_alignments, struct oom *oom);

/* Under repack, as runs come to it: held blocks and up to movable_max others with alignments up to
 * 2 MiB on a device of up to 64 MiB with granules of 512 bytes, and a request for nearly all that
 * is left. */
void random_oom_draw_aligned(struct random *random, size_t movable_max, struct oom *oom);

#endif
