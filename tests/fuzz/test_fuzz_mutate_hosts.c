/* The edits for several hosts: what one does all do, as one, until one of them is late. */
#include "fuzz/player.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

enum { LONG_COUNT = 300, OP_COUNT_MAX = 400 };

/* The ops of one host alone, in their order. */
static void take_host(const struct op_list *ops, uint8_t host, struct op_list *own)
{
    op_list_clear(own);
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].host == host) {
            op_list_append(own, &ops->ops[i]);
        }
    }
}

static bool are_alike(const struct op_list *a, const struct op_list *b)
{
    bool are = a->count == b->count;
    for (size_t i = 0; i < a->count && are; i++) {
        are = known_op(&a->ops[i]) == known_op(&b->ops[i]);
    }
    return are;
}

/* --- share --- */

/* Who shares what host 0 did: all, or the members of the one group. */
static uint64_t find_sharers(const struct input *input)
{
    const struct setup *setup = &input->setup;
    ck_assert_uint_le(setup->group_count, 1);
    return setup->group_count == 0 ? (UINT64_C(1) << setup->host_count) - 1
                                   : setup->groups[0].members;
}

EVERY_TEST(.setup = known_set_up, .teardown = known_tear_down);

TEST(share_lets_every_host_do_what_one_did)
{
    struct op_list own[2];
    size_t whole_count = 0;
    size_t group_count = 0;
    op_list_init(&own[0]);
    op_list_init(&own[1]);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("share", &before, NULL, seed, &after));
        ck_assert_uint_ge(after.setup.host_count, 2);
        take_host(&after.ops, 0, &own[0]);
        ck_assert(are_alike(&own[0], &before.ops));
        const uint64_t sharers = find_sharers(&after);
        uint32_t other_count = 0;
        for (uint8_t host = 1; host < after.setup.host_count; host++) {
            const bool is_sharer = (sharers >> host & 1) != 0;
            take_host(&after.ops, host, &own[other_count > 0]);
            ck_assert(is_sharer == (own[other_count > 0].count > 0));
            ck_assert(!is_sharer || known_are_in_order(&own[other_count > 0], &before.ops));
            ck_assert(!is_sharer || other_count == 0 || are_alike(&own[0], &own[1]));
            whole_count += is_sharer && other_count == 0 && own[0].count == before.ops.count;
            other_count += is_sharer;
        }
        group_count += after.setup.group_count;
    }
    ck_assert_uint_gt(whole_count, EDIT_SEEDS / 4);
    ck_assert_uint_gt(group_count, EDIT_SEEDS / 16);
    op_list_deinit(&own[0]);
    op_list_deinit(&own[1]);
}

/* By number; what a host has not is named by place. */
TEST(share_lets_each_host_name_what_is_its_own)
{
    size_t named_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("share", &before, NULL, seed, &after));
        ck_assert(known_references_hold(&after.ops));
        for (size_t i = 0; i < after.ops.count; i++) {
            const struct op *op = &after.ops.ops[i];
            if (op->kind == OP_FREE_AFTER && (op->flags & OP_RELATIVE) == 0) {
                ck_assert_uint_eq(after.ops.ops[op->ref].host, op->host);
                named_count += op->host > 0;
            }
        }
    }
    ck_assert_uint_gt(named_count, EDIT_SEEDS);
}

static void add_op(struct input *input, enum op_kind kind, uint32_t ref, uint64_t size_bytes,
                   uint64_t delay_ns)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.size_bytes = size_bytes;
    op.delay_ns = delay_ns;
    op_list_append(&input->ops, &op);
}

static void check_group(size_t first, uint64_t sharers)
{
    const struct op *op = &after.ops.ops[first];
    const size_t end = first + (size_t)__builtin_popcountll(sharers);
    uint64_t hosts = 0;
    ck_assert_uint_le(end, after.ops.count);
    for (size_t i = first; i < end; i++) {
        const struct op *copy = &after.ops.ops[i];
        hosts |= UINT64_C(1) << copy->host;
        ck_assert_uint_eq(copy->kind, op->kind);
        ck_assert_uint_eq(copy->size_bytes, op->size_bytes);
        ck_assert_uint_eq(copy->group, op->group);
        ck_assert_uint_eq(copy->flags & (OP_SPMD | OP_COLLECTIVE),
                          op->flags & (OP_SPMD | OP_COLLECTIVE));
    }
    ck_assert_uint_eq(hosts, sharers);
}

