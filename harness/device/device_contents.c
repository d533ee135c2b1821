#include "harness/device/private/device_state.h"

#include "harness/base/check.h"
#include "harness/base/often.h"

#include <stdlib.h>
#include <string.h>

void contents_init(struct contents *contents)
{
    *contents = (struct contents){0};
    span_map_init(&contents->map);
}

void contents_deinit(struct contents *contents)
{
    CHECK_COSTLY(contents->records != NULL || contents->record_capacity == 0);
    CHECK_COSTLY(contents->scratch != NULL || contents->scratch_capacity == 0);
    span_map_deinit(&contents->map);
    free(contents->records);
    free(contents->scratch);
    *contents = (struct contents){0};
}

size_t contents_footprint_bytes(const struct contents *contents)
{
    return contents->map.footprint_bytes + contents->scratch_capacity * sizeof(struct span) +
           contents->record_capacity * sizeof(struct contents_record);
}

/* --- extents --- */

/* The part of the span that lies in [start, end), counted from start.  False: none does. */
static bool clip_span(const struct span *span, uint64_t start, uint64_t end, struct span *clipped)
{
    CHECK_COSTLY(span->start < span->end);
    const uint64_t low = span->start < start ? start : span->start;
    const uint64_t high = span->end > end ? end : span->end;
    if (low >= high) {
        return false;
    }
    *clipped = (struct span){low - start, high - start, span->owner,
                             span->offset + (low - span->start)};
    CHECK_COSTLY(clipped->start < clipped->end);
    return true;
}

/* Copies the extents of [from, from + bytes) into scratch, counted from 0; returns how many. */
static size_t read_extents(struct contents *contents, uint64_t from, uint64_t bytes)
{
    CHECK_COSTLY(contents->is_detailed);
    CHECK_COSTLY(from <= UINT64_MAX - bytes);
    size_t count = 0;
    struct span span;
    EACH_SPAN_BETWEEN(&contents->map, from, UINT64_MAX, &span) {
        struct span clipped;
        if (!clip_span(&span, from, from + bytes, &clipped)) {
            break;
        }
        if (count == contents->scratch_capacity) {
            contents->scratch_capacity = count == 0 ? 16 : count * 2;
            contents->scratch = realloc(contents->scratch,
                                        contents->scratch_capacity * sizeof span);
            CHECK(contents->scratch != NULL);
        }
        contents->scratch[count++] = clipped;
    }
    CHECK_COSTLY(count <= contents->scratch_capacity);
    return count;
}

static SELDOM void put_owner(struct contents *contents, uint64_t address, uint64_t bytes,
                             uint32_t owner)
{
    CHECK_COSTLY(contents->is_detailed);
    CHECK_COSTLY(bytes > 0);
    if (!span_map_claim(&contents->map, address, address + bytes, owner).is_free) {
        span_map_erase(&contents->map, address, address + bytes);
        span_map_insert(&contents->map, &(struct span){address, address + bytes, owner, 0});
    }
}

/* From here on contents are kept range by range. */
static void write_details(struct contents *contents)
{
    if (contents->is_detailed) {
        return;
    }
    CHECK_COSTLY(contents->map.count == 0);
    contents->is_detailed = true;
    for (size_t owner = 0; owner < contents->record_capacity; owner++) {
        if (contents->records[owner].bytes > 0) {
            put_owner(contents, contents->records[owner].address, contents->records[owner].bytes,
                      (uint32_t)owner);
        }
    }
    CHECK_COSTLY(span_map_invariants_hold(&contents->map));
}

void contents_put(struct contents *contents, const struct contents_piece *piece, uint64_t offset,
                  uint64_t to, uint64_t bytes)
{
    CHECK_COSTLY(to <= UINT64_MAX - bytes);
    CHECK_COSTLY(piece->spans != NULL || piece->count == 0);
    write_details(contents);
    contents->is_exact = false;
    span_map_erase(&contents->map, to, to + bytes);
    for (size_t i = 0; i < piece->count; i++) {
        struct span span;
        if (clip_span(&piece->spans[i], offset, offset + bytes, &span)) {
            span.start += to;
            span.end += to;
            span_map_insert(&contents->map, &span);
        }
    }
}

void contents_erase(struct contents *contents, uint64_t start, uint64_t end)
{
    write_details(contents);
    contents->is_exact = false;
    if (start < end) {
        span_map_erase(&contents->map, start, end);
    }
}

