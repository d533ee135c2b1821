#include "checker/private/check.h"

#include <stdlib.h>

enum { START, END };
static const json_int_t align_max = 1 << 30, step_max = INT64_C(1) << 50;

/* --- reading --- */

static json_t *find_member(const struct check *check, const char *object, const char *name)
{
    return json_object_get(json_object_get(check->root, object), name);
}

/* Requires that all members are there, or none. */
static bool find_members(struct check *check)
{
    const struct {
        const char *object, *name;
    } members[] = {{"device", "region_align"}, {"device", "regions"}, {"contract", "grows"},
                   {"contract", "trims"},      {"contract", "step"},  {"refused", "region"}};
    const size_t count = sizeof members / sizeof *members;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += find_member(check, members[i].object, members[i].name) != NULL;
    }
    if (!check_require(check, found == 0 || found == count,
                       "certificate: some members of regions are missing")) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return found == count;
}

static void read_range(struct check *check, size_t i)
{
    struct regions *regions = &check->regions;
    json_int_t *range = regions->ranges[i];
    const json_int_t floor = i == 0 ? 0 : range[-1];
    if (check_unpack(check, json_array_get(regions->array, i), "regions", "[I,I]", &range[START],
                     &range[END])) {
        check_require(
            check,
            is_in_range(range[START], floor, check->capacity, regions->align) &&
                is_in_range(range[END], range[START] + 1, check->capacity, 1),
            "regions[%zu]: it is not aligned, empty, on the one before it, or outside the "
            "device",
            i);
    }
}

static void read_ranges(struct check *check)
{
    struct regions *regions = &check->regions;
    if (!check_is_array(check, regions->array, "regions")) {
        return;
    }
    regions->range_count = json_array_size(regions->array);
    regions->ranges = calloc(regions->range_count + 1, sizeof *regions->ranges);
    (void)check_has_memory(check, regions->ranges != NULL);
    for (size_t i = 0; i < regions->range_count && check->result == CERTIFICATE_VALID; i++) {
        read_range(check, i);
    }
}

/* Both ascend. */
static void require_held(struct check *check)
{
    const struct regions *regions = &check->regions;
    size_t at = 0;
    for (size_t i = 0; i < check->block_count; i++) {
        const struct checked_block *block = &check->blocks[i];
        while (at < regions->range_count && regions->ranges[at][END] <= block->address) {
            at++;
        }
        check_require(check,
                      at < regions->range_count && regions->ranges[at][START] <= block->address &&
                          block->address + block->size <= regions->ranges[at][END],
                      "blocks[%zu]: it lies in no region", i);
        check_require(check, !block->is_program && !block->is_retired,
                      "blocks[%zu]: programs and retired memory do not go with regions", i);
    }
}

void regions_read(struct check *check)
{
    struct regions *regions = &check->regions;
    if (!find_members(check)) {
        return;
    }
    regions->are_there = true;
    regions->array = find_member(check, "device", "regions");
    regions->align = json_integer_value(find_member(check, "device", "region_align"));
    regions->step = json_integer_value(find_member(check, "contract", "step"));
    regions->trims = json_is_true(find_member(check, "contract", "trims"));
    regions->may_grow = !json_is_true(find_member(check, "refused", "region")) &&
                        !json_is_true(find_member(check, "refused", "host_memory"));
    check_require(check, check->placement == RANGES && check->header == 0,
                  "contract: blocks without an address, or with headers, do not go with regions");
    check_require(check, json_is_true(find_member(check, "contract", "grows")),
                  "contract: it has regions, but does not grow");
    check_require(check,
                  is_in_range(regions->align, check->granule, align_max, 1) &&
                      (regions->align & (regions->align - 1)) == 0 &&
                      check->align <= regions->align &&
                      is_in_range(regions->step, 1, step_max, check->granule),
                  "device: region_align, or contract: step is out of range");
    const char *defrag = json_string_value(find_member(check, "contract", "defrag"));
    check_require(check,
                  check_find_word(check, "contract.defrag", defrag, "none|slide|repack") == NONE &&
                      check_find_word(check, "request.class",
                                      json_string_value(find_member(check, "request", "class")),
                                      "buffer|program") == 0,
                  "contract: moves and programs do not go with regions");
    if (check->result == CERTIFICATE_VALID) {
        read_ranges(check);
    }
    if (check->result == CERTIFICATE_VALID) {
        require_held(check);
    }
}

/* --- where the request may lie --- */

/* True if the region stays: a block is left there, or nothing is given back.  *next: the first
 * block that is not below the region; then that above it. */
static bool is_kept(const struct check *check, size_t region, size_t *next)
{
    bool has_block = false;
    while (*next < check->block_count &&
           check->blocks[*next].address < check->regions.ranges[region][END]) {
        has_block = has_block || check->blocks[*next].fate != GONE;
        ++*next;
    }
    return has_block || !check->regions.trims;
}

/* The lowest start of a new region, or NOWHERE. */
static json_int_t find_new(const struct check *check)
{
    const struct regions *regions = &check->regions;
    const json_int_t bytes = round_up(check->need, regions->step);
    json_int_t start = 0;
    size_t next = 0;
    for (size_t i = 0; i < regions->range_count; i++) {
        if (!is_kept(check, i, &next)) {
            continue;
        }
        if (bytes <= regions->ranges[i][START] - start) {
            break;
        }
        start = round_up(regions->ranges[i][END], regions->align);
    }
    return regions->may_grow && bytes <= check->capacity - start ? start : NOWHERE;
}

/* The lowest place in a hole of the region, or NOWHERE; *next as above. */
static json_int_t find_hole(const struct check *check, size_t region, size_t *next)
{
    const json_int_t *range = check->regions.ranges[region];
    json_int_t low = range[START], place = NOWHERE;
    for (; *next < check->block_count && check->blocks[*next].address < range[END]; ++*next) {
        const struct checked_block *block = &check->blocks[*next];
        if (block->fate == GONE) {
            continue;
        }
        if (place == NOWHERE && round_up(low, check->align) + check->need <= block->address) {
            place = round_up(low, check->align);
        }
        low = block->address + block->size;
    }
    return place == NOWHERE && round_up(low, check->align) + check->need <= range[END]
               ? round_up(low, check->align)
               : place;
}

json_int_t regions_find_place(const struct check *check)
{
    json_int_t place = NOWHERE;
    size_t next = 0;
    for (size_t i = 0; i < check->regions.range_count && place == NOWHERE; i++) {
        place = find_hole(check, i, &next);
    }
    return place == NOWHERE ? find_new(check) : place;
}

static bool is_in_region(const struct regions *regions, json_int_t start, json_int_t end)
{
    for (size_t i = 0; i < regions->range_count; i++) {
        if (regions->ranges[i][START] <= start && end <= regions->ranges[i][END]) {
            return true;
        }
    }
    return false;
}

bool regions_take(const struct check *check, json_int_t address)
{
    const struct regions *regions = &check->regions;
    if (!regions->are_there) {
        return true;
    }
    if (address > check->capacity) { /* no sum of it may overflow */
        return false;
    }
    const json_int_t end = address + round_up(check->need, regions->step);
    size_t next = 0;
    if (is_in_region(regions, address, address + check->need)) {
        return true;
    }
    for (size_t i = 0; i < regions->range_count; i++) {
        if (is_kept(check, i, &next) && regions->ranges[i][START] < end &&
            address < regions->ranges[i][END]) {
            return false;
        }
    }
    return regions->may_grow && address % regions->align == 0 && end <= check->capacity;
}
