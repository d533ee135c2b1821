/* Ends the process in a function that no other rule shares. */
#ifndef FUZZ_FINDING_RULES_H
#define FUZZ_FINDING_RULES_H

#include "harness/oracle/rule.h"

_Noreturn void end_in_rule(enum rule rule);

#endif
