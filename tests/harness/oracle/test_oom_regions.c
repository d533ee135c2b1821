/* Out-of-memories of a contract that grows: every judge agrees on states at random.  By hand they
 * are in tests/cases/oracle/oom_regions.case. */
#include "harness/base/random.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/relations.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>

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

EVERY_TEST(.timeout_s = 120);

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
