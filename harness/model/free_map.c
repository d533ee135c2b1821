#include "harness/model/private/free_map.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum { FAN_LOG2 = 4, FAN = 1 << FAN_LOG2 };
#define NOT_KNOWN UINT64_MAX

/* --- levels --- */

static void free_level_destroy(struct free_level *level)
{
    if (level != NULL) {
        free(level->free_bytes);
        free(level->most_bytes);
        free(level);
    }
}

void free_map_deinit(struct free_map *map)
{
    for (size_t i = 0; i < FREE_MAP_LEVEL_COUNT; i++) {
        free_level_destroy(map->levels[i]);
    }
    free(map->changes);
    *map = (struct free_map){0};
}

static struct free_level *create_level(uint32_t shift, uint64_t capacity_bytes)
{
    struct free_level *level = array_zeroed(1, sizeof *level);
    level->shift = shift;
    level->stretch_count = (size_t)((capacity_bytes - 1) >> shift) + 1;
    level->free_bytes = array_resized(NULL, (level->stretch_count + FREE_MAP_SPAN - 1) *
                                                sizeof *level->free_bytes);
    size_t node_count = 0;
    size_t width = level->stretch_count;
    do {
        width = (width + FAN - 1) >> FAN_LOG2;
        CHECK(level->depth < FREE_MAP_DEPTH_MAX);
        level->offsets[level->depth++] = node_count;
        node_count += width;
    } while (width > 1);
    level->most_bytes = array_resized(NULL, node_count * sizeof *level->most_bytes);
    return level;
}

static void make_all_free(struct free_level *level, uint64_t capacity_bytes)
{
    const uint64_t stretch_bytes = (uint64_t)1 << level->shift;
    for (size_t i = 0; i < level->stretch_count; i++) {
        level->free_bytes[i] = stretch_bytes;
    }
    const uint64_t last = (uint64_t)(level->stretch_count - 1) << level->shift;
    level->free_bytes[level->stretch_count - 1] = capacity_bytes - last;
    memset(level->free_bytes + level->stretch_count, 0,
           (FREE_MAP_SPAN - 1) * sizeof *level->free_bytes);
    const size_t node_count = level->offsets[level->depth - 1] + 1;
    for (size_t i = 0; i < node_count; i++) {
        level->most_bytes[i] = NOT_KNOWN;
    }
}

/* --- changes --- */

/* Forgets what windows that begin in [first, last] have. */
static void forget_windows(struct free_level *level, size_t first, size_t last)
{
    bool was_known = true;
    for (uint32_t height = 0; height < level->depth && was_known; height++) {
        first >>= FAN_LOG2;
        last >>= FAN_LOG2;
        was_known = false;
        for (size_t i = first; i <= last; i++) {
            uint64_t *most = &level->most_bytes[level->offsets[height] + i];
            was_known = was_known || *most != NOT_KNOWN;
            *most = NOT_KNOWN;
        }
    }
}

void free_level_take(struct free_level *level, uint64_t start, uint64_t end, bool is_taken)
{
    CHECK_COSTLY(start < end);
    const size_t first = (size_t)(start >> level->shift);
    const size_t last = (size_t)((end - 1) >> level->shift);
    CHECK(last < level->stretch_count);
    for (size_t i = first; i <= last; i++) {
        const uint64_t low = (uint64_t)i << level->shift;
        const uint64_t high = low + ((uint64_t)1 << level->shift);
        const uint64_t bytes = (end < high ? end : high) - (start > low ? start : low);
        level->free_bytes[i] += is_taken ? -bytes : bytes;
        CHECK(level->free_bytes[i] <= high - low);
    }
    forget_windows(level, first < FREE_MAP_SPAN ? 0 : first - (FREE_MAP_SPAN - 1), last);
}

void free_map_forget(struct free_map *map)
{
    for (size_t i = 0; i < FREE_MAP_LEVEL_COUNT; i++) {
        if (map->levels[i] != NULL) {
            map->levels[i]->is_built = false;
        }
    }
    map->change_count = map->change_limit = 0;
}

