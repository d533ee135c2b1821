#include "harness/device/span_map.h"

#include "harness/base/check.h"
#include "harness/base/often.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* 6 bits of an address choose one of 64 children: a word says which of them are there. */
enum { NODE_BITS = 6, NODE_CHILD_COUNT = 1 << NODE_BITS, ROOT_SHIFT_MAX = 60 };

/* A range of the map.  Entry 0 stands before the first range and behind the last one: its start is
 * above and its end below every address.  So a missing neighbour is in nobody's way. */
struct span_entry {
    uint64_t start, end, owner, offset;
    uint32_t before, after; /* in address order; spare ones: after */
    uint32_t node;          /* that it is a child of */
};
struct span_node {
    uint64_t taken;  /* bit i: there is a child i; none only in a root */
    uint64_t inner;  /* which of these are nodes; the others are entries */
    uint32_t parent; /* not of the root; spare ones: the next spare one */
    uint32_t shift;  /* of the 6 bits of a start that choose the child */
    uint32_t children[NODE_CHILD_COUNT];
};

/* --- life --- */

void span_map_init(struct span_map *map)
{
    *map = (struct span_map){.footprint_bytes = sizeof *map};
}

void span_map_clear(struct span_map *map)
{
    if (map->count == 0) {
        return;
    }
    map->entry_count = 1;
    map->entries[0].before = map->entries[0].after = 0;
    map->node_count = 1;
    map->spare_entry = map->spare_node = map->root = 0;
    map->count = 0;
}

void span_map_deinit(struct span_map *map)
{
    free(map->entries);
    free(map->nodes);
    *map = (struct span_map){0};
}

/* The array with room for one more; the first is nobody's. */
static SELDOM void *grow_array(struct span_map *map, void *array, uint32_t *count,
                               uint32_t *capacity, size_t size)
{
    const uint32_t more = *capacity == 0 ? 16 : *capacity;
    CHECK(*capacity <= UINT32_MAX / 4);
    array = realloc(array, (size_t)(*capacity + more) * size);
    CHECK(array != NULL);
    *capacity += more;
    *count = *count == 0 ? 1 : *count;
    map->footprint_bytes += more * size;
    return array;
}

static uint32_t take_entry(struct span_map *map)
{
    const uint32_t spare = map->spare_entry;
    if (spare != 0) {
        map->spare_entry = map->entries[spare].after;
        return spare;
    }
    if (map->entry_count == map->entry_capacity) {
        const bool is_new = map->entries == NULL;
        map->entries = grow_array(map, map->entries, &map->entry_count, &map->entry_capacity,
                                  sizeof *map->entries);
        map->entries[0] = is_new ? (struct span_entry){.start = UINT64_MAX} : map->entries[0];
    }
    return map->entry_count++;
}

/* Ends pointers to nodes. */
static uint32_t take_node(struct span_map *map, uint32_t parent, uint32_t shift)
{
    uint32_t node = map->spare_node;
    if (node != 0) {
        map->spare_node = map->nodes[node].parent;
    } else {
        if (map->node_count == map->node_capacity) {
            map->nodes = grow_array(map, map->nodes, &map->node_count, &map->node_capacity,
                                    sizeof *map->nodes);
        }
        node = map->node_count++;
    }
    map->nodes[node].taken = map->nodes[node].inner = 0;
    map->nodes[node].parent = parent;
    map->nodes[node].shift = shift;
    return node;
}

/* --- children --- */

static uint32_t choose_child(const struct span_node *node, uint64_t address)
{
    return (uint32_t)(address >> node->shift) % NODE_CHILD_COUNT;
}

static uint64_t bit_of(uint32_t child)
{
    return UINT64_C(1) << child;
}

static bool has_bit(uint64_t bits, uint32_t child)
{
    return (bits >> child & 1) != 0;
}

