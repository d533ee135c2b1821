/* Judges that lie, in the place of the true ones (the linker's --wrap): LIAR names the lie, and
 * without it all is as it was.  A fuzz target that holds them against each other must notice. */
#include "checker/certificate_check.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/fuzz/fuzz_lying.h"

#include <stdio.h>

WRAPPED(enum verdict_kind, exhaustive_judge, const struct oom *oom);
WRAPPED(void, oracle_judge, struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
        struct verdict *verdict);
WRAPPED(enum certificate_result, certificate_check, const char *text, size_t length, char *reason);
WRAPPED(enum certificate_result, certificate_check_with, const char *text, size_t length,
        const struct certificate_history *history, char *reason);

static enum verdict_kind reverse_verdict(enum verdict_kind kind)
{
    return kind == VERDICT_JUSTIFIED   ? VERDICT_PREMATURE
           : kind == VERDICT_PREMATURE ? VERDICT_JUSTIFIED
                                       : kind;
}

enum verdict_kind __wrap_exhaustive_judge(const struct oom *oom)
{
    const enum verdict_kind kind = __real_exhaustive_judge(oom);
    return is_lying("exhaustive") ? reverse_verdict(kind) : kind;
}

void __wrap_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict)
{
    __real_oracle_judge(oracle, oom, nodes_max, verdict);
    verdict->kind = is_lying("oracle") ? reverse_verdict(verdict->kind) : verdict->kind;
    /* There is always room where nothing moves. */
    verdict->kind = is_lying("oracle_of_none") && oom->defrag == DEFRAG_NONE ? VERDICT_PREMATURE
                                                                             : verdict->kind;
}

enum certificate_result __wrap_certificate_check(const char *text, size_t length, char *reason)
{
    const enum certificate_result result = __real_certificate_check(text, length, reason);
    if (is_lying("reason")) {
        (void)snprintf(reason, CERTIFICATE_REASON_BYTES, "%s", "one line\nand another");
    }
    return is_lying("accepts")   ? CERTIFICATE_VALID
           : is_lying("refuses") ? CERTIFICATE_REFUTED
                                 : result;
}

enum certificate_result __wrap_certificate_check_with(const char *text, size_t length,
                                                      const struct certificate_history *history,
                                                      char *reason)
{
    const enum certificate_result result = __real_certificate_check_with(text, length, history,
                                                                         reason);
    if (is_lying("reason")) {
        (void)snprintf(reason, CERTIFICATE_REASON_BYTES, "%s", "one line\nand another");
    }
    return result;
}
