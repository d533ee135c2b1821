/* The files of packing/ share this: the question without addresses, memory that is kept, the budget
 * and the log. */
#ifndef HARNESS_ORACLE_PACKING_PRIVATE_PACKING_SEARCH_H
#define HARNESS_ORACLE_PACKING_PRIVATE_PACKING_SEARCH_H

#include "harness/oracle/packing/packing.h"

/* Memory that is taken piece by piece and given back all at once. */
struct packing_memory {
    char *first; /* what one question needed so far fits here */
    size_t used_bytes, capacity_bytes;
    struct packing_piece *pieces; /* what went beyond it during this question */
    size_t beyond_bytes;
};

/* The question in granules; items and bins are descending. */
struct packing_sizes {
    uint64_t *items;
    size_t item_count;
    uint64_t *bins;
    size_t bin_count;
    uint64_t slack;   /* bins less items */
    uint32_t *bin_of; /* after FITS: by item, its bin */
};

/* Equal items; align is 0 where alignments do not count. */
struct packing_kind {
    uint64_t size, align; /* granules */
    size_t count;
    size_t first;   /* in their order: the first one that has no place yet */
    unsigned shift; /* where its count begins in a row's `used` */
    uint64_t mask;
};
/* A choice of items, and one number on it. */
struct packing_row {
    uint64_t used; /* how many items of each kind, side by side */
    uint64_t place;
};
/* Rows in layers, and where those of the last layer are found. */
struct packing_rows {
    struct packing_row *rows;
    size_t count, capacity;
    size_t layer;                     /* the first row of the last layer */
    uint32_t *slots;                  /* by hash: 1 + the index of a row; 0 = free */
    size_t slot_count, slot_capacity; /* slot_count: a power of two */
};

struct packing {
    struct packing_memory memory;
    struct packing_sizes sizes;
    struct packing_rows rows;
    size_t
        table_rows_max;  /* PACKING_TABLE_ROWS_MAX, but for tests: to make so many takes seconds */
    uint64_t *sum_words; /* a bit for each sum; sum_word_capacity of them */
    size_t sum_word_capacity;
    const struct packing_problem *exact; /* what a table may settle; NULL: the sizes are not it */
    uint64_t nodes, nodes_max;
    uint64_t nodes_before; /* when steps began to be spent on `effort` */
    enum packing_effort effort;
    uint64_t spent[PACKING_EFFORT_COUNT];
    bool logs;
    char *log;
    size_t log_length, log_capacity;
    uint64_t *addresses; /* by item of the problem; bytes */
};

/* --- packing_memory.c --- */

/* count elements of size_bytes each, not cleared, until the memory is given back. */
void *packing_take(struct packing *packing, size_t count, size_t size_bytes);
/* Gives all of it back; allocates if the last question went beyond what is kept. */
void packing_take_back(struct packing *packing);
void packing_memory_deinit(struct packing_memory *memory);
/* Appends a letter when a log is wanted. */
void packing_log_add(struct packing *packing, char letter);
void packing_log_clear(struct packing *packing);

/* From here on steps are spent on this. */
static inline void packing_spend_on(struct packing *packing, enum packing_effort effort)
{
    packing->spent[packing->effort] += packing->nodes - packing->nodes_before;
    packing->nodes_before = packing->nodes;
    packing->effort = effort;
}

/* Counts steps that a search takes; false when the budget of all searches is used up, or *limit,
 * that of this one. */
static inline bool packing_step(struct packing *packing, uint64_t steps, uint64_t *limit)
{
    const uint64_t left = packing->nodes_max - packing->nodes;
    const bool is_within = steps <= *limit && steps <= left;
    packing->nodes += steps < left ? steps : left;
    *limit -= steps < *limit ? steps : *limit;
    return is_within;
}

/* A node that looks at `count` things one after the other takes as long as several where they are
 * hundreds. */
static inline uint64_t packing_node_steps(size_t count)
{
    return 1 + count / 256;
}

/* --- packing_rows.c --- */

/* No row is left; the first layer begins. */
void packing_rows_clear(struct packing_rows *rows);
void packing_rows_begin_layer(struct packing_rows *rows);
/* The row of the last layer with these items; if there was none yet it is new, and its place is 0.
 * NULL: there would be more than rows_max.  Valid until the next one is offered. */
struct packing_row *packing_rows_offer(struct packing_rows *rows, size_t rows_max, uint64_t used,
                                       bool *is_new);
/* Keeps only so many of the last layer: those that lost least.  What a row lost is the sum of the
 * bins so far, *bins_sum or (NULL) its place, less the items that it has.  False: rows were left
 * out. */
bool packing_rows_thin(struct packing_rows *rows, size_t width, const struct packing_kind *kinds,
                       size_t kind_count, const uint64_t *bins_sum);
void packing_rows_deinit(struct packing_rows *rows);
/* Gives memory back that few questions need. */
void packing_rows_trim(struct packing_rows *rows);
/* Gives each kind its bits; false: there are not enough. */
bool packing_rows_assign_bits(struct packing_kind *kinds, size_t kind_count);
static inline size_t packing_count_used(const struct packing_kind *kind, uint64_t used)
{
    return (size_t)(used >> kind->shift & kind->mask);
}
/* Granules of the items that a row has. */
static inline uint64_t packing_sum_used(const struct packing_kind *kinds, size_t kind_count,
                                        uint64_t used)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < kind_count; i++) {
        sum += kinds[i].size * packing_count_used(&kinds[i], used);
    }
    return sum;
}

