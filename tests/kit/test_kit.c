/* When a block goes, what an allocation awaits, and what handles, rows and options mean. */
#include "tests/helpers/suite.h"
#include "tests/kit/kit_world.h"

#include <string.h>

EVERY_TEST(.setup = world_begin, .teardown = world_close);

static void open_world(void)
{
    ck_assert_int_eq(world_open(), TARGET_OK);
}

static void ck_free(uint64_t handle, uint64_t event)
{
    ck_assert_int_eq(kit_free(world.instance, handle, event), TARGET_OK);
}

static void ck_use(uint64_t handle, uint64_t event)
{
    ck_assert_int_eq(kit_use(world.instance, handle, event), TARGET_OK);
}

/* --- when a block goes --- */

TEST(a_queued_free_goes_when_its_event_is_done)
{
    open_world();
    ck_free(world_take(), 1);
    ck_assert_uint_eq(world_stats().num_allocs, 1);
    ck_assert_uint_eq(world.free_count, 0);
    world_complete(1);
    ck_assert_uint_eq(world_stats().num_allocs, 0);
    ck_assert_uint_eq(world.free_count, 1);
    ck_free(world_take(), 1); /* done already */
    ck_assert_uint_eq(world.free_count, 2);
}

TEST(a_freed_block_goes_with_the_last_of_its_uses_and_holds)
{
    open_world();
    const uint64_t handle = world_take();
    ck_use(handle, 1);
    ck_use(handle, 2);
    ck_assert_int_eq(kit_hold(world.instance, handle), TARGET_OK);
    ck_assert_int_eq(kit_hold(world.instance, handle), TARGET_OK);
    ck_free(handle, 3);
    world_complete(3);
    world_complete(1);
    ck_assert_int_eq(kit_release(world.instance, handle), TARGET_OK);
    ck_assert_uint_eq(world_stats().num_allocs, 1);
    world_complete(2);
    ck_assert_uint_eq(world_stats().num_allocs, 1);
    ck_assert_int_eq(kit_release(world.instance, handle), TARGET_OK);
    ck_assert_uint_eq(world.free_count, 1);
    ck_assert_int_eq(kit_release(world.instance, handle), TARGET_INVALID);
}

TEST(what_completes_behind_the_look_is_seen)
{
    open_world();
    ck_free(world_take(), 1);
    ck_free(world_take(), 2);
    world.jumps_at = 2; /* when 1 has been asked for */
    world.jumps_to = 1;
    world_complete(3);
    ck_assert_uint_eq(world_stats().num_allocs, 1);
    world_complete(2);
}

TEST(close_gives_back_what_is_live_held_used_and_queued)
{
    open_world();
    const uint64_t handle = world_take();
    ck_use(handle, 1);
    ck_assert_int_eq(kit_hold(world.instance, handle), TARGET_OK);
    ck_free(world_take(), 2);
    world_take();
    world_close();
    ck_assert_uint_eq(world.free_count, 3);
}

/* --- what an allocation awaits --- */

TEST(an_allocation_awaits_queued_frees_and_nothing_else)
{
    open_world();
    const uint64_t used = world_take(), held = world_take(), lost = world_take();
    ck_use(used, 1);
    ck_assert_int_eq(kit_hold(world.instance, held), TARGET_OK);
    ck_free(held, 2);
    ck_free(lost, 3);
    world.is_lost[3] = true;
    ck_free(world_take(), 4);
    ck_assert_int_eq(world_alloc(NULL), TARGET_OK);
    ck_assert(world.is_done[4] && !world.is_done[1] && !world.is_done[2]);
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
    const uint64_t waited = world.wait_count;
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
    ck_assert_uint_eq(world.wait_count, waited); /* what is lost is awaited once */
    ck_assert_int_eq(strncmp(kit_message(world.instance), "RESOURCE_EXHAUSTED", 18), 0);
    world_complete(3); /* and still seen when it is done */
    ck_assert_int_eq(world_alloc(NULL), TARGET_OK);
}

TEST(what_was_lost_and_is_done_no_longer_keeps_others_from_being_awaited)
{
    open_world();
    for (int i = 1; i < WORLD_PLACE_COUNT; i++) {
        world_take();
    }
    const uint64_t handle = world_take();
    ck_use(handle, 1);
    ck_free(handle, 2);
    world.is_lost[1] = true;
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
    ck_assert(!world.is_done[2]);
    world_complete(1);
    ck_assert_int_eq(world_alloc(NULL), TARGET_OK);
    ck_assert(world.is_done[2]);
}

