/* The oracle on out-of-memories that are large, and what it says.  Against other judges it is held
 * in test_oracle_small_heaps.c and test_oracle_z3.c; tests/cases/oracle has what runs show. */
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { GRANULE = SMALL_GRANULE };

/* --- what makes an unknown one hard --- */

/* Spans that are full but for a little each, and a request for all of these together: bounds say
 * nothing, and one step of a search finds nothing. */
enum { SPAN_COUNT = 8, SPAN_BLOCK_COUNT = 9, HARD_COUNT = SPAN_COUNT * (SPAN_BLOCK_COUNT + 1) };

static void fill_hard_oom(struct oom *oom, struct oom_block blocks[HARD_COUNT])
{
    uint64_t at = 0;
    uint64_t gaps = 0;
    for (size_t i = 0; i < HARD_COUNT; i++) {
        const bool is_fixed = i % (SPAN_BLOCK_COUNT + 1) == SPAN_BLOCK_COUNT;
        const uint64_t granules = is_fixed ? 1 : 11 + i * 7919 % 37;
        const uint64_t gap = is_fixed ? 3 + i % 5 : 0;
        at += gap * GRANULE;
        gaps += gap;
        blocks[i] = (struct oom_block){.address = at,
                                       .size_bytes = granules * GRANULE,
                                       .align_bytes = GRANULE,
                                       .used_until_ns = is_fixed ? DELAY_NEVER : 0,
                                       .op = (uint32_t)i,
                                       .state = BLOCK_LIVE};
        at += granules * GRANULE;
    }
    *oom = (struct oom){
        .capacity_bytes = at,
        .granule_bytes = GRANULE,
        .defrag = DEFRAG_REPACK,
        .request = {.size_bytes = gaps * GRANULE, .align_bytes = GRANULE, .own_op = OP_NONE},
        .blocks = blocks,
        .block_count = HARD_COUNT};
}

static void expect_class(struct oracle *oracle, const struct oom *oom, enum oom_class class)
{
    struct verdict verdict = {0};
    oracle_judge(oracle, oom, 1, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_UNKNOWN);
    ck_assert_str_eq(oom_class_name(verdict.oom_class), oom_class_name(class));
}

TEST(an_unknown_verdict_says_what_makes_it_hard)
{
    struct oom oom;
    struct oom_block blocks[HARD_COUNT];
    struct oracle *oracle = oracle_create();
    fill_hard_oom(&oom, blocks);
    expect_class(oracle, &oom, OOM_PLAIN);
    struct verdict verdict = {.reason = ""};
    oracle_judge(oracle, &oom, 1, &verdict);
    ck_assert_str_eq(verdict.reason,
                     "the search found no packing within 1 nodes and did not refute one (search)");
    struct oom_block *fixed = &blocks[SPAN_BLOCK_COUNT];
    fixed->used_until_ns = 0;
    fixed->hold_count = 1;
    expect_class(oracle, &oom, OOM_HELD);
    fixed->align_bytes = fixed->address & -fixed->address; /* it does not move: no matter */
    ck_assert_uint_gt(fixed->align_bytes, GRANULE);
    expect_class(oracle, &oom, OOM_HELD);
    oom.request.align_bytes = 2 * GRANULE;
    expect_class(oracle, &oom, OOM_ALIGNED);
    oom.request.align_bytes = GRANULE;
    blocks[0].align_bytes = 2 * GRANULE; /* at address 0 */
    expect_class(oracle, &oom, OOM_ALIGNED);
    fixed->hold_count = 0;
    fixed->used_until_ns = DELAY_NEVER;
    expect_class(oracle, &oom, OOM_ALIGNED);
    oracle_destroy(oracle);
}

