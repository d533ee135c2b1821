/* Robson's adversary forces each allocator that moves nothing to the bound, wherever that places
 * its blocks, and one that moves gets by with what is live. */
#include "kit/kit.h"
#include "measure/robson.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRANULE_BYTES = 512, BLOCK_COUNT_MAX = 256, DEVICE_TIMES = 64 };

/* --- an allocator that knows all of its holes, and takes one by its rule --- */

struct placed {
    uint64_t offset, end;
};
struct holes {
    struct placed blocks[BLOCK_COUNT_MAX]; /* count of them, by offset */
    size_t count;
    uint64_t capacity_bytes;
    uint64_t last, draw; /* the end of the last block; what chance comes from */
    char rule;           /* first, best, worst, next, any */
};

static const char *open_holes(void *state, const struct kit_setup *setup)
{
    struct holes *holes = state;
    holes->capacity_bytes = setup->capacity_bytes;
    holes->rule = kit_option(setup, "rule")[0];
    return NULL;
}

static uint64_t draw(struct holes *holes, uint64_t count)
{
    holes->draw = holes->draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (holes->draw >> 33) % count;
}

/* Whether the rule likes the hole [start, end) better than [best_start, best_end). */
static bool is_better(struct holes *holes, const struct placed *hole, const struct placed *best)
{
    const uint64_t length = hole->end - hole->offset, best_length = best->end - best->offset;
    switch (holes->rule) {
    case 'b':
        return length < best_length;
    case 'w':
        return length > best_length;
    case 'n':
        return best->offset < holes->last && hole->offset >= holes->last;
    case 'a':
        return draw(holes, 2) == 0;
    default:
        return false;
    }
}

/* Returns before which block it is put. */
static size_t find_hole(struct holes *holes, uint64_t size_bytes, struct placed *best)
{
    size_t found = BLOCK_COUNT_MAX;
    for (size_t i = 0; i <= holes->count; i++) {
        const struct placed hole = {.offset = i == 0 ? 0 : holes->blocks[i - 1].end,
                                    .end = i == holes->count ? holes->capacity_bytes
                                                             : holes->blocks[i].offset};
        if (hole.end - hole.offset >= size_bytes &&
            (found == BLOCK_COUNT_MAX || is_better(holes, &hole, best))) {
            *best = hole;
            found = i;
        }
    }
    return found;
}

static uint64_t allocate_in_hole(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct holes *holes = state;
    struct placed hole = {0, 0};
    (void)align_bytes;
    const size_t i = find_hole(holes, size_bytes, &hole);
    if (i == BLOCK_COUNT_MAX || holes->count == BLOCK_COUNT_MAX) {
        return KIT_NOTHING;
    }
    memmove(&holes->blocks[i + 1], &holes->blocks[i], (holes->count - i) * sizeof *holes->blocks);
    if (holes->rule == 'a') { /* anywhere in the hole, not at its start */
        hole.offset += GRANULE_BYTES *
                       draw(holes, (hole.end - hole.offset - size_bytes) / GRANULE_BYTES + 1);
    }
    holes->blocks[i] = (struct placed){hole.offset, hole.offset + size_bytes};
    holes->count++;
    holes->last = hole.offset + size_bytes;
    return hole.offset;
}

static void free_in_hole(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct holes *holes = state;
    size_t i = 0;
    (void)size_bytes;
    while (holes->blocks[i].offset != offset) {
        i++;
    }
    holes->count--;
    memmove(&holes->blocks[i], &holes->blocks[i + 1], (holes->count - i) * sizeof *holes->blocks);
}

static const char rules_help[] = "rule=first|best|worst|next|any\n";

static enum target_result open_target(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **instance,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    static const struct kit_allocator allocator = {.state_bytes = sizeof(struct holes),
                                                   .open = open_holes,
                                                   .allocate_offset = allocate_in_hole,
                                                   .free_offset = free_in_hole};
    return kit_open(&allocator, rules_help, setup, device, instance, contract, reason,
                    reason_bytes);
}

static const struct target holes_target = {
    KIT_TABLE("holes", "places each block by one rule", rules_help, open_target)};

/* --- games --- */

static struct robson_game make_game(uint64_t live_count, uint64_t largest_count)
{
    return (struct robson_game){.smallest_bytes = GRANULE_BYTES,
                                .largest_bytes = largest_count * GRANULE_BYTES,
                                .live_bytes = live_count * GRANULE_BYTES};
}

