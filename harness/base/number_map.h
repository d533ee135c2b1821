/* Numbers that a few others stand for: what is alive among millions of ops.  Its memory follows the
 * most entries that it ever had, however large their keys are. */
#ifndef HARNESS_BASE_NUMBER_MAP_H
#define HARNESS_BASE_NUMBER_MAP_H

#include "harness/base/check.h"

#include <stddef.h>
#include <stdint.h>

#define NUMBER_NONE UINT32_MAX /* no key, and what is not there */

struct number_entry {
    uint32_t key, value;
};

/* Open addressing, at most half full; a zeroed one is empty.  Not for keys that an enemy chooses:
 * entries whose keys meet are found one after the other. */
struct number_map {
    struct number_entry *entries; /* capacity of them; those without a key are free */
    size_t count, capacity;       /* capacity is 0 or a power of two */
};
void number_map_deinit(struct number_map *map); /* leaves an empty one */

/* The value of a key (not NUMBER_NONE), in place of the one that it had.  O(1) on average. */
void number_map_set(struct number_map *map, uint32_t key, uint32_t value);
/* No effect where the key is not there.  O(1) on average. */
void number_map_remove(struct number_map *map, uint32_t key);

/* Returns where the search for a key begins: keys that follow each other lie apart. */
static inline size_t number_map_home(const struct number_map *map, uint32_t key)
{
    return (key * UINT32_C(0x9E3779B1) >> 7 ^ key) & (map->capacity - 1);
}

/* The place of the key, or the free one where it would be; the capacity is not 0. */
static inline struct number_entry *number_map_place(const struct number_map *map, uint32_t key)
{
    size_t i = number_map_home(map, key);
    while (map->entries[i].key != key && map->entries[i].key != NUMBER_NONE) {
        i = (i + 1) & (map->capacity - 1);
    }
    return &map->entries[i];
}

/* The value, or NUMBER_NONE: what a free place has, too. */
static inline uint32_t number_map_find(const struct number_map *map, uint32_t key)
{
    CHECK_COSTLY(map->capacity == 0 || map->count <= map->capacity / 2);
    return map->capacity == 0 ? NUMBER_NONE : number_map_place(map, key)->value;
}

#endif
