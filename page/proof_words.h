/* The certificate of an out-of-memory in words, with a picture of what lay where. */
#ifndef PAGE_PROOF_WORDS_H
#define PAGE_PROOF_WORDS_H

#include "harness/base/writing.h"

#include <jansson.h>

/* Appends it.  number tells the pictures of a page apart; two are used, that and the next.
 * certificate may be any JSON of a stranger's: what is wrong in it is said in place of the rest. */
void proof_words(struct writing *html, const json_t *certificate, unsigned number);

#endif