static uint32_t lowest_bit(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

static uint32_t highest_bit(uint64_t bits)
{
    return 63 - (uint32_t)__builtin_clzll(bits);
}

static void add_entry(struct span_map *map, uint32_t node, uint32_t entry)
{
    struct span_node *parent = &map->nodes[node];
    const uint32_t child = choose_child(parent, map->entries[entry].start);
    CHECK_COSTLY(!has_bit(parent->taken, child));
    parent->taken |= bit_of(child);
    parent->children[child] = entry;
    map->entries[entry].node = node;
}

static void add_node(struct span_map *map, uint32_t node, uint32_t child, uint32_t inner)
{
    map->nodes[node].taken |= bit_of(child);
    map->nodes[node].inner |= bit_of(child);
    map->nodes[node].children[child] = inner;
}

/* A node without children goes, and with it each above it that has no other. */
static SELDOM void drop_nodes(struct span_map *map, uint32_t node, uint64_t address)
{
    while (node != map->root && map->nodes[node].taken == 0) {
        const uint32_t parent = map->nodes[node].parent;
        const uint64_t bit = bit_of(choose_child(&map->nodes[parent], address));
        map->nodes[parent].taken &= ~bit;
        map->nodes[parent].inner &= ~bit;
        map->nodes[node].parent = map->spare_node;
        map->spare_node = node;
        node = parent;
    }
}

/* --- searches --- */

/* The place where the search for an address ends: the last range that begins at or below it, and
 * the first one above; 0 = none. */
struct place {
    uint32_t node;  /* 0: the address is beyond the root */
    uint32_t child; /* of the node; an entry, or not there */
    uint32_t before, after;
};

static uint32_t find_lowest(const struct span_map *map, uint32_t node, uint64_t among)
{
    const struct span_node *at = &map->nodes[node];
    uint32_t child = lowest_bit(among);
    while (has_bit(at->inner, child)) {
        at = &map->nodes[at->children[child]];
        child = lowest_bit(at->taken);
    }
    return at->children[child];
}

static uint32_t find_highest(const struct span_map *map, uint32_t node, uint64_t among)
{
    const struct span_node *at = &map->nodes[node];
    uint32_t child = highest_bit(among);
    while (has_bit(at->inner, child)) {
        at = &map->nodes[at->children[child]];
        child = highest_bit(at->taken);
    }
    return at->children[child];
}

/* Finds the neighbours of a child that is not there.  Every node but a root has others. */
static void find_neighbours(const struct span_map *map, struct place *place)
{
    const uint64_t taken = map->nodes[place->node].taken;
    const uint64_t below = taken & (bit_of(place->child) - 1);
    const uint64_t above = taken & ~(bit_of(place->child) - 1);
    if (above != 0) {
        place->after = find_lowest(map, place->node, above);
        place->before = map->entries[place->after].before;
    } else {
        place->before = below != 0 ? find_highest(map, place->node, below) : 0;
        place->after = map->entries[place->before].after;
    }
}

/* The map has a root. */
static struct place find_place(const struct span_map *map, uint64_t address)
{
    struct place place = {.node = map->root};
    const struct span_node *node = &map->nodes[place.node];
    if (address >> node->shift >= NODE_CHILD_COUNT) {
        return (struct place){.before = map->entries[0].before};
    }
    place.child = choose_child(node, address);
    while (has_bit(node->inner, place.child)) {
        place.node = node->children[place.child];
        node = &map->nodes[place.node];
        place.child = choose_child(node, address);
    }
    if (!has_bit(node->taken, place.child)) {
        find_neighbours(map, &place);
        return place;
    }
    const uint32_t entry = node->children[place.child];
    const bool is_before = map->entries[entry].start <= address;
    place.before = is_before ? entry : map->entries[entry].before;
    place.after = is_before ? map->entries[entry].after : entry;
    return place;
}

/* --- inserting --- */

/* Puts nodes above the root until one of its children is the address's. */
static SELDOM void raise_root(struct span_map *map, uint64_t address)
{
    while (address >> map->nodes[map->root].shift >= NODE_CHILD_COUNT) {
        const uint32_t lower = map->root;
        CHECK(map->nodes[lower].shift < ROOT_SHIFT_MAX);
        if (map->nodes[lower].taken == 0) {
            map->nodes[lower].shift += NODE_BITS;
            continue;
        }
        map->root = take_node(map, 0, map->nodes[lower].shift + NODE_BITS);
        add_node(map, map->root, 0, lower);
        map->nodes[lower].parent = map->root;
    }
}

/* Makes nodes where the entry is that begins with the same bits, down to one in which the address
 * has a place of its own. */
static SELDOM uint32_t split_child(struct span_map *map, uint32_t node, uint32_t child,
                                   uint64_t address)
{
    const uint32_t entry = map->nodes[node].children[child];
    const uint64_t differs = map->entries[entry].start ^ address;
    CHECK(differs != 0);
    while (differs >> map->nodes[node].shift == 0) {
        const uint32_t lower = take_node(map, node, map->nodes[node].shift - NODE_BITS);
        add_node(map, node, child, lower);
        node = lower;
        child = choose_child(&map->nodes[node], address);
    }
    add_entry(map, node, entry);
    return node;
}

/* Links a new entry between its neighbours. */
static uint32_t link_entry(struct span_map *map, const struct place *place, const struct span *span)
{
    const uint32_t entry = take_entry(map);
    map->entries[entry] = (struct span_entry){.start = span->start,
                                              .end = span->end,
                                              .owner = span->owner,
                                              .offset = span->offset,
                                              .before = place->before,
                                              .after = place->after};
    map->entries[place->before].after = entry;
    map->entries[place->after].before = entry;
    map->count++;
    return entry;
}

/* A first range needs what the map consists of. */
static SELDOM void make_root(struct span_map *map)
{
    const uint32_t entry = take_entry(map);
    map->entries[entry].after = map->spare_entry;
    map->spare_entry = entry;
    map->root = take_node(map, 0, 0);
}

static uint32_t insert_at(struct span_map *map, const struct place *place, const struct span *span)
{
    const uint32_t entry = link_entry(map, place, span);
    uint32_t node = place->node;
    if (node == 0) {
        raise_root(map, span->start);
        node = map->root;
    } else if (has_bit(map->nodes[node].taken, place->child)) {
        node = split_child(map, node, place->child, span->start);
    }
    add_entry(map, node, entry);
    return entry;
}

static void get_entry(const struct span_map *map, uint32_t entry, struct span *span)
{
    const struct span_entry *is = &map->entries[entry];
    *span = (struct span){is->start, is->end, is->owner, is->offset};
}

static struct span_claim insert_if_free(struct span_map *map, const struct span *span)
{
    CHECK(span->start < span->end);
    if (map->root == 0) {
        make_root(map);
    }
    const struct place place = find_place(map, span->start);
    /* Only the neighbours on both sides can be in the way. */
    if (map->entries[place.before].end > span->start) {
        return (struct span_claim){{place.before}, false};
    }
    if (map->entries[place.after].start < span->end) {
        return (struct span_claim){{place.after}, false};
    }
    return (struct span_claim){{insert_at(map, &place, span)}, true};
}

OFTEN struct span_claim span_map_claim(struct span_map *map, uint64_t start, uint64_t end,
                                       uint64_t owner)
{
    return insert_if_free(map, &(struct span){start, end, owner, 0});
}

void span_map_insert(struct span_map *map, const struct span *span)
{
    CHECK(insert_if_free(map, span).is_free);
}

/* --- reading --- */

bool span_map_find(const struct span_map *map, uint64_t address, struct span_cursor *cursor)
{
    if (map->count == 0) {
        return false;
    }
    const struct place place = find_place(map, address);
    cursor->entry = map->entries[place.before].end > address ? place.before : place.after;
    return cursor->entry != 0;
}

bool span_map_first(const struct span_map *map, struct span_cursor *cursor)
{
    cursor->entry = map->count == 0 ? 0 : map->entries[0].after;
    return cursor->entry != 0;
}

bool span_map_next(const struct span_map *map, struct span_cursor *cursor)
{
    CHECK_COSTLY(cursor->entry > 0 && cursor->entry < map->entry_count);
    cursor->entry = map->entries[cursor->entry].after;
    return cursor->entry != 0;
}

void span_map_get(const struct span_map *map, const struct span_cursor *cursor, struct span *span)
{
    CHECK_COSTLY(cursor->entry > 0 && cursor->entry < map->entry_count);
    get_entry(map, cursor->entry, span);
}

bool span_map_intersects(const struct span_map *map, uint64_t start, uint64_t end,
                         struct span *span)
{
    struct span_cursor cursor;
    if (start >= end || !span_map_find(map, start, &cursor)) {
        return false;
    }
    get_entry(map, cursor.entry, span);
    return span->start < end;
}

/* --- erasing --- */

static void remove_entry(struct span_map *map, uint32_t entry)
{
    struct span_entry *is = &map->entries[entry];
    struct span_node *node = &map->nodes[is->node];
    CHECK_COSTLY(map->count > 0);
    CHECK_COSTLY(node->children[choose_child(node, is->start)] == entry);
    map->entries[is->before].after = is->after;
    map->entries[is->after].before = is->before;
    map->count--;
    node->taken &= ~bit_of(choose_child(node, is->start));
    if (node->taken == 0) {
        drop_nodes(map, is->node, is->start);
    }
    is->after = map->spare_entry;
    map->spare_entry = entry;
}

void span_map_remove(struct span_map *map, struct span_cursor cursor)
{
    CHECK(cursor.entry > 0 && cursor.entry < map->entry_count);
    remove_entry(map, cursor.entry);
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
        remove_entry(map, cursor.entry);
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
            remove_entry(map, cursor.entry);
        } else if (span.owner == owner) {
            span_map_erase(map, start, span.end < end ? span.end : end);
        }
        start = span.end;
    }
}

