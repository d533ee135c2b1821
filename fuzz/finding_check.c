#include "fuzz/finding_check.h"

#include "harness/op/ops_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One function a check.  Each notes its own number, so that no compiler takes two of them for one.
 */
static volatile enum finding_check ended_in;

#define END_IN(name, check)                                    \
    __attribute__((noinline)) static _Noreturn void name(void) \
    {                                                          \
        ended_in = check;                                      \
        abort();                                               \
    }

END_IN(finding_judges_differ, FINDING_JUDGES_DIFFER)
END_IN(finding_verdict_unstable, FINDING_VERDICT_UNSTABLE)
END_IN(finding_contract_loses_room, FINDING_CONTRACT_LOSES_ROOM)
END_IN(finding_invalid_differs, FINDING_INVALID_DIFFERS)
END_IN(finding_counters_differ, FINDING_COUNTERS_DIFFER)
END_IN(finding_proof_refuted, FINDING_PROOF_REFUTED)
END_IN(finding_false_claim_accepted, FINDING_FALSE_CLAIM_ACCEPTED)
END_IN(finding_reason_unprintable, FINDING_REASON_UNPRINTABLE)
END_IN(finding_position_outside, FINDING_POSITION_OUTSIDE)
END_IN(finding_text_changed, FINDING_TEXT_CHANGED)
END_IN(finding_op_illegal, FINDING_OP_ILLEGAL)
END_IN(finding_message_not_repeated, FINDING_MESSAGE_NOT_REPEATED)
END_IN(finding_calls_contradict, FINDING_CALLS_CONTRADICT)

static const struct {
    const char *name;
    void (*end)(void);
} checks[FINDING_CHECK_COUNT] = {
    [FINDING_JUDGES_DIFFER] = {"judges_differ", finding_judges_differ},
    [FINDING_VERDICT_UNSTABLE] = {"verdict_unstable", finding_verdict_unstable},
    [FINDING_CONTRACT_LOSES_ROOM] = {"contract_loses_room", finding_contract_loses_room},
    [FINDING_INVALID_DIFFERS] = {"invalid_differs", finding_invalid_differs},
    [FINDING_COUNTERS_DIFFER] = {"counters_differ", finding_counters_differ},
    [FINDING_PROOF_REFUTED] = {"proof_refuted", finding_proof_refuted},
    [FINDING_FALSE_CLAIM_ACCEPTED] = {"false_claim_accepted", finding_false_claim_accepted},
    [FINDING_REASON_UNPRINTABLE] = {"reason_unprintable", finding_reason_unprintable},
    [FINDING_POSITION_OUTSIDE] = {"position_outside", finding_position_outside},
    [FINDING_TEXT_CHANGED] = {"text_changed", finding_text_changed},
    [FINDING_OP_ILLEGAL] = {"op_illegal", finding_op_illegal},
    [FINDING_MESSAGE_NOT_REPEATED] = {"message_not_repeated", finding_message_not_repeated},
    [FINDING_CALLS_CONTRADICT] = {"calls_contradict", finding_calls_contradict},
};

const char *finding_check_name(enum finding_check check)
{
    return checks[check].name;
}

_Noreturn void finding_end_check(const char *fuzz_target, enum finding_check check,
                                 const char *reason, ...)
{
    va_list arguments;
    (void)fprintf(stderr, "\nhbmstress: %s found: %s\nreason: ", fuzz_target, checks[check].name);
    va_start(arguments, reason);
    (void)vfprintf(stderr, reason, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    (void)fflush(stderr);
    checks[check].end();
    abort(); /* not reached: no end returns */
}

void finding_print_ops(const char *target_name, const struct setup *setup,
                       const struct op_list *ops)
{
    struct setup named = *setup;
    (void)snprintf(named.target, sizeof named.target, "%s", target_name);
    (void)fputc('\n', stderr);
    ops_file_print(stderr, &named, ops, NULL);
}
