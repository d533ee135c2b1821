/* Checks that the checker of certificates stands any text, accepts ours, and accepts no false
 * claim.
 *
 * An input whose first byte is even is a text behind that byte.  The others are a small
 * out-of-memory and a few edits: how many, four bytes each (fuzz/certificate_text.h), then the
 * state (fuzz/oom_input.h).  Its certificate must be accepted.  After the edits it may be accepted
 * only when its claim is true of the state that it has then, which the oracle and, where that is
 * small, trying everything decide.  A claim that nothing is known is never false. */
#include "checker/certificate_check.h"
#include "fuzz/certificate_text.h"
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/oom_input.h"
#include "fuzz/text_check.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"

#include <stdio.h>
#include <string.h>

/* The first budget is small, so that some searches end early; the second settles nearly all of
 * them. */
enum { NODES_MAX = 2000, TRUTH_NODES_MAX = 100000, EDIT_COUNT_MAX = 8 };

static const char name[] = "fuzz_certificate";

static enum certificate_result check_text(const char *text, size_t length,
                                          char reason[CERTIFICATE_REASON_BYTES])
{
    /* An unwritten reason stands out: its bytes are not printable. */
    memset(reason, 1, CERTIFICATE_REASON_BYTES);
    const enum certificate_result result = certificate_check(text, length, reason);
    text_check_ascii(name, reason, CERTIFICATE_REASON_BYTES);
    return result;
}

/* Prints the oracle's certificate; false: it is too long to be edited. */
static bool print_certificate(struct oracle *oracle, const struct oom *oom,
                              struct edited_certificate *text)
{
    static struct writing printed;
    struct verdict verdict = {.op = 1};
    const struct proof *proof = oracle_prove(oracle, oom, NODES_MAX, &verdict);
    writing_clear(&printed);
    certificate_print(oom, proof, &verdict, NULL, &printed);
    text->length = printed.length < CERTIFICATE_TEXT_BYTES ? printed.length : 0;
    memcpy(text->bytes, printed.bytes, text->length);
    return text->length > 0;
}

static _Noreturn void end_file(const struct edited_certificate *text, enum finding_check what,
                               const char *reason)
{
    (void)fwrite(text->bytes, 1, text->length, stderr);
    finding_end_check(name, what, "%s", reason);
}

static void check_claim(struct oracle *oracle, const struct edited_certificate *text)
{
    struct certificate_claim claim;
    struct verdict judged = {.kind = VERDICT_NONE};
    if (!certificate_read(text->bytes, text->length, &claim)) {
        end_file(text, FINDING_FALSE_CLAIM_ACCEPTED,
                 "the checker accepts it, but its state is impossible");
    }
    if (claim.kind != VERDICT_UNKNOWN) {
        oracle_judge(oracle, &claim.oom, TRUTH_NODES_MAX, &judged);
        const enum verdict_kind tried = exhaustive_judge(&claim.oom);
        if (judged.kind != VERDICT_UNKNOWN && judged.kind != claim.kind) {
            end_file(text, FINDING_FALSE_CLAIM_ACCEPTED,
                     "the checker accepts it, but the oracle refutes its claim");
        }
        if (tried != VERDICT_NONE && tried != claim.kind) {
            end_file(text, FINDING_FALSE_CLAIM_ACCEPTED,
                     "the checker accepts it, but the exhaustive search refutes its claim");
        }
    }
    oom_deinit(&claim.oom);
}

static void check_state(const uint8_t *bytes, size_t length)
{
    static struct oom oom;
    static struct oracle *oracle;
    static struct edited_certificate text;
    char reason[CERTIFICATE_REASON_BYTES];
    oracle = oracle == NULL ? oracle_create() : oracle;
    const size_t edit_count_max = (length > 0 ? length - 1 : 0) / CERTIFICATE_EDIT_BYTES;
    size_t edit_count = length > 0 ? bytes[0] % (EDIT_COUNT_MAX + 1u) : 0;
    edit_count = edit_count < edit_count_max ? edit_count : edit_count_max;
    const size_t state_at = length > 0 ? 1 + edit_count * CERTIFICATE_EDIT_BYTES : 0;
    oom_decode(bytes + state_at, length - state_at, &oom);
    if (!print_certificate(oracle, &oom, &text)) {
        return;
    }
    if (check_text(text.bytes, text.length, reason) != CERTIFICATE_VALID) {
        end_file(&text, FINDING_PROOF_REFUTED, reason);
    }
    for (size_t i = 0; i < edit_count; i++) {
        certificate_edit(&text, bytes + 1 + i * CERTIFICATE_EDIT_BYTES);
    }
    if (edit_count > 0 && check_text(text.bytes, text.length, reason) == CERTIFICATE_VALID) {
        check_claim(oracle, &text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char reason[CERTIFICATE_REASON_BYTES];
    if (length > 0 && bytes[0] % 2 == 0) {
        (void)check_text((const char *)bytes + 1, length - 1, reason);
    } else if (length > 0) {
        check_state(bytes + 1, length - 1);
    }
    return 0;
}
