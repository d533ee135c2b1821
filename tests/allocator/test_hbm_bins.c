/* Many holes of nearly one size: a request gets the smallest that takes it, however holes come and
 * go. */
#include <check.h>

#include "allocator/private/bins.h"
#include "allocator/private/state.h"
#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

/* Sizes in granules of one bin, which has the smallest of them in its list, as many as that has
 * room for, and all others in its trie. */
enum {
    LIST_COUNT = HBM_BIN_LIST_MAX,
    TRIE_COUNT = 200,
    PLACE_COUNT = LIST_COUNT + TRIE_COUNT,
    SIZE_MIN = 1 << 15,
    SIZE_COUNT = SIZE_MIN >> HBM_BIN_SHIFT,
    ROUND_COUNT = 1000
};

/* A hole, and what was put there. */
struct place {
    uint64_t address, granules;
    struct hbm_buffer *buffer; /* NULL: it is a hole */
};

static struct place places[PLACE_COUNT];
static struct hbm_buffer *take(struct hbm_rig *rig, uint64_t granules)
{
    struct hbm_buffer *buffer = NULL;
    const struct hbm_request request = {.size_bytes = granules * RIG_GRANULE};
    ck_assert_int_eq(hbm_allocate(rig->hbm, &request, &buffer), HBM_OK);
    return buffer;
}

/* Each place between two blocks that stay.  Half of the sizes are there more than once. */
static void begin_places(struct hbm_rig *rig)
{
    hbm_device_init(&rig->device, 0);
    hbm_options_init(&rig->options);
    rig->options.capacity_bytes = (uint64_t)(PLACE_COUNT + 1) * 2 * SIZE_MIN * RIG_GRANULE;
    rig->options.defrag = HBM_DEFRAG_NONE;
    rig_create(rig);
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        const uint64_t more = i % 2 == 0 ? draw_below(SIZE_COUNT)
                                         : draw_below(SIZE_COUNT / 16) * 16;
        places[i].granules = SIZE_MIN + (i < LIST_COUNT ? 0 : more);
        places[i].buffer = take(rig, places[i].granules);
        places[i].address = rig_at(rig, places[i].buffer);
        (void)take(rig, 1);
    }
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        hbm_free(rig->hbm, places[i].buffer);
        places[i].buffer = NULL;
    }
}

static struct place *find_place(uint64_t address)
{
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        if (address >= places[i].address &&
            address < places[i].address + places[i].granules * RIG_GRANULE) {
            return &places[i];
        }
    }
    return NULL;
}

/* The size of the smallest hole that takes so many granules; 0: none of the places does. */
static uint64_t find_smallest(uint64_t granules)
{
    uint64_t smallest = 0;
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        if (places[i].buffer == NULL && places[i].granules >= granules &&
            (smallest == 0 || places[i].granules < smallest)) {
            smallest = places[i].granules;
        }
    }
    return smallest;
}

static void put_somewhere(struct hbm_rig *rig)
{
    const uint64_t granules = SIZE_MIN + 1 + draw_below(SIZE_COUNT - 1);
    const uint64_t smallest = find_smallest(granules);
    struct hbm_buffer *buffer = take(rig, granules);
    struct place *place = find_place(rig_at(rig, buffer));
    if (smallest == 0) {
        ck_assert_ptr_null(place);
        hbm_free(rig->hbm, buffer);
        return;
    }
    ck_assert_ptr_nonnull(place);
    ck_assert_ptr_null(place->buffer);
    ck_assert_uint_eq(place->granules, smallest);
    place->buffer = buffer;
}

TEST(a_request_gets_the_smallest_of_many_holes_that_takes_it)
{
    struct hbm_rig rig;
    random_state = 1;
    begin_places(&rig);
    for (int round = 0; round < ROUND_COUNT; round++) {
        struct place *place = &places[draw_below(PLACE_COUNT)];
        if (place->buffer == NULL) {
            put_somewhere(&rig);
        } else {
            hbm_free(rig.hbm, place->buffer);
            place->buffer = NULL;
        }
        if (round % 8 == 0) {
            ck_assert(hbm_invariants_hold(rig.hbm));
        }
    }
    rig_stop(&rig);
}

/* What lies behind the last block that stays is made full, so that the places are all there is. */
TEST(the_largest_of_many_holes_is_found)
{
    struct hbm_rig rig;
    random_state = 2;
    begin_places(&rig);
    const struct hbm_heap *heap = &rig.hbm->heap;
    const uint32_t rest = hbm_bins_largest(heap);
    ck_assert_uint_gt(hbm_heap_at(heap, rest)->size_bytes, 2 * (uint64_t)SIZE_MIN * RIG_GRANULE);
    (void)take(&rig, hbm_heap_at(heap, rest)->size_bytes / RIG_GRANULE);
    for (int count = 0; count < TRIE_COUNT; count++) {
        uint64_t largest = 0;
        for (size_t i = 0; i < PLACE_COUNT; i++) {
            largest = places[i].buffer == NULL && places[i].granules > largest ? places[i].granules
                                                                               : largest;
        }
        const uint32_t found = hbm_bins_largest(heap);
        ck_assert_uint_eq(hbm_heap_at(heap, found)->size_bytes, largest * RIG_GRANULE);
        ck_assert_uint_eq(hbm_bins_find(heap, (largest + 1) * RIG_GRANULE), HBM_POOL_NONE);
        struct hbm_buffer *buffer = take(&rig, largest);
        struct place *place = find_place(rig_at(&rig, buffer));
        ck_assert_uint_eq(place->granules, largest);
        place->buffer = buffer;
    }
    rig_stop(&rig);
}

/* Holes of few granules have a bin of their size alone: its trie is one ring. */
TEST(any_number_of_small_holes_of_one_size_is_found)
{
    enum { COUNT = 2 * HBM_BIN_LIST_MAX };
    struct hbm_rig rig;
    struct hbm_buffer *buffers[COUNT];
    rig_start(&rig, 4 * COUNT, HBM_DEFRAG_NONE);
    for (size_t i = 0; i < COUNT; i++) {
        buffers[i] = rig_buffer(&rig, 3);
        (void)rig_buffer(&rig, 1);
    }
    for (size_t i = 0; i < COUNT; i++) {
        hbm_free(rig.hbm, buffers[i]);
        ck_assert(hbm_invariants_hold(rig.hbm));
    }
    for (size_t i = 0; i < COUNT; i++) {
        (void)rig_buffer(&rig, 3);
    }
    ck_assert_uint_eq(hbm_bins_largest(&rig.hbm->heap), HBM_POOL_NONE);
    rig_stop(&rig);
}
