/* Blocks without addresses, pages, headers, and what a target can take: how they are judged, and
 * what is drawn for them. */
#include "harness/op/limits.h"
#include "harness/op/not_checked.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* --- by sums --- */

/* A device of `capacity` granules with `count` blocks of one granule each, and a request of `need`
 * granules at a multiple of `align`. */
static enum verdict_kind judge(enum placement placement, uint64_t capacity, size_t count,
                               uint64_t need, uint64_t align)
{
    struct oom_block blocks[16];
    struct oom oom = {.capacity_bytes = capacity * G,
                      .granule_bytes = G,
                      .placement = placement,
                      .request = {.size_bytes = need * G,
                                  .asked_bytes = need * G,
                                  .align_bytes = align * G,
                                  .own_op = OP_NONE},
                      .blocks = blocks,
                      .block_count = count};
    struct verdict verdict = {0};
    for (size_t i = 0; i < count; i++) {
        blocks[i] = (struct oom_block){.size_bytes = G, .align_bytes = G, .op = (uint32_t)i};
    }
    struct oracle *oracle = oracle_create();
    oracle_judge(oracle, &oom, 0, &verdict);
    oracle_destroy(oracle);
    return verdict.kind;
}

TEST(pages_fit_wherever_they_are)
{
    ck_assert_int_eq(judge(PLACEMENT_PAGES, 16, 7, 9, 1), VERDICT_PREMATURE);
    ck_assert_int_eq(judge(PLACEMENT_PAGES, 16, 7, 9, 8), VERDICT_PREMATURE);
    ck_assert_int_eq(judge(PLACEMENT_PAGES, 16, 7, 10, 1), VERDICT_JUSTIFIED);
    ck_assert_int_eq(judge(PLACEMENT_PAGES, 16, 0, 17, 1), VERDICT_JUSTIFIED);
}

/* Three blocks of 15 granules leave 12 in at most 4 holes: one has 3. */
TEST(hidden_blocks_leave_a_hole_of_its_share)
{
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 15, 3, 3, 1), VERDICT_PREMATURE);
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 15, 3, 4, 1), VERDICT_NONE);
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 15, 3, 12, 1), VERDICT_NONE);
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 15, 3, 13, 1), VERDICT_JUSTIFIED);
    /* 13 in 4 holes: one has 4 at least, which is enough for 3 at a multiple of 2. */
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 16, 3, 4, 1), VERDICT_PREMATURE);
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 16, 3, 3, 2), VERDICT_PREMATURE);
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 16, 3, 4, 2), VERDICT_NONE);
    ck_assert_int_eq(judge(PLACEMENT_HIDDEN, 16, 0, 16, 1), VERDICT_PREMATURE);
}

/* --- through a target --- */

static void start_placed(enum placement placement, uint64_t header)
{
    prepare();
    script.contract.defrag = DEFRAG_NONE;
    script.contract.programs = script.contract.evicts = false;
    script.contract.program_evicts_program = false;
    script.contract.placement = placement;
    script.contract.header_bytes = header * G;
    script.contract.rounding.overhead_bytes = header * G;
    start_hosts(1);
}

TEST(no_address_is_read_where_none_is_told, .to = 2)
{
    start_placed(_i == 0 ? PLACEMENT_HIDDEN : PLACEMENT_PAGES, 0);
    KEEPS(alloc_at(3, 8));
    KEEPS(alloc_at(3, 4)); /* "on" the first one */
    JUDGED(refuse(4), _i == 0 ? VERDICT_NONE : VERDICT_PREMATURE);
    stop();
}

TEST(blocks_take_no_more_than_there_is, .to = 2)
{
    start_placed(_i == 0 ? PLACEMENT_HIDDEN : PLACEMENT_PAGES, 0);
    KEEPS(alloc_at(0, 12));
    BREAKS(alloc_at(0, 5), RULE_OUTSIDE);
    stop();
}

TEST(a_header_lies_before_the_address)
{
    start_placed(PLACEMENT_RANGES, 1);
    /* What is asked for is a granule less than the block. */
    script.block = (struct target_block){next_handle(), 1 * G, 4 * G};
    script.at[script.block.handle] = script.block;
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 3 * G;
    KEEPS(step(op));
    script.block = (struct target_block){next_handle(), 4 * G, 4 * G};
    script.at[script.block.handle] = script.block;
    BREAKS(step(op), RULE_OVERLAP);
    stop();
}

TEST(a_block_before_which_no_header_fits_is_outside)
{
    start_placed(PLACEMENT_RANGES, 1);
    script.block = (struct target_block){next_handle(), 0, 4 * G};
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 3 * G;
    BREAKS(step(op), RULE_OUTSIDE);
    stop();
}

