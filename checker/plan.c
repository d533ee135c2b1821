#include "checker/private/check.h"

#include <stdio.h>

/* A place above bottom, on no block but own (NULL: the request); under slide a block must not pass
 * another. */
static void check_place(struct check *check, const char *what, const struct block *own,
                        json_int_t start, json_int_t size, json_int_t align)
{
    check_require(check, is_in_range(start, check->bottom, check->capacity - size, align),
                  "%s: it is below bottom, outside the device, or not aligned", what);
    for (size_t i = 0; i < check->block_count && check->result == CERTIFICATE_VALID; i++) {
        const struct block *block = &check->blocks[i];
        const bool is_above = start >= block->address + block->size,
                   is_below = start + size <= block->address;
        const bool keeps_order = own == NULL || check->defrag != SLIDE ||
                                 (block < own ? is_above : is_below);
        check_require(check,
                      ((is_above || is_below) && keeps_order) || block == own ||
                          block->fate == GONE || block->address == IN_HOST_MEMORY,
                      "%s: blocks[%zu] is in the way", what, i);
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
    struct block *block = &check->blocks[index];
    if (check_require(check, block->fate == MOVABLE, "%s: the block may not move", what) &&
        check_require(check, block->size == bytes && block->address == from,
                      "%s: the block has another address or size", what) &&
        to != IN_HOST_MEMORY) {
        check_place(check, what, block, to, block->size, block->align);
    }
    block->address = to;
}

void check_plan(struct check *check)
{
    json_int_t until, address, index;
    json_t *evict, *moves;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I,s:I,s:o,s:o}", "kind", &check->kind,
                      "until", &until, "address", &address, "evict", &evict, "moves", &moves)) {
        return;
    }
    check_require(check,
                  is_in_range(until, 0, check->time, 1) && json_is_array(evict) &&
                      json_is_array(moves),
                  "proof: until is too late, or evict or moves is not an array");
    state_set_time(check, until);
    for (size_t i = 0; i < json_array_size(evict) && check->result == CERTIFICATE_VALID; i++) {
        if (check_unpack(check, json_array_get(evict, i), "evict", "I", &index) &&
            check_require(check,
                          is_in_range(index, 0, (json_int_t)check->block_count - 1, 1) &&
                              state_may_evict(check, &check->blocks[index]),
                          "evict[%zu]: the block may not be evicted", i)) {
            check->blocks[index].fate = GONE;
        }
    }
    for (size_t i = 0; i < json_array_size(moves) && check->result == CERTIFICATE_VALID; i++) {
        check_move(check, i, json_array_get(moves, i));
    }
    for (size_t i = 0; i < check->block_count; i++) {
        check_require(check,
                      check->blocks[i].fate == GONE || check->blocks[i].address >= check->bottom,
                      "blocks[%zu] ends in host memory or below bottom", i);
    }
    check_require(check,
                  check->bottom <= check->capacity && (address == NOWHERE) == (check->need == 0),
                  "address: the stack is too large, or only one of block and address is there");
    if (check->need > 0 && check->result == CERTIFICATE_VALID) {
        check_place(check, "address", NULL, address, check->need, check->align);
    }
}