static struct robson_play play(const struct target *target, const char *key, const char *value,
                               const struct robson_game *game, uint64_t capacity_bytes,
                               uint64_t seed)
{
    struct robson_play played;
    struct setup setup;
    setup_init(&setup);
    (void)snprintf(setup.target, sizeof setup.target, "%s", target->name);
    setup.capacity_bytes = capacity_bytes;
    setup.seed = seed;
    if (key != NULL) {
        ck_assert(setup_set_option(&setup, key, value));
    }
    robson_play(target, &scenario_robson, &setup, game, &played);
    return played;
}

static void is_forced(const struct target *target, const char *key, const char *value)
{
    for (uint64_t largest = 2; largest <= 16; largest *= 2) {
        for (uint64_t live = 2 * largest; live <= 96; live += 2 * largest) {
            const struct robson_game game = make_game(live, largest);
            const struct robson_play played = play(target, key, value, &game,
                                                   DEVICE_TIMES * game.live_bytes, largest + live);
            ck_assert_msg(played.end == ROBSON_WHOLE, "%s: %s", target->name, played.why);
            /* each of them keeps the largest size from one more place */
            ck_assert_uint_ge(played.live_count * game.largest_bytes + GRANULE_BYTES,
                              robson_bound_bytes(&game, GRANULE_BYTES) + game.largest_bytes);
            ck_assert_msg(played.used_bytes >= robson_bound_bytes(&game, GRANULE_BYTES),
                          "%s %s: %" PRIu64 " blocks, up to %" PRIu64 " in one: used %" PRIu64
                          " of %" PRIu64,
                          target->name, value == NULL ? "" : value, live, largest,
                          played.used_bytes, robson_bound_bytes(&game, GRANULE_BYTES));
        }
    }
}

/* --- tests --- */

TEST(the_bound_is_that_of_the_theorem)
{
    const struct robson_game game = make_game(32, 8);
    /* 32 * (1 + 3 / 2) - 8 + 1 */
    ck_assert_uint_eq(robson_bound_bytes(&game, GRANULE_BYTES), 73 * GRANULE_BYTES);
    const struct robson_game pairs = make_game(16, 2);
    /* Knuth, The Art of Computer Programming, volume 1, exercise 2.5-37: N(16, 2) = 23. */
    ck_assert_uint_eq(robson_bound_bytes(&pairs, GRANULE_BYTES), 23 * GRANULE_BYTES);
}

TEST(whatever_moves_nothing_is_forced_to_the_bound)
{
    static const char *const rules[] = {"first", "best", "worst", "next", "any"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        is_forced(&holes_target, "rule", rules[i]);
    }
}

TEST(so_are_the_listed_targets_that_move_nothing)
{
    is_forced(target_find("first_fit"), NULL, NULL);
    is_forced(target_find("buddy"), NULL, NULL);
    is_forced(target_find("streamed"), NULL, NULL);
    is_forced(target_find("hbm"), "defrag", "none");
}

TEST(no_device_below_the_bound_serves_what_moves_nothing)
{
    for (uint64_t largest = 2; largest <= 16; largest *= 2) {
        const struct robson_game game = make_game(64, largest);
        const uint64_t bound = robson_bound_bytes(&game, GRANULE_BYTES);
        for (uint64_t capacity = game.live_bytes; capacity < bound; capacity += GRANULE_BYTES) {
            const struct robson_play played = play(&holes_target, "rule", "first", &game, capacity,
                                                   1);
            ck_assert_int_eq(played.end, ROBSON_REFUSED);
        }
    }
}

TEST(what_moves_gets_by_with_what_is_live)
{
    for (uint64_t largest = 2; largest <= 16; largest *= 2) {
        const struct robson_game game = make_game(64, largest);
        const struct robson_play played = play(target_find("hbm"), "defrag", "slide", &game,
                                               game.live_bytes, 1);
        ck_assert_int_eq(played.end, ROBSON_WHOLE);
        ck_assert(played.may_move);
    }
}

TEST(a_defect_and_a_device_that_is_refused_are_told)
{
    const struct robson_game game = make_game(64, 16);
    const struct robson_play broken = play(target_find("plant_overlap"), NULL, NULL, &game,
                                           DEVICE_TIMES * game.live_bytes, 1);
    ck_assert_int_eq(broken.end, ROBSON_BROKEN);
    ck_assert_uint_gt(strlen(broken.why), 0);
    const struct robson_play refused = play(target_find("first_fit"), "defrag", "sideways", &game,
                                            DEVICE_TIMES * game.live_bytes, 1);
    ck_assert_int_eq(refused.end, ROBSON_NOT);
    ck_assert_uint_gt(strlen(refused.why), 0);
}
