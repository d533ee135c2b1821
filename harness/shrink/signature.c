#include "harness/shrink/signature.h"

#include <stdio.h>

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
    if (verdict->kind == VERDICT_BROKEN && verdict->rule == RULE_REPLAY) {
        (void)snprintf(signature, SIGNATURE_BYTES, "%s", what);
    } else if (verdict->op >= ops->count) {
        (void)snprintf(signature, SIGNATURE_BYTES, "%s at the end", what);
    } else {
        const enum op_kind kind = (enum op_kind)ops->ops[verdict->op].kind;
        (void)snprintf(signature, SIGNATURE_BYTES, "%s in %s", what, op_kind_info(kind)->name);
    }
}
