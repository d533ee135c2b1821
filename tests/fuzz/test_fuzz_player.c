/* How an input is played: as one client does, on whatever target, and what is broken comes back. */
#include "fuzz/player.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static struct input input;

static void append_op(enum op_kind kind, uint64_t size_bytes)
{
    struct op op = op_make(kind);
    op.size_bytes = size_bytes;
    op_list_append(&input.ops, &op);
}

/* Forgets the last input. */
static void begin_input(const char *defrag)
{
    input_deinit(&input);
    input_init(&input);
    ck_assert(setup_set_option(&input.setup, "defrag", defrag));
}

TEST(an_option_that_the_target_does_not_know_is_left_out)
{
    begin_input("slide");
    ck_assert(setup_set_option(&input.setup, "order", "evict,drain,defragment"));
    append_op(OP_ALLOC, 512);
    struct op_player *player = player_create(&target_null);
    struct run *run = player_play(player, &input, NULL, NULL);
    ck_assert_ptr_nonnull(run); /* null refuses what it does not know */
    ck_assert_uint_eq(run_totals(run)->ops, 1);
    player_destroy(player);
    player = player_create(&target_hbm);
    run = player_play(player, &input, NULL, NULL);
    ck_assert_str_eq(setup_option(run_setup(run), "defrag"), "slide");
    ck_assert_str_eq(setup_option(run_setup(run), "order"), "evict,drain,defragment");
    ck_assert_ptr_nonnull(setup_option(run_setup(run), "search_nodes"));
    player_destroy(player);
}

TEST(all_ops_are_of_one_lane_and_no_schedule_is_recorded)
{
    begin_input("none");
    input.lane_count = 3;
    append_op(OP_ALLOC, 512);
    input.ops.ops[0].lane = 2;
    append_op(OP_SWITCH, 1);
    append_op(OP_ALLOC, 512);
    struct op_player *player = player_create(&target_hbm);
    const struct run *run = player_play(player, &input, NULL, NULL);
    ck_assert_uint_eq(run_ops(run)->count, 2);
    ck_assert_uint_eq(run_ops(run)->ops[0].lane, 0);
    player_destroy(player);
}

TEST(long_lists_have_no_alignments_where_blocks_may_go_anywhere)
{
    static const char *const defrags[] = {"repack", "slide"};
    struct op_player *player = player_create(&target_hbm);
    for (int i = 0; i < 4; i++) {
        begin_input(defrags[i % 2]);
        for (int k = 0; k < (i < 2 ? PLAYER_ALIGNED_OPS_MAX + 1 : PLAYER_ALIGNED_OPS_MAX); k++) {
            append_op(OP_ALLOC, 512);
            input.ops.ops[k].align_log2 = 12;
        }
        const struct run *run = player_play(player, &input, NULL, NULL);
        ck_assert_uint_eq(run_ops(run)->ops[0].align_log2, i == 0 ? 0 : 12);
    }
    player_destroy(player);
}

TEST(what_is_broken_comes_back_and_the_next_input_begins_anew)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct op_player *player = player_create(target_find("plant_too_small"));
    for (int i = 0; i < 2; i++) {
        begin_input("none");
        for (int k = 0; k < 200; k++) {
            append_op(OP_ALLOC, 1000);
            append_op(OP_FREE, 0);
            input.ops.ops[2 * k + 1].ref = (uint32_t)(2 * k);
        }
        const struct run *run = player_play(player, &input, NULL, &verdict);
        ck_assert(run_is_broken(run));
        ck_assert_int_eq(verdict.rule, RULE_TOO_SMALL);
        ck_assert_uint_eq(verdict.op + 1, run_ops(run)->count);
        begin_input("none");
        append_op(OP_REPORT, 0);
        ck_assert(!run_is_broken(player_play(player, &input, NULL, &verdict)));
    }
    player_destroy(player);
}

TEST(a_part_of_an_input_can_be_played_and_gone_on_from)
{
    begin_input("none");
    append_op(OP_ALLOC, 512);
    append_op(OP_ALLOC, 512);
    append_op(OP_ALLOC, 512);
    struct op_player *player = player_create(&target_hbm);
    struct run *run = player_play_first(player, &input, 2, NULL, NULL);
    ck_assert_uint_eq(run_totals(run)->ops, 2);
    ck_assert_int_eq(run_step(run, &input.ops.ops[2])->kind, VERDICT_NONE);
    ck_assert_uint_eq(model_live_count(run_model(run, 0)), 3);
    player_destroy(player);
}

TEST(hosts_come_and_go_between_inputs)
{
    struct op_player *player = player_create(&target_hbm);
    for (uint32_t hosts = 1; hosts <= 8; hosts++) {
        begin_input("slide");
        input.setup.host_count = hosts % 5 + 1;
        for (uint32_t host = 0; host < input.setup.host_count; host++) {
            append_op(OP_ALLOC, 1024);
            input.ops.ops[host].host = (uint8_t)host;
        }
        const struct run *run = player_play(player, &input, NULL, NULL);
        ck_assert(!run_is_broken(run));
        ck_assert_uint_eq(run_totals(run)->ops, input.setup.host_count);
    }
    player_destroy(player);
}
