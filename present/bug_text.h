/* Texts of a target's own API (struct target_api) with values in place of what stands for them, and
 * foreign text made harmless for Markdown. */
#ifndef PRESENT_BUG_TEXT_H
#define PRESENT_BUG_TEXT_H

#include "harness/base/writing.h"

#include <stddef.h>

/* What stands for a value, without its '@', and the value. */
struct bug_word {
    const char *name;
    const char *value;
};

/* Appends the template.  "@NAME" becomes the value of that word, where what follows NAME could not
 * belong to a name; every other '@' stays.  Values are not looked into. */
void bug_text_append(struct writing *text, const char *template, const struct bug_word *words,
                     size_t word_count);

/* The same, each line behind so many blanks, and the last one ended; nothing for NULL. */
void bug_text_append_lines(struct writing *text, const char *template, const struct bug_word *words,
                           size_t word_count, unsigned indent);

/* Appends the text of one paragraph or heading: nothing in it is markup, breaks the line, or acts
 * on a terminal. */
void bug_text_append_markdown(struct writing *text, const char *string);

/* Appends the lines as a code block that no line of them ends.  language may be "". */
void bug_text_append_code(struct writing *text, const char *language, const char *lines);

#endif
