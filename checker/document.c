#include "checker/private/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_int_t align_max = 1 << 30, capacity_max = INT64_C(1) << 50,
                        size_max = INT64_C(1) << 62;

static bool is_power(json_int_t value)
{
    return (value & (value - 1)) == 0;
}

static bool is_valid_align(const struct check *check, json_int_t value)
{
    const json_int_t most = check->aligns_naturally ? capacity_max : align_max;
    return is_in_range(value, check->granule, most, 1) && is_power(value);
}

static void read_rest(struct check *check, struct checked_block *block, const char *what)
{
    check_require(check,
                  is_in_range(block->stack, 0, block->is_program ? size_max : 0, check->granule) &&
                      is_in_range(block->op, 0, UINT32_MAX, 1) && block->holds >= 0 &&
                      block->used_until >= NEVER && block->freed_at >= NEVER &&
                      (block->freed_at == 0 || !block->is_live),
                  "%s: op, stack, holds, used_until or freed_at is out of range", what);
    if (check->drains && !block->is_live && block->holds == 0 && block->freed_at > check->time) {
        check->time = block->freed_at;
    }
}

static void read_block(struct check *check, size_t i, json_t *json)
{
    struct checked_block *block = &check->blocks[i];
    const bool follows_absent = i > 0 && block[-1].address == IN_HOST_MEMORY;
    const json_int_t floor = i == 0 ? 0 : block[-1].address + block[-1].size;
    const char *kind, *state;
    char what[32];
    snprintf(what, sizeof what, "blocks[%zu]", i);
    if (!check_unpack(check, json, what, "{s:I,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "op",
                      &block->op, "kind", &kind, "state", &state, "address", &block->address,
                      "size", &block->size, "align", &block->align, "stack", &block->stack, "holds",
                      &block->holds, "used_until", &block->used_until, "freed_at",
                      &block->freed_at)) {
        return;
    }
    enum { PROGRAM = 2, RETIRED };
    enum { LIVE = 1, KEPT };
    const size_t kind_index = check_find_word(check, what, kind, "buffer|output|program|retired");
    block->is_program = kind_index == PROGRAM;
    block->is_retired = kind_index == RETIRED;
    const size_t state_index = check_find_word(check, what, state, "dying|live|kept");
    block->is_live = state_index == LIVE;
    block->is_kept = state_index == KEPT;
    if (check->placement != RANGES) {
        check_require(check,
                      block->address == 0 && block->align == check->granule &&
                          is_in_range(block->size, 1, check->capacity, check->granule) &&
                          !(check->placement == HIDDEN && block->is_program),
                      "%s: its address, align, size or kind does not go with the placement", what);
        block->address = check->capacity; /* of no use; above every stack */
        read_rest(check, block, what);
        return;
    }
    const bool is_absent = block->address == IN_HOST_MEMORY;
    check_require(check, is_absent ? check->defrag == REPACK : !follows_absent,
                  "%s: it is in host memory without repack, or not among the last", what);
    check_require(
        check,
        is_valid_align(check, block->align) &&
            (is_absent || is_in_range(block->address, floor, check->capacity, block->align)) &&
            is_in_range(block->size, 1, check->capacity - (is_absent ? 0 : block->address),
                        check->granule),
        "%s: it is not aligned, overlaps the block before it, or is outside the device", what);
    read_rest(check, block, what);
}

/* NULL and -1: neither member is there, and blocks are ranges without headers. */
static void read_placement(struct check *check, const char *placement, json_int_t header,
                           const char *defrag)
{
    if (!check_require(check, (placement != NULL) == (header != -1),
                       "contract: placement and header belong together")) {
        check->result = CERTIFICATE_UNREADABLE;
        return;
    }
    if (placement != NULL) {
        check->placement = check_find_word(check, "contract.placement", placement,
                                           "ranges|hidden|pages");
        check->header = header;
        check_require(
            check, is_in_range(header, 0, check->placement == RANGES ? 1 << 20 : 0, check->granule),
            "contract: the header is out of range");
        check_require(check,
                      (check->placement == RANGES && header == 0) || strcmp(defrag, "none") == 0,
                      "contract: what has no address, or a header, does not move");
    }
}

/* -1: the member is not there. */
static void read_natural(struct check *check, int aligns_naturally)
{
    check->aligns_naturally = aligns_naturally == 1;
    check_require(check, aligns_naturally != 0, "contract: aligns_naturally is true or not there");
}

/* A request of so many bytes lies at a multiple of them, unless it is larger than the device. */
static void require_natural(struct check *check, json_int_t bytes, const char *defrag,
                            bool is_program)
{
    bool has_program = is_program;
    for (size_t i = 0; i < check->block_count; i++) {
        has_program = has_program || check->blocks[i].is_program;
    }
    if (!check_require(
            check,
            check->placement == RANGES && check->header == 0 && !has_program &&
                json_object_get(json_object_get(check->root, "contract"), "grows") == NULL &&
                strcmp(defrag, "none") == 0,
            "contract: it aligns naturally, without addresses or with headers, moves, programs or "
            "regions")) {
        return;
    }
    check_require(check, is_power(bytes) && bytes % check->granule == 0,
                  "request: its bytes are no size class of a contract that aligns naturally");
    check_require(check, bytes > check->capacity || check->align % bytes == 0,
                  "request: it is aligned to less than its bytes");
}

