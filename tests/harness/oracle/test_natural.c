/* A contract that aligns naturally: where its blocks lie, which refusals it justifies, that every
 * judge agrees on them, and what the contract may say besides. */
#include "harness/base/random.h"
#include "harness/oracle/largest.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/relations.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <string.h>

/* --- states: every judge agrees --- */

enum { BLOCKS_MAX = 12, RANDOM_COUNT = 20000 };

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

static void expect_verdict(const struct state *state, enum verdict_kind kind)
{
    struct oracle *oracle = oracle_create();
    const struct oom oom = make_oom(state);
    ck_assert_int_eq(judged_everywhere(oracle, &oom, "\"aligns_naturally\": true"), kind);
    oracle_destroy(oracle);
}

#define FITS(...) expect_verdict(&(struct state){__VA_ARGS__}, VERDICT_PREMATURE)
#define FITS_NOT(...) expect_verdict(&(struct state){__VA_ARGS__}, VERDICT_JUSTIFIED)

EVERY_TEST(.timeout_s = 120);

TEST(a_hole_takes_a_request_at_a_multiple_of_its_size_alone)
{
    /* Six granules are free, from 1 to 7. */
    FITS_NOT(.capacity = 8, .need = 4, .blocks = {{0, 1}, {7, 1}});
    FITS(.capacity = 8, .need = 2, .blocks = {{0, 1}, {7, 1}});
    FITS(.capacity = 8, .need = 4, .blocks = {{0, 1}});
    FITS_NOT(.capacity = 12, .need = 8, .blocks = {{0, 1}});
    FITS(.capacity = 12, .need = 8, .blocks = {{8, 4}});
    /* What it asks for itself may be more. */
    FITS_NOT(.capacity = 8, .need = 2, .align = 8, .blocks = {{0, 1}});
    FITS_NOT(.capacity = 12, .need = 16);
}

TEST(an_alignment_may_be_as_large_as_a_device)
{
    const uint64_t half = UINT64_C(1) << 40;
    FITS(.capacity = 2 * half, .need = half, .blocks = {{0, 1}});
    FITS_NOT(.capacity = 2 * half, .need = half, .blocks = {{0, 1}, {2 * half - 1, 1}});
    FITS_NOT(.capacity = 2 * half - 1, .need = half, .blocks = {{0, 1}});
    FITS(.capacity = 2 * half, .need = 2 * half);
    FITS_NOT(.capacity = 2 * half, .need = 4 * half);
}

static uint64_t find_largest(const struct state *state)
{
    struct oracle *oracle = oracle_create();
    const struct oom oom = make_oom(state);
    const struct oracle_largest largest = oracle_find_largest(oracle, &oom, VERDICT_JUSTIFIED, 0);
    ck_assert(largest.is_exact);
    oracle_destroy(oracle);
    return largest.bytes / G;
}

TEST(the_largest_request_has_the_alignment_of_its_own_size)
{
    ck_assert_uint_eq(find_largest(&(struct state){.capacity = 8, .need = 8, .blocks = {{0, 1}}}),
                      4);
    ck_assert_uint_eq(
        find_largest(&(struct state){.capacity = 8, .need = 8, .blocks = {{0, 1}, {7, 1}}}), 2);
    ck_assert_uint_eq(find_largest(&(struct state){.capacity = 12, .need = 16}), 8);
    ck_assert_uint_eq(
        find_largest(&(struct state){.capacity = 8, .need = 8, .align = 4, .blocks = {{4, 4}}}), 4);
    ck_assert_uint_eq(
        find_largest(&(struct state){.capacity = 8, .need = 8, .align = 4, .blocks = {{0, 5}}}), 0);
}

/* --- states at random --- */

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
    random_init(&random, 81);
    for (int i = 0; i < RANDOM_COUNT; i++) {
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
    ck_assert_uint_gt(counts[VERDICT_PREMATURE], RANDOM_COUNT / 5);
    ck_assert_uint_gt(counts[VERDICT_JUSTIFIED], RANDOM_COUNT / 5);
    relations_deinit(&relations);
    oracle_destroy(oracle);
}

