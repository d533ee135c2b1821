#include "harness/device/span_map.h"

#include "harness/base/check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* 64: a search inside a chunk touches one or two cache lines of starts, and an insertion moves 1
 * KiB on average. */
enum { SPAN_CHUNK_COUNT = 64 };

struct span_rest {
    uint64_t end, owner, offset;
};
/* starts[count...] are UINT64_MAX, so that a search always takes the same six steps: nothing to
 * mispredict. */
struct span_chunk {
    struct span_chunk *next_spare;
    size_t count; /* 1..SPAN_CHUNK_COUNT while in the map */
    uint64_t starts[SPAN_CHUNK_COUNT];
    struct span_rest rests[SPAN_CHUNK_COUNT];
};

void span_map_init(struct span_map *map)
{
    *map = (struct span_map){.footprint_bytes = sizeof *map};
}

static void spare_chunk(struct span_map *map, struct span_chunk *chunk)
{
    CHECK_COSTLY(chunk != NULL);
    CHECK_COSTLY(chunk != map->spare);
    chunk->next_spare = map->spare;
    map->spare = chunk;
}

void span_map_clear(struct span_map *map)
{
    CHECK_COSTLY(map->chunk_count <= map->chunk_capacity);
    CHECK_COSTLY(map->chunks != NULL || map->chunk_count == 0);
    for (size_t i = 0; i < map->chunk_count; i++) {
        spare_chunk(map, map->chunks[i]);
    }
    map->chunk_count = 0;
    map->count = 0;
}

void span_map_deinit(struct span_map *map)
{
    span_map_clear(map);
    CHECK_COSTLY(map->chunk_count == 0);
    CHECK_COSTLY(map->count == 0);
    while (map->spare != NULL) {
        struct span_chunk *chunk = map->spare;
        map->spare = chunk->next_spare;
        free(chunk);
    }
    free(map->chunks);
    free(map->chunk_starts);
    *map = (struct span_map){0};
}

static struct span_chunk *take_chunk(struct span_map *map)
{
    struct span_chunk *chunk = map->spare;
    if (chunk != NULL) {
        map->spare = chunk->next_spare;
        return chunk;
    }
    chunk = malloc(sizeof *chunk);
    CHECK(chunk != NULL);
    map->footprint_bytes += sizeof *chunk;
    CHECK_COSTLY(map->spare == NULL);
    return chunk;
}

/* Puts an empty chunk at place i of the directory. */
static struct span_chunk *insert_chunk(struct span_map *map, size_t i)
{
    if (map->chunk_count == map->chunk_capacity) {
        const size_t capacity = map->chunk_capacity == 0 ? 16 : map->chunk_capacity * 2;
        map->chunks = realloc(map->chunks, capacity * sizeof *map->chunks);
        map->chunk_starts = realloc(map->chunk_starts, capacity * sizeof *map->chunk_starts);
        CHECK(map->chunks != NULL);
        CHECK(map->chunk_starts != NULL);
        map->footprint_bytes += (capacity - map->chunk_capacity) * 16;
        map->chunk_capacity = capacity;
    }
    const size_t after = map->chunk_count - i;
    memmove(&map->chunks[i + 1], &map->chunks[i], after * sizeof *map->chunks);
    memmove(&map->chunk_starts[i + 1], &map->chunk_starts[i], after * sizeof *map->chunk_starts);
    map->chunks[i] = take_chunk(map);
    map->chunks[i]->count = 0;
    map->chunk_starts[i] = 0;
    memset(map->chunks[i]->starts, 0xFF, sizeof map->chunks[i]->starts);
    map->chunk_count++;
    return map->chunks[i];
}

static void remove_chunk(struct span_map *map, size_t i)
{
    CHECK_COSTLY(i < map->chunk_count);
    CHECK_COSTLY(map->chunks[i]->count == 0);
    spare_chunk(map, map->chunks[i]);
    const size_t after = map->chunk_count - i - 1;
    memmove(&map->chunks[i], &map->chunks[i + 1], after * sizeof *map->chunks);
    memmove(&map->chunk_starts[i], &map->chunk_starts[i + 1], after * sizeof *map->chunk_starts);
    map->chunk_count--;
}

/* How many of values[count], ascending, are at most address.  Branch-free steps: the compiler makes
 * conditional moves of them. */
static size_t count_at_most(const uint64_t *values, size_t count, uint64_t address)
{
    const uint64_t *base = values;
    while (count > 1) {
        const size_t half = count / 2;
        base += (size_t)(base[half - 1] <= address) * half;
        count -= half;
    }
    return (size_t)(base - values) + (count == 1 && *base <= address);
}

