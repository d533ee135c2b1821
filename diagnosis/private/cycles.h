/* The steps of a list as what lives on a host shows them: it rises and falls again.  Blocks that
 * survive can then be compared step by step, and a list of one step is told from one of many. */
#ifndef DIAGNOSIS_PRIVATE_CYCLES_H
#define DIAGNOSIS_PRIVATE_CYCLES_H

#include "diagnosis/evidence.h"
#include "harness/base/trend.h"

/* The swings of what lives on the host (harness/base/trend.h), with ops as their ends. */
struct cycles {
    struct swings swings;
    bool are_many; /* at least 4 tags have at least 8 requests each in each of 32 equal parts of
                      the list: there are many steps, whatever hides their rises and falls */
};

/* Reads the cycles of evidence->host, from the list alone.  O(ops). */
void cycles_init(struct cycles *cycles, const struct evidence *evidence);
void cycles_deinit(struct cycles *cycles);

/* The cycle in which the op lies: 0 before the first end, count behind the last.  O(log count). */
size_t cycles_find(const struct cycles *cycles, uint64_t op);
/* Counts the steps in the cycles [first, count): cautious, never more than there are cycles. */
uint64_t cycles_count_steps(const struct cycles *cycles, size_t first);

/* settled_count alone.  O(ops). */
uint64_t cycles_settled_steps(const struct evidence *evidence);

/* The blocks that the cycles left behind, of one tag or of one tag and size. */
struct keeps {
    uint8_t tag;
    uint64_t least_bytes, most_bytes; /* of one block */
    uint64_t bytes, count;            /* that exist now, made since the first cycle that kept one */
    size_t cycle_count;               /* that kept any */
    size_t first_cycle;
    uint32_t first_op;    /* that made the oldest of them */
    uint64_t freed_count; /* of its kind, freed two cycles later or after more */
};

/* Finds, for each tag, the kind that left most bytes behind, again and again: by at least
 * KEEPS_CYCLE_COUNT_MIN cycles and one in eight, at even distances until now, at a steady rate,
 * while few of its kind were freed so late.  Blocks of the first cycle count as initialisation.
 * count 0: none.  O(ops log ops). */
enum { KEEPS_CYCLE_COUNT_MIN = 5 };
void cycles_find_keeps(const struct cycles *cycles, const struct evidence *evidence,
                       struct keeps keeps[OP_TAG_COUNT]);

/* Counts, for each tag, the blocks that outlasted the step after their own: those that live, and
 * those that were freed then.  Blocks that the first cycle made, and what the last one did, do not
 * count.  O(ops log ops). */
struct long_lives {
    uint64_t live_count, freed_count;
};
void cycles_count_long_lives(const struct cycles *cycles, const struct evidence *evidence,
                             struct long_lives lives[OP_TAG_COUNT]);

/* Tags of which steps need ever more. */
struct rising_tops {
    uint8_t tag;                      /* that rose most */
    uint64_t rise_bytes;              /* of all such tags together */
    bool is_requested;                /* what is asked for is of such a tag */
    uint64_t first_bytes, last_bytes; /* the middle of the tops in the first and the last quarter */
    uint64_t cycle_count;
};

/* Tags whose tops, of each cycle, rise: of 7 in 10 pairs of cycles the later one is higher, and of
 * 5 in 10 in the second half; the last quarter is a tenth of what a step needs above the first; and
 * what the tag falls back to rises by half as much at most.  The first cycle and the cut last one
 * do not count. False: none, or fewer than 5 steps.  O(ops). */
enum { TOPS_STEP_COUNT_MIN = 5 };
bool cycles_find_rising_tops(const struct cycles *cycles, const struct evidence *evidence,
                             struct rising_tops *rising);

/* A tag that falls back to more and more. */
struct rising_floor {
    uint8_t tag;
    uint64_t rise_bytes;    /* of its floor, from the first settled step to the last */
    uint64_t largest_bytes; /* by which one step raised it */
    uint64_t high_count;    /* steps (or groups of them) that left it higher than any before */
    uint64_t step_count;    /* that were looked at */
};

/* The tag whose floor rose most over the steps that settled: in at least FLOOR_HIGH_COUNT_MIN of
 * them to where it never was, half of it in no single one, and in the second half of them as well
 * as in the first (a fifth each, at least).  False: none.  O(ops). */
enum { FLOOR_HIGH_COUNT_MIN = 4 };
bool cycles_find_rising_floor(const struct cycles *cycles, const struct evidence *evidence,
                              struct rising_floor *rising);

#endif