TEST(share_makes_one_request_of_those_of_all_hosts)
{
    size_t collective_count = 0;
    size_t request_count = 0;
    add_op(&before, OP_LOAD, OP_NONE, 1024, 0);
    add_op(&before, OP_EXECUTE, (uint32_t)before.ops.count - 1, 0, 1000);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("share", &before, NULL, seed, &after));
        for (size_t i = 0; i < after.ops.count; i++) {
            const struct op *op = &after.ops.ops[i];
            const bool is_request = op->kind == OP_ALLOC || op->kind == OP_LOAD ||
                                    op->kind == OP_EXECUTE;
            ck_assert(is_request || (op->flags & (OP_SPMD | OP_COLLECTIVE)) == 0);
            ck_assert(op->host == 0 || !is_request || (op->flags & OP_SPMD) != 0);
            ck_assert(op->kind == OP_EXECUTE || (op->flags & OP_COLLECTIVE) == 0);
            if ((op->flags & OP_SPMD) != 0) {
                const uint64_t sharers = find_sharers(&after);
                ck_assert_uint_eq(setup_members(&after.setup, op->group) & sharers, sharers);
                check_group(i, sharers);
                i += (size_t)__builtin_popcountll(sharers) - 1;
                request_count++;
                collective_count += (op->flags & OP_COLLECTIVE) != 0;
            }
        }
    }
    ck_assert_uint_gt(request_count, EDIT_SEEDS * 4);
    ck_assert_uint_gt(collective_count, EDIT_SEEDS / 8);
}

/* It takes the place of what they did, so that lists do not grow each time.  Where it begins or
 * ends between the copies of an op, that op is done twice. */
TEST(share_again_replaces_what_the_other_hosts_did)
{
    size_t replaced_count = 0;
    struct op_list own;
    op_list_init(&own);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("share", &before, NULL, seed, &other));
        ck_assert(edit_copy("share", &other, NULL, seed + 1, &after));
        ck_assert_uint_le(other.setup.host_count, after.setup.host_count);
        ck_assert(known_references_hold(&after.ops));
        bool is_replaced = true;
        for (uint8_t host = 0; host < after.setup.host_count; host++) {
            take_host(&after.ops, host, &own);
            is_replaced = is_replaced && own.count <= before.ops.count &&
                          known_are_in_order(&own, &before.ops);
        }
        replaced_count += is_replaced;
    }
    ck_assert_uint_gt(replaced_count, EDIT_SEEDS / 2);
    op_list_deinit(&own);
}

TEST(share_takes_as_much_of_a_long_list_as_there_is_room_for)
{
    size_t longest = 0;
    while (before.ops.count < LONG_COUNT) {
        add_op(&before, OP_REPORT, OP_NONE, 0, 0);
    }
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("share", &before, NULL, seed, &after));
        ck_assert_uint_gt(after.ops.count, LONG_COUNT);
        ck_assert_uint_le(after.ops.count, OP_COUNT_MAX);
        longest = longest > after.ops.count ? longest : after.ops.count;
    }
    ck_assert_uint_gt(longest, OP_COUNT_MAX - 4);
    while (before.ops.count <= OP_COUNT_MAX) {
        add_op(&before, OP_REPORT, OP_NONE, 0, 0);
    }
    ck_assert(!edit_copy("share", &before, NULL, 1, &after));
}

/* How many of the seeds break a promise, all of them that rule. */
static size_t count_broken(const struct target *target, const char *edit, enum rule rule)
{
    size_t count = 0;
    struct op_player *player = player_create(target);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        struct verdict verdict;
        ck_assert(edit_copy(edit, &before, NULL, seed, &after));
        const struct run *run = player_play(player, &after, NULL, &verdict);
        ck_assert_ptr_nonnull(run);
        ck_assert(!run_is_broken(run) || verdict.rule == rule);
        count += run_is_broken(run);
    }
    player_destroy(player);
    return count;
}

static void wait_for_room(void)
{
    op_list_clear(&before.ops);
    add_op(&before, OP_ALLOC, OP_NONE, before.setup.capacity_bytes / 2, 0);
    add_op(&before, OP_FREE_AFTER, 0, 0, 1000);
    add_op(&before, OP_ALLOC, OP_NONE, before.setup.capacity_bytes, 0);
}

