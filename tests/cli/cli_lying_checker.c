/* A checker that lies: it accepts no certificate or, with LIAR_PERIOD=N, all but about one in N,
 * chosen by their text, so that the same one is refused again.  A program linked with it must
 * notice that its judges disagree. */
#include "checker/certificate_check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum certificate_result certificate_check(const char *text, size_t length,
                                          char reason[CERTIFICATE_REASON_BYTES])
{
    const char *period = getenv("LIAR_PERIOD");
    uint32_t digest = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        digest = (digest ^ (unsigned char)text[i]) * 16777619u;
    }
    if (period != NULL && (digest >> 8) % strtoul(period, NULL, 10) != 0) {
        snprintf(reason, CERTIFICATE_REASON_BYTES, "accepted");
        return CERTIFICATE_VALID;
    }
    snprintf(reason, CERTIFICATE_REASON_BYTES, "%s", "this checker accepts nothing");
    return length == 0 ? CERTIFICATE_UNREADABLE : CERTIFICATE_REFUTED;
}
