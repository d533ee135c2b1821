#include "campaign/base/certificates.h"

#include "harness/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

bool certificate_is_due(uint64_t number, enum verdict_kind kind)
{
    return kind == VERDICT_PREMATURE || kind == VERDICT_UNKNOWN ||
           number % CERTIFICATE_CHECK_PERIOD == 0;
}

void certificate_append(const struct run *run, struct writing *text)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&bytes, &length);
    CHECK(memory != NULL);
    run_print_certificate(run, memory);
    CHECK(fclose(memory) == 0);
    writing_append_bytes(text, bytes, length);
    free(bytes);
}

bool certificate_is_accepted(const char *text, size_t length, char reason[CERTIFICATE_REASON_BYTES])
{
    return certificate_check(text, length, reason) == CERTIFICATE_VALID;
}

void certificate_dispute(const char *reason, struct verdict *verdict)
{
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle says %s, the checker of its certificate says no: %.190s",
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
    bool is_written = fwrite(bytes, 1, length, stream) == length && fflush(stream) == 0;
    int reason = errno;
    if (fclose(stream) != 0 && is_written) {
        is_written = false;
        reason = errno;
    }
    if (is_written && rename(partial, path) == 0) {
        return true;
    }
    reason = is_written ? errno : reason;
    (void)unlink(partial);
    errno = reason;
    return false;
}
