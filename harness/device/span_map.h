/* An ordered set of disjoint address ranges, each with an owner.  Shared by the device (what memory
 * holds) and the model (what was promised to be where). */
#ifndef HARNESS_DEVICE_SPAN_MAP_H
#define HARNESS_DEVICE_SPAN_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [start, end), start < end.  offset: the place of start within the owner, bytes. */
struct span {
    uint64_t start, end;
    uint64_t owner;
    uint64_t offset;
};

/* Ranges are linked in address order, and a tree finds them by their starts, six bits at a time
 * from the top.  A child of a node is a range while no other start begins with its bits, and else a
 * node. A search takes at most 11 steps, about log64(ranges) where ranges lie evenly; nothing is
 * moved. */
struct span_entry;
struct span_node;
struct span_map {
    struct span_entry *entries; /* the first stands for both ends; NULL: there never was a range */
    struct span_node *nodes;    /* the same */
    uint32_t entry_count, entry_capacity, spare_entry; /* spare ones are linked; 0 ends */
    uint32_t node_count, node_capacity, spare_node;
    uint32_t root;          /* a node */
    size_t count;           /* ranges */
    size_t footprint_bytes; /* host memory */
};

void span_map_init(struct span_map *map);
void span_map_deinit(struct span_map *map);
void span_map_clear(struct span_map *map);

/* Adds a range that intersects no other. */
void span_map_insert(struct span_map *map, const struct span *span);
/* Takes away every part of a range that lies in [start, end); what sticks out stays. */
void span_map_erase(struct span_map *map, uint64_t start, uint64_t end);
/* Erases in the same way, but only the ranges of one owner. */
void span_map_erase_owner(struct span_map *map, uint64_t start, uint64_t end, uint64_t owner);

/* A range of the map, until a part of it is taken away or the map is cleared. */
struct span_cursor {
    uint32_t entry;
};
/* Adds a range from its owner's beginning on, which is the cursor then.  Not is_free: it intersects
 * others, of which the cursor is one, and nothing changed.  One search instead of two. */
struct span_claim {
    struct span_cursor cursor;
    bool is_free;
};
struct span_claim span_map_claim(struct span_map *map, uint64_t start, uint64_t end,
                                 uint64_t owner);
/* Takes the whole range away, without a search. */
void span_map_remove(struct span_map *map, struct span_cursor cursor);
/* The first range that ends above address.  False: there is none. */
bool span_map_find(const struct span_map *map, uint64_t address, struct span_cursor *cursor);
bool span_map_first(const struct span_map *map, struct span_cursor *cursor);
bool span_map_next(const struct span_map *map, struct span_cursor *cursor);
void span_map_get(const struct span_map *map, const struct span_cursor *cursor, struct span *span);
/* The first range that intersects [start, end).  False: there is none. */
bool span_map_intersects(const struct span_map *map, uint64_t start, uint64_t end,
                         struct span *span);

/* The position of a walk over a map; the map does not change meanwhile. */
struct span_walk {
    struct span_cursor cursor;
    bool is_there; /* *span is one more range */
};
static inline void span_walk_see(const struct span_map *map, struct span_walk *walk, bool is_there,
                                 struct span *span)
{
    walk->is_there = is_there;
    if (is_there) {
        span_map_get(map, &walk->cursor, span);
    }
}
static inline struct span_walk span_walk_begin(const struct span_map *map, uint64_t address,
                                               struct span *span)
{
    struct span_walk walk = {{0}, false};
    span_walk_see(map, &walk,
                  address == 0 ? span_map_first(map, &walk.cursor)
                               : span_map_find(map, address, &walk.cursor),
                  span);
    return walk;
}
static inline void span_walk_go_on(const struct span_map *map, struct span_walk *walk,
                                   struct span *span)
{
    span_walk_see(map, walk, span_map_next(map, &walk->cursor), span);
}

/* A loop over the ranges of *map, ascending: *span is each of them. */
#define EACH_SPAN(map, span) EACH_SPAN_BETWEEN(map, 0, UINT64_MAX, span)
/* Visits in the same way the ranges that end above start and begin below end. */
#define EACH_SPAN_BETWEEN(map, start_, end_, span)                              \
    for (struct span_walk span_walk = span_walk_begin((map), (start_), (span)); \
         span_walk.is_there && (span)->start < (end_); span_walk_go_on((map), &span_walk, (span)))
/* Visits in the same way the ranges that intersect [start, end), and searches for each: the body
 * may change the map. */
#define EACH_SPAN_IN(map, start_, end_, span)                                                  \
    for (uint64_t span_from = (start_); span_map_intersects((map), span_from, (end_), (span)); \
         span_from = (span)->end)

/* Ascending, disjoint, counted: slow and complete, for tests. */
bool span_map_invariants_hold(const struct span_map *map);

#endif