TEST(an_allocation_asks_again_when_something_completed_while_it_asked)
{
    open_world();
    const uint64_t lost = world_take();
    for (int i = 1; i < WORLD_PLACE_COUNT; i++) {
        world_take();
    }
    ck_free(lost, 1);
    world.is_lost[1] = true;
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
    world.completes_in_allocate = 1;
    ck_assert_int_eq(world_alloc(NULL), TARGET_OK);
}

TEST(a_refused_wait_fails_the_allocation)
{
    open_world();
    for (uint64_t i = 1; i <= WORLD_PLACE_COUNT; i++) {
        ck_free(world_take(), i);
    }
    world.refuses_waits = true;
    ck_assert_int_eq(world_alloc(NULL), TARGET_FAILED);
    ck_assert_uint_eq(world_stats().num_allocs, WORLD_PLACE_COUNT);
}

/* --- handles --- */

TEST(the_handle_of_a_block_that_went_means_nothing)
{
    struct target_block block;
    open_world();
    const uint64_t old = world_take();
    ck_free(old, 0);
    const uint64_t fresh = world_take();
    ck_assert_uint_ne(old, fresh);
    ck_assert_int_eq(kit_free(world.instance, old, 0), TARGET_INVALID);
    ck_assert_int_eq(kit_use(world.instance, old, 1), TARGET_INVALID);
    ck_assert_int_eq(kit_hold(world.instance, old), TARGET_INVALID);
    ck_assert_int_eq(kit_locate(world.instance, old, &block), TARGET_INVALID);
    ck_assert_int_eq(kit_locate(world.instance, 0, &block), TARGET_INVALID);
    ck_free(fresh, 1);
    ck_assert_int_eq(kit_free(world.instance, fresh, 0), TARGET_INVALID); /* dying */
    ck_assert_int_eq(kit_use(world.instance, fresh, 2), TARGET_INVALID);
    ck_assert_int_eq(kit_hold(world.instance, fresh), TARGET_INVALID);
    ck_assert_int_eq(kit_locate(world.instance, fresh, &block), TARGET_OK);
}

TEST(a_donation_keeps_the_place_and_the_uses)
{
    struct target_block block;
    const struct target_request request = {.id = 2, .size_bytes = 50, .kind = BLOCK_OUTPUT};
    const struct target_request large = {.id = 3, .size_bytes = WORLD_PLACE_BYTES + 1};
    open_world();
    world_take();
    const uint64_t old = world_take();
    ck_use(old, 1);
    ck_assert_int_eq(kit_donate(world.instance, old, &large, &block), TARGET_INVALID);
    ck_assert_int_eq(kit_donate(world.instance, old, &request, &block), TARGET_OK);
    ck_assert_uint_eq(block.address, WORLD_PLACE_BYTES);
    ck_assert_uint_eq(block.size_bytes, WORLD_PLACE_BYTES);
    ck_assert_int_eq(kit_free(world.instance, old, 0), TARGET_INVALID);
    ck_free(block.handle, 0);
    ck_assert_uint_eq(world_stats().num_allocs, 2);
    world_complete(1);
    ck_assert_uint_eq(world_stats().num_allocs, 1);
}

TEST(a_request_that_can_never_be_right_is_invalid)
{
    static const struct target_request wrong[] = {
        {.size_bytes = 0},
        {.size_bytes = (UINT64_C(1) << 63) + 1},
        {.size_bytes = 1, .align_bytes = 3},
        {.size_bytes = 1, .align_bytes = UINT64_C(1) << 22},
    };
    struct target_block block;
    open_world();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(kit_alloc(world.instance, &wrong[i], &block), TARGET_INVALID);
        ck_assert_uint_gt(strlen(kit_message(world.instance)), 0);
    }
    const struct target_request huge = {.size_bytes = UINT64_C(1) << 63};
    ck_assert_int_eq(kit_alloc(world.instance, &huge, &block), TARGET_NO_MEMORY);
}

/* --- memory that goes bad --- */

static bool reserve_place(void *state, uint64_t offset, uint64_t size)
{
    (void)state;
    ck_assert_uint_eq(size, WORLD_PLACE_BYTES);
    ck_assert(!world.is_taken[offset / WORLD_PLACE_BYTES]);
    if (world.refuses_regions) {
        return false;
    }
    world.is_taken[offset / WORLD_PLACE_BYTES] = true;
    return true;
}

