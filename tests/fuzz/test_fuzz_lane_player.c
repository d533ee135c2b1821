/* Whether bytes find planted races, and whether what they find is found again by the list alone. */
#include "fuzz/lane_player.h"
#include "harness/base/random.h"
#include "harness/lanes/lanes.h"
#include "harness/op/ops_file.h"
#include "harness/oracle/signature.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/races.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
    RACE_COUNT = sizeof race_lists / sizeof race_lists[0],
    CHOICE_COUNT = 40,
    TRY_COUNT_MAX = 60000,
    TRY_COUNT_IN_VAIN = 200
};

static void read_list(const char *text, struct input *input)
{
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error;
    op_list_init(&ops);
    input_init(input);
    ck_assert_int_eq(ops_file_parse(text, strlen(text), &setup, &ops, &error), OPS_FILE_OK);
    ck_assert(input_from_ops(&setup, &ops, input));
    op_list_deinit(&ops);
}

/* Three of four choices are the default: long schedules with few switches. */
static void draw_choices(struct random *random, struct input *input)
{
    input_set_choice_count(input, CHOICE_COUNT);
    for (uint32_t i = 0; i < CHOICE_COUNT; i++) {
        input->choices[i] = random_chance(random, 3, 4) ? 0 : (uint8_t)random_below(random, 256);
    }
}

/* True: some of so many bytes break the promise, and *trial is the run that did. */
static bool search_choices(struct lane_player *player, const struct input *list, uint32_t try_count,
                           struct trial *trial)
{
    struct random random;
    struct input input;
    bool is_found = false;
    random_init(&random, 1);
    input_init(&input);
    for (uint32_t i = 0; i < try_count && !is_found; i++) {
        input_copy(&input, list);
        draw_choices(&random, &input);
        const enum lane_player_result result = lane_player_play(player, &input, NULL, trial);
        is_found = result == LANE_PLAYER_BROKEN;
        ck_assert(is_found || result == LANE_PLAYER_KEPT);
        if (!is_found) {
            trial_deinit(trial);
        }
    }
    input_deinit(&input);
    return is_found;
}

static void check_replays(const struct target *target, const struct trial *found)
{
    struct trial again;
    char reason[RUN_REASON_BYTES], signature[SIGNATURE_BYTES], of_again[SIGNATURE_BYTES];
    ck_assert(trial_replay(target, &found->setup, &found->ops, NULL, &again, reason));
    signature_print(&found->first, &found->ops, signature);
    signature_print(&again.first, &again.ops, of_again);
    ck_assert_str_eq(signature, of_again);
    ck_assert_uint_eq(found->first.op, again.first.op);
    trial_deinit(&again);
}

/* A race between plain accesses alone changes nothing that is judged without a target built for it.
 */
TEST(bytes_find_each_race_and_its_list_breaks_the_same_promise_again, .to = RACE_COUNT)
{
    const struct target *target = target_find(race_lists[_i].target);
    struct lane_player *player = lane_player_create(target, target->name);
    struct input list;
    struct trial trial;
    read_list(race_lists[_i].ops, &list);
    const bool is_visible = strcmp(target->breaks, "race") != 0;
    const bool is_found = search_choices(player, &list,
                                         is_visible ? TRY_COUNT_MAX : TRY_COUNT_IN_VAIN, &trial);
    ck_assert_msg(is_found == is_visible, "%s", target->name);
    if (is_found) {
        ck_assert_str_eq(rule_info(trial.first.rule)->name, target->breaks);
        check_replays(target, &trial);
        trial_deinit(&trial);
    }
    input_deinit(&list);
    lane_player_destroy(player);
}

/* Bytes that break race_counter_unlocked. */
static void find_one(struct lane_player *player, struct trial *trial)
{
    struct input list;
    for (uint32_t i = 0; i < RACE_COUNT; i++) {
        if (strcmp(race_lists[i].target, "race_counter_unlocked") == 0) {
            read_list(race_lists[i].ops, &list);
            ck_assert(search_choices(player, &list, TRY_COUNT_MAX, trial));
            input_deinit(&list);
        }
    }
}

TEST(a_list_that_has_its_schedule_is_played_with_it_where_no_bytes_choose)
{
    const struct target *target = target_find("race_counter_unlocked");
    struct lane_player *player = lane_player_create(target, target->name);
    struct input input;
    struct trial trial, again;
    find_one(player, &trial);
    ck_assert_uint_gt(lanes_switch_count(&trial.ops), 0);
    input_init(&input);
    ck_assert(input_from_ops(&trial.setup, &trial.ops, &input));
    ck_assert_int_eq(lane_player_play(player, &input, NULL, &again), LANE_PLAYER_BROKEN);
    ck_assert_int_eq(again.first.rule, trial.first.rule);
    trial_deinit(&again);
    /* Bytes come first: those of the default schedule break nothing. */
    ck_assert(input_from_ops(&trial.setup, &trial.ops, &input));
    input_set_choice_count(&input, 1);
    ck_assert_int_eq(lane_player_play(player, &input, NULL, &again), LANE_PLAYER_KEPT);
    trial_deinit(&again);
    trial_deinit(&trial);
    input_deinit(&input);
    lane_player_destroy(player);
}

