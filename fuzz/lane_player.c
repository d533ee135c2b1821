#include "fuzz/lane_player.h"

#include "explore/strategies/strategies.h"
#include "fuzz/player.h"
#include "harness/base/check.h"
#include "harness/generate/faulting.h"
#include "harness/lanes/deal.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/trial_run.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lane_player {
    const struct target *target;
    const char *target_name;
    struct op_player *player; /* of the ops one after the other */
    struct lanes *lanes; /* NULL: none yet, or the last run left them in the middle of a call */
    struct choices choices;
    void *replay;         /* the state of strategy_replay */
    struct op_list plain; /* the ops without their schedule */
    struct schedule_switch *switches;
    size_t switch_count;
    bool keep[INPUT_OP_COUNT_MAX];
    uint8_t own_lanes[LANE_PLAYER_OP_COUNT_MAX];
};

struct lane_player *lane_player_create(const struct target *target, const char *target_name)
{
    struct lane_player *player = calloc(1, sizeof *player);
    CHECK(player != NULL);
    player->target = target;
    player->target_name = target_name;
    player->player = player_create(target);
    player->replay = calloc(1, strategy_replay.state_bytes);
    CHECK(player->replay != NULL);
    strategy_replay.init(player->replay, 0, 0);
    op_list_init(&player->plain);
    return player;
}

void lane_player_destroy(struct lane_player *player)
{
    if (player == NULL) {
        return;
    }
    player_destroy(player->player);
    lanes_destroy(player->lanes);
    strategy_replay.deinit(player->replay);
    free(player->replay);
    free(player->switches);
    op_list_deinit(&player->plain);
    free(player);
}

/* --- the list --- */

/* Leaves out the ops that are for one client alone, and those that are too many. */
static void drop_ops(struct lane_player *player, struct op_list *ops)
{
    size_t count_left = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const uint8_t kind = ops->ops[i].kind;
        player->keep[i] = kind == OP_SWITCH || (!deal_is_for_one((enum op_kind)kind) &&
                                                count_left < LANE_PLAYER_OP_COUNT_MAX);
        count_left += kind != OP_SWITCH && player->keep[i];
    }
    op_list_filter(ops, player->keep);
}

/* *input without its schedule, and with every op in lane 0.  True: some op had another lane. */
static bool take_apart(struct lane_player *player, struct input *input)
{
    bool has_lanes = false;
    drop_ops(player, &input->ops);
    free(player->switches);
    player->switch_count = lanes_take_schedule(&input->ops, &player->plain, &player->switches);
    op_list_copy(&input->ops, &player->plain);
    CHECK(input->ops.count <= LANE_PLAYER_OP_COUNT_MAX);
    for (size_t i = 0; i < input->ops.count; i++) {
        player->own_lanes[i] = input->ops.ops[i].lane;
        has_lanes = has_lanes || input->ops.ops[i].lane != 0;
        input->ops.ops[i].lane = 0;
    }
    return has_lanes;
}

/* Makes ops forget what another host made: in one lane an op that names it was skipped, and so it
 * is in several. */
static void forget_other_hosts(struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        struct op *op = &ops->ops[i];
        if (op->ref < ops->count && ops->ops[op->ref].host != op->host) {
            op->ref = OP_NONE;
        }
    }
}

static void give_lanes(const struct lane_player *player, const struct input *input, bool has_lanes,
                       struct op_list *ops)
{
    struct random random;
    if (has_lanes || player->switch_count > 0) {
        for (size_t i = 0; i < ops->count; i++) {
            ops->ops[i].lane = player->own_lanes[i];
        }
        return;
    }
    random_init(&random, input->setup.seed);
    (void)deal(ops, input->lane_count < 2 ? LANE_PLAYER_LANE_COUNT_DEFAULT : input->lane_count,
               &random);
}

/* --- runs --- */

/* Copies what the play of one client broke. */
static void take_play(const struct run *run, const struct verdict *verdict, struct trial *trial)
{
    memset(trial, 0, sizeof *trial);
    trial->first = *verdict;
    trial->setup = *run_setup(run);
    op_list_init(&trial->ops);
    op_list_copy(&trial->ops, run_ops(run));
}

static bool run_in_lanes(struct lane_player *player, const struct input *input,
                         const struct setup *setup, const struct run_listener *listener,
                         struct trial *trial)
{
    char reason[RUN_REASON_BYTES];
    struct scheduler_report report;
    const bool is_replay = input->choice_count == 0 && player->switch_count > 0;
    choices_set(&player->choices, input->choices, input->choice_count);
    strategy_replay_set(player->replay, player->switches, is_replay ? player->switch_count : 0);
    if (player->lanes == NULL) {
        player->lanes = lanes_create(lanes_backend(setup));
    }
    const struct lanes_plan plan = {.target = player->target,
                                    .setup = setup,
                                    .ops = &player->plain,
                                    .strategy = is_replay ? &strategy_replay : &strategy_choices,
                                    .state = is_replay ? player->replay : (void *)&player->choices};
    const bool was_run = lanes_run(player->lanes, &plan, listener, trial, &report, reason);
    const bool is_not_modelled = was_run && trial->totals.not_modelled > 0;
    if (trial->first.kind != VERDICT_NONE || is_not_modelled) { /* lanes may stand half-way */
        lanes_destroy(player->lanes);
        player->lanes = NULL;
    }
    return was_run && !is_not_modelled;
}

/* A target that was given few nodes may answer too early: only without that bound it is held to it,
 * in a trial that takes the place of this one. */