/* The list is full.  Levels that have all of it go on without it. */
static void empty_list(struct free_map *map)
{
    bool is_followed = false;
    for (size_t i = 0; i < FREE_MAP_LEVEL_COUNT; i++) {
        struct free_level *level = map->levels[i];
        if (level != NULL) {
            level->is_built = level->is_built && level->seen_count == map->change_count;
            level->seen_count = 0;
            is_followed = is_followed || level->is_built;
        }
    }
    map->change_count = 0;
    map->change_limit = is_followed ? map->change_limit : 0;
}

void free_map_note(struct free_map *map, uint64_t start, uint64_t end, bool is_taken)
{
    if (map->change_count == map->change_limit) {
        empty_list(map);
    }
    if (map->change_count < map->change_limit && start < end) {
        map->changes[map->change_count++] = (struct free_change){start, end, is_taken};
    }
}

struct free_level *free_map_level(struct free_map *map, uint32_t shift, uint64_t capacity_bytes,
                                  size_t change_limit, bool *is_new)
{
    CHECK(shift < FREE_MAP_LEVEL_COUNT);
    if (map->change_limit == 0) {
        map->change_limit = change_limit;
        if (change_limit > map->change_capacity) {
            map->change_capacity = change_limit;
            map->changes = array_resized(map->changes, change_limit * sizeof *map->changes);
        }
    }
    if (map->levels[shift] == NULL) {
        map->levels[shift] = create_level(shift, capacity_bytes);
    }
    struct free_level *level = map->levels[shift];
    *is_new = !level->is_built;
    if (*is_new) {
        make_all_free(level, capacity_bytes);
        level->is_built = true;
        level->seen_count = map->change_count;
    }
    for (; level->seen_count < map->change_count; level->seen_count++) {
        const struct free_change *change = &map->changes[level->seen_count];
        free_level_take(level, change->start, change->end, change->is_taken);
    }
    return level;
}

/* --- searches --- */

struct free_search {
    struct free_level *level;
    const uint64_t *free_bytes;
    bool (*look)(void *context, uint64_t from, uint64_t to);
    void *context;
};

/* Looks at the windows that begin in one of FAN stretches. */
static bool search_stretches(const struct free_search *search, size_t node)
{
    struct free_level *level = search->level;
    const size_t first = node << FAN_LOG2;
    const size_t end = first + FAN < level->stretch_count ? first + FAN : level->stretch_count;
    uint64_t most = 0;
    uint64_t sum = 0;
    for (size_t i = first; i < first + FREE_MAP_SPAN - 1; i++) {
        sum += level->free_bytes[i];
    }
    for (size_t i = first; i < end; i++) {
        sum += level->free_bytes[i + FREE_MAP_SPAN - 1];
        if (sum >= *search->free_bytes && search->look(search->context, (uint64_t)i << level->shift,
                                                       (uint64_t)(i + 1) << level->shift)) {
            return true;
        }
        most = sum > most ? sum : most;
        sum -= level->free_bytes[i];
    }
    level->most_bytes[node] = most;
    return false;
}

/* Asks the node's children for what is not known of the node itself. */
static bool search_node(const struct free_search *search, uint32_t height, size_t node)
{
    struct free_level *level = search->level;
    if (height == 0) {
        return search_stretches(search, node);
    }
    const size_t below = level->offsets[height - 1];
    const size_t child_count = level->offsets[height] - below;
    const size_t first = node << FAN_LOG2;
    const size_t end = first + FAN < child_count ? first + FAN : child_count;
    uint64_t most = 0;
    for (size_t i = first; i < end; i++) {
        if (level->most_bytes[below + i] >= *search->free_bytes &&
            search_node(search, height - 1, i)) {
            return true;
        }
        most = level->most_bytes[below + i] > most ? level->most_bytes[below + i] : most;
    }
    level->most_bytes[level->offsets[height] + node] = most;
    return false;
}

bool free_level_search(struct free_level *level, const uint64_t *free_bytes,
                       bool (*look)(void *context, uint64_t from, uint64_t to), void *context)
{
    const struct free_search search = {level, free_bytes, look, context};
    const uint32_t top = level->depth - 1;
    return level->most_bytes[level->offsets[top]] >= *free_bytes && search_node(&search, top, 0);
}