static_assert(SPAN_CHUNK_COUNT == 64, "six steps find one of 64");

/* The same for the starts of a chunk, none of which is UINT64_MAX. */
static size_t place_in_chunk(const struct span_chunk *chunk, uint64_t address)
{
    const uint64_t *starts = chunk->starts;
    size_t at = (size_t)(starts[31] <= address) << 5;
    at += (size_t)(starts[at + 15] <= address) << 4;
    at += (size_t)(starts[at + 7] <= address) << 3;
    at += (size_t)(starts[at + 3] <= address) << 2;
    at += (size_t)(starts[at + 1] <= address) << 1;
    at += (size_t)(starts[at] <= address);
    /* What is left is a full chunk whose last start is below address, too. */
    return at + (size_t)(at == 63 && starts[63] <= address);
}

/* The last chunk that begins at or below address, or chunk 0. */
static size_t chunk_for(const struct span_map *map, uint64_t address)
{
    const size_t count = count_at_most(map->chunk_starts, map->chunk_count, address);
    return count == 0 ? 0 : count - 1;
}

static void split_chunk(struct span_map *map, size_t i)
{
    struct span_chunk *upper = insert_chunk(map, i + 1);
    struct span_chunk *lower = map->chunks[i];
    CHECK_COSTLY(lower->count == SPAN_CHUNK_COUNT);
    const size_t half = SPAN_CHUNK_COUNT / 2;
    upper->count = lower->count - half;
    memcpy(upper->starts, &lower->starts[half], upper->count * sizeof *upper->starts);
    memcpy(upper->rests, &lower->rests[half], upper->count * sizeof *upper->rests);
    memset(&lower->starts[half], 0xFF, half * sizeof *lower->starts);
    lower->count = half;
    map->chunk_starts[i + 1] = upper->starts[0];
    CHECK_COSTLY(upper->starts[0] > lower->starts[half - 1]);
}

/* Puts the span at place `at` of chunk i, in whose order it belongs there. */
static void insert_in_chunk(struct span_map *map, size_t i, size_t at, const struct span *span)
{
    CHECK_COSTLY(span->start < span->end);
    if (map->chunks[i]->count == SPAN_CHUNK_COUNT) {
        split_chunk(map, i);
        if (at > map->chunks[i]->count) {
            at -= map->chunks[i]->count;
            i++;
        }
    }
    struct span_chunk *chunk = map->chunks[i];
    CHECK_COSTLY(at <= chunk->count);
    CHECK_COSTLY(chunk->count < SPAN_CHUNK_COUNT);
    memmove(&chunk->starts[at + 1], &chunk->starts[at],
            (chunk->count - at) * sizeof *chunk->starts);
    memmove(&chunk->rests[at + 1], &chunk->rests[at], (chunk->count - at) * sizeof *chunk->rests);
    chunk->starts[at] = span->start;
    chunk->rests[at] = (struct span_rest){span->end, span->owner, span->offset};
    chunk->count++;
    map->chunk_starts[i] = chunk->starts[0];
    map->count++;
}

bool span_map_insert_if_free(struct span_map *map, const struct span *span, struct span *other)
{
    CHECK(span->start < span->end);
    if (map->chunk_count == 0) {
        insert_chunk(map, 0);
    }
    const size_t i = chunk_for(map, span->start);
    const struct span_chunk *chunk = map->chunks[i];
    const size_t at = place_in_chunk(chunk, span->start);
    /* Only the neighbours on both sides can be in the way. */
    if (at > 0 && chunk->rests[at - 1].end > span->start) {
        span_map_get(map, &(struct span_cursor){i, at - 1}, other);
        return false;
    }
    struct span_cursor next = {i, at};
    if (at == chunk->count) {
        next = (struct span_cursor){i + 1, 0};
    }
    if (next.chunk < map->chunk_count && map->chunks[next.chunk]->count > 0 &&
        map->chunks[next.chunk]->starts[next.index] < span->end) {
        span_map_get(map, &next, other);
        return false;
    }
    insert_in_chunk(map, i, at, span);
    return true;
}

void span_map_insert(struct span_map *map, const struct span *span)
{
    struct span other;
    const bool is_free = span_map_insert_if_free(map, span, &other);
    CHECK(is_free);
}

