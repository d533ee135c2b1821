/* What the kit does for an allocator over one arena: what it maps, how it counts headers and size
 * classes, and the calls that KIT_HEAP makes. */
#include "harness/op/rounding.h"
#include "kit/private/instance.h"
#include "tests/helpers/suite.h"
#include "tests/kit/kit_world.h"

#include <string.h>

/* --- an allocator that gives out its arena from the start, and never takes back --- */

enum { GRANULE = 64, FRONT = 48, BACK = 24, HEADER = 16, CAPACITY = 104 * GRANULE };

struct pile {
    char *arena;
    uint64_t next, asked, freed_bytes;
    const void *freed, *measured;
};
static struct pile *pile;

static struct pile *create(const struct kit_setup *setup)
{
    pile = kit_records(setup, sizeof *pile);
    if (pile != NULL) {
        *pile = (struct pile){.arena = setup->arena,
                              .next = setup->arena_bytes - setup->capacity_bytes - BACK};
        memset(setup->arena, 1, setup->arena_bytes);
    }
    return pile;
}

static void *take(struct pile *from, size_t bytes)
{
    from->asked = bytes;
    char *pointer = from->arena + from->next + HEADER;
    from->next += HEADER + bytes;
    return pointer;
}

static void give(struct pile *to, void *pointer)
{
    to->freed = pointer;
}

KIT_HEAP(create, take, give);

static uint64_t measure(void *state, uint64_t place, uint64_t size_bytes)
{
    struct pile *made = *(struct pile **)state;
    made->measured = (const void *)(uintptr_t)place;
    return size_bytes + HEADER;
}

#define PILE                                                                                       \
    KIT_HEAP_CALLS, .granule_bytes = GRANULE, .arena = {.front_bytes = FRONT, .back_bytes = BACK}, \
                    .header_bytes = HEADER

EVERY_TEST(.setup = world_begin, .teardown = world_close);

static const struct target_setup setup = {.capacity_bytes = CAPACITY};

static enum target_result open_pile(const struct kit_allocator *allocator)
{
    return world_open_with(allocator, NULL, &setup);
}

static struct target_block take_block(uint64_t size_bytes)
{
    struct target_block block = {0};
    const struct target_request request = {.id = 1, .size_bytes = size_bytes};
    ck_assert_int_eq(kit_alloc(world.instance, &request, &block), TARGET_OK);
    return block;
}

TEST(addresses_count_from_behind_the_front)
{
    static const struct kit_allocator allocator = {PILE, .rounding.overhead_bytes = HEADER};
    ck_assert_int_eq(open_pile(&allocator), TARGET_OK);
    const uintptr_t first = (uintptr_t)pile->arena + FRONT;
    ck_assert_uint_eq(first % (1 << 21), 0);
    ck_assert_uint_eq(world.contract.header_bytes, HEADER);
    struct target_block block = take_block(100);
    ck_assert_uint_eq(pile->asked, 128);
    ck_assert_uint_eq(block.address, HEADER);
    ck_assert_uint_eq(block.size_bytes, 128 + HEADER);
    ck_assert_int_eq(kit_free(world.instance, block.handle, 0), TARGET_OK);
    ck_assert_ptr_eq(pile->freed, (const char *)first + HEADER);
}

TEST(a_header_in_the_request_is_no_header_of_the_contract)
{
    static const struct kit_allocator allocator = {PILE, .header_in_request = true};
    ck_assert_int_eq(open_pile(&allocator), TARGET_OK);
    ck_assert_uint_eq(world.contract.header_bytes, 0);
    take_block(64);
    const struct target_block block = take_block(100);
    ck_assert_uint_eq(pile->asked, 128 - HEADER);
    ck_assert_uint_eq(block.address, 64);
    ck_assert_uint_eq(block.size_bytes, 128);
    ck_assert_uint_eq(world_stats().largest_free_block_bytes, CAPACITY - 192);
    ck_assert_int_eq(kit_free(world.instance, block.handle, 0), TARGET_OK);
    ck_assert_ptr_eq(pile->freed, pile->arena + FRONT + 64 + HEADER);
}

TEST(a_block_is_measured_at_the_pointer_that_was_returned)
{
    static const struct kit_allocator allocator = {PILE, .header_in_request = true,
                                                   .block_bytes = measure};
    ck_assert_int_eq(open_pile(&allocator), TARGET_OK);
    const struct target_block block = take_block(100);
    ck_assert_ptr_eq(pile->measured, pile->arena + FRONT + HEADER);
    ck_assert_uint_eq(block.size_bytes, 128);
}

TEST(a_block_takes_its_whole_class_where_the_allocator_says_so)
{
    static const struct kit_allocator allocator = {
        PILE, .header_in_request = true, .takes_class = true, .rounding = {ROUNDING_CLASSES, 1}};
    ck_assert_int_eq(open_pile(&allocator), TARGET_OK);
    const struct target_block block = take_block(190);
    ck_assert_uint_eq(pile->asked, 192 - HEADER);
    ck_assert_uint_eq(block.size_bytes, 256);
}