static bool is_for_lack_of_nodes(const struct lane_player *player, const struct setup *bounded,
                                 struct trial *trial)
{
    struct setup setup = *bounded;
    struct trial again;
    char reason[RUN_REASON_BYTES];
    if (trial->first.kind != VERDICT_PREMATURE || !player_drop_bound(&setup) ||
        !trial_replay(player->target, &setup, &trial->ops, NULL, &again, reason)) {
        return false;
    }
    /* A search without a bound may take so long that it looks like a hang. */
    const bool is_found_again = again.first.kind == VERDICT_PREMATURE ||
                                (again.first.kind == VERDICT_BROKEN &&
                                 again.first.rule != RULE_HANG);
    trial_deinit(trial);
    if (is_found_again) {
        *trial = again;
    } else {
        trial_deinit(&again);
    }
    return !is_found_again;
}

static enum lane_player_result play_lanes(struct lane_player *player, const struct input *input,
                                          const struct setup *bounded,
                                          const struct run_listener *listener, struct trial *trial)
{
    if (!run_in_lanes(player, input, bounded, listener, trial)) {
        return LANE_PLAYER_REFUSED;
    }
    return trial->first.kind == VERDICT_NONE              ? LANE_PLAYER_KEPT
           : is_for_lack_of_nodes(player, bounded, trial) ? LANE_PLAYER_REFUSED
                                                          : LANE_PLAYER_BROKEN;
}

/* The clock of a lane is virtual.  An engine that is woken there, to see how long the input takes,
 * would read it. */
static sigset_t keep_alarm_back(void)
{
    sigset_t alarm;
    sigset_t before;
    (void)sigemptyset(&alarm);
    (void)sigaddset(&alarm, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &alarm, &before) == 0);
    return before;
}

enum lane_player_result lane_player_play(struct lane_player *player, struct input *input,
                                         const struct run_listener *listener, struct trial *trial)
{
    struct verdict verdict;
    const bool has_lanes = take_apart(player, input);
    input->faults = (struct fault_options){0};
    input_share_time(input);
    (void)snprintf(input->setup.target, sizeof input->setup.target, "%s", player->target_name);
    const struct run *run = player_play_first(player->player, input, SIZE_MAX, listener, &verdict);
    if (run == NULL) {
        return LANE_PLAYER_REFUSED;
    }
    if (run_is_broken(run)) {
        take_play(run, &verdict, trial);
        return LANE_PLAYER_BROKEN;
    }
    if (lanes_why_not(model_contract(run_model(run, 0))) != NULL) {
        return LANE_PLAYER_CANNOT;
    }
    op_list_copy(&player->plain, run_ops(run));
    forget_other_hosts(&player->plain);
    give_lanes(player, input, has_lanes, &player->plain);
    const struct setup bounded = *run_setup(run);
    const sigset_t before = keep_alarm_back();
    const enum lane_player_result result = play_lanes(player, input, &bounded, listener, trial);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return result;
}

/* No lane is among the sleepers, too. */
static_assert(LANE_COUNT_MAX + EVENT_COUNT_MAX <= UINT8_MAX + 1,
              "one byte can take each possibility");

static uint32_t count_bits(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

/* The lane of the index-th bit. */
static struct decision find_lane(uint64_t lanes, uint32_t index)
{
    for (; index > 0; index--) {
        lanes &= lanes - 1;
    }
    return (struct decision){.lane = (uint8_t)__builtin_ctzll(lanes)};
}

static uint32_t count_possibilities(const struct choice *choice)
{
    return count_bits(choice->lanes) + choice->event_count + count_bits(choice->sleepers);
}

/* Lanes, then events, then time-outs. */
static struct decision find_possibility(const struct choice *choice, uint32_t index)
{
    const uint32_t lane_count = count_bits(choice->lanes);
    if (index < lane_count) {
        return find_lane(choice->lanes, index);
    }
    index -= lane_count;
    if (index < choice->event_count) {
        return (struct decision){.completes = true, .event = choice->events[index]};
    }
    return find_lane(choice->sleepers, index - choice->event_count);
}

static uint32_t find_place(const struct choice *choice, const struct decision *wanted)
{
    for (uint32_t i = 0; i < count_possibilities(choice); i++) {
        const struct decision decision = find_possibility(choice, i);
        if (decision_equal(&decision, wanted)) {
            return i;
        }
    }
    CHECK(false); /* the default is always possible */
    return 0;
}

void choices_set(struct choices *choices, const uint8_t *bytes, size_t count)
{
    *choices = (struct choices){.bytes = bytes, .count = count};
}

static void choices_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)seed, (void)argument;
    choices_set(state, NULL, 0);
}

static void choices_begin(void *state, uint64_t run)
{
    (void)run;
    ((struct choices *)state)->used = 0;
}

static struct decision choices_choose(void *state, const struct choice *choice)
{
    struct choices *choices = state;
    const struct decision otherwise = decision_default(choice);
    const uint32_t count = count_possibilities(choice);
    if (count < 2 || choices->used == choices->count) {
        return otherwise;
    }
    const uint8_t byte = choices->bytes[choices->used++];
    return byte == 0 ? otherwise
                     : find_possibility(choice, (find_place(choice, &otherwise) + byte) % count);
}

static bool choices_end(void *state, const struct run_summary *summary)
{
    (void)state, (void)summary;
    return true;
}

const struct strategy_kind strategy_choices = {
    .name = "choices",
    .summary = "Each decision is a byte of a fuzz input.",
    .state_bytes = sizeof(struct choices),
    .init = choices_init,
    .begin = choices_begin,
    .choose = choices_choose,
    .end = choices_end,
};
