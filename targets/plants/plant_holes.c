#include "targets/plants/private/holes.h"

#include "harness/base/check.h"
#include "targets/targets.h"

#include <stdlib.h>

/* The blocks, as the report lists them. */
struct rows {
    struct plant_hole *blocks; /* count of them */
    size_t count, capacity;
};

static void add_row(void *context, const struct target_row *row)
{
    struct rows *rows = context;
    if (row->address == TARGET_ADDRESS_NONE) {
        return;
    }
    CHECK(rows->count < rows->capacity);
    rows->blocks[rows->count++] = (struct plant_hole){row->address, row->address + row->size_bytes};
}

static int compare_starts(const void *a, const void *b)
{
    const struct plant_hole *left = a;
    const struct plant_hole *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

struct plant_hole *plant_list_holes(struct plant *plant, size_t *count)
{
    struct target_stats stats;
    plant_inner_stats(plant, &stats);
    struct rows rows = {.capacity = stats.num_allocs};
    rows.blocks = malloc((rows.capacity + 1) * sizeof *rows.blocks);
    CHECK(rows.blocks != NULL);
    target_hbm.report(plant->hbm, add_row, &rows);
    qsort(rows.blocks, rows.count, sizeof *rows.blocks, compare_starts);
    uint64_t end = stats.bytes_reserved;
    *count = 0;
    for (size_t i = 0; i <= rows.count; i++) { /* a hole takes the place of a block that is read */
        const bool is_last = i == rows.count;
        const uint64_t start = is_last ? plant->capacity_bytes : rows.blocks[i].start;
        const uint64_t next_end = is_last ? start : rows.blocks[i].end;
        if (start > end) {
            rows.blocks[(*count)++] = (struct plant_hole){end, start};
        }
        end = next_end > end ? next_end : end;
    }
    return rows.blocks;
}

bool plant_hole_fits(const struct plant *plant, const struct plant_hole *hole,
                     const struct target_request *request)
{
    const uint64_t granule = plant->contract.granule_bytes;
    const uint64_t align = request->align_bytes > granule ? request->align_bytes : granule;
    const uint64_t start = (hole->start + (align - 1)) & ~(align - 1);
    return start >= hole->start && start < hole->end && hole->end - start >= request->size_bytes;
}
