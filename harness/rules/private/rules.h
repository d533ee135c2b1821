/* Asks the function that a rule's row names whether the evidence keeps the rule. */
#ifndef HARNESS_RULES_PRIVATE_RULES_H
#define HARNESS_RULES_PRIVATE_RULES_H

#include "harness/rules/private/evidence.h"

/* The row names a function of rules_*.c.  True: the rule is kept.  False: it is broken, or another
 * of the same function is; *judge->verdict has the first broken one, with its reason. */
bool rule_judge(enum rule rule, const struct evidence *evidence);

/* bool rules_judge_overlap(const struct evidence *evidence); and so on, one for each row. */
#define JUDGE(function) bool function(const struct evidence *evidence);
#define ROAD(name)
#define RULE(enumerator, name, promise, judge, plant) judge
#include "harness/oracle/rule_list.h"
#undef RULE
#undef ROAD
#undef JUDGE

#endif
