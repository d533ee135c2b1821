/* What causes read out of the evidence: the ops and lives of one host, the steps that its memory
 * shows, blocks that outlive everything else, queued frees, and what nothing gets past. */
#ifndef DIAGNOSIS_PRIVATE_FINDINGS_H
#define DIAGNOSIS_PRIVATE_FINDINGS_H

#include "diagnosis/cause.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/evidence.h"
#include "harness/base/trend.h"

/* --- The ops of one host among those of all, and the lives of its blocks: what is noted
 * for each of them costs nothing for the ops of other hosts --- */

#define OWN_OP_NONE SIZE_MAX

/* count of each, by own op. */
struct own_ops {
    uint32_t *ops;  /* ascending: its number in the list */
    size_t *roots;  /* the own op that made the block it makes, names or took over by donation;
                       OWN_OP_NONE */
    uint32_t *ends; /* of roots: the op that freed the block; OP_NONE */
    size_t count;
};
void own_ops_init(struct own_ops *own, const struct evidence *evidence); /* O(ops log ops) */
void own_ops_deinit(struct own_ops *own);

/* Returns the place of the op among them; OWN_OP_NONE: it is of another host.  O(log count). */
size_t own_ops_find(const struct own_ops *own, uint32_t op);

/* Returns by how much the i-th of them changes what lives: what it allocates, or less what it
 * frees. *tag: that of the block, or of the op.  The op that is explained allocates nothing. */
int64_t own_ops_change(const struct own_ops *own, const struct evidence *evidence, size_t i,
                       uint8_t *tag);

/* --- The steps of a list as what lives on a host shows them: it rises and falls again.
 * Blocks that survive can then be compared step by step, and a list of one step is
 * told from one of many --- */

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

/* --- Finds the blocks that outlive everything else: for each tag, when those that are
 * still there were made, and how many of their kind were freed at such an age --- */

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

/* --- Helpers of leak, growing_set and still_growing: the trend of a tag, the blocks that
 * pile up, and the length of a step --- */

/* The chance that a trend is seen in any tag of a list without one. */
#define LEAK_ALPHA 0.001
/* A shorter list reports no leak. */
enum { LEAK_OP_COUNT_MIN = 128, LEAK_FLOOR_COUNT_MIN = 64 };

/* True if the tag ever held something on the host. */
bool leak_has_tag(const struct evidence *evidence, int tag);
/* Returns how many tags did. */
uint32_t leak_tag_count(const struct evidence *evidence);
/* The trend of the tag's floors, alpha divided by the number of tags.  trend is as trend_test()
 * says. */
enum trend_answer leak_trend(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                             struct trend *trend);
/* Tags of which blocks pile up, with their trend. */
struct leak_pile {
    struct survivors survivors;
    enum trend_answer answer;
    struct trend trend;
};
/* True if blocks of the tag pile up; survivors[i][tag] belongs to survivors_parts[i]. */
bool leak_piles_up(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                   struct survivors survivors[SURVIVORS_PART_COUNT][OP_TAG_COUNT],
                   struct leak_pile *pile);
/* Returns the survivors of all tags, for each of survivors_parts; the caller frees them. */
struct survivors (*leak_survivors(const struct evidence *evidence))[OP_TAG_COUNT];
/* True if something was freed or executed in at least 12 of 16 equal parts of the list.  Without
 * that, the list only fills the device, and growth is no leak. */
bool leak_life_goes_on(const struct evidence *evidence);
/* Executions from first_op on and before end_op; 0 when there are so few that they are no steps. */
uint64_t leak_step_count(const struct evidence *evidence, uint64_t first_op, uint64_t end_op);
/* Says by how much it grew in so many ops since first_op, per thousand ops and, where steps are
 * known, per step. */
void leak_describe_rate(const struct evidence *evidence, uint64_t bytes, uint64_t first_op,
                        uint64_t end_op, struct diagnosis *diagnosis);

/* --- Finds the queued frees that wait for one event --- */

struct queue {
    uint32_t event_op; /* that made the event */
    bool is_lost;
    uint64_t bytes, count; /* that wait for it */
};

/* *most: the queue with most bytes on the evidence's host, that of the earliest event of equal
 * ones; *all: the sums of all, whose event_op says nothing.  All 0 where nothing is queued.
 * O(blocks log blocks). */
void queues_find(const struct evidence *evidence, struct queue *most, struct queue *all);

/* --- Blocks that nothing gets past, and that keep holes small or lie where the request
 * must be --- */

/* Says which three keep the holes smallest, and how large the largest would be without them.
 * Numbers: largest_hole_without_bytes, largest_hole_without_named_bytes, pins. */
void pins_describe(const struct evidence *evidence, struct diagnosis *diagnosis);
/* Says which block it is, how large, and why it stays. */
void pins_describe_block(const struct evidence *evidence, const struct evidence_block *block,
                         struct diagnosis *diagnosis);
/* The lowest of them, if it begins below that address; else NULL. */
const struct evidence_block *pins_lowest_below(const struct evidence *evidence, uint64_t address);

#endif
