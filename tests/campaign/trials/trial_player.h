/* A scenario that plays a list, so that a test knows what each trial of a campaign does. */
#ifndef TESTS_CAMPAIGN_TRIALS_TRIAL_PLAYER_H
#define TESTS_CAMPAIGN_TRIALS_TRIAL_PLAYER_H

#include "campaign/plan/plan.h"

/* Its ops; whoever calls trial_player_load() deinitialises them. */
extern struct op_list trial_player_ops;

/* Makes the part one that plays the list, on the target and the device of its head. */
void trial_player_load(const char *text, const char *part_name, struct part *part);

#endif