TEST(a_range_that_is_retired_is_a_block_for_good)
{
    open_world();
    ck_assert_int_eq(kit_retire(world.instance, 0, WORLD_PLACE_BYTES), TARGET_INVALID);
    world_close();
    ck_assert_int_eq(world_open_places(reserve_place), TARGET_OK);
    world.refuses_regions = true;
    ck_assert_int_eq(kit_retire(world.instance, WORLD_PLACE_BYTES, WORLD_PLACE_BYTES),
                     TARGET_FAILED);
    ck_assert_uint_eq(world_stats().num_allocs, 0);
    world.refuses_regions = false;
    ck_free(world_take(), 1);
    world_complete(1); /* its place is free before the kit has looked */
    ck_assert_int_eq(kit_retire(world.instance, 0, WORLD_PLACE_BYTES), TARGET_OK);
    ck_assert_uint_eq(world_stats().num_allocs, 1);
    ck_assert_uint_eq(world_stats().largest_free_block_bytes, 3 * WORLD_PLACE_BYTES);
    for (int i = 1; i < WORLD_PLACE_COUNT; i++) {
        world_take();
    }
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
}

/* --- opening --- */

static uint64_t bump(void *state, uint64_t size, uint64_t align)
{
    uint64_t *next = state;
    const uint64_t offset = (*next + align - 1) & ~(align - 1);
    *next = offset + size;
    return offset;
}

static void keep(void *state, uint64_t offset, uint64_t size)
{
    (void)state;
    (void)offset;
    (void)size;
}

static const char *open_fit(void *state, const struct kit_setup *setup)
{
    *(uint64_t *)state = kit_option_is(setup, "fit", "best") ? 1024 : 0;
    ck_assert(kit_option_is(setup, "fit", "first") != kit_option_is(setup, "fit", "best"));
    const char *limit = kit_option(setup, "limit");
    ck_assert(limit == NULL || strcmp(limit, "12") == 0);
    return kit_option_is(setup, "fit", "best") && limit != NULL ? "best has no limit" : NULL;
}

static const struct kit_allocator bumping = {.state_bytes = sizeof(uint64_t),
                                             .open = open_fit,
                                             .granule_bytes = 256,
                                             .is_granule_fixed = true,
                                             .allocate_offset = bump,
                                             .free_offset = keep};
static const char fit_help[] = "fit=first|best\nlimit=<bytes>\n";

static void ck_options(const struct target_option *options, uint32_t count,
                       enum target_result result, const char *reason)
{
    const struct target_setup setup = {
        .capacity_bytes = 1 << 20, .options = options, .option_count = count};
    ck_assert_int_eq(world_open_with(&bumping, fit_help, &setup), result);
    ck_assert_str_eq(world.reason, reason);
    if (result == TARGET_OK) {
        ck_assert_uint_eq(world.contract.granule_bytes, 256);
        world_close();
    }
}

TEST(options_are_those_of_the_help)
{
    ck_options(NULL, 0, TARGET_OK, "");
    ck_options(&(struct target_option){"fit", "best"}, 1, TARGET_OK, "");
    ck_options(&(struct target_option){"limit", "12"}, 1, TARGET_OK, "");
    ck_options(&(struct target_option){"fit", "worst"}, 1, TARGET_INVALID,
               "option fit: 'worst' is none of first|best");
    ck_options(&(struct target_option){"fit", "firs"}, 1, TARGET_INVALID,
               "option fit: 'firs' is none of first|best");
    ck_options(&(struct target_option){"fit", "firstly"}, 1, TARGET_INVALID,
               "option fit: 'firstly' is none of first|best");
    ck_options(&(struct target_option){"fi", "best"}, 1, TARGET_INVALID,
               "unknown option 'fi'; valid options: fit=first|best, limit=<bytes>");
    const struct target_option both[] = {{"fit", "best"}, {"limit", "12"}};
    ck_options(both, 2, TARGET_INVALID, "best has no limit");
}

TEST(a_granule_that_cannot_be_had_is_refused)
{
    struct target_setup setup = {.capacity_bytes = 1 << 20, .granule_bytes = 512};
    ck_assert_int_eq(world_open_with(&bumping, NULL, &setup), TARGET_INVALID);
    setup.granule_bytes = 0;
    setup.capacity_bytes = 1000;
    ck_assert_int_eq(world_open_with(&bumping, NULL, &setup), TARGET_INVALID);
}

