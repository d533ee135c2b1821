/* Texts as a shell takes them: each line that repeats something is there to be copied into one. */
#ifndef HARNESS_BASE_SHELL_H
#define HARNESS_BASE_SHELL_H

#include <stddef.h>

/* The most bytes that a quoted text of so many characters takes, its end included. */
#define SHELL_WORD_BYTES(length) (4 * (length) + 3)

/* Writes text as one word that a POSIX shell reads as that text: as it is where no character in it
 * means anything to a shell, else in single quotes.  word has SHELL_WORD_BYTES(strlen(text)).
 * Returns word. */
const char *shell_word(const char *text, char *word);

#endif
