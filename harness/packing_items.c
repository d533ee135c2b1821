#include "harness/packing_search.h"

#include "harness/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Items are placed largest first, but the most frequent size last: when only equal items are left, counting
 * how many each bin takes decides.  Each item tries bins in the order of what room is left there.  Equal items
 * go to bins in ascending order, equal rooms are tried once, an exact fit is the only branch (swapping it in
 * never hurts), and a branch ends when the room that no remaining item can use exceeds the slack. */
struct search {
    const struct sizes *sizes;
    uint64_t *items;    /* in the order of placement; equal ones are neighbours */
    uint64_t *smallest; /* of items i and after; item_count + 1 of them, the last one 0 */
    uint64_t *room;     /* by bin */
    uint32_t *placed;   /* by item: its bin */
    size_t last_run;    /* items from here on are equal */
    uint64_t nodes, nodes_max;
};

/* Fewer equal items are better placed in their turn: large ones first leaves the fewest ways. */
enum { LAST_RUN_MIN = 8 };

/* Moves the longest run of equal items to the end if it is long, the others stay descending. */
static void order_items(struct search *search)
{
    const struct sizes *sizes = search->sizes;
    size_t first = sizes->item_count - 1;
    size_t length = 1;
    for (size_t i = 0, next; i < sizes->item_count; i = next) {
        for (next = i + 1; next < sizes->item_count && sizes->items[next] == sizes->items[i]; next++) {
        }
        if (next - i >= length && next - i >= LAST_RUN_MIN) {
            first = i;
            length = next - i;
        }
    }
    const size_t after = sizes->item_count - first - length;
    memcpy(search->items, sizes->items, first * sizeof *search->items);
    memcpy(&search->items[first], &sizes->items[first + length], after * sizeof *search->items);
    memcpy(&search->items[first + after], &sizes->items[first], length * sizeof *search->items);
    search->last_run = first + after;
    uint64_t smallest = UINT64_MAX;
    search->smallest[sizes->item_count] = 0;
    for (size_t i = sizes->item_count; i-- > 0;) {
        smallest = search->items[i] < smallest ? search->items[i] : smallest;
        search->smallest[i] = smallest;
    }
}

static bool waste_is_too_large(const struct search *search, size_t item)
{
    const struct sizes *sizes = search->sizes;
    const uint64_t smallest = search->smallest[item];
    uint64_t waste = 0;
    for (size_t i = 0; i < sizes->bin_count; i++) {
        waste += search->room[i] < smallest ? search->room[i] : 0;
    }
    return waste > sizes->slack;
}

/* Whether the equal items of the last run fit into what room is left. */
static bool last_run_fits(const struct search *search)
{
    const struct sizes *sizes = search->sizes;
    const uint64_t size = search->items[search->last_run];
    uint64_t takes = 0;
    for (size_t i = 0; i < sizes->bin_count; i++) {
        takes += search->room[i] / size;
    }
    return takes >= sizes->item_count - search->last_run;
}

/* The bin with the next larger (room, index) than the last one tried that takes the item; bin_count when
 * there is none.  `after` is bin_count at the first call. */
static size_t next_bin(const struct search *search, size_t item, size_t after)
{
    const struct sizes *sizes = search->sizes;
    const uint64_t size = search->items[item];
    const bool repeats = item > 0 && search->items[item - 1] == size;
    const size_t first = repeats ? search->placed[item - 1] : 0;
    const uint64_t room_after = after == sizes->bin_count ? 0 : search->room[after];
    size_t chosen = sizes->bin_count;
    for (size_t i = first; i < sizes->bin_count; i++) {
        const uint64_t room = search->room[i];
        if (room < size || room <= room_after) {
            continue;
        }
        if (chosen == sizes->bin_count || room < search->room[chosen]) {
            chosen = i;
        }
    }
    return chosen;
}

/* Not within a run of equal items: there the ascending order of bins already cuts the branches on the
 * other side of an exact fit, and both cuts together would lose packings. */
static bool exact_fit_was_tried(const struct search *search, size_t item, size_t bin)
{
    const uint64_t size = search->items[item];
    const bool is_in_run = (item > 0 && search->items[item - 1] == size) ||
                           (item + 1 < search->sizes->item_count && search->items[item + 1] == size);
    return !is_in_run && search->room[bin] == size;
}

/* Depth-first without recursion: item is the depth, placed[item] the branch taken there. */
static enum packing_result search_run(struct search *search)
{
    const struct sizes *sizes = search->sizes;
    const size_t none = sizes->bin_count;
    size_t item = 0;
    size_t after = none;
    for (;;) {
        const bool at_last_run = item == search->last_run;
        if (at_last_run && last_run_fits(search)) {
            return PACKING_FITS;
        }
        const bool stop = at_last_run || (after != none && exact_fit_was_tried(search, item, after));
        const size_t bin = stop ? none : next_bin(search, item, after);
        if (bin == none) {
            if (item == 0) {
                return PACKING_NONE;
            }
            item--;
            after = search->placed[item];
            search->room[after] += search->items[item];
            continue;
        }
        if (search->nodes++ == search->nodes_max) {
            return PACKING_UNKNOWN;
        }
        search->placed[item] = (uint32_t)bin;
        search->room[bin] -= search->items[item];
        after = none;
        if (waste_is_too_large(search, item + 1)) {
            search->room[bin] += search->items[item];
            after = bin;
            continue;
        }
        item++;
    }
}

enum packing_result packing_search_items(const struct sizes *sizes, uint64_t *room, uint64_t nodes_max,
                                         uint64_t *nodes)
{
    struct search search = {.sizes = sizes, .room = room, .nodes_max = nodes_max};
    search.placed = malloc((sizes->item_count + 1) * sizeof *search.placed);
    search.items = malloc((sizes->item_count + 1) * sizeof *search.items);
    search.smallest = malloc((sizes->item_count + 1) * sizeof *search.smallest);
    CHECK(search.placed != NULL);
    CHECK(search.items != NULL);
    CHECK(search.smallest != NULL);
    order_items(&search);
    memcpy(room, sizes->bins, sizes->bin_count * sizeof *room);
    const enum packing_result result = search_run(&search);
    free(search.placed);
    free(search.items);
    free(search.smallest);
    *nodes += search.nodes;
    return result;
}
