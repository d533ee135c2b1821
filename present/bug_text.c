#include "harness/base/check.h"
#include "present/bug.h"
#include "present/say.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_name(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

/* The word whose name stands at the place; NULL: none does. */
static const struct bug_word *find_word(const char *at, const struct bug_word *words,
                                        size_t word_count)
{
    for (size_t i = 0; i < word_count; i++) {
        const size_t length = strlen(words[i].name);
        if (strncmp(at, words[i].name, length) == 0 && !is_of_name(at[length])) {
            return &words[i];
        }
    }
    return NULL;
}

void bug_text_append(struct writing *text, const char *template, const struct bug_word *words,
                     size_t word_count)
{
    for (const char *at = template; *at != '\0';) {
        const struct bug_word *word = *at == '@' ? find_word(at + 1, words, word_count) : NULL;
        if (word != NULL) {
            writing_append(text, word->value);
            at += 1 + strlen(word->name);
        } else {
            writing_append_bytes(text, at++, 1);
        }
    }
}

static void append_indented(struct writing *text, const char *lines, unsigned indent)
{
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        if (length > 0) {
            writing_append_format(text, "%*s", (int)indent, "");
            writing_append_bytes(text, lines, length);
        }
        writing_append(text, "\n");
        lines += length + (lines[length] == '\n');
    }
}

void bug_text_append_lines(struct writing *text, const char *template, const struct bug_word *words,
                           size_t word_count, unsigned indent)
{
    struct writing lines = {0};
    if (template == NULL) {
        return;
    }
    bug_text_append(&lines, template, words, word_count);
    append_indented(text, writing_string(&lines), indent);
    writing_deinit(&lines);
}

void bug_text_append_markdown(struct writing *text, const char *string)
{
    struct writing visible = {0};
    writing_append_visible(&visible, string);
    for (const char *at = writing_string(&visible); *at != '\0'; at++) {
        if (strchr("\\`*_{}[]<>#|~&!", *at) != NULL) {
            writing_append(text, "\\");
        }
        writing_append_bytes(text, at, 1);
    }
    writing_deinit(&visible);
}

/* As many as no run in the lines has. */
static size_t count_ticks(const char *lines)
{
    size_t ticks = 3, run = 0;
    for (const char *at = lines; *at != '\0'; at++) {
        run = *at == '`' ? run + 1 : 0;
        ticks = run >= ticks ? run + 1 : ticks;
    }
    return ticks;
}

/* Lines that cannot act on a terminal; tabs are blanks. */
void bug_text_append_code(struct writing *text, const char *language, const char *lines)
{
    const size_t ticks = count_ticks(lines);
    struct writing fence = {0};
    for (size_t i = 0; i < ticks; i++) {
        writing_append(&fence, "`");
    }
    writing_append_format(text, "%s%s\n", writing_string(&fence), language);
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        char *line = strndup(lines, length);
        CHECK(line != NULL);
        for (char *tab = strchr(line, '\t'); tab != NULL; tab = strchr(tab, '\t')) {
            *tab = ' ';
        }
        say(text, "%s\n", line);
        free(line);
        lines += length + (lines[length] == '\n');
    }
    writing_append_format(text, "%s\n", writing_string(&fence));
    writing_deinit(&fence);
}
