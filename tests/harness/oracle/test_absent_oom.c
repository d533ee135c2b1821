/* Out-of-memories with blocks in host memory, drawn at random: the oracle and the exhaustive judge
 * agree, and the independent checker accepts every certificate. */
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

enum { DRAW_COUNT = 20000, TIGHT_COUNT = 1000, NODES_MAX = 20000 };

/* What the draws came to, by verdict. */
struct tally {
    size_t by_kind[VERDICT_DISPUTED + 1];
    size_t second_count, return_count, staged_count;
};

/* About every third block goes to host memory: behind those that stay on the device.  Memory that
 * went bad stays where it is. */
static size_t strand_some(struct random *random, struct oom *oom)
{
    struct oom_block absent[64];
    size_t absent_count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        if (absent_count < 64 && oom->blocks[i].kind != BLOCK_RETIRED &&
            random_chance(random, 1, 3)) {
            absent[absent_count] = oom->blocks[i];
            absent[absent_count++].address = OOM_IN_HOST_MEMORY;
        } else {
            oom->blocks[kept++] = oom->blocks[i];
        }
    }
    for (size_t i = 0; i < absent_count; i++) {
        oom->blocks[kept++] = absent[i];
    }
    return absent_count;
}

static void check_draw(struct oracle *oracle, const struct oom *oom, struct tally *tally)
{
    struct verdict verdict = {.op = 1};
    oracle_judge(oracle, oom, NODES_MAX, &verdict);
    const enum verdict_kind judged = verdict.kind;
    const enum verdict_kind second = exhaustive_judge(oom);
    const struct proof *proof = oracle_prove(oracle, oom, NODES_MAX, &verdict);
    ck_assert_int_eq(verdict.kind, judged);
    if (second != VERDICT_NONE && judged != VERDICT_UNKNOWN) {
        tally->second_count++;
        ck_assert_msg(second == judged, "the oracle reports %s, the exhaustive search %s: %s",
                      verdict_name(judged), verdict_name(second), verdict.reason);
    }
    require_certificate(oom, proof, &verdict, NULL);
    tally->by_kind[judged]++;
    for (size_t i = 0; proof->kind == PROOF_PLAN && i < proof->plan.move_count; i++) {
        tally->return_count += proof->plan.moves[i].from == PROOF_IN_HOST_MEMORY;
    }
    tally->staged_count += proof->kind == PROOF_PLAN ? proof->plan.staged_count : 0;
}

EVERY_TEST(.timeout_s = 120);

TEST(judges_and_checker_agree_on_what_is_in_host_memory)
{
    static const struct random_oom_wish wishes[] = {
        {.granules_max = 24, .block_count_max = 9, .has_alignments = true},
        {.granules_max = 40, .block_count_max = 9, .has_alignments = false},
    };
    struct oracle *oracle = oracle_create();
    struct oom oom = {0};
    struct random random;
    struct tally tally = {.second_count = 0};
    const uint64_t draw_count = draws_count(DRAW_COUNT, 1);
    const uint64_t tight_count = draws_count(TIGHT_COUNT, 1);
    random_init(&random, 22);
    for (uint64_t i = 0; i < draw_count + tight_count; i++) {
        if (i < draw_count) {
            random_oom_draw(&random, &wishes[i % 2], &oom);
        } else {
            random_oom_draw_tight(&random, i % 3 == 0, &oom);
        }
        oom.defrag = DEFRAG_REPACK;
        oom.faults_fired = 0;
        if (strand_some(&random, &oom) > 0) {
            check_draw(oracle, &oom, &tally);
        }
    }
    printf("absent: %zu justified, %zu premature, %zu unknown; %zu seconded; %zu returns\n",
           tally.by_kind[VERDICT_JUSTIFIED], tally.by_kind[VERDICT_PREMATURE],
           tally.by_kind[VERDICT_UNKNOWN], tally.second_count, tally.return_count);
    ck_assert_uint_gt(tally.by_kind[VERDICT_JUSTIFIED], draw_count / 10);
    ck_assert_uint_gt(tally.by_kind[VERDICT_PREMATURE], draw_count / 10);
    ck_assert_uint_gt(tally.second_count, draw_count / 4);
    ck_assert_uint_gt(tally.return_count, tally.staged_count);
    oom_deinit(&oom);
    oracle_destroy(oracle);
}
