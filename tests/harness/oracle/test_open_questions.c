/* Out-of-memories that the bounds and the branch and bound leave open: what a table over choices of
 * blocks settles, and what becomes of questions that need more than their budget. */
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/harness/oracle/plan_simulator.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct rig {
    struct random random;
    struct oracle *oracle;
    struct oom oom;
} rig;

static void begin_rig(void)
{
    rig.oracle = oracle_create();
}

static void end_rig(void)
{
    oracle_destroy(rig.oracle);
    oom_deinit(&rig.oom);
}

/* The proof says the same as the verdict, the checker accepts it, and a plan can be carried out. */
static const struct proof *prove(const struct verdict *verdict)
{
    char reason[PLAN_SIMULATOR_REASON_BYTES] = "";
    struct verdict proved = {.op = 1};
    const struct proof *proof = oracle_prove(rig.oracle, &rig.oom, verdict->nodes_max, &proved);
    ck_assert_int_eq(proved.kind, verdict->kind);
    require_certificate(&rig.oom, proof, &proved, NULL);
    ck_assert_msg(proof->claim != VERDICT_PREMATURE ||
                      plan_simulate(&rig.oom, &proof->plan, reason),
                  "%s", reason);
    return proof;
}

static bool is_by_table(const struct verdict *verdict)
{
    return strstr(verdict->reason, "(table)") != NULL;
}

/* --- what a table settles --- */

enum { LIST_COUNT = 200, LIST_MOVABLE_MAX = 15 };

EVERY_TEST(.timeout_s = 300, .setup = begin_rig, .teardown = end_rig);

TEST(every_small_list_with_alignments_is_decided)
{
    random_init(&rig.random, 1);
    uint64_t tables = 0;
    for (uint64_t i = 0; i < draws_count(LIST_COUNT, 100); i++) {
        struct verdict verdict = {0};
        random_oom_draw_aligned(&rig.random, LIST_MOVABLE_MAX, &rig.oom);
        oracle_judge(rig.oracle, &rig.oom, 0, &verdict);
        ck_assert_int_ne(verdict.kind, VERDICT_UNKNOWN);
        ck_assert_uint_eq(verdict.nodes_max, ORACLE_NODES_DEFAULT);
        if (is_by_table(&verdict)) {
            (void)prove(&verdict);
            tables++;
        }
    }
    ck_assert_uint_gt(tables, 2);
}

/* A small budget leaves most to the table. */
enum { TABLE_COUNT = 3000, TABLE_NODES_MAX = 400, TABLE_MOVABLE_MAX = 9 };

TEST(what_a_table_says_is_proved_and_planned_and_tried)
{
    random_init(&rig.random, 2);
    uint64_t justified = 0;
    uint64_t premature = 0;
    uint64_t tried = 0;
    for (int i = 0; i < TABLE_COUNT; i++) {
        struct verdict verdict = {0};
        random_oom_draw_aligned(&rig.random, 5 + (size_t)i % (TABLE_MOVABLE_MAX - 4), &rig.oom);
        oracle_judge(rig.oracle, &rig.oom, TABLE_NODES_MAX, &verdict);
        if (!is_by_table(&verdict) || verdict.kind == VERDICT_UNKNOWN) {
            continue;
        }
        const enum verdict_kind second = exhaustive_judge(&rig.oom);
        const struct proof *proof = prove(&verdict);
        ck_assert_int_eq(proof->kind, verdict.kind == VERDICT_PREMATURE ? PROOF_PLAN : PROOF_TABLE);
        ck_assert(second == VERDICT_NONE || second == verdict.kind);
        tried += second != VERDICT_NONE;
        justified += verdict.kind == VERDICT_JUSTIFIED;
        premature += verdict.kind == VERDICT_PREMATURE;
    }
    printf("tables: %" PRIu64 " justified, %" PRIu64 " premature, %" PRIu64 " tried exhaustively\n",
           justified, premature, tried);
    ck_assert_uint_gt(justified, 10);
    ck_assert_uint_gt(premature, 2);
    ck_assert_uint_gt(tried, 2);
}

/* With so many blocks a whole table has too many rows for the budget. */
enum { LARGER_COUNT = 100, LARGER_NODES_MAX = 800000, LARGER_MOVABLE_MAX = 26 };

