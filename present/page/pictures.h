/* The two pictures of the page, in SVG.
 *
 * A strip is an address space at one moment: what lies where, and where a request lands.  It reads
 * without colour: each state has a pattern of its own, and a legend.  A sparkline is memory in use
 * over a run: what `watch` prints as a line of blocks. */
#ifndef PRESENT_PAGE_PICTURES_H
#define PRESENT_PAGE_PICTURES_H

#include "harness/base/writing.h"
#include "present/memory_track.h"

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

/* Appends it: the share of the device that was in use, by op; the top is a full device, and its
 * peak is marked.  Nothing without points. */
void sparkline_draw(struct writing *html, const struct memory_track *track);

#endif
