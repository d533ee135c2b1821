/* The parts of the checker share these: the document that is read, the state that decides, and what
 * is wrong first.  Nothing else of the program is used here, nor may use it. */
#ifndef CHECKER_PRIVATE_CHECK_H
#define CHECKER_PRIVATE_CHECK_H

#include "checker/certificate_check.h"
#include "checker/private/tree.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
enum { RANGES, HIDDEN, PAGES };
enum { NONE, SLIDE, REPACK, NEVER = -1, IN_HOST_MEMORY = -1, NOWHERE = -1 };

struct checked_block {
    struct tree_node place; /* among all blocks by op; in a plan those on the device by address */
    json_int_t highest;     /* under slide: the highest end of what is below it */
    json_int_t op, address, size, align, stack, holds, used_until, freed_at;
    bool is_program, is_retired, is_live, is_kept;
    enum { FIXED, MOVABLE, GONE } fate; /* by the time that is looked at */
};
/* An item or (with a count) a type of items, whose key is its align; or a span, whose key is its
 * start. */
struct checked_piece {
    json_int_t size, key, count;
};
/* The regions of a contract that grows.  Each pair of ranges is a region's start and end. */
struct regions {
    json_t *array;
    json_int_t (*ranges)[2]; /* range_count of them, ascending and disjoint */
    size_t range_count;
    json_int_t align, step;
    bool are_there, trims, may_grow; /* may_grow: a new region may be had */
};
struct check {
    enum certificate_result result; /* once something is wrong, nothing after it counts */
    char *reason;
    json_t *root, *proof, *list;
    const char *claim, *kind, *log;
    const char *source; /* what the facts are compared with, in words */
    size_t placement;   /* not ranges: no block has an address, and sums decide */
    json_int_t header;  /* what is aligned lies so much above the start of its range */
    bool aligns_naturally;
    json_int_t capacity, granule, need, align, stack, own_program;
    json_int_t time, bottom; /* which uses have ended, and the bottom that follows */
    bool moves, for_buffer;  /* defrag is promised; the class of the request */
    bool drains, evicts;     /* as promised for this class of request, and not refused */
    struct checked_block
        *blocks; /* by address; behind them one of size 0 at the end of the device */
    struct tree_node *places;
    struct checked_piece *items, *spans;
    size_t block_count, item_count, span_count, defrag,
        letter; /* letter: the next one of the log */
    int is_plain;
    struct regions regions;
    uint64_t pattern_steps_max; /* of a proof by patterns */
};

static inline json_int_t round_up(json_int_t value, json_int_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static inline bool is_in_range(json_int_t value, json_int_t low, json_int_t high, json_int_t unit)
{
    return value >= low && value <= high && value % unit == 0;
}

static inline bool has_ended(json_int_t end, json_int_t time)
{
    return end != NEVER && end <= time;
}

/* --- certificate.c --- */

/* Returns is_true.  The first time that it is false decides the result and the reason. */
__attribute__((format(printf, 3, 4))) bool check_require(struct check *check, bool is_true,
                                                         const char *format, ...);
/* Returns is_there: what was asked of the system. */
bool check_has_memory(struct check *check, bool is_there);
/* The members of an object by jansson's format; no other member may be there. */
bool check_unpack(struct check *check, json_t *json, const char *what, const char *format, ...);
/* Requires an array, with check_unpack's message for a member of another type. */
bool check_is_array(struct check *check, json_t *json, const char *what);
/* The index of the text in words, which are separated by |. */
size_t check_find_word(struct check *check, const char *what, const char *text, const char *words);

/* --- document.c, possible.c, state.c: what the proof is about --- */

/* Reads all of the document but its proof. */
void document_read(struct check *check, json_t *root);
/* The document was read: some moment of a run could show its blocks and its request. */
void possible_require(struct check *check);
/* Sets what can become of each block by then without evictions, and where the bottom is then. */
void state_set_time(struct check *check, json_int_t time);
bool state_may_evict(const struct check *check, const struct checked_block *block);
/* Makes the items and the spans.  False: a fixed block or the end of the device is in the way of
 * the stack, so there are no spans. */
bool state_find_spans(struct check *check);

/* --- named.c: the list that the document names --- */

void named_read(struct check *check);
/* Requires that op and, with a log, all facts are those of the history. */
void named_compare(struct check *check, const struct certificate_history *history);

/* --- certificate.c, assumed.c --- */

/* Requires that check->proof proves that claim: any kind but "assumed". */
void check_proof_of(struct check *check, const char *claim);
/* Two heaps that a message allows, and what the verdict depends on. */
void check_assumed(struct check *check);
/* Requires that the list does what the proof assumes: kind "assumed" alone. */
struct list;
void assumed_compare(struct check *check, const struct list *list);

/* --- state.c: their pieces --- */

json_int_t pieces_sum(const struct checked_piece *pieces, size_t count, json_int_t unit);
/* For qsort: descending sizes, then ascending keys. */
int pieces_compare(const void *left, const void *right);
/* Sorts the spans, makes types of the items of at least so many bytes, in the page's order, and
 * returns how many items that are; sets the slack. */
size_t pieces_make_types(struct check *check, json_int_t least, json_int_t *slack);

/* --- spans.c --- */

/* Requires that nothing is in host memory.  Returns the index of the first
 * block before which the request fits while no block leaves its span or
 * passes another; block_count: it fits above all; block_count + 1:
 * nowhere. */
size_t spans_find_slide(struct check *check);

/* --- regions.c --- */

/* Reads the members that are there where the contract grows, and requires what goes with them:
 * after the rest of the document. */
void regions_read(struct check *check);
/* Returns true when the request may lie at address, as far as regions decide: in one that is held,
 * or at the start of a new one. */
bool regions_take(const struct check *check, json_int_t address);
/* The lowest place for the request in some region, or NOWHERE. */
json_int_t regions_find_place(const struct check *check);

/* --- trivial.c --- */

/* Refuses a question that takes no search to settle.  Sorts items and spans, and changes the sizes
 * of items; the class of the question is found before. */
void check_is_open(struct check *check);

/* --- one file for each proof: whether the claim follows from its members --- */

void check_plan(struct check *check);
void check_budget(struct check *check);
void check_stack(struct check *check);
void check_spans(struct check *check);
void check_rounding(struct check *check);
void check_search(struct check *check);
void check_table(struct check *check);
void check_fills(struct check *check);
void check_patterns(struct check *check);
void check_sum(struct check *check);
/* The last part of a plan where no block has an address. */
void check_sum_fits(struct check *check);

#endif
