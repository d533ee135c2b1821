#include "present/say.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Appends the number of the directive, which begins at `at` behind its '%'; returns what follows.
 */
static const char *say_number(struct writing *text, const char *at, struct say_values *values)
{
    const char kind = *at;
    at += strspn(at, "zl");
    CHECK(*at == 'u' || *at == 'x');
    const uint64_t number = kind == 'z'   ? va_arg(values->list, size_t)
                            : kind == 'l' ? va_arg(values->list, uint64_t)
                                          : va_arg(values->list, unsigned);
    writing_append_format(text, *at == 'x' ? "%" PRIx64 : "%" PRIu64, number);
    return at + 1;
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
            word = (char *)say_number(text, word, values) - 1;
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
