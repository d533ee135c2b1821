/* Whether the map behind a dump shows its chunks.  Each of its characters stands for a hundredth of
 * all regions, one behind the other from the lowest address up, and is no '_' where a chunk in use
 * has a byte, whatever else is there. How much of a chunk was asked for, which 'x' tells from '*',
 * no other line says. Source: BFCAllocator::RenderOccupancy of TensorFlow. */
#include "formats/bfc/private/bfc.h"

static void draw_map(const struct bfc_dump *dump, bool is_in_use[BFC_MAP_LENGTH])
{
    uint64_t begin_bytes = 0; /* below 2^50: times 100 it fits */
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const uint64_t end_bytes = begin_bytes + dump->chunks[i].size_bytes;
        const uint64_t last = (end_bytes - 1) * BFC_MAP_LENGTH / dump->region_bytes;
        for (uint64_t column = begin_bytes * BFC_MAP_LENGTH / dump->region_bytes; column <= last;
             column++) {
            is_in_use[column] = is_in_use[column] || dump->chunks[i].is_in_use;
        }
        begin_bytes = end_bytes;
    }
}

enum import_result bfc_check_map(const struct bfc_dump *dump, struct import_error *error)
{
    bool is_in_use[BFC_MAP_LENGTH] = {false};
    if (dump->map_line == 0) {
        return IMPORT_OK;
    }
    draw_map(dump, is_in_use);
    for (size_t i = 0; i < BFC_MAP_LENGTH; i++) {
        if ((dump->map[i] != '_') != is_in_use[i]) {
            return import_fail(
                error, IMPORT_INVALID, dump->map_line, 0,
                "character %zu of the map is '%c', but the chunks show %s in use there", i + 1,
                dump->map[i], is_in_use[i] ? "memory" : "no memory");
        }
    }
    return IMPORT_OK;
}
