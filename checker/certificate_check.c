/* Apart from the rest, so that a program may be linked with a checker that lies. */
#include "checker/certificate_check.h"

enum certificate_result certificate_check(const char *text, size_t length,
                                          char reason[CERTIFICATE_REASON_BYTES])
{
    return certificate_check_with(text, length, NULL, reason);
}
