/* Out-of-memories of a contract that grows: where regions fence memory, what a new one has room
 * for, and that every judge agrees. */
#include "harness/base/random.h"
#include "harness/oracle/largest.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/relations.h"
#include "harness/oracle/shortfall.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

enum { GRANULE = 512, BLOCKS_MAX = 12, REGIONS_MAX = 6, RANDOM_COUNT = 40000, TIME_COUNT = 4 };

/* In granules; regions begin at multiples of 4. */
struct state {
    uint64_t capacity, step, need, align;
    bool trims, drains;
    uint32_t refused;
    uint64_t regions[REGIONS_MAX][2]; /* start and end; an end of 0 ends them */
    uint64_t blocks[BLOCKS_MAX][3]; /* address, size, and when it is freed; a size of 0 ends them */
};

static struct device_region regions[REGIONS_MAX];
static struct oom_block blocks[BLOCKS_MAX];

static struct oom make_oom(const struct state *state)
{
    struct oom oom = {.capacity_bytes = state->capacity * GRANULE,
                      .granule_bytes = GRANULE,
                      .drains = state->drains,
                      .faults_fired = state->refused,
                      .request = {.size_bytes = state->need * GRANULE,
                                  .align_bytes = (state->align == 0 ? 1 : state->align) * GRANULE,
                                  .own_op = OP_NONE},
                      .promised = {.grows = true,
                                   .trims = state->trims,
                                   .step_bytes = (state->step == 0 ? 1 : state->step) * GRANULE},
                      .region_align_bytes = (uint64_t)4 * GRANULE,
                      .regions = regions,
                      .blocks = blocks};
    while (oom.region_count < REGIONS_MAX && state->regions[oom.region_count][1] > 0) {
        const uint64_t *region = state->regions[oom.region_count];
        regions[oom.region_count++] = (struct device_region){region[0] * GRANULE,
                                                             (region[1] - region[0]) * GRANULE};
    }
    while (oom.block_count < BLOCKS_MAX && state->blocks[oom.block_count][1] > 0) {
        const uint64_t *block = state->blocks[oom.block_count];
        blocks[oom.block_count] = (struct oom_block){.address = block[0] * GRANULE,
                                                     .size_bytes = block[1] * GRANULE,
                                                     .align_bytes = GRANULE,
                                                     .freed_at_ns = block[2],
                                                     .op = (uint32_t)oom.block_count,
                                                     .state = block[2] > 0 ? BLOCK_DYING
                                                                           : BLOCK_LIVE};
        oom.block_count++;
    }
    return oom;
}

static void expect_verdict(const struct state *state, enum verdict_kind kind)
{
    struct oracle *oracle = oracle_create();
    const struct oom oom = make_oom(state);
    ck_assert_int_eq(judged_everywhere(oracle, &oom, "\"grows\": true"), kind);
    oracle_destroy(oracle);
}

#define FITS(...) expect_verdict(&(struct state){__VA_ARGS__}, VERDICT_PREMATURE)
#define FITS_NOT(...) expect_verdict(&(struct state){__VA_ARGS__}, VERDICT_JUSTIFIED)

EVERY_TEST(.timeout_s = 120);

TEST(a_hole_is_in_one_region)
{
    FITS(.capacity = 8, .need = 3, .regions = {{0, 4}, {4, 8}}, .blocks = {{0, 1, 0}, {6, 2, 0}});
    /* Five granules are free, three and two on either side of the fence. */
    FITS_NOT(.capacity = 8, .need = 4, .regions = {{0, 4}, {4, 8}},
             .blocks = {{0, 1, 0}, {6, 2, 0}});
    FITS(.capacity = 8, .need = 5, .regions = {{0, 8}}, .blocks = {{0, 1, 0}, {6, 2, 0}});
    FITS_NOT(.capacity = 8, .need = 2, .align = 4, .regions = {{0, 8}},
             .blocks = {{0, 1, 0}, {5, 2, 0}});
}

