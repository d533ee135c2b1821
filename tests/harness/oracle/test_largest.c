/* The largest request that a refusal leaves room for: held against a judge that tries everything,
 * size by size; tests/cases/oracle/largest.case has it by hand. */
#include "harness/oracle/largest.h"

#include "harness/oracle/exhaustive.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>

enum { DRAW_COUNT = 2000, JUDGED_COUNT_MIN = 1000, UNKNOWN_COUNT_MIN = 20, NODES_MAX = 5000 };

static struct random random_numbers;
static struct oracle *oracle;
static struct oom oom;

static void begin_draws(void)
{
    random_init(&random_numbers, 7);
    oracle = oracle_create();
}

static void end_draws(void)
{
    oom_deinit(&oom);
    oracle_destroy(oracle);
}

EVERY_TEST(.setup = begin_draws, .teardown = end_draws);

/* By the judge that tries everything; false: the state is too large for it. */
static bool try_all_sizes(uint64_t *bytes)
{
    const bool is_stack_alone = oom.request.class == REQUEST_PROGRAM && oom.request.size_bytes == 0;
    *bytes = 0;
    for (uint64_t size = oom.granule_bytes; size <= oom.capacity_bytes; size += oom.granule_bytes) {
        struct oom other = oom;
        *(is_stack_alone ? &other.request.stack_bytes : &other.request.size_bytes) = size;
        const enum verdict_kind kind = exhaustive_judge(&other);
        if (kind == VERDICT_NONE) {
            return false;
        }
        if (kind == VERDICT_PREMATURE) {
            *bytes = size + (is_stack_alone ? 0 : oom.request.stack_bytes);
        }
    }
    return true;
}

TEST(it_is_what_trying_every_size_finds)
{
    const struct random_oom_wish wish = {
        .granules_max = 16, .block_count_max = 5, .has_alignments = true};
    uint64_t judged = 0;
    for (int i = 0; i < DRAW_COUNT; i++) {
        uint64_t expected;
        random_oom_draw(&random_numbers, &wish, &oom);
        if (!try_all_sizes(&expected)) {
            continue;
        }
        struct verdict verdict = {.kind = VERDICT_NONE};
        oracle_judge(oracle, &oom, 0, &verdict);
        const struct oracle_largest largest = oracle_find_largest(oracle, &oom, verdict.kind, 0);
        judged++;
        ck_assert(largest.is_exact);
        ck_assert_msg(largest.bytes == expected, "draw %d: %" PRIu64 ", not %" PRIu64, i,
                      largest.bytes, expected);
    }
    ck_assert_uint_ge(judged, JUDGED_COUNT_MIN);
}

/* A budget that ends leaves a bound from below, which says that it is one, and no more nodes are
 * taken. */
TEST(a_short_budget_leaves_a_bound_that_holds)
{
    uint64_t inexact = 0;
    for (int i = 0; i < 400; i++) {
        random_oom_draw_tight(&random_numbers, i % 2 == 0, &oom);
        const struct oracle_largest bound = oracle_find_largest(oracle, &oom, VERDICT_UNKNOWN, 16);
        struct oom fitting = oom;
        struct verdict verdict = {.kind = VERDICT_NONE};
        ck_assert_uint_le(bound.nodes, 16);
        inexact += !bound.is_exact;
        if (bound.bytes == 0) {
            continue;
        }
        const uint64_t stack = oom.request.size_bytes == 0 ? 0 : oom.request.stack_bytes;
        *(oom.request.class == REQUEST_PROGRAM && oom.request.size_bytes == 0
              ? &fitting.request.stack_bytes
              : &fitting.request.size_bytes) = bound.bytes - stack;
        oracle_judge(oracle, &fitting, NODES_MAX, &verdict);
        ck_assert_int_ne(verdict.kind, VERDICT_JUSTIFIED);
    }
    ck_assert_uint_ge(inexact, UNKNOWN_COUNT_MIN);
}

/* What the verdict says is not asked again: with a budget of one node a premature refusal leaves
 * room for the request at least, and a justified one for less. */
TEST(it_never_contradicts_the_verdict)
{
    uint64_t counts[2] = {0};
    for (int i = 0; i < 400; i++) {
        struct verdict verdict = {.kind = VERDICT_NONE};
        random_oom_draw_tight(&random_numbers, true, &oom);
        oracle_judge(oracle, &oom, NODES_MAX, &verdict);
        const struct oracle_largest largest = oracle_find_largest(oracle, &oom, verdict.kind, 1);
        const uint64_t asked = oom.request.size_bytes == 0
                                   ? oom.request.stack_bytes
                                   : oom.request.size_bytes + oom.request.stack_bytes;
        if (verdict.kind == VERDICT_PREMATURE) {
            ck_assert_uint_ge(largest.bytes, asked);
        } else if (verdict.kind == VERDICT_JUSTIFIED) {
            ck_assert_uint_lt(largest.bytes, asked);
        }
        counts[verdict.kind == VERDICT_PREMATURE]++;
    }
    ck_assert_uint_gt(counts[0], 20);
    ck_assert_uint_gt(counts[1], 20);
}
