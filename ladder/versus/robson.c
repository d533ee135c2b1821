/* compare --robson: Robson's adversary plays against each build, beside the bound for whatever
 * moves nothing. */
#include "measure/robson.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/generate/scenario_option.h"
#include "harness/op/limits.h"
#include "ladder/versus/versus.h"
#include "scenarios/scenarios.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room enough for whatever is near the bound; smallest capacities to a thousandth of what is live.
 */
enum { DEVICE_TIMES = 16, PRECISION_PARTS = 1000 };

struct duel {
    struct versus *versus;
    size_t side;
    struct robson_game game;
    struct setup setup;
    struct robson_play play;
    struct smallest smallest;
    enum exit_code code; /* of the search */
};

/* --- the game --- */

static uint64_t choose_count(const struct setup *setup, const char *name, uint64_t otherwise)
{
    const uint64_t given = scenario_option_value(&scenario_robson, setup, name);
    return given == 0 ? otherwise : given;
}

/* That of docs/allocators.md, with what the options say. */
static enum exit_code choose_game(const struct run_options *options, struct robson_game *game)
{
    char reason[SCENARIO_OPTION_REASON_BYTES];
    struct setup setup;
    setup_init(&setup);
    setup.scenario_option_count = options->scenario_option_count;
    memcpy(setup.scenario_options, options->scenario_options, sizeof setup.scenario_options);
    if (!scenario_options_check(&scenario_robson, &setup, reason)) {
        return message_fail(EXIT_USAGE, "%s", reason);
    }
    if (scenario_option_is_given(&setup, "filled")) {
        return message_fail(EXIT_USAGE, "filled: with --robson the device has room; give smallest");
    }
    const struct robson_game *published = &robson_published;
    const uint64_t live = choose_count(&setup, "live",
                                       published->live_bytes / published->smallest_bytes);
    uint64_t largest = choose_count(&setup, "largest",
                                    published->largest_bytes / published->smallest_bytes);
    while (2 * largest > live) {
        largest /= 2;
    }
    game->smallest_bytes = choose_count(&setup, "smallest", published->smallest_bytes);
    game->largest_bytes = largest * game->smallest_bytes;
    game->live_bytes = live / (2 * largest) * (2 * largest) * game->smallest_bytes;
    return EXIT_KEPT;
}

/* --- one build --- */

static void play_duel(void *context, int file)
{
    const struct duel *duel = context;
    struct robson_play play;
    robson_play(versus_load(&duel->versus->sides[duel->side]), &scenario_robson, &duel->setup,
                &duel->game, &play);
    (void)file_write_all(file, &play, sizeof play);
}

/* A target that dies has not served. */
static enum exit_code ask_play(struct duel *duel, struct robson_play *play)
{
    const struct target_reply reply = versus_ask(duel->versus, play_duel, duel, play, sizeof *play);
    if (reply.code == EXIT_KEPT && !reply.is_whole) {
        *play = (struct robson_play){.end = ROBSON_NOT};
        (void)snprintf(play->why, sizeof play->why, "%.200s", reply.words);
    }
    return reply.code;
}

static bool serves_game(void *context, uint64_t capacity_bytes, bool *goes_on)
{
    struct duel *duel = context, at_capacity = *duel;
    struct robson_play play;
    setup_set_capacity(&at_capacity.setup, capacity_bytes);
    duel->code = ask_play(&at_capacity, &play);
    *goes_on = duel->code == EXIT_KEPT;
    return *goes_on && play.end == ROBSON_WHOLE;
}

static enum exit_code measure_duel(struct duel *duel)
{
    const struct versus_side *side = &duel->versus->sides[duel->side];
    versus_make_setup(duel->versus, &duel->versus->lists[0], duel->side, &duel->setup);
    limits_keep_setup(&side->limits, &duel->setup);
    enum exit_code code = ask_play(duel, &duel->play);
    if (code != EXIT_KEPT || duel->play.end == ROBSON_NOT || duel->play.end == ROBSON_BROKEN) {
        return code;
    }
    struct smallest_search search = {.from_bytes = duel->game.live_bytes,
                                     .to_bytes = duel->setup.capacity_bytes,
                                     .step_bytes = duel->play.granule_bytes,
                                     .precision_bytes = duel->game.live_bytes / PRECISION_PARTS,
                                     .serves = serves_game,
                                     .context = duel};
    smallest_keep_limits(&search, &side->limits);
    duel->smallest = smallest_find(&search);
    return duel->code;
}

/* --- how it is told --- */

static double find_times(uint64_t bytes, const struct duel *duel)
{
    return (double)bytes / (double)duel->game.live_bytes;
}

static void append_times(struct writing *text, const char *what, uint64_t bytes,
                         const struct duel *duel)
{
    if (bytes == 0) {
        writing_append_format(text, "%s n/a", what);
    } else {
        writing_append_format(text, "%s %.2f x", what, find_times(bytes, duel));
    }
}

