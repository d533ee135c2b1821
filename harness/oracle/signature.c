#include "harness/oracle/signature.h"

#include "harness/oracle/shortfall.h"

#include <stdio.h>
#include <string.h>

/* The rule, or for an OOM that breaks none the verdict on it. */
static const char *what_is_broken(const struct verdict *verdict)
{
    if (verdict->kind == VERDICT_PREMATURE) {
        return rule_info(RULE_PREMATURE)->name;
    }
    return verdict->kind == VERDICT_BROKEN ? rule_info(verdict->rule)->name
                                           : verdict_name(verdict->kind);
}

void signature_print(const struct verdict *verdict, const struct op_list *ops,
                     char signature[SIGNATURE_BYTES])
{
    const char *what = what_is_broken(verdict);
    signature[0] = '\0';
    if (verdict->kind == VERDICT_NONE) {
        return;
    }
    if (verdict->mechanism[0] != '\0') {
        (void)snprintf(signature, SIGNATURE_BYTES, "%s: %s", what, verdict->mechanism);
    } else if (verdict->kind == VERDICT_BROKEN && verdict->rule == RULE_REPLAY) {
        (void)snprintf(signature, SIGNATURE_BYTES, "%s", what);
    } else if (verdict->op >= ops->count) {
        (void)snprintf(signature, SIGNATURE_BYTES, "%s at the end", what);
    } else {
        const enum op_kind kind = (enum op_kind)ops->ops[verdict->op].kind;
        (void)snprintf(signature, SIGNATURE_BYTES, "%s in %s", what, op_kind_info(kind)->name);
    }
}

/* Returns the text after the rule; NULL: the signature is not that of a premature out-of-memory
 * with its mechanism. */
static const char *find_shortfall_name(const char *signature)
{
    const char *rule = rule_info(RULE_PREMATURE)->name;
    const size_t length = strlen(rule);
    return strncmp(signature, rule, length) == 0 && strncmp(signature + length, ": ", 2) == 0
               ? signature + length + 2
               : NULL;
}

bool signature_stands_for(const char *signature, const char *wanted)
{
    const char *name = find_shortfall_name(signature);
    const char *than = find_shortfall_name(wanted);
    return strcmp(signature, wanted) == 0 ||
           (name != NULL && than != NULL && shortfall_is_simpler(name, than));
}

bool signature_explains(const char *signature, const char *wanted)
{
    const char *name = find_shortfall_name(signature);
    const char *explained = find_shortfall_name(wanted);
    return name != NULL && explained != NULL && shortfall_explains(name, explained);
}

bool signature_lacks_mitigation(const char *signature)
{
    const char *name = find_shortfall_name(signature);
    return name != NULL && shortfall_lacks_mitigation(name);
}
