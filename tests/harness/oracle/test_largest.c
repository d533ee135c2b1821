/* The largest request that a refusal leaves room for: held against a judge that tries everything,
 * size by size. */
#include "harness/oracle/largest.h"

#include "harness/oracle/exhaustive.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>

enum {
    G = SMALL_GRANULE,
    DRAW_COUNT = 2000,
    JUDGED_COUNT_MIN = 1000,
    UNKNOWN_COUNT_MIN = 20,
    NODES_MAX = 5000
};

static struct oracle_largest find_largest(const struct oom *oom, uint64_t nodes_max)
{
    struct oracle *oracle = oracle_create();
    struct verdict verdict = {.kind = VERDICT_NONE};
    oracle_judge(oracle, oom, 0, &verdict);
    const struct oracle_largest largest = oracle_find_largest(oracle, oom, verdict.kind, nodes_max);
    oracle_destroy(oracle);
    return largest;
}

static void expect_largest(const char *drawing, struct oom like, uint64_t bytes)
{
    struct small_oom small;
    small_oom_draw(&small, &like, drawing);
    const struct oracle_largest largest = find_largest(&small.oom, 0);
    ck_assert_msg(largest.bytes == bytes, "%s: %" PRIu64 ", not %" PRIu64, drawing, largest.bytes,
                  bytes);
    ck_assert(largest.is_exact);
}

TEST(a_buffer_gets_the_largest_hole_after_its_mitigations)
{
    const struct oom_request much = {.size_bytes = 9 * G};
    const struct oom_request little = {.size_bytes = G};
    expect_largest(".m..m", (struct oom){.request = much}, 2 * G);
    expect_largest(".m..m", (struct oom){.request = little}, 2 * G);
    expect_largest(".m..m", (struct oom){.defrag = DEFRAG_SLIDE, .request = much}, 3 * G);
    expect_largest(".m.h..", (struct oom){.defrag = DEFRAG_SLIDE, .request = much}, 2 * G);
    expect_largest(".mh.", (struct oom){.defrag = DEFRAG_REPACK, .request = much}, 2 * G);
    expect_largest("d.h", (struct oom){.drains = true, .request = much}, 2 * G);
    expect_largest("d.h", (struct oom){.request = much}, G);
    expect_largest("p.h", (struct oom){.evicts = true, .request = much}, 2 * G);
    expect_largest("mhxl", (struct oom){.request = little}, 0);
    expect_largest("....", (struct oom){.request = {.size_bytes = UINT64_MAX}}, 4 * G);
}

TEST(the_alignment_of_the_request_is_kept)
{
    expect_largest("m...", (struct oom){.request = {.size_bytes = 9 * G, .align_bytes = 2 * G}},
                   2 * G);
    expect_largest("m..m", (struct oom){.request = {.size_bytes = 9 * G, .align_bytes = 4 * G}}, 0);
}

TEST(a_program_keeps_its_stack_and_a_stack_alone_varies)
{
    struct oom_request load = {.class = REQUEST_PROGRAM, .size_bytes = 9 * G, .stack_bytes = 2 * G};
    expect_largest("......", (struct oom){.request = load}, 6 * G);
    expect_largest("..h...", (struct oom){.request = load}, 5 * G);
    /* The image has a hole, but the stack has no place, and without it there is no program. */
    expect_largest(".h....", (struct oom){.request = load}, 0);
    load.size_bytes = 0;
    expect_largest("...h.", (struct oom){.request = load}, 3 * G);
    load.stack_bytes = 4 * G;
    expect_largest("...h.", (struct oom){.request = load}, 3 * G);
    expect_largest("h...", (struct oom){.request = load}, 0);
}