static void remove_from_chunk(struct span_map *map, const struct span_cursor *cursor)
{
    CHECK_COSTLY(cursor->chunk < map->chunk_count);
    CHECK_COSTLY(map->count > 0);
    struct span_chunk *chunk = map->chunks[cursor->chunk];
    const size_t at = cursor->index;
    CHECK_COSTLY(at < chunk->count);
    chunk->count--;
    memmove(&chunk->starts[at], &chunk->starts[at + 1],
            (chunk->count - at) * sizeof *chunk->starts);
    memmove(&chunk->rests[at], &chunk->rests[at + 1], (chunk->count - at) * sizeof *chunk->rests);
    chunk->starts[chunk->count] = UINT64_MAX;
    map->count--;
    if (chunk->count == 0) {
        remove_chunk(map, cursor->chunk);
        return;
    }
    map->chunk_starts[cursor->chunk] = chunk->starts[0];
}

bool span_map_find(const struct span_map *map, uint64_t address, struct span_cursor *cursor)
{
    if (map->chunk_count == 0) {
        return false;
    }
    cursor->chunk = chunk_for(map, address);
    CHECK_COSTLY(cursor->chunk < map->chunk_count);
    const struct span_chunk *chunk = map->chunks[cursor->chunk];
    CHECK_COSTLY(chunk->count > 0);
    const size_t count = place_in_chunk(chunk, address);
    if (count > 0 && chunk->rests[count - 1].end > address) {
        cursor->index = count - 1;
        return true;
    }
    if (count > 0) {
        cursor->index = count - 1;
        return span_map_next(map, cursor);
    }
    cursor->index = 0;
    return true;
}

bool span_map_first(const struct span_map *map, struct span_cursor *cursor)
{
    CHECK_COSTLY(map->chunk_count > 0 || map->count == 0);
    *cursor = (struct span_cursor){0};
    return map->chunk_count > 0;
}

bool span_map_next(const struct span_map *map, struct span_cursor *cursor)
{
    CHECK_COSTLY(cursor->chunk < map->chunk_count);
    CHECK_COSTLY(cursor->index < map->chunks[cursor->chunk]->count);
    if (++cursor->index < map->chunks[cursor->chunk]->count) {
        return true;
    }
    cursor->index = 0;
    return ++cursor->chunk < map->chunk_count;
}

void span_map_get(const struct span_map *map, const struct span_cursor *cursor, struct span *span)
{
    CHECK_COSTLY(cursor->chunk < map->chunk_count);
    const struct span_chunk *chunk = map->chunks[cursor->chunk];
    CHECK_COSTLY(cursor->index < chunk->count);
    const struct span_rest *rest = &chunk->rests[cursor->index];
    *span = (struct span){chunk->starts[cursor->index], rest->end, rest->owner, rest->offset};
}

bool span_map_intersects(const struct span_map *map, uint64_t start, uint64_t end,
                         struct span *span)
{
    struct span_cursor cursor;
    if (start >= end || !span_map_find(map, start, &cursor)) {
        return false;
    }
    span_map_get(map, &cursor, span);
    return span->start < end;
}

void span_map_erase(struct span_map *map, uint64_t start, uint64_t end)
{
    struct span_cursor cursor;
    struct span span;
    while (start < end && span_map_find(map, start, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (span.start >= end) {
            return;
        }
        remove_from_chunk(map, &cursor);
        if (span.start < start) {
            span_map_insert(map, &(struct span){span.start, start, span.owner, span.offset});
        }
        if (span.end > end) {
            span_map_insert(
                map, &(struct span){end, span.end, span.owner, span.offset + (end - span.start)});
        }
        if (span.end >= end) {
            return;
        }
        start = span.end;
    }
}

void span_map_erase_owner(struct span_map *map, uint64_t start, uint64_t end, uint64_t owner)
{
    struct span_cursor cursor;
    struct span span;
    while (start < end && span_map_find(map, start, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (span.start >= end) {
            return;
        }
        if (span.owner == owner && span.start >= start && span.end <= end) {
            remove_from_chunk(map, &cursor);
        } else if (span.owner == owner) {
            span_map_erase(map, start, span.end < end ? span.end : end);
        }
        start = span.end;
    }
}

bool span_map_invariants_hold(const struct span_map *map)
{
    size_t count = 0;
    uint64_t last_end = 0;
    for (size_t i = 0; i < map->chunk_count; i++) {
        const struct span_chunk *chunk = map->chunks[i];
        if (chunk->count == 0 || chunk->count > SPAN_CHUNK_COUNT ||
            map->chunk_starts[i] != chunk->starts[0]) {
            return false;
        }
        for (size_t k = 0; k < chunk->count; k++) {
            if (chunk->starts[k] < last_end || chunk->rests[k].end <= chunk->starts[k]) {
                return false;
            }
            last_end = chunk->rests[k].end;
        }
        count += chunk->count;
    }
    return count == map->count;
}