/* The members that are unpacked, and not yet in the check. */
struct members {
    const char *format, *defrag, *class, *placement;
    json_int_t version, bytes, header;
    json_t *blocks;
    int drains, evicts[2]; /* for a buffer, for a program */
    int copy, wait, unload, host_memory, natural;
    bool is_program;
};

static bool unpack_members(struct check *check, json_t *root, struct members *members)
{
    json_t *about, *regions; /* what a contract that grows has is read by regions_read */
    json_int_t region_align, step;
    int grows, trims, region;
    return check_unpack(
               check, root, "certificate",
               "{s:s,s:I,s:s,s:{s:I,s:I,s?I,s?o},s:{s:s,s:b,s:b,s:b,s?s,s?I,s?b,s?b,s?b,s?I},"
               "s:{s:b,s:b,s:b,s:b,s?b},s:{s:s,s:I,s:I,s:I,s:I},s:o,s:o,s:o,s?o}",
               "format", &members->format, "version", &members->version, "claim", &check->claim,
               "device", "capacity", &check->capacity, "granule", &check->granule, "region_align",
               &region_align, "regions", &regions, "contract", "defrag", &members->defrag, "drains",
               &members->drains, "evicts", &members->evicts[0], "program_evicts_program",
               &members->evicts[1], "placement", &members->placement, "header", &members->header,
               "aligns_naturally", &members->natural, "grows", &grows, "trims", &trims, "step",
               &step, "refused", "copy", &members->copy, "wait", &members->wait, "unload",
               &members->unload, "host_memory", &members->host_memory, "region", &region, "request",
               "class", &members->class, "bytes", &members->bytes, "align", &check->align, "stack",
               &check->stack, "program", &check->own_program, "blocks", &members->blocks, "proof",
               &check->proof, "list", &check->list, "about", &about) &&
           check_is_array(check, members->blocks, "blocks") &&
           check_require(check,
                         strcmp(members->format, "hbmstress-certificate") == 0 &&
                             members->version == 1,
                         "the format or version is wrong") &&
           check_require(check,
                         check->granule > 0 && is_valid_align(check, check->granule) &&
                             is_in_range(check->capacity, 1, capacity_max, check->granule),
                         "device: the capacity or granule is out of range");
}

static void read_request(struct check *check, const struct members *members)
{
    const json_int_t bytes = members->bytes;
    const bool is_program = members->is_program;
    check_require(check,
                  is_in_range(bytes, !is_program, size_max, 1) &&
                      is_valid_align(check, check->align) &&
                      is_in_range(check->stack, 0, is_program ? size_max : 0, check->granule),
                  "request: a number is out of range");
    check_require(check,
                  is_in_range(check->own_program, bytes > 0 ? -1 : 0,
                              bytes > 0 ? -1 : (json_int_t)check->block_count - 1, 1),
                  "request: the program is out of range");
    check_require(check, !is_program || check->align == check->granule,
                  "request: a program is aligned to the granule alone");
    check->need = bytes > check->capacity ? check->capacity + check->granule
                                          : round_up(bytes, check->granule);
}

/* Reads what is promised for the class of the request, and was not refused. */
static void read_promises(struct check *check, const struct members *members)
{
    check->defrag = check_find_word(check, "contract.defrag", members->defrag, "none|slide|repack");
    check->moves = check->defrag != NONE;
    check->for_buffer = !members->is_program;
    check->defrag = members->copy || members->host_memory ? NONE : check->defrag;
    check->drains = members->drains && !members->wait && !members->host_memory;
    check->evicts = members->evicts[members->is_program] && !members->unload &&
                    !members->host_memory;
}

static void read_blocks(struct check *check, const json_t *blocks)
{
    check->blocks = calloc(check->block_count + 1, sizeof *check->blocks);
    check->items = calloc(2 * check->block_count + 2, sizeof *check->items);
    (void)check_has_memory(check, check->blocks != NULL && check->items != NULL);
    for (size_t i = 0; i < check->block_count && check->result == CERTIFICATE_VALID; i++) {
        read_block(check, i, json_array_get(blocks, i));
    }
}

void document_read(struct check *check, json_t *root)
{
    struct members members = {.header = -1, .natural = -1};
    if (!unpack_members(check, root, &members)) {
        return;
    }
    named_read(check);
    read_placement(check, members.placement, members.header, members.defrag);
    read_natural(check, members.natural);
    members.is_program = check_find_word(check, "request.class", members.class, "buffer|program") ==
                         1;
    check->block_count = json_array_size(members.blocks);
    read_request(check, &members);
    read_promises(check, &members);
    read_blocks(check, members.blocks);
    if (check->placement == HIDDEN) {
        check_require(check, !members.is_program, "request: a program has a place to go to");
    }
    if (check->aligns_naturally && check->result == CERTIFICATE_VALID) {
        require_natural(check, members.bytes, members.defrag, members.is_program);
    }
    if (check->result == CERTIFICATE_VALID) {
        regions_read(check);
    }
}
