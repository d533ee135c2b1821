#include "present/say.h"

#include "harness/base/check.h"
#include "harness/base/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads the number of the directive that *at leads to, behind its '%'; *at: its last byte. */
static uint64_t take_number(const char **at, struct say_values *values)
{
    const char size = **at;
    *at += strspn(*at, "zl");
    CHECK(**at == 'u' || **at == 'x');
    return size == 'z'   ? va_arg(values->list, size_t)
           : size == 'l' ? va_arg(values->list, uint64_t)
                         : va_arg(values->list, unsigned);
}

const char *say_until(struct writing *text, const char *format, char end,
                      void (*add)(struct writing *text, const char *word, size_t bytes_max),
                      size_t bytes_max, struct say_values *values)
{
    const char stops[] = {'%', end, '\0'};
    for (;;) {
        const size_t length = strcspn(format, stops);
        writing_append_bytes(text, format, length);
        format += length;
        if (*format != '%') {
            return format;
        }
        char *word = (char *)format + 1;
        const size_t most = *word == '.' ? strtoul(word + 1, &word, 10) : bytes_max;
        if (*word == 's') {
            add(text, va_arg(values->list, const char *), most);
        } else if (*word == '%') {
            writing_append(text, "%");
        } else {
            const char *at = word;
            const uint64_t number = take_number(&at, values);
            writing_append_format(text, *at == 'x' ? "%" PRIx64 : "%" PRIu64, number);
            word = (char *)at;
        }
        format = word + 1;
    }
}

static void add_visible(struct writing *text, const char *word, size_t bytes_max)
{
    (void)bytes_max;
    writing_append_visible(text, word);
}

static void add_xml(struct writing *text, const char *word, size_t bytes_max)
{
    (void)bytes_max;
    writing_append_xml(text, word);
}

void say(struct writing *text, const char *format, ...)
{
    struct say_values values;
    va_start(values.list, format);
    (void)say_until(text, format, '\0', add_visible, SIZE_MAX, &values);
    va_end(values.list);
}

void say_xml(struct writing *text, const char *format, ...)
{
    struct say_values values;
    va_start(values.list, format);
    (void)say_until(text, format, '\0', add_xml, SIZE_MAX, &values);
    va_end(values.list);
}

/* --- JSON --- */

/* A member whose value is not added yet. */
struct said_member {
    char name[40];
    const char *key;  /* the name; NULL: an element of an array */
    bool is_optional; /* nothing is added of "", NULL, 0 and false */
    bool is_digits;
};

/* Adds the value of the directive behind the '%' at `at`; returns its last byte. */
static const char *say_member(struct writing *text, const struct said_member *member,
                              const char *at, struct say_values *values)
{
    const bool is_optional = member->is_optional;
    if (*at == 's') {
        const char *string = va_arg(values->list, const char *);
        if (!is_optional || (string != NULL && string[0] != '\0')) {
            json_add_string(text, member->key, string);
        }
        return at;
    }
    if (*at == 'd') {
        const bool is_true = va_arg(values->list, int) != 0;
        if (!is_optional || is_true) {
            json_add_boolean(text, member->key, is_true);
        }
        return at;
    }
    const uint64_t number = take_number(&at, values);
    if (!is_optional || number > 0) {
        (member->is_digits ? json_add_digits : json_add_number)(text, member->key, number);
    }
    return at;
}

void say_json(struct writing *text, const char *format, ...)
{
    struct say_values values;
    struct said_member member = {0};
    va_start(values.list, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at == '{' || *at == '[') {
            json_nest(text, member.key, *at);
            member.key = NULL;
        } else if (*at == '}' || *at == ']') {
            json_unnest(text, *at);
        } else if (*at == '%') {
            member.is_digits = at > format && at[-1] == '\'';
            at = say_member(text, &member, at + 1, &values);
            member.key = NULL;
        } else if (*at != ' ' && *at != '\'') {
            const size_t length = strcspn(at, ":");
            CHECK(length > 0 && length < sizeof member.name && at[length] == ':');
            member.is_optional = at[length - 1] == '?';
            member.key = memcpy(member.name, at, length);
            member.name[length - member.is_optional] = '\0';
            at += length;
        }
    }
    va_end(values.list);
}
