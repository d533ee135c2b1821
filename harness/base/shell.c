#include "harness/base/shell.h"

#include <string.h>

/* Not a locale's idea of letters: bytes above 0x7F are quoted. */
static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

const char *shell_word(const char *text, char *word)
{
    const size_t length = strlen(text);
    if (length > 0 && strspn(text, plain) == length) {
        return memcpy(word, text, length + 1);
    }
    char *to = word;
    *to++ = '\'';
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'') {
            memcpy(to, "'\\'", 3); /* ends the quotes, and begins them again behind a quote */
            to += 3;
        }
        *to++ = *at;
    }
    *to++ = '\'';
    *to = '\0';
    return word;
}