TEST(a_narrow_table_finds_what_a_whole_one_cannot)
{
    random_init(&rig.random, 5);
    uint64_t found = 0;
    const uint64_t count = draws_count(LARGER_COUNT, 33);
    for (uint64_t i = 0; i < count; i++) {
        struct verdict verdict = {0};
        random_oom_draw_aligned(&rig.random, LARGER_MOVABLE_MAX, &rig.oom);
        oracle_judge(rig.oracle, &rig.oom, LARGER_NODES_MAX, &verdict);
        if (verdict.kind == VERDICT_PREMATURE && is_by_table(&verdict)) {
            (void)prove(&verdict);
            found++;
        }
    }
    printf("tables: %" PRIu64 " of %" PRIu64 " larger lists fit\n", found, count);
    ck_assert_uint_ge(found, 2);
}

/* --- what is spare --- */

enum { NODES_EACH = 10000, NODES_SPARE = 16 * NODES_EACH, OPEN_MOVABLE_MAX = 14 };

/* Draws until the question is open after NODES_EACH and decided with NODES_SPARE as
 * `kind`. */
static void draw_open(enum verdict_kind kind)
{
    struct verdict first = {0};
    struct verdict spare = {0};
    do {
        random_oom_draw_aligned(&rig.random, OPEN_MOVABLE_MAX, &rig.oom);
        oracle_judge(rig.oracle, &rig.oom, NODES_EACH, &first);
        if (first.kind == VERDICT_UNKNOWN) {
            oracle_judge(rig.oracle, &rig.oom, NODES_SPARE, &spare);
        }
    } while (first.kind != VERDICT_UNKNOWN || spare.kind != kind);
}

TEST(an_open_question_takes_what_is_spare, .to = 2)
{
    random_init(&rig.random, 3);
    const enum verdict_kind kind = _i == 0 ? VERDICT_JUSTIFIED : VERDICT_PREMATURE;
    struct verdict verdict = {0};
    draw_open(kind);
    /* Not more than each question has: nothing is spare. */
    oracle_reset(rig.oracle, NODES_EACH, NODES_EACH);
    oracle_judge(rig.oracle, &rig.oom, 0, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_UNKNOWN);
    ck_assert_uint_eq(verdict.nodes_max, NODES_EACH);
    ck_assert_int_eq(prove(&verdict)->kind, PROOF_BUDGET);
    uint64_t spare = NODES_SPARE;
    oracle_reset(rig.oracle, NODES_EACH, spare);
    for (int i = 0; spare > NODES_EACH; i++) {
        oracle_judge(rig.oracle, &rig.oom, 0, &verdict);
        ck_assert(i > 0 || verdict.kind == kind);
        ck_assert_uint_eq(verdict.nodes_max, spare);
        ck_assert_uint_le(verdict.nodes, NODES_EACH + spare);
        (void)prove(&verdict);
        spare -= verdict.nodes - NODES_EACH;
    }
    /* All is spent, until another run begins. */
    oracle_judge(rig.oracle, &rig.oom, 0, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_UNKNOWN);
    ck_assert_uint_eq(verdict.nodes_max, NODES_EACH);
    oracle_reset(rig.oracle, NODES_EACH, NODES_SPARE);
    oracle_judge(rig.oracle, &rig.oom, 0, &verdict);
    ck_assert_int_eq(verdict.kind, kind);
}

TEST(a_budget_that_is_given_is_all_there_is)
{
    random_init(&rig.random, 4);
    draw_open(VERDICT_JUSTIFIED);
    for (uint64_t nodes_max = 10; nodes_max <= NODES_EACH; nodes_max *= 10) {
        struct verdict verdict = {0};
        oracle_judge(rig.oracle, &rig.oom, nodes_max, &verdict);
        ck_assert_int_eq(verdict.kind, VERDICT_UNKNOWN);
        ck_assert_uint_eq(verdict.nodes, nodes_max);
        ck_assert_uint_eq(verdict.nodes_max, nodes_max);
        ck_assert_int_eq(prove(&verdict)->kind, PROOF_BUDGET);
    }
}
