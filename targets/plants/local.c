#include "targets/plants/private/plant.h"

#include <stdlib.h>

/* Defects at one place: one address, one size, one alignment, one count, one length.  Nothing was
 * published of them.  On a device as large as a chip the place is seldom met; on one of a few
 * granules it is met at once. */

enum {
    LOST_ADDRESS_GRANULES = 5,
    LOST_SIZE_GRANULES = 5,
    LOST_ALIGN_GRANULES = 4,
    LOST_BLOCK_COUNT = 7,
    LOST_LENGTH_GRANULES = 3,
    SMALL_BLOCK_COUNT_MAX = 64 /* the defects are in the code for heaps that fit in one table */
};

/* A hole under search. */
struct looked_at {
    const struct plant_hole *hole;
    uint64_t granule_bytes, block_count;
    bool is_highest;
};

static bool is_searched(const struct target_request *request, const struct target_stats *stats)
{
    const uint64_t align = request->align_bytes;
    return plant_is_valid_size(request) && (align & (align - 1)) == 0 &&
           stats->num_allocs <= SMALL_BLOCK_COUNT_MAX;
}

/* True if the request fits, but only where the search sees no hole. */
static bool fits_in_lost_alone(struct plant *plant, const struct target_request *request,
                               bool (*is_lost)(const struct looked_at *at))
{
    const struct target_stats stats = plant_inner_stats(plant);
    if (!is_searched(request, &stats)) {
        return false;
    }
    size_t count = 0;
    struct plant_hole *holes = plant_list_holes(plant, &count);
    bool fits = false, is_found = false;
    for (size_t i = 0; i < count; i++) {
        const struct looked_at at = {&holes[i], plant->contract.granule_bytes, stats.num_allocs,
                                     i + 1 == count};
        const bool has_place = plant_hole_fits(plant, &holes[i], request);
        fits = fits || has_place;
        is_found = is_found || (has_place && !is_lost(&at));
    }
    free(holes);
    return fits && !is_found;
}

/* --- a hole is lost --- */

static bool is_at_address(const struct looked_at *at)
{
    return at->hole->start == LOST_ADDRESS_GRANULES * at->granule_bytes;
}

static bool loses_address(struct plant *plant, const struct target_request *request)
{
    return fits_in_lost_alone(plant, request, is_at_address);
}

static bool is_of_size(const struct looked_at *at)
{
    return at->hole->end - at->hole->start == LOST_SIZE_GRANULES * at->granule_bytes;
}

static bool loses_size(struct plant *plant, const struct target_request *request)
{
    return fits_in_lost_alone(plant, request, is_of_size);
}

/* Holes are filed by the alignment of their first byte, and of one alignment none is found. */
static bool is_of_align(const struct looked_at *at)
{
    const uint64_t start = at->hole->start;
    return (start & -start) == LOST_ALIGN_GRANULES * at->granule_bytes;
}

static bool loses_align(struct plant *plant, const struct target_request *request)
{
    return fits_in_lost_alone(plant, request, is_of_align);
}

/* The hole behind the last block of a full row of the table. */
static bool is_at_count(const struct looked_at *at)
{
    return at->block_count == LOST_BLOCK_COUNT && at->is_highest;
}

static bool loses_count(struct plant *plant, const struct target_request *request)
{
    return fits_in_lost_alone(plant, request, is_at_count);
}

/* --- a copy is wrong --- */

/* A loop for short copies is one round short for one of the lengths. */
static enum device_result copy_short_at_length(struct plant *plant, uint64_t from, uint64_t to,
                                               uint64_t bytes)
{
    const uint64_t granule = plant->contract.granule_bytes;
    const bool is_short = bytes == LOST_LENGTH_GRANULES * granule;
    return plant->device.copy(plant->device.context, from, to, is_short ? bytes - granule : bytes);
}

#define PLANT_IN_local PLANT_HERE
#include "targets/plants/private/define.h"
