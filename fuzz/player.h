/* Plays inputs on a target, one after the other, op by op in one lane with every rule on.  It keeps
 * its memory from one input to the next, and returns what it found: it never ends the process. */
#ifndef FUZZ_PLAYER_H
#define FUZZ_PLAYER_H

#include "fuzz/input.h"
#include "harness/run/run.h"

enum {
    /* The cost limit of one verdict, in nodes of the search: less than 1 ms.  Beyond it is unknown,
     * which is no finding. */
    PLAYER_NODES_MAX = 2000,
    PLAYER_ALIGNED_OPS_MAX = 40, /* see player_play() */
};

struct op_player;
struct op_player *player_create(const struct target *target);
void player_destroy(struct op_player *player);

/* Opens the target as the input says and plays its ops, its faults slipped in; after the last one
 * the final promises. All ops are of one lane, and where the contract is repack a list of more than
 * PLAYER_ALIGNED_OPS_MAX ops has no alignments.  A target with an option search_nodes is given few,
 * and more when that made it answer too early; where that helps, the input shows nothing.
 *
 * first_count: so many of its ops alone, and no final promises: then the run can go on.  NULL: the
 * target refused the setup (options that it does not know are left out), or the input shows
 * nothing; what listener was told counts for nothing then.  The run is the player's, valid until it
 * is used again; run_is_broken() says whether a promise was broken, and *verdict, where it is not
 * NULL, by what. */
struct run *player_play(struct op_player *player, const struct input *input,
                        const struct run_listener *listener, struct verdict *verdict);
struct run *player_play_first(struct op_player *player, const struct input *input,
                              size_t first_count, const struct run_listener *listener,
                              struct verdict *verdict);

/* For callers that read no totals: from here on, probes, growth and regrets without a bound are
 * skipped. */
void player_judge_promises_only(struct op_player *player);

/* Leaves out the options that the target does not say it knows: it would refuse the rest for them.
 */
void player_keep_known_options(const struct target *target, struct setup *setup);

/* Takes the bound of the target's search out of a setup that a run had.  False: it has none. */
bool player_drop_bound(struct setup *setup);

#endif