/* A stack alone needs no place that is aligned. */
TEST(the_alignment_of_no_block_makes_nothing_hard)
{
    struct oom oom;
    struct oom_block blocks[HARD_COUNT];
    struct oracle *oracle = oracle_create();
    fill_hard_oom(&oom, blocks);
    oom.request.class = REQUEST_PROGRAM;
    oom.request.stack_bytes = oom.request.size_bytes;
    oom.request.size_bytes = 0;
    oom.request.align_bytes = 2 * GRANULE;
    expect_class(oracle, &oom, OOM_PLAIN);
    oracle_destroy(oracle);
}

/* --- what is too large --- */

/* Two spans of blocks of one granule, which begin behind held blocks at odd granules and have one
 * free granule each; a request for two at an even one fits only if a block lies below it. */
static void fill_long_oom(struct oom *oom, struct oom_block *blocks, uint64_t movable_count)
{
    const uint64_t second = movable_count / 2 / 2 * 2 + 2; /* an even granule: its held block */
    uint64_t at = 0;
    *oom = (struct oom){
        .capacity_bytes = (movable_count + 4) * GRANULE,
        .granule_bytes = GRANULE,
        .defrag = DEFRAG_REPACK,
        .request = {.size_bytes = 2 * GRANULE, .align_bytes = 2 * GRANULE, .own_op = OP_NONE},
        .blocks = blocks,
        .block_count = movable_count + 2};
    for (size_t i = 0; i < oom->block_count; i++, at++) {
        at += at + 1 == second ? 1 : 0;
        blocks[i] = (struct oom_block){.address = at * GRANULE,
                                       .size_bytes = GRANULE,
                                       .align_bytes = GRANULE,
                                       .op = (uint32_t)i,
                                       .hold_count = at == 0 || at == second,
                                       .state = BLOCK_LIVE};
    }
}

TEST(what_is_too_large_for_a_search_is_not_searched_for_longer)
{
    enum { ITEMS_MAX = 8192 };
    struct oracle *oracle = oracle_create();
    struct oom_block *blocks = calloc(ITEMS_MAX + 2, sizeof *blocks);
    ck_assert_ptr_nonnull(blocks);
    for (uint64_t item_count = ITEMS_MAX; item_count <= ITEMS_MAX + 1; item_count++) {
        struct oom oom;
        struct verdict verdict = {0};
        fill_long_oom(&oom, blocks, item_count - 1);
        oracle_judge(oracle, &oom, 0, &verdict);
        ck_assert_int_eq(verdict.kind,
                         item_count == ITEMS_MAX ? VERDICT_PREMATURE : VERDICT_UNKNOWN);
        ck_assert_uint_eq(verdict.nodes_max, ORACLE_NODES_DEFAULT);
        ck_assert_uint_lt(verdict.nodes, ORACLE_NODES_DEFAULT);
    }
    free(blocks);
    oracle_destroy(oracle);
}

/* A request of 2 granules, where one of two is free, or both are. */
TEST(a_terse_oracle_explains_what_is_premature_and_what_it_proves)
{
    const struct oom like = {.request = {.size_bytes = 2 * GRANULE}};
    struct oracle *oracle = oracle_create();
    for (int is_terse = 0; is_terse < 2; is_terse++) {
        oracle_set_terse(oracle, is_terse != 0);
        for (int has_block = 0; has_block < 2; has_block++) {
            struct small_oom small;
            struct verdict verdict = {0};
            small_oom_draw(&small, &like, has_block != 0 ? "m." : "..");
            oracle_judge(oracle, &small.oom, 0, &verdict);
            ck_assert_int_eq(verdict.kind, has_block != 0 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
            ck_assert_int_eq(verdict.reason[0] == '\0', has_block != 0 && is_terse != 0);
            (void)oracle_prove(oracle, &small.oom, verdict.nodes_max, &verdict);
            ck_assert_str_eq(verdict.reason, has_block != 0
                                                 ? "no hole offers more than 512B of the 512B free"
                                                 : "with no mitigation the request fits at 0x0");
        }
    }
    oracle_destroy(oracle);
}
