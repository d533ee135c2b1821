#include "harness/op/private/ops_parse.h"

#include "harness/base/size.h"

#include <inttypes.h>
#include <stdarg.h>

bool word_split(struct word word, struct word *key, struct word *value)
{
    const char *equals = word.length > 0 ? memchr(word.text, '=', word.length) : NULL;
    if (equals == NULL) {
        return false;
    }
    *key = (struct word){word.text, (size_t)(equals - word.text)};
    *value = (struct word){equals + 1, word.length - key->length - 1};
    return true;
}

void names_append(char *names, size_t names_bytes, const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, names_bytes - used, "%s%s", used == 0 ? "" : ", ", name);
}

bool parser_fail(struct parser *parser, const char *at, const char *format, ...)
{
    parser->error->line = parser->json_add_number;
    parser->error->column = (size_t)(at - parser->line) + 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error->reason, sizeof parser->error->reason, format, arguments);
    va_end(arguments);
    for (char *c = parser->error->reason; *c != '\0'; c++) {
        *c = is_control(*c) ? '?' : *c;
    }
    return false;
}

void parser_skip_blanks(struct parser *parser)
{
    while (parser->at < parser->line_end && is_space(*parser->at)) {
        parser->at++;
    }
}

struct word parser_next_word(struct parser *parser)
{
    parser_skip_blanks(parser);
    struct word word = {parser->at, 0};
    while (parser->at < parser->line_end && !is_space(*parser->at)) {
        parser->at++;
    }
    word.length = (size_t)(parser->at - word.text);
    return word;
}

struct word parser_rest(const struct parser *parser, const char *from)
{
    struct word rest = {from, (size_t)(parser->line_end - from)};
    while (rest.length > 0 && is_space(rest.text[rest.length - 1])) {
        rest.length--;
    }
    return rest;
}

bool parser_copy(struct parser *parser, struct word word, char *to, size_t to_bytes)
{
    if (word.length == 0) {
        return parser_fail(parser, word.text, "a value is missing");
    }
    if (word.length >= to_bytes) {
        return parser_fail(parser, word.text, "longer than %zu characters", to_bytes - 1);
    }
    for (size_t i = 0; i < word.length; i++) {
        if (is_control(word.text[i])) {
            return parser_fail(parser, word.text + i, "a control character");
        }
    }
    memcpy(to, word.text, word.length);
    to[word.length] = '\0';
    return true;
}

bool parser_size(struct parser *parser, struct word word, uint64_t *size_bytes)
{
    return size_parse(word.text, word.length, size_bytes) ||
           parser_fail(parser, word.text, "'%.*s' is not a size such as 512, 4K or 16G",
                       shown(word), word.text);
}

bool parser_number(struct parser *parser, struct word word, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (!number_parse(word.text, word.length, &value) || value > max) {
        return parser_fail(parser, word.text, "'%.*s' is not a number from 0 to %" PRIu64,
                           shown(word), word.text, max);
    }
    *number = value;
    return true;
}
