/* Checks a certificate: one verdict on one out-of-memory with its proof, as docs/certificate.md
 * says. */
#ifndef CHECKER_CERTIFICATE_CHECK_H
#define CHECKER_CERTIFICATE_CHECK_H
#include <stddef.h>

enum certificate_result {
    CERTIFICATE_VALID = 0,
    CERTIFICATE_REFUTED = 1,
    CERTIFICATE_UNREADABLE = 2
};
enum { CERTIFICATE_REASON_BYTES = 256 };

/* Checks length bytes at text, whatever they are; reason becomes one line of printable ASCII: claim
 * and kind of proof, or what fails first.  Thread-safe.  Time: letters * items, sets * items (at
 * most 2^23 sets, with 24 bytes of memory each), sums * passes (at most 2^35, 64 at a time, and
 * 2^28 sums with a bit of memory each), and (length + moves + blocks) * log blocks. */
enum certificate_result certificate_check(const char *text, size_t length,
                                          char reason[CERTIFICATE_REASON_BYTES]);
#endif
