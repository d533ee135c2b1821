#include "explain/heap_map.h"

#include "harness/device/span_map.h"

static uint64_t find_edge(uint64_t capacity_bytes, size_t part)
{
    return (uint64_t)((__uint128_t)capacity_bytes * part / HEAP_MAP_PART_COUNT);
}

static uint64_t count_common(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
    const uint64_t start = a_start > b_start ? a_start : b_start;
    const uint64_t end = a_end < b_end ? a_end : b_end;
    return end > start ? end - start : 0;
}

/* The part in which the address lies, or one before it. */
static size_t find_part(uint64_t capacity_bytes, uint64_t address)
{
    const size_t part = (size_t)((__uint128_t)address * HEAP_MAP_PART_COUNT / capacity_bytes);
    return part > 0 ? part - 1 : 0;
}

static void add_range(struct heap_map *map, uint64_t capacity_bytes, uint64_t start, uint64_t end,
                      bool is_held)
{
    for (size_t i = find_part(capacity_bytes, start); i < HEAP_MAP_PART_COUNT; i++) {
        const uint64_t part_start = find_edge(capacity_bytes, i);
        if (part_start >= end) {
            return;
        }
        const uint64_t bytes = count_common(start, end, part_start,
                                            find_edge(capacity_bytes, i + 1));
        *(is_held ? &map->parts[i].held_bytes : &map->parts[i].used_bytes) += bytes;
    }
}

void heap_map_take(const struct model *model, struct heap_map *map)
{
    const uint64_t capacity_bytes = model_capacity_bytes(model);
    struct span_cursor cursor;
    *map = (struct heap_map){.has_places = model_contract(model)->placement == PLACEMENT_RANGES};
    if (!map->has_places) {
        return;
    }
    for (size_t i = 0; i < HEAP_MAP_PART_COUNT; i++) {
        map->parts[i].bytes = find_edge(capacity_bytes, i + 1) - find_edge(capacity_bytes, i);
    }
    add_range(map, capacity_bytes, 0, model_reserved_bytes(model), true);
    for (bool found = span_map_first(model_map(model), &cursor); found;
         found = span_map_next(model_map(model), &cursor)) {
        struct span span;
        span_map_get(model_map(model), &cursor, &span);
        const struct block *block = model_block(model, (uint32_t)span.owner);
        add_range(map, capacity_bytes, span.start, span.end, !block_is_movable(block));
    }
}

static char draw_part(const struct heap_part *part)
{
    const uint64_t full_bytes = part->used_bytes + part->held_bytes;
    if (full_bytes == 0) {
        return '.';
    }
    if (part->held_bytes > part->used_bytes) {
        return 'H';
    }
    if (full_bytes == part->bytes) {
        return '=';
    }
    return full_bytes * 2 < part->bytes ? '-' : '#';
}

void heap_map_append(const struct heap_map *map, struct writing *text)
{
    for (size_t i = 0; i < HEAP_MAP_PART_COUNT && map->has_places; i++) {
        const char character[] = {draw_part(&map->parts[i]), '\0'};
        writing_append(text, character);
    }
}
