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

/* Ranges sit in chunks of up to SPAN_CHUNK_COUNT, in address order; chunk_starts[i] is the first
 * start of chunk i.  Two binary searches find a range: O(log ranges); insertion moves at most one
 * chunk. */
struct span_chunk;
struct span_map {
    struct span_chunk **chunks; /* chunk_count of them */
    uint64_t *chunk_starts;     /* the same */
    size_t chunk_count, chunk_capacity;
    struct span_chunk *spare; /* emptied chunks, kept for the next split */
    size_t count;             /* ranges */
    size_t footprint_bytes;   /* host memory */
};

void span_map_init(struct span_map *map);
void span_map_deinit(struct span_map *map);
void span_map_clear(struct span_map *map);

/* Adds a range that intersects no other. */
void span_map_insert(struct span_map *map, const struct span *span);
/* The same when it intersects none; else false, *other is one that it intersects, and nothing
 * changed.  One search instead of two. */
bool span_map_insert_if_free(struct span_map *map, const struct span *span, struct span *other);
/* Takes away every part of a range that lies in [start, end); what sticks out stays. */
void span_map_erase(struct span_map *map, uint64_t start, uint64_t end);
/* The same for the ranges of one owner. */
void span_map_erase_owner(struct span_map *map, uint64_t start, uint64_t end, uint64_t owner);

/* A place in the map; any change of the map ends it. */
struct span_cursor {
    size_t chunk, index;
};
/* The first range that ends above address.  False: there is none. */
bool span_map_find(const struct span_map *map, uint64_t address, struct span_cursor *cursor);
bool span_map_first(const struct span_map *map, struct span_cursor *cursor);
bool span_map_next(const struct span_map *map, struct span_cursor *cursor);
void span_map_get(const struct span_map *map, const struct span_cursor *cursor, struct span *span);
/* The first range that intersects [start, end).  False: there is none. */
bool span_map_intersects(const struct span_map *map, uint64_t start, uint64_t end,
                         struct span *span);

/* Ascending, disjoint, counted: slow and complete, for tests. */
bool span_map_invariants_hold(const struct span_map *map);

#endif
