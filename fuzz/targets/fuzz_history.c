/* Checks that the checker of certificates stands any list and any log.
 *
 * An input is a list, and behind a byte 1 a log, and behind another one a certificate. */
#include "checker/certificate_check.h"
#include "fuzz/engine.h"
#include "fuzz/text_check.h"

#include <string.h>

enum { SEPARATOR = 1 };
static const char name[] = "fuzz_history";

/* Cuts the text at the first separator; what is behind it is left.  False: there is none. */
static bool cut_text(struct certificate_text *left, struct certificate_text *text)
{
    const char *at = left->length == 0 ? NULL : memchr(left->bytes, SEPARATOR, left->length);
    *text = *left;
    if (at == NULL) {
        left->bytes += left->length;
        left->length = 0;
        return false;
    }
    text->length = (size_t)(at - left->bytes);
    left->bytes = at + 1;
    left->length -= text->length + 1;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char reason[CERTIFICATE_REASON_BYTES];
    struct certificate_text left = {
        .name = "input", .bytes = (const char *)bytes, .length = length};
    struct certificate_text list, log;
    const bool has_log = cut_text(&left, &list);
    (void)cut_text(&left, &log);
    /* An unwritten reason stands out: its bytes are not printable. */
    memset(reason, SEPARATOR, sizeof reason);
    struct certificate_history *history = certificate_history_read(&list, has_log ? &log : NULL,
                                                                   reason);
    if (history != NULL) {
        (void)certificate_check_with(left.bytes, left.length, history, reason);
    }
    text_check_ascii(name, reason, sizeof reason);
    certificate_history_destroy(history);
    return 0;
}
