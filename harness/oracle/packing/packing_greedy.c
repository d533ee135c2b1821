#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/check.h"
#include "harness/base/search.h"

#include <string.h>

/* Items largest first, each into the bin with the least room that takes it (best fit), or with the
 * most (worst fit).  Bins are kept ascending by room, so that either is found at once. */
struct greedy_place {
    uint64_t room;
    uint32_t bin;
};

static void fill_places(const struct packing_sizes *sizes, struct greedy_place *places)
{
    for (size_t i = 0; i < sizes->bin_count; i++) {
        const size_t bin = sizes->bin_count - 1 - i;
        places[i] = (struct greedy_place){sizes->bins[bin], (uint32_t)bin};
    }
}

/* Moves place i, which has lost room, down to where it belongs. */
static void restore_order(struct greedy_place *places, size_t i)
{
    const struct greedy_place moved = places[i];
    for (; i > 0 && places[i - 1].room > moved.room; i--) {
        places[i] = places[i - 1];
    }
    places[i] = moved;
}

/* Places items from `first` on. */
static bool best_fit(const struct packing_sizes *sizes, struct greedy_place *places, size_t first)
{
    for (size_t i = first; i < sizes->item_count;) {
        const uint64_t size = sizes->items[i];
        const size_t end = packing_run_end(sizes->items, sizes->item_count, i);
        while (i < end) {
            size_t at;
            SEARCH_FIRST(at, 0, sizes->bin_count, places[at].room >= size);
            if (at == sizes->bin_count) {
                return false;
            }
            /* The tightest place takes the next equal items, too, while it has room. */
            for (; i < end && places[at].room >= size; i++) {
                places[at].room -= size;
                sizes->bin_of[i] = places[at].bin;
            }
            restore_order(places, at);
        }
    }
    return true;
}

static bool worst_fit(const struct packing_sizes *sizes, struct greedy_place *places)
{
    fill_places(sizes, places);
    const size_t last = sizes->bin_count - 1;
    for (size_t i = 0; i < sizes->item_count; i++) {
        if (places[last].room < sizes->items[i]) {
            return false;
        }
        places[last].room -= sizes->items[i];
        sizes->bin_of[i] = places[last].bin;
        restore_order(places, last);
    }
    return true;
}

bool packing_greedy(struct packing *packing)
{
    const struct packing_sizes *sizes = &packing->sizes;
    CHECK(sizes->bin_count > 0);
    struct greedy_place *places = packing_take(packing, sizes->bin_count, sizeof *places);
    fill_places(sizes, places);
    return best_fit(sizes, places, 0) || worst_fit(sizes, places);
}

bool packing_greedy_rest(struct packing *packing, size_t first)
{
    const struct packing_sizes *sizes = &packing->sizes;
    struct greedy_place *places = packing_take(packing, sizes->bin_count, sizeof *places);
    fill_places(sizes, places);
    for (size_t i = 0; i < first; i++) {
        struct greedy_place *place = &places[sizes->bin_count - 1 - sizes->bin_of[i]];
        CHECK(place->room >= sizes->items[i]);
        place->room -= sizes->items[i];
    }
    for (size_t i = 1; i < sizes->bin_count; i++) {
        restore_order(places, i);
    }
    return best_fit(sizes, places, first);
}
