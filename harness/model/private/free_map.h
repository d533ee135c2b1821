/* Counts the bytes that are free in each stretch of a device, so that a place with many of them is
 * found without a look at the others.  Changes are only listed until somebody asks: who never asks
 * pays nothing, and no list grows beyond its limit. */
#ifndef HARNESS_MODEL_PRIVATE_FREE_MAP_H
#define HARNESS_MODEL_PRIVATE_FREE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A window over so many stretches in a row is what a search weighs. */
enum { FREE_MAP_SPAN = 5, FREE_MAP_LEVEL_COUNT = 64, FREE_MAP_DEPTH_MAX = 16 };

/* The device in stretches of 2^shift bytes.  A tree of 16 children each has, for windows that begin
 * in a part of the device, the most that is free in one of them; UINT64_MAX: not known, and nor is
 * it for what is above. */
struct free_level {
    uint64_t *free_bytes; /* of each stretch; stretch_count of them, and FREE_MAP_SPAN - 1 with 0 */
    uint64_t *most_bytes; /* the tree, lowest nodes first */
    size_t stretch_count;
    size_t offsets[FREE_MAP_DEPTH_MAX]; /* into most_bytes, by height; depth of them */
    uint32_t depth;
    uint32_t shift;
    size_t seen_count; /* changes that are in it */
    bool is_built;
};

struct free_change {
    uint64_t start, end;
    bool is_taken;
};

/* zero is a valid start. */
struct free_map {
    struct free_change *changes; /* change_count of them, below change_limit */
    size_t change_count, change_limit, change_capacity; /* limit 0: none is listed */
    struct free_level *levels[FREE_MAP_LEVEL_COUNT];    /* by shift; NULL: never asked for */
};
void free_map_deinit(struct free_map *map);

/* [start, end) is taken, or free again.  Only where change_limit is not 0.  O(1); once in
 * change_limit times all levels are forgotten that were not asked for since. */
void free_map_note(struct free_map *map, uint64_t start, uint64_t end, bool is_taken);
/* So much has changed that every level is to be built again. */
void free_map_forget(struct free_map *map);

/* The level, with all changes in it.  *is_new: all is free in it, and the caller takes what is
 * taken (free_level_take).  change_limit: of the list from now on.  O(changes since it was asked
 * for), or O(stretches) for a new one. */
struct free_level *free_map_level(struct free_map *map, uint32_t shift, uint64_t capacity_bytes,
                                  size_t change_limit, bool *is_new);
void free_level_take(struct free_level *level, uint64_t start, uint64_t end, bool is_taken);

/* Calls look with [from, to) for each stretch for which it and the FREE_MAP_SPAN - 1 next ones have
 * *free_bytes or more, lowest first, until it returns true: then the result is true.  look may
 * raise *free_bytes. O(log stretches + changes) and as much for each call. */
bool free_level_search(struct free_level *level, const uint64_t *free_bytes,
                       bool (*look)(void *context, uint64_t from, uint64_t to), void *context);

#endif
