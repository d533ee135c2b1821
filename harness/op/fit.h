/* A size that is named by what fits instead of by a number, so that it means the same whatever came
 * before: "all of the largest hole, and a granule more".  It stands in size_bytes of an op with
 * OP_FITTED until the op is resolved. */
#ifndef HARNESS_OP_FIT_H
#define HARNESS_OP_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Order is part of the byte format of fuzz inputs: append only. */
enum fit_kind {
    FIT_HOLE = 0, /* the largest hole */
    FIT_FREE,     /* all that is free */
    FIT_HALF,     /* half of it */
    FIT_BLOCK,    /* the index-th live block */
    FIT_PAIR,     /* that one, and the block that touches it from above: the hole that both leave */
    FIT_KIND_COUNT
};

enum { FIT_INDEX_MAX = (1 << 24) - 1 };

struct fit {
    uint8_t kind;   /* enum fit_kind */
    uint32_t index; /* of a live block, modulo their number; 0..FIT_INDEX_MAX, 0 where the kind has
                       none */
    int32_t granules; /* so many more, or less */
};

/* The fit as a number of 64 bits and back; any number is a fit. */
uint64_t fit_pack(const struct fit *fit);
struct fit fit_unpack(uint64_t packed);
/* True if the kind has an index into the live blocks. */
bool fit_has_index(enum fit_kind kind);

/* "%hole", "%pair:7-1".  False: text is none. */
enum { FIT_TEXT_BYTES = 40 };
void fit_print(const struct fit *fit, char text[FIT_TEXT_BYTES]);
bool fit_parse(const char *text, size_t length, struct fit *fit);

#endif
