/* The edits that give hosts a time and groups of their own, and take them away again. */
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

enum { HOSTS = 4, BYTES_MAX = 8192 };

static void set_up(void)
{
    known_set_up();
    before.setup.host_count = HOSTS;
}

/* What it says of hosts comes back from its bytes, and is what a list may say. */
static void check_hosts(const struct input *input)
{
    static struct input back;
    uint8_t bytes[BYTES_MAX];
    const struct setup *setup = &input->setup;
    const size_t length = input_encode(input, bytes, sizeof bytes);
    ck_assert_uint_le(length, sizeof bytes);
    input_init(&back);
    input_decode(bytes, length, &back);
    ck_assert_mem_eq(&back.setup, setup, sizeof *setup);
    ck_assert_uint_eq(back.ops.count, input->ops.count);
    input_deinit(&back);
    for (uint32_t i = 0; i < setup->group_count; i++) {
        ck_assert_uint_ne(setup->groups[i].members, 0);
        ck_assert_uint_eq(setup->groups[i].members >> setup->host_count, 0);
        ck_assert_str_ne(setup->groups[i].name, "");
    }
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        const struct setup_clock *clock = &setup->clocks[i];
        ck_assert_int_le(clock->drift, SETUP_DRIFT_MAX);
        ck_assert_int_ge(clock->drift, -SETUP_DRIFT_MAX);
        ck_assert((setup->has_clocks && i < setup->host_count) ||
                  (clock->drift == 0 && clock->ahead_ns == 0));
    }
}

static bool has_clock(const struct setup *setup)
{
    uint32_t i = 0;
    while (i < setup->host_count && setup->clocks[i].ahead_ns == 0) {
        i++;
    }
    return i < setup->host_count;
}

static const char *const edits[] = {"time", "bound", "group", "mesh"};

EVERY_TEST(.setup = set_up, .teardown = known_tear_down);

TEST(one_host_is_left_alone, .to = sizeof edits / sizeof edits[0])
{
    before.setup.host_count = 1;
    ck_assert(!edit_copy(edits[_i], &before, NULL, 1, &after));
    ck_assert_mem_eq(&before.setup, &after.setup, sizeof after.setup);
}

TEST(what_an_edit_says_of_hosts_comes_back_from_bytes)
{
    for (uint64_t seed = 1; seed <= EDIT_SEEDS / 4; seed++) {
        input_copy(&other, &before);
        for (uint64_t i = 0; i < 8; i++) {
            (void)edit_copy(edits[(seed + i * (1 + seed % 3)) % 4], &other, NULL, seed + i, &after);
            check_hosts(&after);
            input_copy(&other, &after);
        }
        (void)edit_copy("hosts", &other, NULL, seed, &after);
        check_hosts(&after);
        (void)edit_copy("lanes", &other, NULL, seed, &after);
        check_hosts(&after);
        ck_assert(after.lane_count == 1 || !after.setup.has_clocks);
    }
}

TEST(time_comes_changes_and_goes)
{
    size_t clock_count = 0;
    size_t gone_count = 0;
    size_t changed_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("time", &before, NULL, seed, &other));
        ck_assert(other.setup.has_clocks);
        clock_count += has_clock(&other.setup);
        ck_assert(edit_copy("time", &other, NULL, seed, &after));
        gone_count += !after.setup.has_clocks;
        changed_count += after.setup.has_clocks &&
                         memcmp(after.setup.clocks, other.setup.clocks, sizeof other.setup.clocks);
    }
    ck_assert_uint_gt(clock_count, EDIT_SEEDS / 4);
    ck_assert_uint_lt(clock_count, EDIT_SEEDS);
    ck_assert_uint_gt(gone_count, EDIT_SEEDS / 32);
    ck_assert_uint_gt(changed_count, EDIT_SEEDS / 4);
    before.lane_count = 2;
    ck_assert(!edit_copy("time", &before, NULL, 1, &after));
}

TEST(groups_come_change_and_go)
{
    size_t pair_count = 0;
    size_t counts[3] = {0};
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("group", &before, NULL, seed, &other));
        ck_assert_uint_eq(other.setup.group_count, 1);
        pair_count += __builtin_popcountll(other.setup.groups[0].members) == 2;
        ck_assert(edit_copy("group", &other, NULL, seed + 1, &after));
        ck_assert_uint_le(after.setup.group_count, 2);
        counts[after.setup.group_count]++;
    }
    ck_assert_uint_gt(pair_count, EDIT_SEEDS / 4);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_gt(counts[i], EDIT_SEEDS / 16);
    }
}

TEST(a_group_is_mostly_one_that_an_op_has)
{
    size_t named_count = 0;
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 512;
    op.flags = OP_SPMD;
    op.group = 4711;
    op_list_append(&before.ops, &op);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("group", &before, NULL, seed, &after));
        named_count += after.setup.groups[0].number == 4711;
    }
    ck_assert_uint_gt(named_count, EDIT_SEEDS / 2);
}

TEST(a_mesh_takes_the_place_of_groups)
{
    size_t column_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        (void)edit_copy("group", &before, NULL, seed, &other);
        ck_assert(edit_copy("mesh", &other, NULL, seed, &after));
        uint64_t rows = 0;
        for (uint32_t i = 0; i < after.setup.group_count && after.setup.groups[i].number < 64;
             i++) {
            ck_assert_uint_eq(rows & after.setup.groups[i].members, 0);
            rows |= after.setup.groups[i].members;
        }
        ck_assert_uint_eq(rows, (1u << HOSTS) - 1);
        column_count += after.setup.groups[after.setup.group_count - 1].number >= 64;
    }
    ck_assert_uint_gt(column_count, EDIT_SEEDS / 4);
}

TEST(a_bound_is_any_or_none)
{
    size_t none_count = 0;
    size_t back_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("bound", &before, NULL, seed, &other));
        ck_assert_uint_ne(other.setup.collective_bound_ns, 0);
        none_count += other.setup.collective_bound_ns == DELAY_NEVER;
        ck_assert(edit_copy("bound", &other, NULL, seed + 1, &after));
        back_count += after.setup.collective_bound_ns == 0;
    }
    ck_assert_uint_gt(none_count, EDIT_SEEDS / 16);
    ck_assert_uint_gt(back_count, EDIT_SEEDS / 16);
}