/* --- packing_sort.c --- */

/* Sorts values descending; spare has room for as many. */
void packing_sort(uint64_t *values, uint64_t *spare, size_t count);
/* The first index after i with another value. */
size_t packing_run_end(const uint64_t *values, size_t count, size_t i);
/* The kinds of the items in packing->sizes, the largest first; *count of them. */
struct packing_kind *packing_kinds_of_sizes(struct packing *packing, size_t *count);
/* The kinds of the problem's items by size, the largest first, those of one size by alignment, the
 * smallest first; *order becomes the items of the problem in that order. */
struct packing_kind *packing_kinds_of_items(struct packing *packing,
                                            const struct packing_problem *problem, uint32_t **order,
                                            size_t *count);
/* A copy of the bins, the shortest first, which leave the fewest choices. */
struct packing_bin *packing_sort_bins(struct packing *packing,
                                      const struct packing_problem *problem);
/* Gives every item of the problem an address in the bin that bin_of says for the sizes, which were
 * padded or not. False: alignments do not allow it; never when they are one granule or padded. */
bool packing_place(struct packing *packing, const struct packing_problem *problem, bool is_padded);

/* --- packing_fill.c --- */

/* A choice of values that nearly fills a room. */
struct packing_subset {
    const uint64_t *values; /* count of them, descending */
    size_t count;
    uint64_t room, tolerance; /* good enough when no more than tolerance is left */
    uint64_t triple_steps;    /* how long sums of three may be tried */
    struct random *random;    /* NULL: the largest first; else some are passed over by chance */
    uint32_t *chosen; /* room for count; the result: chosen_count ascending indices of values, up to
                         three more */
    size_t chosen_count;
    uint64_t left;  /* result: the room that stays */
    uint64_t steps; /* result: what it cost */
};
void packing_subset_choose(struct packing_subset *subset);

/* --- witnesses: true sets bin_of --- */

bool packing_greedy(struct packing *packing);
/* Best fit of items [first, item_count), where bin_of has the bins of those before. */
bool packing_greedy_rest(struct packing *packing, size_t first);
/* Bins are filled one after the other as well as sums of a few items allow, with `attempts`
 * different choices, or until `limit` steps are taken. */
bool packing_fill(struct packing *packing, uint32_t first_attempt, uint32_t attempts,
                  uint64_t limit);

/* --- the bound: true refutes --- */

/* Sets *unit, granules. */
bool packing_rounding_refutes(const struct packing_sizes *sizes, uint64_t *unit);
/* Returns the greatest common divisor; of a and 0 it is a. */
uint64_t packing_greatest_divisor(uint64_t a, uint64_t b);

/* --- exact searches: at most `limit` steps, then UNKNOWN.  docs/certificate.md has their rules.
 * --- */

/* Bin by bin, smallest first.  UNKNOWN at once when packing.h says that it takes no such question.
 */
enum packing_result packing_search_bins(struct packing *packing, uint64_t limit);
/* Searches in the same way the `count` largest items alone (fewer than all), and all that are as
 * large as the last of these: *used_count.  NONE refutes the whole; FITS sets their bin_of. */
enum packing_result packing_search_largest(struct packing *packing, size_t count, uint64_t limit,
                                           size_t *used_count);
/* More and more of the largest items, until they do not fit (*used_count of them), or the rest fits
 * into the gaps between them, too.  O(bins^2) a look, and none with more than 1024 bins. */
enum packing_result packing_try_largest(struct packing *packing, uint64_t limit,
                                        size_t *used_count);
/* Place by place, for items with alignments above the granule.  FITS sets the addresses when they
 * are wanted. */
enum packing_result packing_search_aligned(struct packing *packing,
                                           const struct packing_problem *problem, uint64_t limit);

/* Tries all orders of items at once, in more than `limit` steps only if it is sure to end.  It
 * keeps at most `width` of the rows with as many items; PACKING_TABLE_ROWS_MAX: all, and only then
 * may it say NONE.  UNKNOWN at once if the counts of equal items take more than 63 bits.  FITS sets
 * the addresses when they are wanted; *row_count: the rows that NONE took. */
enum packing_result packing_search_table(struct packing *packing,
                                         const struct packing_problem *problem, size_t width,
                                         uint64_t limit, uint64_t *row_count);

/* Spans one after the other, the shortest first: which choices of items they can hold together.  Of
 * these no more than `width` are kept for each span, and no more than some that follow each;
 * PACKING_TABLE_ROWS_MAX: all, and only then may it say NONE; *row_count: what that took.
 * Alignments do not count.  UNKNOWN at once as packing_search_table. */
enum packing_result packing_search_patterns(struct packing *packing, size_t width, uint64_t limit,
                                            uint64_t *row_count);

/* Finds what fills each bin best, by the sums that items have.  With two bins that is the answer;
 * with more it may refute.  UNKNOWN otherwise, and if the next sums would take more than `limit`
 * steps or than packing.h allows; at least one step is counted if there are any.  NONE sets
 * *refutation, in granules. */
enum packing_result packing_search_fills(struct packing *packing, uint64_t limit,
                                         struct packing_fills *refutation);

#endif