TEST(share_shows_a_host_that_answers_otherwise)
{
    wait_for_room();
    ck_assert_uint_gt(count_broken(target_find("plant_spmd"), "share", RULE_SPMD), EDIT_SEEDS / 8);
    ck_assert_uint_eq(count_broken(&target_hbm, "share", RULE_SPMD), 0);
}

/* One of four, in a list that had one host: no clock needs to be in it. */
TEST(share_shows_a_fourth_host_that_answers_otherwise)
{
    wait_for_room();
    ck_assert_uint_gt(count_broken(target_find("plant_spmd_one_host"), "share", RULE_SPMD),
                      EDIT_SEEDS / 16);
}

/* --- skew --- */

TEST(skew_changes_how_long_the_work_of_one_host_takes)
{
    size_t longer = 0;
    size_t shorter = 0;
    ck_assert(!edit_copy("skew", &before, NULL, 1, &after));
    for (uint64_t seed = 1; other.ops.count < 2 * before.ops.count; seed++) { /* the whole list */
        ck_assert(edit_copy("share", &before, NULL, seed, &other));
    }
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        uint64_t hosts = 0;
        ck_assert(edit_copy("skew", &other, NULL, seed, &after));
        ck_assert_uint_eq(after.ops.count, other.ops.count);
        for (size_t i = 0; i < after.ops.count; i++) {
            struct op was = other.ops.ops[i];
            const struct op *is = &after.ops.ops[i];
            hosts |= (uint64_t)!op_equal(&was, is) << is->host;
            longer += is->delay_ns >= 9 * was.delay_ns && is->delay_ns > 0;
            shorter += is->delay_ns * 9 <= was.delay_ns && was.delay_ns > 0;
            was.delay_ns = is->delay_ns;
            ck_assert(op_equal(&was, is));
        }
        ck_assert_int_eq(__builtin_popcountll(hosts), 1);
    }
    ck_assert_uint_gt(longer, EDIT_SEEDS / 4);
    ck_assert_uint_gt(shorter, EDIT_SEEDS / 4);
}

/* Host 0 asks first, and the time in which it waits is enough for host 1, too, as long as both are
 * as fast. */
TEST(skew_shows_a_host_that_does_not_wait)
{
    wait_for_room();
    op_list_copy(&other.ops, &before.ops);
    op_list_clear(&before.ops);
    before.setup.host_count = 2;
    for (uint32_t i = 0; i < 2 * other.ops.count; i++) {
        struct op op = other.ops.ops[i / 2];
        op.host = (uint8_t)(i % 2);
        op.ref = op.ref == OP_NONE ? OP_NONE : op.ref * 2 + op.host;
        op.flags |= op.kind == OP_ALLOC ? OP_SPMD : 0;
        op.group = op.kind == OP_ALLOC ? (uint16_t)(i / 2) : 0;
        op_list_append(&before.ops, &op);
    }
    ck_assert_uint_eq(count_broken(target_find("plant_spmd"), "seed", RULE_SPMD), 0);
    ck_assert_uint_gt(count_broken(target_find("plant_spmd"), "skew", RULE_SPMD), EDIT_SEEDS / 8);
    ck_assert_uint_eq(count_broken(&target_hbm, "skew", RULE_SPMD), 0);
}

/* --- other edits --- */

static const char *const naming_edits[] = {"hold", "use", "complete_during", "busy"};

TEST(what_an_edit_adds_is_on_the_host_of_what_it_names,
     .to = sizeof naming_edits / sizeof naming_edits[0])
{
    size_t named_count = 0;
    add_op(&before, OP_LOAD, OP_NONE, 1024, 0);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("share", &before, NULL, seed, &other));
        ck_assert(edit_copy(naming_edits[_i], &other, NULL, seed, &after));
        for (size_t i = 0; i < after.ops.count; i++) {
            const struct op *op = &after.ops.ops[i];
            if (known_op(op) == 0 && op->ref != OP_NONE && (op->flags & OP_RELATIVE) == 0) {
                ck_assert_uint_eq(after.ops.ops[op->ref].host, op->host);
                named_count += op->host > 0;
            }
        }
    }
    ck_assert_uint_gt(named_count, EDIT_SEEDS / 16);
}
