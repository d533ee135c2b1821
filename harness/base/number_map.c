#include "harness/base/number_map.h"

#include <stdlib.h>
#include <string.h>

void number_map_deinit(struct number_map *map)
{
    free(map->entries);
    *map = (struct number_map){0};
}

static void grow(struct number_map *map)
{
    const struct number_map before = *map;
    map->capacity = before.capacity == 0 ? 64 : before.capacity * 2;
    map->entries = malloc(map->capacity * sizeof *map->entries);
    CHECK(map->entries != NULL);
    memset(map->entries, 0xFF, map->capacity * sizeof *map->entries);
    for (size_t i = 0; i < before.capacity; i++) {
        if (before.entries[i].key != NUMBER_NONE) {
            *number_map_place(map, before.entries[i].key) = before.entries[i];
        }
    }
    free(before.entries);
}

void number_map_set(struct number_map *map, uint32_t key, uint32_t value)
{
    CHECK(key != NUMBER_NONE);
    if (map->count >= map->capacity / 2) {
        grow(map);
    }
    struct number_entry *entry = number_map_place(map, key);
    map->count += entry->key == NUMBER_NONE;
    *entry = (struct number_entry){key, value};
}

/* Moves entries behind a gap up if their searches would end at it. */
static void close_gap(struct number_map *map, size_t gap)
{
    const size_t mask = map->capacity - 1;
    for (size_t i = (gap + 1) & mask; map->entries[i].key != NUMBER_NONE; i = (i + 1) & mask) {
        const size_t home = number_map_home(map, map->entries[i].key);
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            map->entries[gap] = map->entries[i];
            gap = i;
        }
    }
    map->entries[gap] = (struct number_entry){NUMBER_NONE, NUMBER_NONE};
}

void number_map_remove(struct number_map *map, uint32_t key)
{
    if (map->capacity == 0) {
        return;
    }
    struct number_entry *entry = number_map_place(map, key);
    if (entry->key == key) {
        map->count--;
        close_gap(map, (size_t)(entry - map->entries));
    }
}
