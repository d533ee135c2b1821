/* Each piece of host memory is refused in turn: the call fails, says so, and changes nothing. */
#include "tests/helpers/suite.h"
#include "tests/kit/kit_world.h"

#include <string.h>

EVERY_TEST(.setup = world_begin, .teardown = world_close);

/* Counts what failed, and checks that it left the blocks as they were. */
static uint64_t failed_count;

static void note_result(enum target_result result, uint64_t count_before)
{
    if (result != TARGET_OK) {
        ck_assert_int_eq(result, TARGET_FAILED);
        ck_assert_uint_gt(strlen(kit_message(world.instance)), 0);
        ck_assert_uint_eq(world_stats().num_allocs, count_before);
        failed_count++;
    }
}

static void play_calls(void)
{
    for (uint64_t i = 0; i < WORLD_PLACE_COUNT; i++) {
        struct target_block block;
        const uint64_t count = world_stats().num_allocs;
        enum target_result result = world_alloc(&block);
        note_result(result, count);
        if (result != TARGET_OK) {
            continue;
        }
        result = kit_use(world.instance, block.handle, i + 1);
        note_result(result, count + 1);
        ck_assert_int_eq(kit_free(world.instance, block.handle, i + 8), TARGET_OK);
    }
}

TEST(each_refusal_fails_one_call)
{
    uint64_t refusal_count = 0;
    for (bool is_over = false; !is_over; refusal_count++) {
        world_begin();
        failed_count = 0;
        world.refused_at = refusal_count + 1;
        const enum target_result opened = world_open();
        if (opened != TARGET_OK) {
            ck_assert_int_eq(opened, TARGET_FAILED);
            ck_assert_uint_gt(strlen(world.reason), 0);
            continue;
        }
        play_calls();
        is_over = world.host_count < world.refused_at;
        ck_assert_uint_eq(failed_count, is_over ? 0 : 1);
        world_close();
    }
    /* Instance, state and slots; a record and a use for each of four blocks. */
    ck_assert_uint_eq(refusal_count, 3 + 2 * WORLD_PLACE_COUNT + 1);
}

static const char *open_refused(void *state, const struct kit_setup *setup)
{
    (void)state;
    return kit_host_alloc(setup->host, 10) == NULL ? "no host memory for the table" : NULL;
}

static uint64_t allocate_refused(void *state, uint64_t size, uint64_t align)
{
    (void)state;
    (void)size;
    (void)align;
    return KIT_NOTHING;
}

static void free_nothing(void *state, uint64_t offset, uint64_t size)
{
    (void)state;
    (void)offset;
    (void)size;
}

TEST(an_open_that_was_refused_memory_failed)
{
    static const struct kit_allocator refused = {
        .open = open_refused, .allocate_offset = allocate_refused, .free_offset = free_nothing};
    const struct target_setup setup = {.capacity_bytes = 1 << 20};
    world.refused_at = 2;
    ck_assert_int_eq(world_open_with(&refused, NULL, &setup), TARGET_FAILED);
    ck_assert_str_eq(world.reason, "no host memory for the table");
}

struct wasteful {
    struct kit_host *host;
};

static const char *open_wasteful(void *state, const struct kit_setup *setup)
{
    ((struct wasteful *)state)->host = setup->host;
    return NULL;
}

static uint64_t allocate_wasteful(void *state, uint64_t size, uint64_t align)
{
    const struct wasteful *made = state;
    void *memory = kit_host_alloc(made->host, 10);
    kit_host_free(made->host, memory, 10);
    (void)size;
    (void)align;
    return KIT_NOTHING;
}

TEST(an_allocation_that_was_refused_memory_failed)
{
    static const struct kit_allocator wasteful = {.state_bytes = sizeof(struct wasteful),
                                                  .open = open_wasteful,
                                                  .allocate_offset = allocate_wasteful,
                                                  .free_offset = free_nothing};
    const struct target_setup setup = {.capacity_bytes = 1 << 20};
    ck_assert_int_eq(world_open_with(&wasteful, NULL, &setup), TARGET_OK);
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
    world.refused_at = world.host_count + 2; /* the block's record comes first */
    ck_assert_int_eq(world_alloc(NULL), TARGET_FAILED);
    ck_assert_int_eq(world_alloc(NULL), TARGET_NO_MEMORY);
}
