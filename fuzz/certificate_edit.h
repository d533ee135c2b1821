/* Small changes of a certificate's text, each chosen by four bytes: a digit, a line, a word, a
 * letter of a log. */
#ifndef FUZZ_CERTIFICATE_EDIT_H
#define FUZZ_CERTIFICATE_EDIT_H

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

#endif