static void expect_largest_stack(const char *drawing, struct oom_request load, uint64_t bytes)
{
    struct small_oom small;
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct oracle *oracle = oracle_create();
    const struct oom like = {.request = load};
    small_oom_draw(&small, &like, drawing);
    oracle_judge(oracle, &small.oom, 0, &verdict);
    const struct oracle_largest largest = oracle_find_largest_stack(oracle, &small.oom,
                                                                    verdict.kind, 0);
    ck_assert_msg(largest.bytes == bytes, "%s: %" PRIu64, drawing, largest.bytes);
    ck_assert(largest.is_exact);
    oracle_destroy(oracle);
}

/* Where the stack has no place, no image is small enough; a smaller stack is. */
TEST(a_smaller_stack_is_found_for_the_same_image)
{
    const struct oom_request load = {
        .class = REQUEST_PROGRAM, .size_bytes = G, .stack_bytes = 5 * G};
    expect_largest("...h..", (struct oom){.request = load}, 0);
    expect_largest_stack("...h..", load, 3 * G);
    expect_largest_stack("....hh", load, 3 * G);
    expect_largest_stack("h.....", load, 0);
    expect_largest_stack(".......", load, 6 * G);
}

/* By the judge that tries everything; false: the state is too large for it. */
static bool try_all_sizes(const struct oom *oom, uint64_t *bytes)
{
    const bool is_stack_alone = oom->request.class == REQUEST_PROGRAM &&
                                oom->request.size_bytes == 0;
    *bytes = 0;
    for (uint64_t size = oom->granule_bytes; size <= oom->capacity_bytes;
         size += oom->granule_bytes) {
        struct oom other = *oom;
        *(is_stack_alone ? &other.request.stack_bytes : &other.request.size_bytes) = size;
        const enum verdict_kind kind = exhaustive_judge(&other);
        if (kind == VERDICT_NONE) {
            return false;
        }
        if (kind == VERDICT_PREMATURE) {
            *bytes = size + (is_stack_alone ? 0 : oom->request.stack_bytes);
        }
    }
    return true;
}

TEST(it_is_what_trying_every_size_finds)
{
    const struct random_oom_wish wish = {
        .granules_max = 16, .block_count_max = 5, .has_alignments = true};
    struct random random;
    random_init(&random, 20261123);
    struct oom oom = {0};
    uint64_t judged = 0;
    for (int i = 0; i < DRAW_COUNT; i++) {
        uint64_t expected;
        random_oom_draw(&random, &wish, &oom);
        if (!try_all_sizes(&oom, &expected)) {
            continue;
        }
        const struct oracle_largest largest = find_largest(&oom, 0);
        judged++;
        ck_assert(largest.is_exact);
        ck_assert_msg(largest.bytes == expected, "draw %d: %" PRIu64 ", not %" PRIu64, i,
                      largest.bytes, expected);
    }
    ck_assert_uint_ge(judged, JUDGED_COUNT_MIN);
    oom_deinit(&oom);
}

/* A budget that ends leaves a bound from below, which says that it is one, and no more nodes are
 * taken. */
TEST(a_short_budget_leaves_a_bound_that_holds)
{
    struct random random;
    random_init(&random, 7);
    struct oracle *oracle = oracle_create();
    struct oom oom = {0};
    uint64_t inexact = 0;
    for (int i = 0; i < 400; i++) {
        random_oom_draw_tight(&random, i % 2 == 0, &oom);
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
    oom_deinit(&oom);
    oracle_destroy(oracle);
}

/* What the verdict says is not asked again: with a budget of one node a premature refusal leaves
 * room for the request at least, and a justified one for less. */
TEST(it_never_contradicts_the_verdict)
{
    struct random random;
    random_init(&random, 11);
    struct oracle *oracle = oracle_create();
    struct oom oom = {0};
    uint64_t counts[2] = {0};
    for (int i = 0; i < 400; i++) {
        struct verdict verdict = {.kind = VERDICT_NONE};
        random_oom_draw_tight(&random, true, &oom);
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
    oom_deinit(&oom);
    oracle_destroy(oracle);
}
