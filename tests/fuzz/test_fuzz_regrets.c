/* Who is held to kinds of regret, and to which. */
#include "fuzz/play.h"
#include "fuzz/player.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { BLOCK_COUNT = 4, EVERY_KIND = (1 << REGRET_KIND_COUNT) - 1 };

static struct input input;
static struct op_player *player;

/* Blocks of a quarter of the device each, of which the second goes: there is a hole, and a block
 * that could move. */
static void set_up(void)
{
    input_init(&input);
    for (uint32_t i = 0; i <= BLOCK_COUNT; i++) {
        struct op op = op_make(i == BLOCK_COUNT ? OP_FREE : OP_ALLOC);
        op.size_bytes = i == BLOCK_COUNT ? 0 : input.setup.capacity_bytes / BLOCK_COUNT;
        op.ref = i == BLOCK_COUNT ? 1 : OP_NONE;
        op_list_append(&input.ops, &op);
    }
    struct op request = op_make(OP_ALLOC);
    request.size_bytes = INPUT_GRANULE_BYTES;
    op_list_append(&input.ops, &request);
}

static void tear_down(void)
{
    input_deinit(&input);
    player_destroy(player);
    player = NULL;
}

static bool find_regrets(const char *target, uint32_t kinds, struct trial *trial)
{
    struct verdict verdict;
    player_destroy(player);
    player = player_create(target_find(target));
    const struct run *run = player_play(player, &input, NULL, &verdict);
    ck_assert_ptr_nonnull(run);
    ck_assert(!run_is_broken(run));
    return regrets_find(target_find(target), run, kinds, trial);
}

EVERY_TEST(.setup = set_up, .teardown = tear_down);

TEST(a_forbidden_regret_is_found_and_no_other)
{
    struct trial trial;
    const uint32_t moved = UINT32_C(1) << REGRET_MOVED_NEEDLESSLY;
    ck_assert(!find_regrets("plant_regret_moves_first", 0, &trial));
    ck_assert(!find_regrets("plant_regret_moves_first", EVERY_KIND & ~moved, &trial));
    ck_assert(!find_regrets("hbm", EVERY_KIND, &trial));
    ck_assert(find_regrets("plant_regret_moves_first", moved, &trial));
    ck_assert_int_eq(trial.first.rule, RULE_REGRET);
    ck_assert_uint_eq(trial.first.op, BLOCK_COUNT + 1);
    trial_deinit(&trial);
}

TEST(its_list_breaks_the_rule_when_it_is_replayed)
{
    char reason[RUN_REASON_BYTES];
    struct trial trial;
    struct trial again;
    ck_assert(find_regrets("plant_regret_moves_first", EVERY_KIND, &trial));
    ck_assert(trial.setup.has_regret_max);
    ck_assert(trial_replay(target_find("plant_regret_moves_first"), &trial.setup, &trial.ops, NULL,
                           &again, reason));
    ck_assert_int_eq(again.first.rule, RULE_REGRET);
    ck_assert_uint_eq(again.first.op, trial.first.op);
    trial_deinit(&again);
    trial_deinit(&trial);
}

TEST(who_is_told_another_order_is_held_to_nothing)
{
    struct trial trial;
    ck_assert(setup_set_option(&input.setup, "order", "evict,drain,defragment"));
    ck_assert(!find_regrets("plant_regret_moves_first", EVERY_KIND, &trial));
}

TEST(kinds_are_named_in_the_environment)
{
    ck_assert_int_eq(setenv("HBMSTRESS_FUZZ_REGRETS", "in_vain,moved_needlessly", 1), 0);
    ck_assert_uint_eq(regrets_forbidden(), 1u << REGRET_IN_VAIN | 1u << REGRET_MOVED_NEEDLESSLY);
    ck_assert_int_eq(unsetenv("HBMSTRESS_FUZZ_REGRETS"), 0);
    ck_assert_uint_ne(regrets_forbidden(), 0); /* it is read once */
}

TEST(without_the_variable_no_kind_is_forbidden)
{
    ck_assert_int_eq(unsetenv("HBMSTRESS_FUZZ_REGRETS"), 0);
    ck_assert_uint_eq(regrets_forbidden(), 0);
}

TEST(a_name_that_is_no_kind_ends_the_process, .exit_code = 2)
{
    ck_assert_int_eq(setenv("HBMSTRESS_FUZZ_REGRETS", "in_vain,moved", 1), 0);
    (void)regrets_forbidden();
}
