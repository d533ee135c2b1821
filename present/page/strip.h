/* One picture of an address space at one moment: what lies where, and where a request lands.  It is
 * drawn in SVG and reads without colour: each state has a pattern of its own, and a legend. */
#ifndef PRESENT_PAGE_STRIP_H
#define PRESENT_PAGE_STRIP_H

#include "harness/base/writing.h"

enum strip_state {
    STRIP_MOVABLE = 0,
    STRIP_HELD,
    STRIP_DYING,
    STRIP_IDLE_PROGRAM,
    STRIP_BUSY_PROGRAM,
    STRIP_RETIRED,
    STRIP_STACK,
    STRIP_MOVED,   /* a block that a plan moved here */
    STRIP_REQUEST, /* the request, where it lands */
    STRIP_STATE_COUNT
};
const char *strip_state_name(enum strip_state state); /* "movable", ... */

struct strip_block {
    uint64_t from, to; /* addresses, from < to */
    enum strip_state state;
};

/* blocks: count of them, disjoint, by ascending address. */
struct strip {
    const char *title; /* what the picture shows, also for readers who do not see it */
    uint64_t capacity; /* bytes, above 0; what lies beyond is cut off */
    const struct strip_block *blocks;
    size_t count;
    /* in bytes: drawn below to the same scale, with what it is; 0 = nothing */
    uint64_t measure_bytes;
    const char *measure; /* "the request, 16.0M" */
};

/* Appends the picture.  number tells the pictures of a page apart.  At most as many shapes as the
 * picture is wide, however many blocks there are: what is narrower than one is widened, and
 * neighbours of one state become one. */
void strip_draw(struct writing *html, const struct strip *strip, unsigned number);

#endif
