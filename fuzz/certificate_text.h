/* Small changes of a certificate's text, each chosen by four bytes: a digit, a line, a word, a
 * letter of a log. */
#ifndef FUZZ_CERTIFICATE_TEXT_H
#define FUZZ_CERTIFICATE_TEXT_H

#include "harness/oracle/oom.h"
#include "harness/oracle/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CERTIFICATE_EDIT_BYTES = 4, CERTIFICATE_TEXT_BYTES = 1 << 16 };

/* A text that can be edited: length < CERTIFICATE_TEXT_BYTES. */
struct edited_certificate {
    char bytes[CERTIFICATE_TEXT_BYTES];
    size_t length;
};

/* Changes the text as the edit says, or not, where it has nothing of the kind.  A change that would
 * make it too long is left out.  O(length). */
void certificate_edit(struct edited_certificate *text, const uint8_t edit[CERTIFICATE_EDIT_BYTES]);

/* A certificate as the claim and the out-of-memory that it is about, so that the truth of the claim
 * can be judged anew. The proof is not read.  It is the second reader of docs/certificate.md beside
 * the checker, which test_certificate holds against it, too. */
struct certificate_claim {
    enum verdict_kind kind; /* justified, premature, unknown */
    struct oom oom; /* blocks are the claim's: oom_deinit.  They are named by their places */
};

/* False: it is no certificate, or of a state that cannot be; *claim is then empty. */
bool certificate_read(const char *text, size_t length, struct certificate_claim *claim);

#endif