TEST(a_new_region_is_aligned_and_has_a_whole_number_of_steps)
{
    FITS(.capacity = 8, .need = 4, .regions = {{0, 1}}, .blocks = {{0, 1, 0}});
    FITS_NOT(.capacity = 8, .need = 5, .regions = {{0, 1}}, .blocks = {{0, 1, 0}});
    FITS_NOT(.capacity = 8, .need = 1, .regions = {{0, 5}}, .blocks = {{0, 5, 0}});
    FITS(.capacity = 12, .step = 8, .need = 3, .regions = {{0, 4}}, .blocks = {{0, 4, 0}});
    FITS_NOT(.capacity = 11, .step = 8, .need = 3, .regions = {{0, 4}}, .blocks = {{0, 4, 0}});
    FITS(.capacity = 11, .step = 3, .need = 5, .regions = {{0, 4}}, .blocks = {{0, 4, 0}});
}

TEST(only_a_contract_that_trims_gives_empty_regions_back)
{
    FITS_NOT(.capacity = 12, .need = 7, .regions = {{0, 4}, {4, 8}, {8, 12}},
             .blocks = {{8, 1, 0}});
    FITS(.capacity = 12, .trims = true, .need = 7, .regions = {{0, 4}, {4, 8}, {8, 12}},
         .blocks = {{8, 1, 0}});
    FITS_NOT(.capacity = 12, .trims = true, .need = 7, .regions = {{0, 4}, {4, 8}, {8, 12}},
             .blocks = {{4, 1, 0}});
    /* An empty region may have more room than the steps that would come in its place. */
    FITS(.capacity = 7, .trims = true, .step = 4, .need = 5, .regions = {{0, 5}});
    FITS_NOT(.capacity = 7, .trims = true, .step = 4, .need = 6, .regions = {{0, 5}});
}

TEST(a_region_is_empty_once_its_queued_frees_are_done)
{
    FITS_NOT(.capacity = 8, .trims = true, .need = 7, .regions = {{0, 4}, {4, 8}},
             .blocks = {{1, 1, 9}, {5, 1, 9}});
    FITS(.capacity = 8, .trims = true, .drains = true, .need = 7, .regions = {{0, 4}, {4, 8}},
         .blocks = {{1, 1, 9}, {5, 1, 9}});
    FITS_NOT(.capacity = 8, .trims = true, .drains = true, .need = 7, .regions = {{0, 4}, {4, 8}},
             .blocks = {{1, 1, DELAY_NEVER}, {5, 1, 9}});
    FITS(.capacity = 8, .drains = true, .need = 4, .regions = {{0, 4}, {4, 8}},
         .blocks = {{1, 1, 9}, {5, 1, 0}});
}

TEST(a_refused_region_excuses_growing_and_nothing_else)
{
    const uint32_t refused = 1u << FAULT_REGION;
    FITS_NOT(.capacity = 8, .need = 4, .refused = refused, .regions = {{0, 1}},
             .blocks = {{0, 1, 0}});
    FITS_NOT(.capacity = 8, .need = 4, .refused = 1u << FAULT_HOST_MEMORY, .regions = {{0, 1}},
             .blocks = {{0, 1, 0}});
    FITS(.capacity = 8, .need = 3, .refused = refused, .regions = {{0, 4}}, .blocks = {{0, 1, 0}});
    FITS(.capacity = 8, .trims = true, .need = 4, .refused = refused, .regions = {{0, 4}});
}

TEST(what_was_lacking_is_named)
{
    static const struct {
        struct state state;
        const char *name;
    } rows[] = {
        {{.capacity = 8, .need = 4, .regions = {{0, 1}}, .blocks = {{0, 1, 0}}}, "fits after grow"},
        {{.capacity = 8, .trims = true, .need = 7, .regions = {{0, 4}, {4, 8}}},
         "fits after trim and grow"},
        {{.capacity = 8,
          .trims = true,
          .drains = true,
          .need = 7,
          .regions = {{0, 4}, {4, 8}},
          .blocks = {{1, 1, 9}}},
         "fits after drain and trim and grow"},
        {{.capacity = 8,
          .drains = true,
          .need = 4,
          .regions = {{0, 4}, {4, 8}},
          .blocks = {{1, 1, 9}, {5, 1, 0}}},
         "fits after drain"},
        {{.capacity = 64, .need = 3, .regions = {{0, 4}}, .blocks = {{0, 1, 0}}},
         "buffer fits at once, in a hole under 9/8 of its size"},
    };
    struct oracle *oracle = oracle_create();
    struct reach reach = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[VERDICT_MECHANISM_BYTES];
        const struct oom oom = make_oom(&rows[i].state);
        shortfall_name(oracle, &oom, &reach, 0, name);
        ck_assert_str_eq(name, rows[i].name);
        ck_assert(i >= 4 || shortfall_lacks_mitigation(name));
    }
    ck_assert(shortfall_is_simpler("fits after grow", "fits after trim and grow"));
    reach_deinit(&reach);
    oracle_destroy(oracle);
}