TEST(after_a_deadlock_the_next_input_is_played_as_by_a_new_player)
{
    const struct target *target = target_find("race_lock_order");
    struct lane_player *player = lane_player_create(target, target->name);
    struct input list, copy;
    struct trial trial, again;
    uint32_t i = 0;
    while (strcmp(race_lists[i].target, target->name) != 0) {
        i++;
    }
    read_list(race_lists[i].ops, &list);
    ck_assert(search_choices(player, &list, TRY_COUNT_MAX, &trial));
    ck_assert_int_eq(trial.first.rule, RULE_DEADLOCK);
    input_init(&copy);
    input_copy(&copy, &list);
    ck_assert_int_eq(lane_player_play(player, &copy, NULL, &again), LANE_PLAYER_KEPT);
    ck_assert_uint_gt(again.totals.ops, 0);
    trial_deinit(&again);
    trial_deinit(&trial);
    input_deinit(&copy);
    input_deinit(&list);
    lane_player_destroy(player);
}

#define HEAD "hbmstress-ops 1\ncapacity 8K\ngranule 512\nhosts 2\n"

TEST(what_another_host_made_cannot_be_named)
{
    struct lane_player *player = lane_player_create(target_find("threaded"), "threaded");
    struct input input;
    struct trial trial;
    read_list(HEAD
              "0: alloc size=512\n1: free block=0 host=1 lane=1\n2: alloc size=512 host=1 lane=1\n",
              &input);
    ck_assert_int_eq(lane_player_play(player, &input, NULL, &trial), LANE_PLAYER_KEPT);
    ck_assert_uint_eq(trial.totals.ops, 2);
    ck_assert_uint_eq(trial.totals.skipped, 1);
    trial_deinit(&trial);
    input_deinit(&input);
    lane_player_destroy(player);
}

TEST(ops_without_lanes_are_dealt_and_those_that_lanes_do_not_take_left_out)
{
    struct lane_player *player = lane_player_create(target_find("threaded"), "threaded");
    struct input input;
    struct trial trial;
    input_init(&input);
    struct op retire = op_make(OP_RETIRE), alloc = op_make(OP_ALLOC);
    alloc.size_bytes = INPUT_GRANULE_BYTES;
    op_list_append(&input.ops, &retire);
    for (uint32_t i = 0; i < 2 * LANE_PLAYER_OP_COUNT_MAX; i++) {
        op_list_append(&input.ops, &alloc);
    }
    ck_assert_int_eq(lane_player_play(player, &input, NULL, &trial), LANE_PLAYER_KEPT);
    ck_assert_uint_eq(trial.totals.by_kind[OP_ALLOC], LANE_PLAYER_OP_COUNT_MAX);
    ck_assert_uint_eq(trial.totals.by_kind[OP_RETIRE] + trial.totals.skipped_by_kind[OP_RETIRE], 0);
    ck_assert_uint_eq(lanes_count(&trial.ops), LANE_PLAYER_LANE_COUNT_DEFAULT);
    trial_deinit(&trial);
    input_deinit(&input);
    lane_player_destroy(player);
}

TEST(a_target_that_takes_no_lanes_is_said_to_be_one)
{
    struct lane_player *player = lane_player_create(target_find("first_fit"), "first_fit");
    struct input input;
    struct trial trial;
    input_init(&input);
    ck_assert_int_eq(lane_player_play(player, &input, NULL, &trial), LANE_PLAYER_CANNOT);
    input_deinit(&input);
    lane_player_destroy(player);
}

TEST(a_promise_that_one_client_breaks_is_found_before_lanes_are_run)
{
    const struct target *target = target_find("plant_handle");
    struct lane_player *player = lane_player_create(target, target->name);
    struct input input;
    struct trial trial;
    input_init(&input);
    struct op alloc = op_make(OP_ALLOC);
    alloc.size_bytes = INPUT_GRANULE_BYTES;
    for (uint32_t i = 0; i < LANE_PLAYER_OP_COUNT_MAX; i++) {
        op_list_append(&input.ops, &alloc);
    }
    ck_assert_int_eq(lane_player_play(player, &input, NULL, &trial), LANE_PLAYER_BROKEN);
    ck_assert_int_eq(trial.first.rule, RULE_HANDLE);
    ck_assert(!lanes_are_in(&trial.ops));
    check_replays(target, &trial);
    trial_deinit(&trial);
    input_deinit(&input);
    lane_player_destroy(player);
}