static const char *open_late(void *state, const struct kit_setup *given)
{
    given->contract->placement = PLACEMENT_HIDDEN;
    given->contract->thread_safe = world.jumps_at == 1;
    return kit_heap_open(state, given);
}

static void close_late(void *state)
{
    ck_assert_ptr_eq(*(void **)state, pile);
    world.free_count++;
}

TEST(what_does_not_go_together_is_refused)
{
    static const struct kit_allocator large = {.header_bytes = GRANULE,
                                               .granule_bytes = GRANULE,
                                               .header_in_request = true,
                                               .allocate = kit_heap_allocate,
                                               .free = kit_heap_free};
    static const struct kit_allocator own = {
        .allocate = kit_heap_allocate, .free = kit_heap_free, .arena = {.is_own = true}};
    static const struct kit_allocator hidden = {.state_bytes = sizeof(void *),
                                                .arena.back_bytes = BACK,
                                                .header_bytes = HEADER,
                                                .header_in_request = true,
                                                .open = open_late,
                                                .close = close_late,
                                                .allocate = kit_heap_allocate,
                                                .free = kit_heap_free};
    ck_assert_int_eq(open_pile(&large), TARGET_INVALID);
    ck_assert_str_eq(world.reason, "a header in the request needs to be less than the granule");
    ck_assert_int_eq(open_pile(&hidden), TARGET_INVALID);
    ck_assert_str_eq(world.reason, "a header in the request needs ranges");
    ck_assert_uint_eq(world.free_count, 1);
    world.jumps_at = 1;
    ck_assert_int_eq(world_open_with(&hidden, NULL, &setup), TARGET_INVALID);
    ck_assert_ptr_nonnull(strstr(world.reason, "leave thread_safe out"));
    ck_assert_uint_eq(world.free_count, 2);
    ck_assert_int_eq(open_pile(&own), TARGET_INVALID);
    ck_assert_str_eq(world.reason,
                     "a plug-in of ranges that returns pointers needs the kit's arena");
}

TEST(records_that_are_refused_fail_the_open)
{
    static const struct kit_allocator allocator = {PILE, .rounding.overhead_bytes = HEADER};
    world.refused_at = 3; /* behind the instance and the state */
    ck_assert_int_eq(world_open_with(&allocator, NULL, &setup), TARGET_FAILED);
    ck_assert_str_eq(world.reason, "the heap cannot be created");
}

TEST(an_arena_that_is_too_large_is_refused)
{
    static const struct kit_allocator allocator = {KIT_HEAP_CALLS,
                                                   .arena.front_bytes = UINT64_MAX - 100};
    ck_assert_int_eq(open_pile(&allocator), TARGET_INVALID);
    ck_assert_str_eq(world.reason, "no address space for the arena");
}

/* --- size classes --- */

TEST(classes_are_those_of_the_page_on_promises)
{
    static const struct {
        struct target_rounding rounding;
        uint64_t granule_bytes, size_bytes, class_bytes;
    } cases[] = {
        {{ROUNDING_GRANULE, 0, 0, 0}, 512, 513, 1024},
        {{ROUNDING_CLASSES, 1, 0, 0}, 512, 1025, 2048},
        {{ROUNDING_CLASSES, 1, 0, 0}, 512, 1024, 1024},
        {{ROUNDING_CLASSES, 1, 65536, 0}, 512, 1, 65536},
        {{ROUNDING_CLASSES, 4, 0, 0}, 16, 129, 160},
        {{ROUNDING_CLASSES, 8, 0, 0}, 1, 118, 120},
        {{ROUNDING_CLASSES, 8, 0, 0}, 512, 9500, 10240},
        {{ROUNDING_CLASSES, 64, 0, 0}, 1, 2, 2},
        {{ROUNDING_CLASSES, 1, 0, 0}, 1, UINT64_C(1) << 63, UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_uint_eq(
            kit_class_bytes(&cases[i].rounding, cases[i].granule_bytes, cases[i].size_bytes),
            cases[i].class_bytes);
    }
}

TEST(a_class_is_the_most_that_the_harness_allows)
{
    for (uint32_t steps = 1; steps <= 64; steps *= 2) {
        const struct target_rounding rounding = {ROUNDING_CLASSES, steps, 0, 0};
        for (uint64_t size = 1; size <= 5000; size++) {
            for (uint64_t granule = 1; granule <= 512; granule *= 8) {
                const uint64_t whole = (size + granule - 1) / granule * granule;
                ck_assert_uint_eq(kit_class_bytes(&rounding, granule, whole),
                                  rounding_bytes_max(&rounding, granule, size));
            }
        }
    }
}
