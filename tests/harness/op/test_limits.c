/* What a target can take, and what its contract leaves open: how that is kept to, and named. Blocks
 * without addresses are judged in tests/cases/oracle/placement.case. */
#include "harness/op/limits.h"
#include "harness/op/not_checked.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

enum { G = 512 };

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
