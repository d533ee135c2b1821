#include "checker/private/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lines_init(struct lines *lines, const struct certificate_text *text, char *reason)
{
    *lines = (struct lines){
        .name = text->name, .at = text->bytes, .end = text->bytes + text->length, .reason = reason};
}

bool lines_next(struct lines *lines)
{
    const size_t length = (size_t)(lines->end - lines->at);
    const char *newline = length == 0 ? NULL : memchr(lines->at, '\n', length);
    lines->line.text = lines->at;
    lines->line.length = newline == NULL ? length : (size_t)(newline - lines->at);
    lines->number += length > 0;
    lines->at = newline == NULL ? lines->end : newline + 1;
    return newline != NULL;
}

void text_make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        *text = *text >= ' ' && *text <= '~' ? *text : '?';
    }
}

bool lines_fail(struct lines *lines, const char *format, ...)
{
    enum { NAME_SHOWN = 100 };
    const int used = snprintf(lines->reason, CERTIFICATE_REASON_BYTES, "%.*s:%zu: ", NAME_SHOWN,
                              lines->name, lines->number);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(lines->reason + used, CERTIFICATE_REASON_BYTES - (size_t)used, format, arguments);
    va_end(arguments);
    text_make_printable(lines->reason);
    return false;
}

int word_shown(struct text_word word)
{
    enum { SHOWN_MAX = 40 };
    return word.length < SHOWN_MAX ? (int)word.length : SHOWN_MAX;
}

bool word_is(struct text_word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

int word_find(struct text_word word, const char *words)
{
    struct text_word left = {words, strlen(words)}, head;
    bool has_more = true;
    for (int i = 0; has_more; i++) {
        has_more = word_cut(&left, '|', &head);
        if (head.length == word.length && memcmp(head.text, word.text, word.length) == 0) {
            return i;
        }
    }
    return -1;
}

bool word_cut(struct text_word *word, char mark, struct text_word *head)
{
    const char *at = word->length == 0 ? NULL : memchr(word->text, mark, word->length);
    *head = *word;
    if (at == NULL) {
        word->text += word->length;
        word->length = 0;
        return false;
    }
    head->length = (size_t)(at - word->text);
    word->text = at + 1;
    word->length -= head->length + 1;
    return true;
}

bool word_number(struct text_word word, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (word.length == 0 || (word.length > 1 && word.text[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < word.length; i++) {
        if (word.text[i] < '0' || word.text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(word.text[i] - '0'), &value)) {
            return false;
        }
    }
    *number = value;
    return value <= max;
}

bool word_size(struct text_word word, uint64_t *bytes)
{
    static const char units[] = "KMGTPE";
    uint64_t scale = 1;
    const char *unit = word.length == 0
                           ? NULL
                           : memchr(units, word.text[word.length - 1], sizeof units - 1);
    if (unit != NULL) {
        scale <<= 10 * (unit - units + 1);
        word.length--;
    }
    const bool is_good = word_number(word, UINT64_MAX / scale, bytes);
    *bytes = is_good ? *bytes * scale : 0;
    return is_good;
}

bool word_duration(struct text_word word, uint64_t *ns)
{
    static const uint64_t units_ns[] = {
        UINT64_C(3600000000000), UINT64_C(60000000000), 1000000000, 1000000, 1000, 1};
    size_t digits = 0;
    if (word_is(word, "never")) {
        *ns = UINT64_MAX;
        return true;
    }
    while (digits < word.length && word.text[digits] >= '0' && word.text[digits] <= '9') {
        digits++;
    }
    const int unit = word_find((struct text_word){word.text + digits, word.length - digits},
                               "h|m|s|ms|us|ns");
    /* The largest number stands for never. */
    const bool is_good = unit >= 0 && word_number((struct text_word){word.text, digits},
                                                  (UINT64_MAX - 1) / units_ns[unit], ns);
    *ns = is_good ? *ns * units_ns[unit] : 0;
    return is_good;
}

void *array_with_room(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    const size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    if (count < *capacity) {
        return array;
    }
    /* The array to be doubled is there, so no address space is large enough for an overflow. */
    void *grown = realloc(array, wanted * element_bytes);
    *capacity = grown == NULL ? *capacity : wanted;
    return grown;
}

/* Counts as jansson does: lines from 1, columns by bytes. */
static void point_at(json_error_t *error, const char *text, const char *at)
{
    error->line = 1;
    error->column = 0;
    for (; text < at; text++) {
        const bool is_newline = *text == '\n';
        error->line += is_newline;
        error->column = is_newline ? 0 : error->column + 1;
    }
}

json_t *json_read(const char *text, size_t length, json_error_t *error)
{
    const char *nul = length == 0 ? NULL : memchr(text, '\0', length);
    if (nul != NULL) {
        point_at(error, text, nul);
        return NULL;
    }
    return json_loadb(text, length, JSON_REJECT_DUPLICATES, error);
}