TEST(the_largest_request_is_that_of_a_hole_or_a_new_region)
{
    struct oracle *oracle = oracle_create();
    struct oom oom = make_oom(&(struct state){
        .capacity = 16, .step = 4, .need = 16, .regions = {{0, 4}}, .blocks = {{0, 1, 0}}});
    const struct oracle_largest largest = oracle_find_largest(oracle, &oom, VERDICT_JUSTIFIED, 0);
    ck_assert(largest.is_exact);
    ck_assert_uint_eq(largest.bytes, 12 * GRANULE);
    oracle_destroy(oracle);
}

/* --- at random --- */

static void draw_blocks(struct random *random, struct state *state)
{
    size_t count = 0;
    for (size_t i = 0; i < REGIONS_MAX && state->regions[i][1] > 0; i++) {
        uint64_t at = state->regions[i][0];
        for (int k = 0; k < 3 && count < BLOCKS_MAX; k++) {
            at += random_below(random, 4);
            const uint64_t size = random_between(random, 1, 4);
            if (at + size > state->regions[i][1]) {
                break;
            }
            state->blocks[count][0] = at;
            state->blocks[count][1] = size;
            state->blocks[count][2] = random_chance(random, 1, 2)
                                          ? random_between(random, 1, TIME_COUNT)
                                          : 0;
            count++;
            at += size;
        }
    }
}

static struct state draw_state(struct random *random)
{
    struct state state = {.capacity = random_between(random, 1, 40),
                          .step = random_between(random, 1, 6),
                          .align = (uint64_t)1 << random_below(random, 3),
                          .trims = random_chance(random, 1, 2),
                          .drains = random_chance(random, 1, 2),
                          .refused = random_chance(random, 1, 8) ? 1u << FAULT_REGION : 0};
    uint64_t at = 0;
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        at = (at + 3) / 4 * 4 + 4 * random_below(random, 2);
        const uint64_t end = at + random_between(random, 1, 9);
        if (end > state.capacity) {
            break;
        }
        state.regions[i][0] = at;
        state.regions[i][1] = at = end;
    }
    state.need = random_between(random, 1, state.capacity + 1);
    draw_blocks(random, &state);
    return state;
}

static enum verdict_kind ask_oracle(void *context, const struct oom *oom, uint64_t nodes_max)
{
    struct verdict verdict = {0};
    oracle_judge(context, oom, nodes_max, &verdict);
    return verdict.kind;
}

TEST(every_judge_agrees_on_states_at_random)
{
    struct random random;
    struct oracle *oracle = oracle_create();
    struct relations relations = {0};
    const struct relation_judge ask = {oracle, ask_oracle};
    uint32_t counts[VERDICT_DISPUTED + 1] = {0};
    random_init(&random, 77);
    const uint64_t count = draws_count(RANDOM_COUNT, 1);
    for (uint64_t i = 0; i < count; i++) {
        const struct state state = draw_state(&random);
        const struct oom oom = make_oom(&state);
        struct verdict verdict = {.kind = judged_everywhere(oracle, &oom, "\"grows\": true"),
                                  .nodes_max = 1000};
        uint32_t asked_count = 0;
        enum verdict_kind answer = VERDICT_NONE;
        ck_assert_int_eq(
            relations_find_broken(&relations, &oom, &verdict, &ask, &asked_count, &answer),
            RELATION_NONE);
        ck_assert_uint_ge(asked_count, 2);
        counts[verdict.kind]++;
    }
    ck_assert_uint_gt(counts[VERDICT_PREMATURE], count / 5);
    ck_assert_uint_gt(counts[VERDICT_JUSTIFIED], count / 5);
    relations_deinit(&relations);
    oracle_destroy(oracle);
}
