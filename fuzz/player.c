#include "fuzz/player.h"

#include "harness/base/check.h"
#include "harness/base/target_option.h"
#include "harness/run/run_state.h"

#include <stdlib.h>
#include <string.h>

/* The bound on a repack of a target that bounds its search, where the target has such an option:
 * ten times what the oracle has, about 2 ms.  Where it was too little, more, and at last what the
 * target has of its own. */
static const char nodes_option[] = "search_nodes";
static const char *const nodes_of_target[] = {"20000", "400000", NULL};
enum { BOUND_COUNT = sizeof nodes_of_target / sizeof nodes_of_target[0] };

struct op_player {
    const struct target *target;
    bool has_bound;  /* the target has the option of nodes_option */
    struct run *run; /* NULL: none yet, or the last setup was refused */
    struct setup setup;
    bool is_open;
    bool is_promises_only;
};

struct op_player *player_create(const struct target *target)
{
    struct op_player *player = calloc(1, sizeof *player);
    CHECK(player != NULL);
    player->target = target;
    player->has_bound = target_has_option(target, nodes_option);
    return player;
}

static void end_run(struct op_player *player)
{
    if (player->is_open) {
        run_end(player->run);
    }
    player->is_open = false;
}

void player_destroy(struct op_player *player)
{
    if (player == NULL) {
        return;
    }
    run_destroy(player->run);
    free(player);
}

void player_keep_known_options(const struct target *target, struct setup *setup)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (target_has_option(target, setup->options[i].key)) {
            setup->options[count++] = setup->options[i];
        }
    }
    setup->option_count = count;
}

static void take_setup(struct op_player *player, const struct setup *setup, const char *nodes)
{
    setup_copy(&player->setup, setup);
    player->setup.search_nodes_max = PLAYER_NODES_MAX;
    player->setup.has_rounding = false; /* the target is held to its own contract */
    player_keep_known_options(player->target, &player->setup);
    if (nodes != NULL && player->has_bound) {
        CHECK(setup_set_option(&player->setup, nodes_option, nodes));
    }
}

static bool open_run(struct op_player *player, const struct setup *setup, const char *nodes)
{
    char reason[RUN_REASON_BYTES];
    end_run(player);
    take_setup(player, setup, nodes);
    player->run = player->run == NULL
                      ? run_create(player->target, &player->setup, reason)
                      : run_begin_other(player->run, player->target, &player->setup, reason);
    player->is_open = player->run != NULL;
    if (player->is_open && player->is_promises_only) {
        run_judge_promises_only(player->run);
    }
    return player->is_open;
}

/* False: a promise is broken. */
static bool step_op(struct run *run, const struct op *op, const struct run_listener *listener,
                    struct verdict *verdict)
{
    const struct verdict *judged = run_step(run, op);
    if (listener != NULL) {
        listener->judged(listener->context, run, judged);
    }
    if (run_is_broken(run)) {
        *verdict = *judged;
    }
    return !run_is_broken(run);
}

/* The faults that come before the next op. */
static bool step_faults(struct run *run, struct faulting *faulting,
                        const struct run_listener *listener, struct verdict *verdict)
{
    struct scenario_view view;
    struct op op;
    run_view(run, &view);
    while (faulting_next(faulting, &view, &op)) {
        if (!step_op(run, &op, listener, verdict)) {
            return false;
        }
        run_view(run, &view);
    }
    return true;
}

/* Returns the op as one client plays it.  Where blocks may go to any span, aligned ones among many
 * others ask for a packing that allocators and judges take seconds for: only in short lists is an
 * alignment kept there. */
static struct op make_played_op(const struct op_player *player, const struct input *input, size_t i)
{
    struct op op = input->ops.ops[i];
    const bool is_long = input->ops.count > PLAYER_ALIGNED_OPS_MAX;
    op.lane = 0;
    if (is_long && model_contract(run_model(player->run, 0))->defrag == DEFRAG_REPACK) {
        op.align_log2 = 0;
    }
    return op;
}

static void play_ops(struct op_player *player, const struct input *input, size_t first_count,
                     const struct run_listener *listener, struct verdict *verdict)
{
    struct faulting faulting;
    faulting_init(&faulting, &input->faults, input->setup.seed);
    const bool has_faults = input->faults.kinds != 0;
    for (size_t i = 0; i < input->ops.count && i < first_count; i++) {
        const struct op op = make_played_op(player, input, i);
        if (op.kind != OP_SWITCH &&
            ((has_faults && !step_faults(player->run, &faulting, listener, verdict)) ||
             !step_op(player->run, &op, listener, verdict))) {
            break;
        }
    }
}

struct run *player_play_first(struct op_player *player, const struct input *input,
                              size_t first_count, const struct run_listener *listener,
                              struct verdict *verdict)
{
    struct verdict judged = {.kind = VERDICT_PREMATURE};
    /* A target that was given few nodes may not see what the oracle sees: only with its own bound
     * it is held to that. */
    for (unsigned i = 0; i < BOUND_COUNT && judged.kind == VERDICT_PREMATURE; i++) {
        judged.kind = VERDICT_NONE;
        if (!open_run(player, &input->setup, nodes_of_target[i])) {
            return NULL;
        }
        play_ops(player, input, first_count, i == 0 ? listener : NULL, &judged);
        if (i > 0 && judged.kind != VERDICT_PREMATURE) {
            return NULL;
        }
    }
    if (verdict != NULL) {
        *verdict = judged;
    }
    return player->run;
}

struct run *player_play(struct op_player *player, const struct input *input,
                        const struct run_listener *listener, struct verdict *verdict)
{
    struct run *run = player_play_first(player, input, SIZE_MAX, listener, verdict);
    if (run != NULL && !run_is_broken(run)) {
        const struct verdict *last = run_finish(run);
        if (verdict != NULL && run_is_broken(run)) {
            *verdict = *last;
        }
    }
    return run;
}

void player_judge_promises_only(struct op_player *player)
{
    player->is_promises_only = true;
}

bool player_drop_bound(struct setup *setup)
{
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (strcmp(setup->options[i].key, nodes_option) == 0) {
            setup->options[i] = setup->options[--setup->option_count];
            return true;
        }
    }
    return false;
}
