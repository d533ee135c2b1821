/* A contract that aligns naturally: every judge agrees on its refusals, in states at random.  What
 * it says by hand is in tests/cases/oracle/natural.case. */
#include "harness/base/random.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/relations.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>

enum { G = 512, BLOCKS_MAX = 12, RANDOM_COUNT = 20000 };

/* In granules. */
struct state {
    uint64_t capacity, need, align;
    uint64_t blocks[BLOCKS_MAX][2]; /* address and size; a size of 0 ends them */
};

static struct oom_block blocks[BLOCKS_MAX];

static struct oom make_oom(const struct state *state)
{
    const uint64_t asked = state->align == 0 ? 1 : state->align;
    const uint64_t align = state->need > asked && state->need <= state->capacity ? state->need
                                                                                 : asked;
    struct oom oom = {.capacity_bytes = state->capacity * G,
                      .granule_bytes = G,
                      .aligns_naturally = true,
                      .request = {.size_bytes = state->need * G,
                                  .asked_align_bytes = asked * G,
                                  .align_bytes = align * G,
                                  .own_op = OP_NONE},
                      .promised = {.step_bytes = G},
                      .region_align_bytes = TARGET_REGION_ALIGN_BYTES,
                      .blocks = blocks};
    while (oom.block_count < BLOCKS_MAX && state->blocks[oom.block_count][1] > 0) {
        const uint64_t *block = state->blocks[oom.block_count];
        blocks[oom.block_count] = (struct oom_block){.address = block[0] * G,
                                                     .size_bytes = block[1] * G,
                                                     .align_bytes = G,
                                                     .op = (uint32_t)oom.block_count,
                                                     .state = BLOCK_LIVE};
        oom.block_count++;
    }
    return oom;
}

EVERY_TEST(.timeout_s = 120);

static struct state draw_state(struct random *random)
{
    struct state state = {.capacity = random_between(random, 1, 40),
                          .need = UINT64_C(1) << random_below(random, 6),
                          .align = UINT64_C(1) << random_below(random, 4)};
    uint64_t at = 0;
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        const uint64_t size = UINT64_C(1) << random_below(random, 3);
        at = (at + random_below(random, 9) + size - 1) / size * size;
        if (at + size > state.capacity) {
            break;
        }
        state.blocks[i][0] = at;
        state.blocks[i][1] = size;
        at += size;
    }
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
    const uint64_t count = draws_count(RANDOM_COUNT, 1);
    random_init(&random, 81);
    for (uint64_t i = 0; i < count; i++) {
        const struct state state = draw_state(&random);
        const struct oom oom = make_oom(&state);
        struct verdict verdict = {
            .kind = judged_everywhere(oracle, &oom, "\"aligns_naturally\": true"),
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