void contents_copy(struct contents *contents, uint64_t from, uint64_t to, uint64_t bytes)
{
    write_details(contents);
    const size_t count = read_extents(contents, from, bytes);
    contents_put(contents, &(struct contents_piece){contents->scratch, count}, 0, to, bytes);
}

struct contents_piece contents_take(struct contents *contents, uint64_t from, uint64_t bytes)
{
    write_details(contents);
    struct contents_piece piece = {.count = read_extents(contents, from, bytes)};
    piece.spans = malloc((piece.count + 1) * sizeof *piece.spans);
    CHECK(piece.spans != NULL);
    if (piece.count > 0) {
        memcpy(piece.spans, contents->scratch, piece.count * sizeof *piece.spans);
    }
    return piece;
}

/* --- owners --- */

SELDOM void contents_grow(struct contents *contents, uint32_t owner)
{
    CHECK_COSTLY(owner != UINT32_MAX);
    const size_t capacity = (size_t)owner * 2 + 64;
    contents->records = realloc(contents->records, capacity * sizeof *contents->records);
    CHECK(contents->records != NULL);
    memset(&contents->records[contents->record_capacity], 0,
           (capacity - contents->record_capacity) * sizeof *contents->records);
    contents->record_capacity = capacity;
}

SELDOM void contents_put_range(struct contents *contents, uint64_t address, uint64_t bytes,
                               uint32_t owner)
{
    CHECK_COSTLY(address <= UINT64_MAX - bytes);
    put_owner(contents, address, bytes, owner);
    if (contents->is_exact && ++contents->idle_count > contents->record_capacity) {
        span_map_clear(&contents->map);
        contents->is_detailed = false;
    }
}

/* Walks the ranges: the byte at `at` must be byte `at - address` of the owner. */
static bool has_in_ranges(const struct contents *contents, uint64_t address, uint64_t bytes,
                          uint32_t owner)
{
    struct span span;
    uint64_t at = address;
    EACH_SPAN_BETWEEN(&contents->map, address, UINT64_MAX, &span) {
        if (span.start > at || span.owner != owner ||
            span.offset + (at - span.start) != at - address) {
            return false;
        }
        at = span.end;
        if (at >= address + bytes) {
            return true;
        }
    }
    return false;
}

bool contents_hold(const struct contents *contents, uint64_t address, uint64_t bytes,
                   uint32_t owner)
{
    if (bytes == 0 || contents->is_detailed) {
        return bytes == 0 || has_in_ranges(contents, address, bytes, owner);
    }
    return owner < contents->record_capacity && contents->records[owner].address == address &&
           contents->records[owner].bytes >= bytes;
}

SELDOM void contents_erase_range(struct contents *contents, const struct contents_record *record,
                                 uint32_t owner)
{
    CHECK_COSTLY(record->address <= UINT64_MAX - record->bytes);
    span_map_erase_owner(&contents->map, record->address, record->address + record->bytes, owner);
    CHECK_COSTLY(span_map_invariants_hold(&contents->map));
}

void contents_lose_half(struct contents *contents, uint32_t owner)
{
    const uint64_t bytes = owner < contents->record_capacity ? contents->records[owner].bytes : 0;
    const uint64_t lost = bytes / 2 + bytes % 2;
    struct span_cursor cursor;
    struct span span;
    write_details(contents);
    contents->is_exact = false;
    bool found = span_map_first(&contents->map, &cursor);
    while (found) {
        span_map_get(&contents->map, &cursor, &span);
        if (span.owner == owner && span.offset < lost) {
            const uint64_t rest = lost - span.offset;
            span_map_erase(&contents->map, span.start,
                           rest < span.end - span.start ? span.start + rest : span.end);
            found = span_map_find(&contents->map, span.start,
                                  &cursor); /* what is left begins with a later byte */
        } else {
            found = span_map_next(&contents->map, &cursor);
        }
    }
}

void contents_keep(struct contents *contents)
{
    contents->is_exact = true;
    contents->idle_count = 0;
}

void contents_settle(struct contents *contents)
{
    CHECK_COSTLY(contents->records != NULL || contents->record_capacity == 0);
    span_map_clear(&contents->map);
    CHECK_COSTLY(contents->map.count == 0);
    contents->is_detailed = false;
    if (contents->record_capacity > 0) {
        memset(contents->records, 0, contents->record_capacity * sizeof *contents->records);
    }
}