TEST(a_contract_that_goes_against_itself_is_refused)
{
    static const struct {
        const char *reason;
        enum placement placement;
        uint64_t header_bytes;
        enum defrag_contract defrag;
        bool programs;
    } rows[] = {
        {"it moves blocks", PLACEMENT_PAGES, 0, DEFRAG_SLIDE, false},
        {"it moves blocks", PLACEMENT_RANGES, G, DEFRAG_REPACK, false},
        {"it has programs", PLACEMENT_HIDDEN, 0, DEFRAG_NONE, true},
        {"it has programs", PLACEMENT_RANGES, G, DEFRAG_NONE, true},
        {"its headers", PLACEMENT_PAGES, G, DEFRAG_NONE, false},
        {"its headers", PLACEMENT_RANGES, G / 2, DEFRAG_NONE, false},
        {"its placement", (enum placement)7, 0, DEFRAG_NONE, false},
        {"its rounding", PLACEMENT_RANGES, 2 * G, DEFRAG_NONE, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setup setup;
        char reason[RUN_REASON_BYTES] = "";
        prepare();
        setup_init(&setup);
        setup.capacity_bytes = 16 * G;
        script.contract.placement = rows[i].placement;
        script.contract.header_bytes = rows[i].header_bytes;
        script.contract.defrag = rows[i].defrag;
        script.contract.programs = rows[i].programs;
        script.contract.rounding.overhead_bytes = G;
        ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
        ck_assert_msg(strstr(reason, rows[i].reason) != NULL, "%zu: %s", i, reason);
    }
}

/* --- limits --- */

static uint64_t keep_capacity(struct target_limits limits, uint64_t capacity_bytes)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = capacity_bytes;
    limits_keep_setup(&limits, &setup);
    return setup.capacity_bytes;
}

TEST(a_drawn_device_is_one_that_the_target_takes)
{
    const struct target_limits none = {0};
    const struct target_limits both = {.smallest_capacity_bytes = 1 << 20,
                                       .largest_capacity_bytes = 100 << 20,
                                       .capacity_step_bytes = 1 << 20};
    ck_assert_uint_eq(keep_capacity(none, 12345), 12345);
    ck_assert_uint_eq(keep_capacity(both, 12345), 1 << 20);
    ck_assert_uint_eq(keep_capacity(both, UINT64_C(1) << 40), 100 << 20);
    ck_assert_uint_eq(keep_capacity(both, (5 << 20) + 1), 5 << 20);
    ck_assert_uint_eq(keep_capacity(both, 100 << 20), 100 << 20);
}

TEST(a_device_beyond_the_limits_is_refused_in_one_line)
{
    const struct target_limits limits = {.smallest_capacity_bytes = 1 << 20,
                                         .largest_capacity_bytes = 4 << 20,
                                         .capacity_step_bytes = 1 << 20};
    char reason[LIMITS_REASON_BYTES] = "";
    ck_assert(limits_take_capacity(&limits, 2 << 20, reason));
    ck_assert(!limits_take_capacity(&limits, 1, reason));
    ck_assert_ptr_nonnull(strstr(reason, "at least 1M"));
    ck_assert(!limits_take_capacity(&limits, 5 << 20, reason));
    ck_assert_ptr_nonnull(strstr(reason, "at most 4M"));
    ck_assert(!limits_take_capacity(&limits, (2 << 20) + G, reason));
    ck_assert_ptr_nonnull(strstr(reason, "a multiple of 1M"));
}

TEST(drawn_requests_keep_to_the_limits_and_others_are_skipped)
{
    const struct target_limits limits = {.largest_size_bytes = 4 * G, .largest_align_bytes = G};
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 8 * G;
    op.unpadded_bytes = 6 * G;
    op.align_log2 = 12;
    ck_assert(limits_are_exceeded(&limits, &op));
    limits_keep_op(&limits, &op);
    ck_assert_uint_eq(op.size_bytes, 4 * G);
    ck_assert_uint_eq(op.unpadded_bytes, 4 * G);
    ck_assert_uint_eq(op.align_log2, 9);
    ck_assert(!limits_are_exceeded(&limits, &op));
    op = op_make(OP_FREE);
    op.size_bytes = 8 * G;
    ck_assert(!limits_are_exceeded(&limits, &op));
}

/* --- what is not checked --- */

TEST(a_contract_tells_what_it_leaves_open)
{
    struct target target = {.name = "none"};
    struct target_contract contract = {.documented_messages = true};
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        ck_assert(!not_checked_by((enum not_checked)i, &target, &contract));
        ck_assert_uint_gt(strlen(not_checked_info((enum not_checked)i)->name), 0);
    }
    contract.documented_messages = false;
    contract.rounding.kind = ROUNDING_ANY;
    contract.placement = PLACEMENT_PAGES;
    ck_assert(not_checked_by(NOT_CHECKED_TEXTS, &target, &contract));
    ck_assert(not_checked_by(NOT_CHECKED_SIZES, &target, &contract));
    ck_assert(not_checked_by(NOT_CHECKED_PLACES, &target, &contract));
    ck_assert(not_checked_by(NOT_CHECKED_CONTENTS, &target, &contract));
}