/* True if all below the node is sound: starts share address's bits above it.  Counts entries. */
static bool node_holds(const struct span_map *map, uint32_t node, uint64_t address, size_t *count)
{
    const struct span_node *is = &map->nodes[node];
    if ((is->taken == 0 && node != map->root) || (is->inner & ~is->taken) != 0) {
        return false;
    }
    for (uint32_t child = 0; child < NODE_CHILD_COUNT; child++) {
        const uint64_t first = address | (uint64_t)child << is->shift;
        const uint32_t below = is->children[child];
        if (!has_bit(is->taken, child)) {
            continue;
        }
        if (has_bit(is->inner, child)) {
            if (map->nodes[below].parent != node ||
                map->nodes[below].shift + NODE_BITS != is->shift ||
                !node_holds(map, below, first, count)) {
                return false;
            }
            continue;
        }
        ++*count;
        if (map->entries[below].node != node ||
            map->entries[below].start >> is->shift != first >> is->shift) {
            return false;
        }
    }
    return true;
}

bool span_map_invariants_hold(const struct span_map *map)
{
    struct span_cursor cursor;
    size_t count = 0, found_count = 0;
    uint64_t last_end = 0;
    uint32_t before = 0;
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        const struct span_entry *entry = &map->entries[cursor.entry];
        if (entry->before != before || entry->start < last_end || entry->end <= entry->start) {
            return false;
        }
        last_end = entry->end;
        before = cursor.entry;
        count++;
    }
    return count == map->count && (map->root == 0 || (node_holds(map, map->root, 0, &found_count) &&
                                                      found_count == count));
}
