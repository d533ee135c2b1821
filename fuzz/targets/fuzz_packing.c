/* Checks that the judges of out-of-memories agree on any small state: the oracle, trying
 * everything, and the checker; and that the oracle's verdicts are those of one promise.
 *
 *  1. Where the state is small enough to try everything, and the oracle's budget lasts, both say
 * the same.
 *  2. The oracle says the same when it is asked for its proof (harness/oracle/oracle.h).
 *  3. The checker accepts each certificate.
 *  4. An allocator that may not move blocks reaches no state that one that may does not: what is
 * justified under repack is justified under slide, and that under none.  This holds where states
 * are too large to try everything. */
#include "checker/certificate_check.h"
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/oom_input.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"

#include <stdio.h>

/* Enough for nearly every state of 48 blocks, and at most some milliseconds. */
enum { NODES_MAX = 20000 };

static const char name[] = "fuzz_packing";

/* The certificate is printed first, so that a finding says what it is about. */
static void check_certificate(struct oracle *oracle, const struct oom *oom,
                              enum verdict_kind judged)
{
    static struct writing text;
    char reason[CERTIFICATE_REASON_BYTES];
    struct verdict verdict = {.op = 1};
    const struct proof *proof = oracle_prove(oracle, oom, NODES_MAX, &verdict);
    writing_clear(&text);
    certificate_print(oom, proof, &verdict, NULL, &text);
    const enum verdict_kind tried = exhaustive_judge(oom);
    if (verdict.kind != judged) {
        (void)writing_print(&text, stderr);
        finding_end_check(name, FINDING_VERDICT_UNSTABLE, "judged %s, proved %s",
                          verdict_name(judged), verdict_name(verdict.kind));
    }
    if (judged != VERDICT_UNKNOWN && tried != VERDICT_NONE && tried != judged) {
        (void)writing_print(&text, stderr);
        finding_end_check(name, FINDING_JUDGES_DIFFER,
                          "the oracle reports %s, the exhaustive search reports %s",
                          verdict_name(judged), verdict_name(tried));
    }
    if (certificate_check(text.bytes, text.length, reason) != CERTIFICATE_VALID) {
        (void)writing_print(&text, stderr);
        finding_end_check(name, FINDING_PROOF_REFUTED, "%s, %s: %s", verdict_name(proof->claim),
                          proof_kind_name(proof->kind), reason);
    }
}

/* The contract with fewer moves.  False: there is none. */
static bool weaken_problem(struct oom *oom)
{
    if (oom->defrag == DEFRAG_NONE) {
        return false;
    }
    oom->defrag = oom->defrag == DEFRAG_REPACK ? DEFRAG_SLIDE : DEFRAG_NONE;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct oom oom;
    static struct oracle *oracle;
    struct verdict verdict = {0};
    oracle = oracle == NULL ? oracle_create() : oracle;
    oom_decode(bytes, length, &oom);
    oracle_judge(oracle, &oom, NODES_MAX, &verdict);
    check_certificate(oracle, &oom, verdict.kind);
    for (enum verdict_kind stronger = verdict.kind; weaken_problem(&oom); stronger = verdict.kind) {
        oracle_judge(oracle, &oom, NODES_MAX, &verdict);
        if (stronger == VERDICT_JUSTIFIED && verdict.kind == VERDICT_PREMATURE) {
            finding_end_check(name, FINDING_CONTRACT_LOSES_ROOM,
                              "justified, but premature when fewer moves are allowed: %s",
                              verdict.reason);
        }
    }
    return 0;
}
