/* Remedies whose parameter is a tag: its name as a word, and which of the tags are worth a try. */
#ifndef DIAGNOSIS_PRIVATE_REMEDY_TAGS_H
#define DIAGNOSIS_PRIVATE_REMEDY_TAGS_H

#include "diagnosis/remedy.h"

/* The name as a word of labels.  One that cannot be such a word as it is, that another tag has too,
 * or that is `reserved` (NULL: none), gets its number, so that no two labels are equal. */
void remedy_tag_label(const struct setup *setup, uint64_t tag, const char *reserved,
                      char text[REMEDY_LABEL_BYTES]);

/* The index-th tag of those with scores, the largest first; of equals the lower one.  False: there
 * is none.  Where the case names a tag, that one alone counts. */
bool remedy_tag_ranked(const struct remedy_case *given, const uint64_t scores[OP_TAG_COUNT],
                       size_t index, uint64_t *tag);

#endif