TEST(an_allocator_without_its_two_calls_is_refused)
{
    static const struct kit_allocator lacking[] = {
        {.allocate_offset = bump}, {.free_offset = keep}, {.state_bytes = 8}};
    const struct target_setup setup = {.capacity_bytes = 1 << 20};
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        ck_assert_int_eq(world_open_with(&lacking[i], NULL, &setup), TARGET_INVALID);
        ck_assert_ptr_nonnull(strstr(world.reason, "lacks allocate_offset and free_offset"));
    }
}

TEST(an_allocator_that_reserves_has_offsets_and_no_headers)
{
    static const struct kit_allocator headed = {.allocate_offset = bump,
                                                .free_offset = keep,
                                                .reserve_offset = reserve_place,
                                                .header_bytes = 512};
    const struct target_setup setup = {.capacity_bytes = 1 << 20};
    ck_assert_int_eq(world_open_with(&headed, NULL, &setup), TARGET_INVALID);
    ck_assert_ptr_nonnull(strstr(world.reason, "needs allocate_offset and no headers"));
}

/* --- pointers --- */

struct region_state {
    char *region;
    uint64_t next;
};

static const char *open_region(void *state, const struct kit_setup *setup)
{
    *(struct region_state *)state = (struct region_state){.region = setup->arena};
    ck_assert_uint_eq((uintptr_t)setup->arena % (UINT64_C(1) << 26), 0);
    memset(setup->arena, 1, 1);
    memset((char *)setup->arena + setup->capacity_bytes - 1, 1, 1);
    return NULL;
}

static void *allocate_pointer(void *state, uint64_t size, uint64_t align)
{
    struct region_state *made = state;
    ck_assert_uint_eq(align, 4096);
    char *pointer = made->region + made->next;
    made->next += size;
    return pointer;
}

static void free_pointer(void *state, void *pointer, uint64_t size)
{
    struct region_state *made = state;
    made->next -= size;
    ck_assert_ptr_eq(pointer, made->region + made->next);
    world.free_count++;
}

TEST(pointers_are_told_as_offsets_into_the_arena)
{
    static const struct kit_allocator pointers = {.state_bytes = sizeof(struct region_state),
                                                  .arena = {.align_bytes = UINT64_C(1) << 26},
                                                  .open = open_region,
                                                  .allocate = allocate_pointer,
                                                  .free = free_pointer};
    const struct target_setup setup = {.capacity_bytes = UINT64_C(1) << 30, .granule_bytes = 4096};
    struct target_block block;
    ck_assert_int_eq(world_open_with(&pointers, NULL, &setup), TARGET_OK);
    ck_assert_int_eq(world_alloc(&block), TARGET_OK);
    ck_assert_uint_eq(block.address, 0);
    ck_assert_int_eq(world_alloc(&block), TARGET_OK);
    ck_assert_uint_eq(block.address, 4096);
    ck_free(block.handle, 0);
    ck_assert_uint_eq(world.free_count, 1);
    world_close();
    ck_assert_uint_eq(world.free_count, 2);
}

/* --- rows --- */

struct rows {
    struct target_row row[200];
    size_t count;
};

static void note_row(void *context, const struct target_row *row)
{
    struct rows *rows = context;
    rows->row[rows->count++] = *row;
}

TEST(rows_come_largest_first_each_block_once)
{
    static struct rows rows;
    const struct target_setup setup = {.capacity_bytes = UINT64_C(1) << 30};
    struct target_block block;
    uint64_t sum = 0;
    ck_assert_int_eq(world_open_with(&bumping, fit_help, &setup), TARGET_OK);
    for (uint64_t i = 0; i < 150; i++) {
        const struct target_request request = {.size_bytes = 1 + i * 7919 % 51200,
                                               .tag = (uint32_t)i};
        ck_assert_int_eq(kit_alloc(world.instance, &request, &block), TARGET_OK);
        sum += i;
    }
    kit_report(world.instance, note_row, &rows);
    ck_assert_uint_eq(rows.count, 150);
    for (size_t i = 0; i < rows.count; i++) {
        ck_assert(i == 0 || rows.row[i].size_bytes <= rows.row[i - 1].size_bytes);
        sum -= rows.row[i].tag;
    }
    ck_assert_uint_eq(sum, 0);
    ck_assert_uint_eq(world_stats().largest_alloc_size, rows.row[0].size_bytes);
}
