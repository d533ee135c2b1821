/* A checker that accepts no certificate: a program linked with it must notice that its judges disagree. */
#include "checker/certificate_check.h"

#include <stdio.h>

enum certificate_result certificate_check(const char *text, size_t length, char reason[CERTIFICATE_REASON_BYTES])
{
    (void)text;
    snprintf(reason, CERTIFICATE_REASON_BYTES, "%s", "this checker accepts nothing");
    return length == 0 ? CERTIFICATE_UNREADABLE : CERTIFICATE_REFUTED;
}
