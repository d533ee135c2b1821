#include "formats/counters/private/counters.h"

#include <string.h>

static bool is_name_character(char c)
{
    return phrase_is_word(c) || c == '.';
}

/* Behind a name: what closes it, and what sets it apart from its number. */
static bool take_separator(struct phrase_cursor *cursor)
{
    if (phrase_peek(cursor) == '\'' || phrase_peek(cursor) == '"') {
        cursor->at++;
    }
    (void)phrase_skip_gap(cursor);
    const char c = phrase_peek(cursor);
    if (c != ':' && c != ',' && c != '=') {
        return false;
    }
    cursor->at++;
    (void)phrase_skip_gap(cursor);
    return true;
}

/* A count, or a size with its unit. */
static bool take_value(struct phrase_cursor *cursor, struct counter *counter)
{
    enum { DIGITS_MAX = 18 };
    struct phrase_cursor ahead = *cursor;
    uint64_t number = 0;
    size_t count = 0;
    counter->is_negative = phrase_take_character(&ahead, '-');
    if (phrase_take_unit_size(&ahead, &counter->value)) {
        *cursor = ahead;
        return true;
    }
    for (; phrase_peek(&ahead) >= '0' && phrase_peek(&ahead) <= '9'; ahead.at++, count++) {
        number = count < DIGITS_MAX ? number * 10 + (uint64_t)(phrase_peek(&ahead) - '0') : 0;
    }
    if (count == 0 || count > DIGITS_MAX || is_name_character(phrase_peek(&ahead)) ||
        phrase_is_at_end(&ahead)) { /* a number at the very end may be cut */
        return false;
    }
    counter->value = (struct unit_size){.bytes = number};
    *cursor = ahead;
    return true;
}

bool counter_next(struct phrase_cursor *cursor, struct counter *counter)
{
    while (!phrase_is_at_end(cursor)) {
        if (!phrase_is_word(phrase_peek(cursor))) {
            cursor->at++;
            continue;
        }
        *counter = (struct counter){.name = cursor->text + cursor->at, .at = cursor->at};
        while (is_name_character(phrase_peek(cursor))) {
            cursor->at++;
        }
        counter->name_length = cursor->at - counter->at;
        struct phrase_cursor ahead = *cursor;
        if (take_separator(&ahead) && take_value(&ahead, counter)) {
            *cursor = ahead;
            return true;
        }
    }
    return false;
}
