/* A heap as a snapshot shows it, span by span, and the few ops that reach exactly that heap on an
 * allocator that fills from the top down, as target hbm does.
 *
 * The device is filled in descending order of address, so that there is one hole all the time and
 * each block goes to the top of it; what the snapshot calls free is filled too and freed at the
 * end, but for the free memory at the bottom, which needs nothing.  Memory that the snapshot's
 * device does not have (between two regions) is one granule that is retired.
 *
 *     capacity [ region ][ retired granule ][ region: in use, free, in use ... ] 0
 *
 * What fills free memory has a tag of its own, named SETUP_FILLER_NAME, unless the blocks use all
 * of them.
 *
 * So there is one op for each block, two for each hole that is not at the bottom, one for each gap,
 * and one more for each block that is held or dying. */
#ifndef FORMATS_COMMON_HEAP_IMAGE_H
#define FORMATS_COMMON_HEAP_IMAGE_H

#include "formats/common/import.h"
#include "formats/common/tags.h"

enum heap_span_state {
    HEAP_SPAN_FREE,
    HEAP_SPAN_IN_USE,
    HEAP_SPAN_HELD, /* in use, and it may not move: an external reference that is never given back
                     */
    HEAP_SPAN_DYING /* a queued free: freed by the user, and its events are not done */
};

/* One span of a device's memory.  Spans that touch are one region; where two do not, memory is
 * missing between. */
struct heap_span {
    uint64_t address;    /* in the words of the log; any number below 2^63 */
    uint64_t size_bytes; /* > 0, a multiple of the granule; address + size_bytes <= 2^63 */
    /* what the user asked for, of which the rest is padding; 0 = size_bytes */
    uint64_t requested_bytes;
    enum heap_span_state state;
    uint8_t host; /* its device, 0..OP_HOST_COUNT_MAX - 1 */
    uint8_t tag;
    bool begins_region; /* a border, though the span before it touches: blocks never cross it */
    uint32_t stack;     /* of import->stacks; STACKS_NONE where there are none */
    size_t line;        /* for messages: of the text, from 1, or 0 */
    uint64_t offset;    /* set by heap_image_build: where it lies in the device that is rebuilt */
    uint32_t op;        /* set by heap_image_build: the op that made it; OP_NONE: free memory */
};

struct heap_image {
    struct heap_span *spans;
    size_t count;
    size_t room;
    uint8_t filler_tag; /* set by heap_image_build; 0: no tag was left */
};
void heap_image_init(struct heap_image *image);
void heap_image_deinit(struct heap_image *image);

/* Adds a copy. */
void heap_image_add(struct heap_image *image, const struct heap_span *span);

/* Names of tags are set before.  Sorts the spans by host and address, and appends to import->ops
 * (so far empty) what builds them; of each block's op it says SAID_ADDRESS.  Blocks are OP_ALLOC of
 * size_bytes, with requested_bytes as their unpadded bytes.  Sets host_count, target option
 * defrag=none, and where nothing is fixed: the granule (the largest power of two up to 512 that
 * divides all sizes), and the capacity (of the largest device; smaller ones, and hosts without a
 * span, have their rest retired, at the top).  What a capacity that is fixed has above the largest
 * device is free, at the bottom.  IMPORT_INVALID: two spans overlap (with the line of the later
 * one), a size of 0, an end above 2^63, more bytes requested than there are, sums above 2^50, a
 * capacity or granule that is fixed and does not hold them.  IMPORT_INCOMPLETE: no span.  On
 * failure *import is unspecified.  O(spans log spans). */
enum import_result heap_image_build(struct heap_image *image, const struct setup *fixed,
                                    struct import *import, struct import_error *error);

/* After a build: the span of that address on that host, or NULL. */
const struct heap_span *heap_image_find(const struct heap_image *image, uint8_t host,
                                        uint64_t address);

/* --- a heap of which only sums are known: parts with a name and a size, one above the other --- */

/* The granule of sums that are rounded: sizes are cut to it. */
enum { HEAP_PART_GRANULE_BYTES = 512 };

struct heap_parts {
    struct heap_image image;
    struct tag_table tags;
    uint64_t end_bytes; /* where the next part begins */
};

void heap_parts_init(struct heap_parts *parts);
void heap_parts_deinit(struct heap_parts *parts);

/* Puts a part of that name (no name for free memory) on top.  A part of 0 bytes is nothing. */
void heap_parts_add(struct heap_parts *parts, struct import *import, const char *name,
                    uint64_t size_bytes, enum heap_span_state state);

#endif
