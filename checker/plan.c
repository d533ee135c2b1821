#include "checker/private/check.h"

#include <stdio.h>

static struct checked_block *block_at(struct tree_node *place)
{
    return (struct checked_block *)place; /* its first member */
}

static void put_block(struct check *check, struct checked_block *block)
{
    if (block->fate != GONE && block->address != IN_HOST_MEMORY &&
        check->result == CERTIFICATE_VALID) {
        block->place.key = block->address;
        check->places = tree_put(check->places, &block->place);
    }
}

static void take_block(struct check *check, struct checked_block *block)
{
    if (block->address != IN_HOST_MEMORY) {
        check->places = tree_take(check->places, &block->place);
    }
}

/* A place above bottom for own, which is nowhere now (NULL: for the request): on no block, and
 * under slide between blocks that are in order with own. All others are in order already, so that
 * the two next to it decide. */
static void check_place(struct check *check, const char *what, const struct checked_block *own,
                        json_int_t start, json_int_t size, json_int_t align)
{
    const json_int_t header = own == NULL ? check->header : 0;
    if (!check_require(check,
                       is_in_range(start, check->bottom, check->capacity - size, 1) &&
                           (start + header) % align == 0,
                       "%s: it is below bottom, outside the device, or not aligned", what)) {
        return;
    }
    struct tree_node *around[2];
    tree_find_around(check->places, start + size, around);
    const struct checked_block *below = block_at(around[0]), *above = block_at(around[1]);
    const bool has_order = own != NULL && check->defrag == SLIDE;
    if (below != NULL) {
        check_require(check, below->address + below->size <= start && (!has_order || below < own),
                      "%s: blocks[%zu] is in the way", what, (size_t)(below - check->blocks));
    }
    if (above != NULL) {
        check_require(check, !has_order || above > own, "%s: blocks[%zu] is in the way", what,
                      (size_t)(above - check->blocks));
    }
}

static void check_move(struct check *check, size_t i, json_t *json)
{
    json_int_t index, from, to, bytes;
    char what[32];
    snprintf(what, sizeof what, "moves[%zu]", i);
    if (!check_unpack(check, json, what, "{s:I,s:I,s:I,s:I}", "block", &index, "from", &from, "to",
                      &to, "bytes", &bytes) ||
        !check_require(check, is_in_range(index, 0, (json_int_t)check->block_count - 1, 1),
                       "%s: there is no such block", what)) {
        return;
    }
    struct checked_block *block = &check->blocks[index];
    if (check_require(check, block->fate == MOVABLE, "%s: the block may not move", what) &&
        check_require(check, block->size == bytes && block->address == from,
                      "%s: the block has another address or size", what)) {
        take_block(check, block);
        if (to != IN_HOST_MEMORY) {
            check_place(check, what, block, to, block->size, block->align);
        }
        block->address = to;
        put_block(check, block);
    }
}

static void check_evictions(struct check *check, json_t *evict)
{
    json_int_t index;
    for (size_t i = 0; i < json_array_size(evict) && check->result == CERTIFICATE_VALID; i++) {
        if (check_unpack(check, json_array_get(evict, i), "evict", "I", &index) &&
            check_require(check,
                          is_in_range(index, 0, (json_int_t)check->block_count - 1, 1) &&
                              state_may_evict(check, &check->blocks[index]),
                          "evict[%zu]: the block may not be evicted", i)) {
            check->blocks[index].fate = GONE;
        }
    }
}

static void check_moves(struct check *check, json_t *moves)
{
    for (size_t i = 0; i < check->block_count; i++) {
        put_block(check, &check->blocks[i]);
    }
    for (size_t i = 0; i < json_array_size(moves) && check->result == CERTIFICATE_VALID; i++) {
        check_move(check, i, json_array_get(moves, i));
    }
    for (size_t i = 0; i < check->block_count; i++) {
        check_require(check,
                      check->blocks[i].fate == GONE || check->blocks[i].address >= check->bottom,
                      "blocks[%zu] ends in host memory or below bottom", i);
    }
}

void check_plan(struct check *check)
{
    json_int_t until, address;
    json_t *evict, *moves;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I,s:I,s:o,s:o}", "kind", &check->kind,
                      "until", &until, "address", &address, "evict", &evict, "moves", &moves) ||
        !check_is_array(check, evict, "evict") || !check_is_array(check, moves, "moves")) {
        return;
    }
    check_require(check, is_in_range(until, 0, check->time, 1), "proof: until is too late");
    state_set_time(check, until);
    check_evictions(check, evict);
    if (check->placement != RANGES) {
        check_require(check, address == NOWHERE && json_array_size(moves) == 0,
                      "proof: nothing has an address there");
        check_sum_fits(check);
        return;
    }
    check_moves(check, moves);
    check_require(check,
                  check->bottom <= check->capacity && (address == NOWHERE) == (check->need == 0),
                  "address: the stack is too large, or only one of block and address is there");
    if (check->need > 0 && check->result == CERTIFICATE_VALID) {
        check_place(check, "address", NULL, address, check->need, check->align);
        check_require(check, regions_take(check, address),
                      "address: it is in no region that is held, and no new one can begin there");
    }
}