static void say_duel(const struct duel *duel, const char *name, struct facts *facts)
{
    const struct robson_play *play = &duel->play;
    const uint64_t bound_bytes = robson_bound_bytes(&duel->game, play->granule_bytes);
    struct writing times = {0};
    if (play->end == ROBSON_NOT || play->end == ROBSON_BROKEN) {
        facts_line(facts, "%s: Robson: %s: %s", name,
                   play->end == ROBSON_NOT ? "not measured" : "a promise was broken", play->why);
        return;
    }
    append_times(&times, "used", play->end == ROBSON_WHOLE ? play->used_bytes : 0, duel);
    append_times(&times, ", smallest device", duel->smallest.bytes, duel);
    facts_line(facts, "%s: Robson: %s%s, the bound for any allocator that moves nothing is %.2f x",
               name, writing_string(&times),
               !play->has_addresses ? " (where its blocks lie is not told)"
               : play->may_move     ? " (its blocks may move)"
                                    : "",
               find_times(bound_bytes, duel));
    writing_deinit(&times);
}

static void tell_duel(const struct duel *duel, struct facts *facts)
{
    static const char *const ends[] = {[ROBSON_WHOLE] = "whole",
                                       [ROBSON_REFUSED] = "refused",
                                       [ROBSON_BROKEN] = "broken",
                                       [ROBSON_NOT] = "not measured"};
    const struct robson_play *play = &duel->play;
    const char *name = duel->versus->sides[duel->side].name;
    say_duel(duel, name, facts);
    facts_open(facts, "robson");
    facts_text(facts, "target", name);
    facts_text(facts, "run", ends[play->end]);
    facts_text(facts, "why", play->why);
    facts_count(facts, "live_bytes", duel->game.live_bytes);
    facts_count(facts, "smallest_block_bytes", duel->game.smallest_bytes);
    facts_count(facts, "largest_block_bytes", duel->game.largest_bytes);
    facts_count(facts, "bound_bytes", robson_bound_bytes(&duel->game, play->granule_bytes));
    facts_boolean(facts, "has_addresses", play->has_addresses);
    facts_boolean(facts, "may_move", play->may_move);
    facts_count(facts, "ops", play->op_count);
    facts_count_or_null(facts, "used_bytes", play->end == ROBSON_WHOLE && play->used_bytes > 0,
                        play->used_bytes);
    facts_count_or_null(facts, "smallest_capacity_bytes", duel->smallest.bytes > 0,
                        duel->smallest.bytes);
    facts_close(facts);
}

/* --- all --- */

/* The device of the whole game, as a list without ops: what contracts are asked for. */
static void make_device(struct versus *versus, const struct robson_game *game)
{
    versus->lists = calloc(1, sizeof *versus->lists);
    CHECK(versus->lists != NULL);
    struct versus_list *list = &versus->lists[0];
    setup_init(&list->setup);
    op_list_init(&list->ops);
    (void)snprintf(list->name, sizeof list->name, "robson");
    list->setup.capacity_bytes = DEVICE_TIMES * game->live_bytes;
    list->setup.seed = versus->options->run->has_seed ? versus->options->run->seed : 1;
    versus->list_count = 1;
}

static enum exit_code measure_side(struct versus *versus, const struct robson_game *game,
                                   size_t side, struct facts *facts)
{
    struct duel *duel = calloc(1, sizeof *duel);
    CHECK(duel != NULL);
    *duel = (struct duel){.versus = versus, .side = side, .game = *game};
    enum exit_code code = versus_ask_contract(versus, side);
    code = code == EXIT_KEPT ? measure_duel(duel) : code;
    if (code == EXIT_KEPT) {
        tell_duel(duel, facts);
    }
    free(duel);
    return code;
}

enum exit_code versus_robson(struct versus *versus)
{
    struct robson_game game = robson_published;
    char sizes[3][SIZE_TEXT_BYTES];
    struct output output;
    struct facts facts = {0};
    enum exit_code code = choose_game(versus->options->run, &game);
    if (code != EXIT_KEPT) {
        return code;
    }
    make_device(versus, &game);
    output_init(&output, versus->options->run->is_json);
    size_print(game.live_bytes, sizes[0]);
    size_print(game.smallest_bytes, sizes[1]);
    size_print(game.largest_bytes, sizes[2]);
    facts_line(&facts, "Robson's adversary: %s live, in blocks of %s to %s", sizes[0], sizes[1],
               sizes[2]);
    for (size_t side = 0; code == EXIT_KEPT && side < versus->side_count; side++) {
        code = measure_side(versus, &game, side, &facts);
        output_facts(&output, &facts);
    }
    facts_deinit(&facts);
    return code == EXIT_KEPT && output.is_failed ? EXIT_HARNESS : code;
}
