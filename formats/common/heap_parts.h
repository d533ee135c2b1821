/* A heap of which only sums are known: parts with a name and a size, laid one above the other from
 * the bottom of a device on. */
#ifndef FORMATS_COMMON_HEAP_PARTS_H
#define FORMATS_COMMON_HEAP_PARTS_H

#include "formats/common/heap_image.h"
#include "formats/common/tags.h"

/* The granule of sums that are rounded: sizes are cut to it. */
enum { HEAP_PART_GRANULE_BYTES = 512 };

struct heap_parts {
    struct heap_image image;
    struct tag_table tags;
    uint64_t end_bytes; /* of the device of host: where the next part begins */
    uint8_t host;
};

void heap_parts_init(struct heap_parts *parts);
void heap_parts_deinit(struct heap_parts *parts);

/* The parts that follow are of that device, from its bottom on. */
void heap_parts_begin_host(struct heap_parts *parts, uint8_t host);

/* Puts a part of that name (no name for free memory) on top.  A part of 0 bytes is nothing. */
void heap_parts_add(struct heap_parts *parts, struct import *import, const char *name,
                    uint64_t size_bytes, enum heap_span_state state);

#endif
