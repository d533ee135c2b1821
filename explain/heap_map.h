/* The heap at one moment as a picture of few parts: which share of each part is in use, held in
 * place, or free. */
#ifndef EXPLAIN_HEAP_MAP_H
#define EXPLAIN_HEAP_MAP_H

#include "harness/base/writing.h"
#include "harness/model/model.h"

enum { HEAP_MAP_PART_COUNT = 64 };

/* Part i is [i, i + 1) * capacity / HEAP_MAP_PART_COUNT; the rest of a part is free. */
struct heap_part {
    uint64_t bytes;
    uint64_t used_bytes; /* of blocks that may move, idle programs as well */
    uint64_t held_bytes; /* that may not: held, in use, queued frees, retired, the stack */
};
struct heap_map {
    bool has_places; /* false: the allocator tells nobody where its blocks lie; parts are empty */
    struct heap_part parts[HEAP_MAP_PART_COUNT];
};

/* Nothing moves under DEFRAG_NONE: all blocks count as used, those that are held apart.
 * O(blocks). */
void heap_map_take(const struct model *model, struct heap_map *map);

/* A character for each part: '.' free, '-' less than half in use, '#' at least half, 'H' where more
 * is held than may move, '=' where all of it is full.  Nothing without places. */
void heap_map_append(const struct heap_map *map, struct writing *text);
#define HEAP_MAP_LEGEND ". free, - partly used, # mostly used, = full, H held in place"

#endif
