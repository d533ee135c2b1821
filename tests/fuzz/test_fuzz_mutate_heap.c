/* Edits that insert many ops make the heap that their name says. */
#include "fuzz/player.h"
#include "harness/model/model.h"
#include "targets/targets.h"
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

static struct op_player *player;

static void set_up(void)
{
    input_init(&before);
    input_init(&after);
    player = player_create(&target_hbm);
}

static void tear_down(void)
{
    input_deinit(&before);
    input_deinit(&after);
    player_destroy(player);
}

static struct run *play_input(const struct input *input)
{
    struct run *run = player_play_first(player, input, input->ops.count, NULL, NULL);
    ck_assert_ptr_nonnull(run);
    ck_assert(!run_is_broken(run));
    return run;
}

EVERY_TEST(.setup = set_up, .teardown = tear_down);

TEST(fill_leaves_next_to_nothing_free)
{
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("fill", &before, NULL, seed, &after));
        const struct model *model = run_model(play_input(&after), 0);
        ck_assert_uint_le(model_free_bytes(model), model_capacity_bytes(model) / 4);
        ck_assert_uint_ge(model_live_count(model), 4);
    }
}

TEST(comb_leaves_holes_between_equal_blocks)
{
    size_t comb_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("comb", &before, NULL, seed, &after));
        size_t free_count = 0;
        for (size_t i = 0; i < after.ops.count; i++) {
            free_count += after.ops.ops[i].kind == OP_FREE;
        }
        const struct model *model = run_model(play_input(&after), 0);
        ck_assert_uint_ge(model_hole_count(model), free_count);
        ck_assert(free_count < 2 || model_largest_hole_bytes(model) < model_free_bytes(model));
        comb_count += free_count >= 4;
    }
    ck_assert_uint_ge(comb_count, EDIT_SEEDS / 8);
}

TEST(comb_frees_blocks_of_its_own_wherever_it_stands)
{
    known_input(&before, KNOWN_MARK);
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("comb", &before, NULL, seed, &after));
        ck_assert(known_are_in_order(&before.ops, &after.ops));
        ck_assert(known_references_hold(&after.ops));
        for (size_t i = 0; i < after.ops.count; i++) {
            const struct op *op = &after.ops.ops[i];
            const bool is_tooth = known_op(op) == 0 && op->kind != OP_ALLOC;
            ck_assert(!is_tooth || known_op(&after.ops.ops[op->ref]) == 0);
        }
    }
}

TEST(swarm_adds_a_run_whose_ops_act)
{
    struct run_totals totals = {0};
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("swarm", &before, NULL, seed, &after));
        ck_assert_uint_ge(after.ops.count, 8);
        ck_assert_uint_le(after.ops.count, 120);
        run_totals_add(&totals, run_totals(play_input(&after)));
    }
    ck_assert_uint_lt(totals.skipped * 4, totals.ops);
    ck_assert_uint_gt(totals.ooms * 100, totals.ops);
    for (unsigned kind = 0; kind < OP_RETIRE; kind++) {
        ck_assert_msg(totals.by_kind[kind] > 0, "no %s acted",
                      op_kind_info((enum op_kind)kind)->name);
    }
}

TEST(swarm_leaves_kinds_out_that_others_have)
{
    size_t without_use = 0;
    size_t long_count = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        bool has_use = false;
        ck_assert(edit_copy("swarm", &before, NULL, seed, &after));
        for (size_t i = 0; i < after.ops.count; i++) {
            has_use = has_use || after.ops.ops[i].kind == OP_USE;
        }
        const bool is_long = after.ops.count >= 60;
        long_count += is_long;
        without_use += is_long && !has_use;
    }
    ck_assert_uint_gt(without_use * 8, long_count);
    ck_assert_uint_lt(without_use * 2, long_count);
}

/* How many ops of the marked ones stand in front of what came in. */
static size_t place_of_swarm(uint8_t mark)
{
    size_t place = 0;
    while (place < after.ops.count && after.ops.ops[place].tag == mark) {
        place++;
    }
    return place;
}

static void ask_before(size_t count, uint64_t size_bytes, uint8_t tag)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    op.tag = tag;
    for (size_t i = 0; i < count; i++) {
        op_list_append(&before.ops, &op);
    }
}

/* Behind requests for the device twice over it has fewer requests than in front of them all. */
TEST(swarm_steers_towards_a_device_that_is_full_but_not_more)
{
    uint64_t request_counts[2] = {0}; /* in front, behind */
    uint64_t op_counts[2] = {0};
    ask_before(8, before.setup.capacity_bytes / 2, UINT8_MAX);
    for (uint64_t seed = 1; seed <= 2 * EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("swarm", &before, NULL, seed, &after));
        const size_t place = place_of_swarm(UINT8_MAX);
        for (size_t i = place; i < place + 8 && (place == 0 || place == 8); i++) {
            const uint8_t kind = after.ops.ops[i].kind;
            request_counts[place == 8] += kind == OP_ALLOC || kind == OP_OUTPUT;
            op_counts[place == 8]++;
        }
    }
    ck_assert_uint_gt(op_counts[0], 0);
    ck_assert_uint_gt(op_counts[1], 0);
    ck_assert_uint_lt(request_counts[1] * op_counts[0] * 2, request_counts[0] * op_counts[1]);
}

/* What is refused leaves the device as full as it was. */
TEST(swarm_behind_requests_that_are_refused_has_as_many_requests)
{
    enum { COUNT = 40 };
    static const uint64_t sizes[] = {1, UINT64_C(1) << 56};
    size_t counts[2] = {0};
    for (size_t k = 0; k < 2; k++) {
        op_list_clear(&before.ops);
        ask_before(COUNT, sizes[k], 0);
        for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
            ck_assert(edit_copy("swarm", &before, NULL, seed, &after));
            for (size_t i = 0; i < after.ops.count; i++) {
                counts[k] += after.ops.ops[i].kind == OP_ALLOC;
            }
            counts[k] -= COUNT;
        }
    }
    ck_assert_uint_gt(counts[1] * 10, counts[0] * 9);
}

/* A list of many ops must stay a short input. */
TEST(swarm_draws_numbers_that_short_ops_can_say)
{
    size_t op_count = 0;
    size_t bytes = 0;
    for (uint64_t seed = 1; seed <= EDIT_SEEDS; seed++) {
        ck_assert(edit_copy("swarm", &before, NULL, seed, &after));
        op_count += after.ops.count;
        bytes += input_encode(&after, NULL, 0) - INPUT_HEADER_BYTES;
    }
    ck_assert_uint_lt(bytes, op_count * (INPUT_SHORT_BYTES + 1));
}
