#include "harness/packing_search.h"

#include "harness/check.h"

#include <stdbool.h>
#include <stdlib.h>

/* The other way round, which is strong where the slack is small: bins are filled one after the other, the
 * smallest first, each with a choice of items that wastes no more than the slack that is left; the largest bin
 * then takes all the rest.  Choices are made item by item, largest first, and end where the items that are
 * left cannot fill the bin; of equal items the first ones are taken. */
struct filling {
    const uint64_t *items; /* descending */
    const uint64_t *bins;  /* ascending */
    size_t item_count, bin_count;
    bool *used;       /* by item */
    uint64_t *fills;  /* bin_count rows of item_count + 1: what unused items from here on could add */
    size_t *firsts;   /* by bin: its first item, for the order of equal bins */
    uint64_t nodes, nodes_max;
    bool spent;
};
/* The rows take 8 bytes for each item and bin. */
enum { FILLING_ITEMS_MAX = 512, FILLING_BINS_MAX = 64 };

static bool fill_bins(struct filling *filling, size_t bin, uint64_t slack);

/* Goes on with bin `bin`, of which `room` is left, at item i; slack is what may still be wasted in all. */
static bool fill_bin(struct filling *filling, size_t bin, size_t i, uint64_t room, uint64_t slack)
{
    const uint64_t *fill = &filling->fills[bin * (filling->item_count + 1)];
    if (filling->spent || filling->nodes++ >= filling->nodes_max) {
        filling->spent = true;
        return false;
    }
    while (i < filling->item_count && (filling->used[i] || filling->items[i] > room)) {
        i++;
    }
    if (room > slack && room - slack > fill[i]) {
        return false;
    }
    if (i == filling->item_count) {
        return fill_bins(filling, bin + 1, slack - room);
    }
    const size_t first = filling->firsts[bin];
    filling->used[i] = true;
    filling->firsts[bin] = first < i ? first : i;
    const bool fits = fill_bin(filling, bin, i + 1, room - filling->items[i], slack);
    filling->used[i] = false;
    filling->firsts[bin] = first;
    if (fits) {
        return true;
    }
    size_t next = i + 1;
    while (next < filling->item_count && filling->items[next] == filling->items[i]) {
        next++;
    }
    return fill_bin(filling, bin, next, room, slack);
}

static bool fill_bins(struct filling *filling, size_t bin, uint64_t slack)
{
    if (bin + 1 == filling->bin_count) {
        return true; /* what is left is no more than the last bin and the slack add up to */
    }
    /* Equal bins in the order of their first items: the others are the same packings again. */
    if (bin >= 2 && filling->bins[bin - 1] == filling->bins[bin - 2] &&
        filling->firsts[bin - 1] < filling->firsts[bin - 2]) {
        return false;
    }
    uint64_t *fill = &filling->fills[bin * (filling->item_count + 1)];
    fill[filling->item_count] = 0;
    for (size_t i = filling->item_count; i-- > 0;) {
        const bool counts = !filling->used[i] && filling->items[i] <= filling->bins[bin];
        fill[i] = fill[i + 1] + (counts ? filling->items[i] : 0);
    }
    filling->firsts[bin] = filling->item_count;
    return fill_bin(filling, bin, 0, filling->bins[bin], slack);
}

enum packing_result packing_search_bins(const struct sizes *sizes, uint64_t nodes_max, uint64_t *nodes)
{
    if (sizes->item_count > FILLING_ITEMS_MAX || sizes->bin_count > FILLING_BINS_MAX) {
        return PACKING_UNKNOWN;
    }
    const size_t count = sizes->bin_count;
    struct filling filling = {.items = sizes->items, .item_count = sizes->item_count, .bin_count = count,
                              .nodes_max = nodes_max};
    uint64_t *ascending = malloc(count * sizeof *ascending);
    filling.used = calloc(sizes->item_count, sizeof *filling.used);
    filling.fills = malloc(count * (sizes->item_count + 1) * sizeof *filling.fills);
    filling.firsts = malloc(count * sizeof *filling.firsts);
    CHECK(ascending != NULL);
    CHECK(filling.used != NULL);
    CHECK(filling.fills != NULL);
    CHECK(filling.firsts != NULL);
    for (size_t i = 0; i < count; i++) {
        ascending[i] = sizes->bins[count - 1 - i];
    }
    filling.bins = ascending;
    const bool fits = fill_bins(&filling, 0, sizes->slack);
    free(ascending);
    free(filling.used);
    free(filling.fills);
    free(filling.firsts);
    *nodes += filling.nodes;
    return fits ? PACKING_FITS : filling.spent ? PACKING_UNKNOWN : PACKING_NONE;
}
