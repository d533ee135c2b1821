/* What a target can take, and what its contract leaves open: how that is kept to, and named. Blocks
 * without addresses are judged in tests/cases/oracle/placement.case. */
#include "harness/op/limits.h"
#include "harness/op/not_checked.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

enum { G = 512 };

static const struct target_limits limits = {.smallest_capacity_bytes = 1 << 20,
                                            .largest_capacity_bytes = 100 << 20,
                                            .capacity_step_bytes = 1 << 20,
                                            .largest_size_bytes = 4 * G,
                                            .largest_align_bytes = G};

EVERY_TEST(.teardown = snap_rest);

TEST(a_device_is_one_that_the_target_takes_or_is_refused_in_one_line)
{
    static const uint64_t capacities[] = {12345, UINT64_C(1) << 40, (5 << 20) + 1, 100 << 20};
    const struct target_limits none = {0};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        char reason[LIMITS_REASON_BYTES] = "";
        struct setup setup;
        setup_init(&setup);
        setup.capacity_bytes = capacities[i];
        limits_keep_setup(&none, &setup);
        ck_assert_uint_eq(setup.capacity_bytes, capacities[i]);
        const bool is_taken = limits_take_capacity(&limits, capacities[i], reason);
        limits_keep_setup(&limits, &setup);
        show("%" PRIu64 " drawn as %" PRIu64 ", %s%s\n", capacities[i], setup.capacity_bytes,
             is_taken ? "taken" : "refused: ", is_taken ? "" : reason);
    }
}

TEST(drawn_requests_keep_to_the_limits_and_others_are_skipped)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 8 * G;
    op.unpadded_bytes = 6 * G;
    op.align_log2 = 12;
    ck_assert(limits_are_exceeded(&limits, &op));
    limits_keep_op(&limits, &op);
    SHOW(op.size_bytes / G, op.unpadded_bytes / G, op.align_log2);
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
