/* The mutator: what it makes depends on its arguments alone, fits where it must, and bytes can say
 * it. */
#include "fuzz/mutate/mutate.h"
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 8000, SEED_COUNT = 500 };

static struct mutator *mutator;
static struct input again;

static void set_up(void)
{
    mutator = mutator_create();
    known_set_up();
    input_init(&again);
}

static void tear_down(void)
{
    mutator_destroy(mutator);
    known_tear_down();
    input_deinit(&again);
}

static bool is_same_input(const struct input *a, const struct input *b)
{
    const size_t length = input_encode(a, NULL, 0);
    if (length != input_encode(b, NULL, 0)) {
        return false;
    }
    uint8_t *bytes = malloc(2 * length);
    ck_assert_ptr_nonnull(bytes);
    (void)input_encode(a, bytes, length);
    (void)input_encode(b, bytes + length, length);
    const bool is_same = memcmp(bytes, bytes + length, length) == 0;
    free(bytes);
    return is_same;
}

/* Through bytes and back. */
static void decode_again(const struct input *input)
{
    const size_t length = input_encode(input, NULL, 0);
    uint8_t *bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    (void)input_encode(input, bytes, length);
    input_decode(bytes, length, &again);
    free(bytes);
}

EVERY_TEST(.setup = set_up, .teardown = tear_down);

TEST(names_of_edits_are_unique_and_each_is_drawn)
{
    size_t count = 0;
    for (size_t i = 0; edit_tables[i] != NULL; i++) {
        for (const struct edit *edit = edit_tables[i]; edit->name != NULL; edit++) {
            ck_assert_ptr_eq(edit_find(edit->name), edit);
            ck_assert_uint_gt(edit->weight, 0);
            count++;
        }
    }
    ck_assert_uint_gt(count, 30);
    ck_assert_ptr_null(edit_find("no such edit"));
}

/* What no bytes say would be another input when it is read again, and a wide op for nothing. */
TEST(bytes_can_say_what_every_edit_makes)
{
    before.lane_count = 2;
    input_set_choice_count(&before, 8);
    for (size_t i = 0; edit_tables[i] != NULL; i++) {
        for (const struct edit *edit = edit_tables[i]; edit->name != NULL; edit++) {
            for (uint64_t seed = 1; seed <= EDIT_SEEDS / 4; seed++) {
                if (edit_copy(edit->name, &before, &other, seed, &after)) {
                    size_t at = 0;
                    decode_again(&after);
                    ck_assert_msg(is_same_input(&after, &again) &&
                                      differing_ops(&after.ops, &again.ops, &at) == 0,
                                  "%s, seed %d: op %zu", edit->name, (int)seed, at);
                }
            }
        }
    }
}

static const struct {
    const char *name;
    const char *option; /* NULL: another part of the header */
} header_edits[] = {{"defrag", "defrag"},
                    {"order", "order"},
                    {"program_evicts", "program_evicts_program"},
                    {"message_code", "message_code"},
                    {"capacity", NULL},
                    {"granule", NULL},
                    {"seed", NULL},
                    {"fault_kinds", NULL},
                    {"hosts", NULL},
                    {"lanes", NULL}};

TEST(an_edit_of_the_header_changes_that_field_and_keeps_the_ops,
     .to = sizeof header_edits / sizeof header_edits[0])
{
    const char *name = header_edits[_i].name;
    const char *option = header_edits[_i].option;
    size_t changed_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy(name, &before, NULL, seed, &after));
        const bool is_changed = option != NULL ? setup_option(&after.setup, option) != NULL
                                : strcmp(name, "capacity") == 0
                                    ? after.setup.capacity_bytes != before.setup.capacity_bytes
                                : strcmp(name, "granule") == 0
                                    ? after.setup.granule_bytes != before.setup.granule_bytes
                                : strcmp(name, "seed") == 0 ? after.setup.seed != before.setup.seed
                                : strcmp(name, "fault_kinds") == 0
                                    ? after.faults.kinds != before.faults.kinds
                                : strcmp(name, "hosts") == 0 ? after.setup.host_count > 1
                                                             : after.lane_count > 1;
        changed_count += is_changed;
        if (strcmp(name, "granule") == 0) {
            ck_assert_uint_eq(after.setup.capacity_bytes / after.setup.granule_bytes,
                              before.setup.capacity_bytes / 512);
        }
        ck_assert(known_are_in_order(&before.ops, &after.ops));
        ck_assert_uint_eq(before.ops.count, after.ops.count);
    }
    ck_assert_uint_gt(changed_count, EDIT_SEEDS / 2);
}

