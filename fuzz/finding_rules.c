#include "fuzz/finding_rules.h"

#include <stdlib.h>

/* One function a rule, finding_premature and so on.  Each notes its own number, so that no compiler
 * takes two of them for one. */
static volatile enum rule ended_in;

#define RULE(enumerator, name, gravity, promise, judge, plant)           \
    __attribute__((noinline)) static _Noreturn void finding_##name(void) \
    {                                                                    \
        ended_in = RULE_##enumerator;                                    \
        abort();                                                         \
    }
#include "harness/oracle/rule_list.h"
RULE(NONE, none, HARM, "", "", "")
#undef RULE

static void (*const ends[RULE_COUNT])(void) = {
    [RULE_NONE] = finding_none,
#define RULE(enumerator, name, gravity, promise, judge, plant) [RULE_##enumerator] = finding_##name,
#include "harness/oracle/rule_list.h"
#undef RULE
};

_Noreturn void end_in_rule(enum rule rule)
{
    ends[rule < RULE_COUNT ? rule : RULE_NONE]();
    abort(); /* not reached: no end returns */
}
