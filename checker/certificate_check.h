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

/* A text from outside; name is that of its file, for reasons. */
struct certificate_text {
    const char *name, *bytes;
    size_t length;
};
/* A list of ops and, perhaps, the log of what its target answered: read once, for any number of
 * certificates. */
struct certificate_history;

/* Reads both; observations may be NULL.  The texts stay the caller's, and as they are until
 * certificate_history_destroy().  NULL: one is not what it should be, and reason becomes
 * "NAME:LINE: ...", in printable ASCII. */
struct certificate_history *certificate_history_read(const struct certificate_text *list,
                                                     const struct certificate_text *observations,
                                                     char reason[CERTIFICATE_REASON_BYTES]);
void certificate_history_destroy(struct certificate_history *history);

/* As certificate_check(), and the certificate must be of an out-of-memory of this history (NULL: of
 * any).  Thread-safe.  More time: the list's bytes up to the op, and the log's lines up to it. */
enum certificate_result certificate_check_with(const char *text, size_t length,
                                               const struct certificate_history *history,
                                               char reason[CERTIFICATE_REASON_BYTES]);
#endif
