#include "campaign/base/certificates.h"

#include "harness/base/whole_file.h"

#include <stdio.h>

bool certificate_is_due(uint64_t number, enum verdict_kind kind)
{
    return kind == VERDICT_PREMATURE || kind == VERDICT_UNKNOWN ||
           number % CERTIFICATE_CHECK_PERIOD == 0;
}

bool certificate_is_accepted(const char *text, size_t length, char reason[CERTIFICATE_REASON_BYTES])
{
    return certificate_check(text, length, reason) == CERTIFICATE_VALID;
}

void certificate_dispute(const char *reason, struct verdict *verdict)
{
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle says %s, but the checker rejects its certificate: %.190s",
             verdict_name(verdict->kind), reason);
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
}

bool certificate_write(const char *path, const char *partial, const void *bytes, size_t length)
{
    FILE *stream = fopen(partial, "we");
    if (stream == NULL) {
        return false;
    }
    (void)fwrite(bytes, 1, length, stream); /* a failure stays in the stream */
    return whole_file_end(stream, partial, path, false);
}