/* --- a target that promises it, on a device of 16 granules --- */

static const struct target_contract natural = {
    .granule_bytes = G, .rounding = {ROUNDING_CLASSES, .steps = 1}, .aligns_naturally = true};

static void start_natural(bool aligns_naturally)
{
    prepare();
    script.contract = natural;
    script.contract.aligns_naturally = aligns_naturally;
    start_hosts(1);
}

TEST(a_block_lies_at_a_multiple_of_its_size_class)
{
    start_natural(true);
    KEEPS(alloc_at(1, 1));
    KEEPS(alloc_at(4, 4));
    BREAKS(alloc_at(10, 4), RULE_MISALIGNED);
    stop();
    start_natural(false);
    KEEPS(alloc_at(10, 4));
    stop();
    /* Three granules are of the class of four, however many the block has. */
    start_natural(true);
    BREAKS(alloc_at(3, 3), RULE_MISALIGNED);
    stop();
}

TEST(a_refusal_is_judged_at_multiples_of_the_size_class)
{
    start_natural(true);
    KEEPS(alloc_at(0, 1));
    KEEPS(alloc_at(15, 1));
    const struct verdict *refused = refuse(8);
    JUDGED(refused, VERDICT_JUSTIFIED);
    ck_assert_ptr_nonnull(strstr(refused->reason,
                                 "no hole offers more than 7.0K of the 7.0K free, and none has "
                                 "room at a multiple of 4.0K"));
    JUDGED(refuse(5), VERDICT_JUSTIFIED);
    JUDGED(refuse(17), VERDICT_JUSTIFIED);
    JUDGED(refuse(4), VERDICT_PREMATURE);
    stop();
    start_natural(false);
    KEEPS(alloc_at(0, 1));
    KEEPS(alloc_at(15, 1));
    JUDGED(refuse(8), VERDICT_PREMATURE);
    stop();
}

/* The block keeps its place, whatever the size class of the output. */
TEST(a_donated_block_is_aligned_as_it_was)
{
    start_natural(true);
    KEEPS(alloc_at(4, 4));
    struct op op = op_make(OP_DONATE);
    op.ref = 0;
    op.size_bytes = 3 * G;
    script.block = script.at[1];
    script.block.handle = next_handle();
    KEEPS(step(op));
    JUDGED(refuse(8), VERDICT_PREMATURE);
    stop();
}

TEST(a_contract_that_makes_no_sense_is_refused_in_one_line)
{
    const struct target_rounding powers = natural.rounding;
    const struct {
        struct target_contract contract;
        const char *reason;
    } rows[] = {
        {{.rounding = {ROUNDING_GRANULE}}, "are not the powers of two"},
        {{.rounding = {ROUNDING_ANY}}, "are not the powers of two"},
        {{.rounding = {ROUNDING_CLASSES, .steps = 2}}, "are not the powers of two"},
        {{.rounding = {ROUNDING_CLASSES, .steps = 1, .overhead_bytes = 1}},
         "are not the powers of two"},
        {{.rounding = {ROUNDING_CLASSES, .steps = 1, .smallest_bytes = 3 * G}},
         "are not the powers of two"},
        {{.rounding = powers, .placement = PLACEMENT_PAGES}, "no address, or headers"},
        {{.rounding = powers, .defrag = DEFRAG_SLIDE, .queues_frees = true}, "neither moves"},
        {{.rounding = powers, .programs = true}, "neither moves, programs nor regions"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct setup setup;
        char reason[RUN_REASON_BYTES] = "";
        setup_init(&setup);
        setup.capacity_bytes = UINT64_C(16) * G;
        prepare();
        script.contract = rows[i].contract;
        script.contract.granule_bytes = G;
        script.contract.aligns_naturally = true;
        ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
        ck_assert_msg(strstr(reason, rows[i].reason) != NULL, "%zu: %s", i, reason);
    }
}
