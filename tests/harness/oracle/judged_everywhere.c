#include "tests/harness/oracle/judged_everywhere.h"

#include "checker/certificate_check.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/relations.h"

#include <check.h>
#include <string.h>

void require_certificate(const struct oom *oom, const struct proof *proof,
                         const struct verdict *verdict, const char *says)
{
    char reason[CERTIFICATE_REASON_BYTES] = "";
    struct writing text;
    writing_init(&text);
    certificate_print(oom, proof, verdict, NULL, &text);
    ck_assert(says == NULL || strstr(text.bytes, says) != NULL);
    ck_assert_msg(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID, "%s\n%s",
                  reason, text.bytes);
    writing_deinit(&text);
}

static enum verdict_kind judge_everywhere(struct oracle *oracle, const struct oom *oom,
                                          const char *says)
{
    struct verdict verdict = {0};
    const struct proof *proof = oracle_prove(oracle, oom, 1000, &verdict);
    require_certificate(oom, proof, &verdict, says);
    ck_assert_msg(exhaustive_judge(oom) == verdict.kind, "%s: %s", verdict_name(verdict.kind),
                  verdict.reason);
    return verdict.kind;
}

static enum verdict_kind ask_oracle(void *context, const struct oom *oom, uint64_t nodes_max)
{
    struct verdict verdict = {0};
    oracle_judge(context, oom, nodes_max, &verdict);
    return verdict.kind;
}

void judge_at_random(uint64_t seed, uint64_t count,
                     const struct oom *(*draw)(struct random *random), const char *says)
{
    struct random random;
    struct oracle *oracle = oracle_create();
    struct relations relations = {0};
    const struct relation_judge ask = {oracle, ask_oracle};
    uint64_t counts[VERDICT_DISPUTED + 1] = {0};
    random_init(&random, seed);
    for (uint64_t i = 0; i < count; i++) {
        const struct oom *oom = draw(&random);
        const struct verdict verdict = {.kind = judge_everywhere(oracle, oom, says),
                                        .nodes_max = 1000};
        uint32_t asked_count = 0;
        enum verdict_kind answer = VERDICT_NONE;
        ck_assert_int_eq(
            relations_find_broken(&relations, oom, &verdict, &ask, &asked_count, &answer),
            RELATION_NONE);
        ck_assert_uint_ge(asked_count, 2);
        counts[verdict.kind]++;
    }
    ck_assert_uint_gt(counts[VERDICT_PREMATURE], count / 5);
    ck_assert_uint_gt(counts[VERDICT_JUSTIFIED], count / 5);
    relations_deinit(&relations);
    oracle_destroy(oracle);
}