TEST(lanes_and_schedules_are_edited_where_there_are_lanes)
{
    static const char *const names[] = {"lane", "choices", "more_choices"};
    input_set_choice_count(&before, 8);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(!edit_copy(names[i], &before, NULL, 1, &after));
    }
    before.lane_count = 4;
    size_t changed_counts[3] = {0};
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        size_t at = 0;
        ck_assert(edit_copy("lane", &before, NULL, seed, &after));
        changed_counts[0] += differing_ops(&before.ops, &after.ops, &at) > 0;
        ck_assert(edit_copy("choices", &before, NULL, seed, &after));
        changed_counts[1] += after.choice_count == 8 &&
                             memcmp(after.choices, before.choices, 8) != 0;
        ck_assert(edit_copy("more_choices", &before, NULL, seed, &after));
        changed_counts[2] += after.choice_count > 8 &&
                             memcmp(after.choices, before.choices, 8) == 0;
    }
    ck_assert_uint_gt(changed_counts[0], EDIT_SEEDS / 2);
    ck_assert_uint_gt(changed_counts[1], EDIT_SEEDS / 2);
    ck_assert_uint_eq(changed_counts[2], EDIT_SEEDS);
}

TEST(a_seed_gives_the_same_change_again_whatever_came_between)
{
    struct mutator *fresh = mutator_create();
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        input_copy(&after, &before);
        input_copy(&again, &before);
        mutator_change(mutator, &after, BYTES_MAX, seed);
        mutator_change(fresh, &again, BYTES_MAX, seed);
        ck_assert(is_same_input(&after, &again));
        mutator_cross(mutator, &before, &other, BYTES_MAX, seed, &after);
        mutator_change(fresh, &again, BYTES_MAX, seed + 1);
        mutator_cross(fresh, &before, &other, BYTES_MAX, seed, &again);
        ck_assert(is_same_input(&after, &again));
    }
    mutator_destroy(fresh);
}

TEST(nearly_every_seed_changes_the_input_and_no_two_alike)
{
    size_t same_count = 0;
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        input_copy(&after, &before);
        mutator_change(mutator, &after, BYTES_MAX, seed);
        same_count += is_same_input(&after, &before);
        same_count += seed > 1 && is_same_input(&after, &again);
        input_copy(&again, &after);
    }
    ck_assert_uint_lt(same_count, SEED_COUNT / 20);
}

TEST(what_is_made_fits_into_as_many_bytes_as_there_are)
{
    static const size_t bounds[] = {
        INPUT_HEADER_BYTES, INPUT_HEADER_BYTES + 1, 40, 41, 100, 300, 1000, BYTES_MAX};
    before.lane_count = 3;
    input_set_choice_count(&before, 50);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
            input_copy(&after, &before);
            mutator_change(mutator, &after, bounds[i], seed);
            ck_assert_uint_le(input_encode(&after, NULL, 0), bounds[i]);
            mutator_cross(mutator, &before, &other, bounds[i], seed, &after);
            ck_assert_uint_le(input_encode(&after, NULL, 0), bounds[i]);
        }
    }
}

TEST(lists_grow_but_not_beyond_all_bounds)
{
    size_t longest = 0;
    input_copy(&after, &before);
    for (uint64_t seed = 1; seed <= 2 * SEED_COUNT; seed++) {
        mutator_change(mutator, &after, SIZE_MAX / 2, seed);
        ck_assert_uint_le(after.ops.count, MUTATE_OP_COUNT_MAX);
        longest = longest > after.ops.count ? longest : after.ops.count;
    }
    ck_assert_uint_gt(longest, MUTATE_OP_COUNT_MAX / 2);
}

TEST(a_list_that_is_too_long_is_cut)
{
    while (before.ops.count <= MUTATE_OP_COUNT_MAX) {
        const struct op op = op_make(OP_REPORT);
        op_list_append(&before.ops, &op);
    }
    for (uint64_t seed = 1; seed <= EDIT_SEEDS / 4; seed++) {
        input_copy(&after, &before);
        mutator_change(mutator, &after, SIZE_MAX / 2, seed);
        ck_assert_uint_le(after.ops.count, MUTATE_OP_COUNT_MAX);
    }
}

TEST(an_empty_input_becomes_one_with_ops)
{
    size_t count = 0;
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        input_decode(NULL, 0, &after);
        mutator_change(mutator, &after, BYTES_MAX, seed);
        count += after.ops.count > 0;
    }
    ck_assert_uint_gt(count, SEED_COUNT * 3 / 4);
}

TEST(a_cross_has_ops_of_both)
{
    size_t both_count = 0;
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        size_t ones = 0;
        size_t others = 0;
        mutator_cross(mutator, &before, &other, BYTES_MAX, seed, &after);
        for (size_t i = 0; i < after.ops.count; i++) {
            const uint32_t known = known_op(&after.ops.ops[i]);
            ones += ((known | known >> 8) & 0xF0) == 16;
            others += ((known | known >> 8) & 0xF0) == 32;
        }
        both_count += ones > 0 && others > 0;
    }
    ck_assert_uint_gt(both_count, SEED_COUNT * 3 / 4);
}
