#include "measure/robson.h"

#include "harness/base/check.h"
#include "harness/op/limits.h"
#include "harness/run/run_state.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>

const struct robson_game robson_published = {
    .smallest_bytes = 16384, .largest_bytes = 64 * 16384, .live_bytes = 1024 * 16384};

uint64_t robson_bound_bytes(const struct robson_game *game, uint64_t granule_bytes)
{
    uint64_t halves = 2;
    for (uint64_t size = game->smallest_bytes; size < game->largest_bytes; size *= 2) {
        halves++;
    }
    return game->live_bytes / 2 * halves - game->largest_bytes + granule_bytes;
}

/* --- what was used --- */

struct free_extent {
    uint64_t low_bytes, high_bytes, regions_bytes;
};

static void note_block(struct free_extent *extent, const struct model *model, uint32_t op)
{
    const struct block *block = model_find(model, op);
    if (block == NULL) {
        return;
    }
    const uint64_t end = block->address + block->size_bytes;
    extent->low_bytes = block->address < extent->low_bytes ? block->address : extent->low_bytes;
    extent->high_bytes = end > extent->high_bytes ? end : extent->high_bytes;
}

static void note_regions(struct free_extent *extent, const struct model *model)
{
    size_t count;
    uint64_t sum = 0;
    const struct device_region *regions = model_regions(model, &count);
    for (size_t i = 0; i < count; i++) {
        sum += regions[i].size_bytes;
    }
    extent->regions_bytes = sum > extent->regions_bytes ? sum : extent->regions_bytes;
}

static uint64_t find_used(const struct free_extent *extent, const struct target_contract *contract)
{
    if (contract->placement != PLACEMENT_RANGES || extent->high_bytes == 0) {
        return 0;
    }
    return contract->regions.grows ? extent->regions_bytes : extent->high_bytes - extent->low_bytes;
}

/* --- one game --- */

static void set_number(struct setup *setup, const char *name, uint64_t value)
{
    struct setup_option *option = &setup->scenario_options[setup->scenario_option_count++];
    (void)snprintf(option->key, sizeof option->key, "%s", name);
    (void)snprintf(option->value, sizeof option->value, "%" PRIu64, value);
}

/* The scenario draws nothing of the target: its setup names none. */
static void begin(void *state, struct random *random, const struct scenario *scenario,
                  const struct setup *setup, const struct robson_game *game)
{
    struct setup drawn;
    setup_init(&drawn);
    drawn.target[0] = '\0';
    drawn.capacity_bytes = setup->capacity_bytes;
    set_number(&drawn, "live", game->live_bytes / game->smallest_bytes);
    set_number(&drawn, "largest", game->largest_bytes / game->smallest_bytes);
    set_number(&drawn, "smallest", game->smallest_bytes);
    random_init(random, setup->seed);
    scenario->begin(state, random, &drawn, false);
}

static enum robson_end step(struct run *run, const struct op *op, struct robson_play *play)
{
    const struct verdict *verdict = run_step(run, op);
    const struct observation *seen = run_observation(run);
    if (run_is_broken(run)) {
        (void)snprintf(play->why, sizeof play->why, "%.200s", verdict->reason);
        return ROBSON_BROKEN;
    }
    return seen->skipped == 0 && seen->result != TARGET_OK ? ROBSON_REFUSED : ROBSON_WHOLE;
}

void robson_play(const struct target *target, const struct scenario *scenario,
                 const struct setup *setup, const struct robson_game *game,
                 struct robson_play *play)
{
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
    struct free_extent extent = {.low_bytes = UINT64_MAX};
    struct setup bounded = *setup;
    struct scenario_view view;
    struct random random;
    struct op op;
    *play = (struct robson_play){.end = ROBSON_NOT};
    bounded.search_nodes_max = 1; /* why it is refused is not asked */
    struct run *run = run_create(target, &bounded, play->why);
    if (run == NULL) {
        return;
    }
    play->why[0] = '\0';
    run_judge_promises_only(run);
    run_go_on(run);
    begin(state, &random, scenario, setup, game);
    const struct model *model = run_model(run, 0);
    const struct target_contract *contract = model_contract(model);
    play->end = ROBSON_WHOLE;
    play->granule_bytes = model_granule_bytes(model);
    play->has_addresses = contract->placement == PLACEMENT_RANGES;
    play->may_move = contract->defrag != DEFRAG_NONE;
    run_view(run, &view);
    while (play->end == ROBSON_WHOLE && scenario->next(state, &random, &view, &op)) {
        limits_keep_op(&target->limits, &op);
        play->end = step(run, &op, play);
        note_block(&extent, model, view.op_number);
        note_regions(&extent, model);
        run_view(run, &view);
    }
    play->op_count = (uint32_t)run_ops(run)->count;
    play->live_count = model_live_count(model);
    play->used_bytes = find_used(&extent, contract);
    run_destroy(run);
}
