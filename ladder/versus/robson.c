/* compare --robson: Robson's adversary plays against each build, beside the bound for whatever
 * moves nothing. */
#include "measure/robson.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
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

/* That of docs/robson.md, with what the options say. */
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

static void tell_game(const struct robson_game *game, struct writing *text)
{
    char live[SIZE_TEXT_BYTES], smallest[SIZE_TEXT_BYTES], largest[SIZE_TEXT_BYTES];
    size_print(game->live_bytes, live);
    size_print(game->smallest_bytes, smallest);
    size_print(game->largest_bytes, largest);
    writing_append_format(text, "Robson's adversary: %s live, in blocks of %s to %s\n", live,
                          smallest, largest);
}

static void tell_duel(const struct duel *duel, struct writing *text)
{
    const struct robson_play *play = &duel->play;
    writing_append_visible(text, duel->versus->sides[duel->side].name);
    writing_append(text, ": Robson: ");
    if (play->end == ROBSON_NOT || play->end == ROBSON_BROKEN) {
        writing_append(text, play->end == ROBSON_NOT ? "not measured: " : "a promise was broken: ");
        writing_append_visible(text, play->why);
        writing_append(text, "\n");
        return;
    }
    append_times(text, "used", play->end == ROBSON_WHOLE ? play->used_bytes : 0, duel);
    append_times(text, ", smallest device", duel->smallest.bytes, duel);
    const char *note = !play->has_addresses ? " (where its blocks lie is not told)"
                       : play->may_move     ? " (its blocks may move)"
                                            : "";
    writing_append_format(text, "%s, the bound for any allocator that moves nothing is %.2f x\n",
                          note,
                          find_times(robson_bound_bytes(&duel->game, play->granule_bytes), duel));
}

static void add_number_if(struct writing *text, const char *key, uint64_t value)
{
    if (value > 0) {
        json_add_number(text, key, value);
    } else {
        json_add_null(text, key);
    }
}

static void print_json(const struct duel *duel, struct writing *text)
{
    static const char *const ends[] = {[ROBSON_WHOLE] = "whole",
                                       [ROBSON_REFUSED] = "refused",
                                       [ROBSON_BROKEN] = "broken",
                                       [ROBSON_NOT] = "not measured"};
    const struct robson_play *play = &duel->play;
    json_open(text, "robson");
    json_add_string(text, "target", duel->versus->sides[duel->side].name);
    json_add_string(text, "run", ends[play->end]);
    json_add_string(text, "why", play->why);
    json_add_number(text, "live_bytes", duel->game.live_bytes);
    json_add_number(text, "smallest_block_bytes", duel->game.smallest_bytes);
    json_add_number(text, "largest_block_bytes", duel->game.largest_bytes);
    json_add_number(text, "bound_bytes", robson_bound_bytes(&duel->game, play->granule_bytes));
    json_add_boolean(text, "has_addresses", play->has_addresses);
    json_add_boolean(text, "may_move", play->may_move);
    json_add_number(text, "ops", play->op_count);
    add_number_if(text, "used_bytes", play->end == ROBSON_WHOLE ? play->used_bytes : 0);
    add_number_if(text, "smallest_capacity_bytes", duel->smallest.bytes);
    json_close(text);
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
                                   size_t side, struct output *output)
{
    struct duel *duel = calloc(1, sizeof *duel);
    CHECK(duel != NULL);
    *duel = (struct duel){.versus = versus, .side = side, .game = *game};
    enum exit_code code = versus_ask_contract(versus, side);
    code = code == EXIT_KEPT ? measure_duel(duel) : code;
    if (code == EXIT_KEPT) {
        struct writing text;
        writing_init(&text);
        if (output->is_json) {
            print_json(duel, &text);
            output_line(output, &text);
        } else {
            tell_duel(duel, &text);
            output_text(output, &text);
        }
        output_flush(output);
        writing_deinit(&text);
    }
    free(duel);
    return code;
}

enum exit_code versus_robson(struct versus *versus)
{
    struct robson_game game = robson_published;
    struct output output;
    struct writing text;
    enum exit_code code = choose_game(versus->options->run, &game);
    if (code != EXIT_KEPT) {
        return code;
    }
    make_device(versus, &game);
    output_init(&output, versus->options->run->is_json);
    writing_init(&text);
    tell_game(&game, &text);
    output_text(&output, &text);
    for (size_t side = 0; code == EXIT_KEPT && side < versus->side_count; side++) {
        code = measure_side(versus, &game, side, &output);
    }
    writing_deinit(&text);
    return code == EXIT_KEPT && output.is_failed ? EXIT_HARNESS : code;
}
