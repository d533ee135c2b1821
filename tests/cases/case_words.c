#include "tests/cases/case.h"

#include <stdlib.h>

bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The next word, up to a blank or a comma; a text in quotes is one. */
bool next_word(const char **at, char word[WORD_BYTES])
{
    *at += strspn(*at, " ,");
    const size_t length = **at == '"' ? strcspn(*at + 1, "\"") + 2 : strcspn(*at, " ,");
    snprintf(word, 256, "%.*s", (int)length, *at);
    *at += strnlen(*at, length);
    return length > 0;
}

void need_word(const char **at, char word[WORD_BYTES])
{
    if (!next_word(at, word)) {
        FAIL("a word is missing");
    }
}

uint64_t read_number(const char *word)
{
    char *end = NULL;
    const uint64_t number = strtoull(word, &end, 0);
    if (end == word || *end != '\0') {
        FAIL("'%s' is not a number", word);
    }
    return number;
}

uint64_t need_number(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word);
    return read_number(word);
}

/* Granules, or with the suffix B bytes. */
uint64_t read_bytes(char *word)
{
    char *suffix = strchr(word, 'B');
    if (suffix != NULL) {
        *suffix = '\0';
    }
    return read_number(word) * (suffix != NULL ? 1 : G);
}

uint64_t need_bytes(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word);
    return strcmp(word, "nowhere") == 0 ? TARGET_ADDRESS_NONE : read_bytes(word);
}

/* Without the quotes, and with \n as the end of a line; it is kept for the time of the case. */
const char *unquoted(const char *word)
{
    char *text = case_keep(word[0] == '"' ? strndup(word + 1, strlen(word) - 2) : strdup(word));
    for (char *at = text; (at = strstr(at, "\\n")) != NULL;) {
        *at = '\n';
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
    }
    return text;
}

/* Cuts off "-> ANSWER: VERDICT"; both "" where there is none. */
void split_step(char *text, char **answer, char **verdict)
{
    static char none[] = "";
    char *arrow = strstr(text, " -> ");
    *answer = *verdict = none;
    if (arrow == NULL) {
        return;
    }
    *arrow = '\0';
    *answer = arrow + 4;
    for (char *at = *answer; *at != '\0'; at++) {
        if (*at == '"') { /* a message may have colons */
            at = strchr(at + 1, '"') == NULL ? at : strchr(at + 1, '"');
        } else if (at[0] == ':' && at[1] == ' ') {
            *at = '\0';
            *verdict = at + 2;
            return;
        }
    }
}
