#include "tests/harness/oracle/judged_everywhere.h"

#include "checker/certificate_check.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/exhaustive.h"

#include <check.h>
#include <string.h>

enum verdict_kind judged_everywhere(struct oracle *oracle, const struct oom *oom, const char *says)
{
    struct verdict verdict = {0};
    char reason[CERTIFICATE_REASON_BYTES];
    struct writing text;
    writing_init(&text);
    const struct proof *proof = oracle_prove(oracle, oom, 1000, &verdict);
    certificate_print(oom, proof, &verdict, NULL, &text);
    ck_assert_ptr_nonnull(strstr(text.bytes, says));
    ck_assert_msg(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID, "%s\n%s",
                  reason, text.bytes);
    ck_assert_msg(exhaustive_judge(oom) == verdict.kind, "%s: %s\n%s", verdict_name(verdict.kind),
                  verdict.reason, text.bytes);
    writing_deinit(&text);
    return verdict.kind;
}
