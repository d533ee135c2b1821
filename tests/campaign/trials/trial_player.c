#include "tests/campaign/trials/trial_player.h"

#include "targets/targets.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <stdio.h>

struct op_list trial_player_ops;

static void begin_playing(void *state, struct random *random, struct setup *setup,
                          bool capacity_is_free)
{
    (void)state;
    (void)random;
    (void)setup;
    (void)capacity_is_free;
}

static bool play_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    (void)state;
    (void)random;
    if (view->op_number >= trial_player_ops.count) {
        return false;
    }
    *op = trial_player_ops.ops[view->op_number];
    return true;
}

static const struct scenario player = {.name = "player",
                                       .summary = "plays a list",
                                       .source = "none",
                                       .ops_per_trial = 1 << 20,
                                       .begin = begin_playing,
                                       .next = play_next};

void trial_player_load(const char *text, const char *part_name, struct part *part)
{
    *part = (struct part){.scenario = &player,
                          .op_count_max = UINT64_MAX,
                          .trial_count_max = UINT64_MAX,
                          .duration_ns = UINT64_MAX};
    (void)snprintf(part->name, sizeof part->name, "%s", part_name);
    read_list(text, &part->setup, &trial_player_ops);
    (void)snprintf(part->setup.scenario, sizeof part->setup.scenario, "%s", player.name);
    part->target = target_find(part->setup.target);
    ck_assert_ptr_nonnull(part->target);
}
