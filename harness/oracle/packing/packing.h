/* Decides if items fit into bins: the exact question behind an OOM under the contract `repack`.
 * Bins are the spans between unmovable blocks, items the movable blocks and the request.  An answer
 * can be proved: by a place for each item, by numbers, or by the log of a search
 * (docs/certificate.md). */
#ifndef HARNESS_ORACLE_PACKING_PACKING_H
#define HARNESS_ORACLE_PACKING_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packing_bin {
    uint64_t start, end; /* bytes; start < end */
};
struct packing_item {
    uint64_t size_bytes;  /* a multiple of the granule, at least one */
    uint64_t align_bytes; /* a power of two, at least the granule */
};

/* The searches take no more: a checker that follows one calls itself once for each item on the way.
 */
enum { PACKING_SEARCH_ITEMS_MAX = 8192 };
/* No table has more rows, so that a checker can make its own: 128 MiB of them. */
enum { PACKING_TABLE_ROWS_MAX = 1 << 23 };
/* No more nodes of patterns are looked at before NONE, so that a checker has time for them. */
#define PACKING_PATTERNS_NODES_MAX (UINT64_C(1) << 26)
/* Fills are looked at only if a checker can do so as well: sums are counted in 32 MiB, a bit for
 * each, and are gone through no more than half a second. */
#define PACKING_FILLS_SUMS_MAX (UINT64_C(1) << 28)
#define PACKING_FILLS_WORK_MAX (UINT64_C(1) << 35) /* sums, times the passes over all of them */

enum packing_result { PACKING_FITS = 0, PACKING_NONE, PACKING_UNKNOWN };

/* The method that settled it; for NONE each is a kind of proof in docs/certificate.md. */
enum packing_method {
    PACKING_BY_NOTHING = 0,  /* FITS: no item */
    PACKING_BY_VOLUME,       /* NONE */
    PACKING_BY_LARGEST_ITEM, /* NONE */
    PACKING_BY_ROUNDING,     /* NONE; number: the unit in bytes */
    PACKING_BY_GREEDY,       /* FITS */
    PACKING_BY_SEARCH, /* FITS, NONE (number: items of fewer bytes played no part) or UNKNOWN */
    PACKING_BY_SEARCH_ALIGNED, /* the same, where items have alignments above the granule */
    PACKING_BY_TABLE,          /* FITS, or NONE (number: rows of the table) */
    PACKING_BY_FILLS,          /* FITS, or NONE (fills) */
    PACKING_BY_PATTERNS        /* FITS, or NONE (number: choices of items) */
};
const char *packing_method_name(enum packing_method method); /* "volume", "largest item", … */

/* The kinds of work that steps are spent on. */
enum packing_effort {
    PACKING_EFFORT_GREEDY = 0, /* packings that are found without a search */
    PACKING_EFFORT_SEARCH,
    PACKING_EFFORT_FILLS,
    PACKING_EFFORT_TABLE, /* and patterns */
    PACKING_EFFORT_COUNT
};
const char *packing_effort_name(enum packing_effort effort); /* "greedy", ... */

struct packing_problem {
    /* bin_count of them, ascending, disjoint, bounds at multiples of the granule */
    const struct packing_bin *bins;
    size_t bin_count;
    const struct packing_item *items; /* item_count of them */
    size_t item_count;
    uint64_t granule_bytes;
    /* the search's budget: a count, so that no verdict depends on the machine */
    uint64_t nodes_max;
    bool wants_proof; /* keep the places or the log; the answer is the same either way */
};

/* The shortest bins cannot all be filled: what must stay empty of them is more than the bins have
 * beyond the items. */
struct packing_fills {
    uint64_t bins;       /* so many of the shortest */
    uint64_t unit_bytes; /* all items that fit into one of them are multiples of it */
    uint64_t lost_bytes; /* what their best fills leave of them, each for itself */
};

struct packing_answer {
    enum packing_result result;
    enum packing_method method;
    uint64_t number;
    struct packing_fills fills; /* NONE by fills; otherwise 0 */
    uint64_t nodes; /* steps of the searches, and of looking for a packing without one; at most
                       nodes_max */
    uint64_t effort[PACKING_EFFORT_COUNT]; /* what they were spent on; their sum is nodes */
};

/* Memory that is kept from one question to the next, and the proof of the last answer. */
struct packing;
struct packing *packing_create(void);
void packing_destroy(struct packing *packing);

/* Exact unless the budget ends.  Allocates only when a question needs more memory than all before
 * it.  NONE and FITS are proofs; UNKNOWN only when nodes_max is used up, or where there are more
 * than PACKING_SEARCH_ITEMS_MAX items, or items times bins are more than 4 million, and nothing
 * quicker than a search settles it. */
void packing_solve(struct packing *packing, const struct packing_problem *problem,
                   struct packing_answer *answer);

/* After FITS with wants_proof: where item i of the problem begins, bytes.  Valid until the next
 * question. */
uint64_t packing_address(const struct packing *packing, size_t item);
/* After NONE by a search with wants_proof: its log, NUL-terminated, *length letters.  Valid as
 * above. */
const char *packing_log(const struct packing *packing, size_t *length);

#endif
