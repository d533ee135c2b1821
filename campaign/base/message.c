#include "campaign/base/message.h"

#include "harness/base/standard.h"
#include "harness/base/writing.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void message_print(const char *format, va_list list) __attribute__((format(printf, 1, 0)));
static void message_print(const char *format, va_list list)
{
    char *string = NULL;
    struct writing text;
    writing_init(&text);
    writing_append(&text, "hbmstress: ");
    if (vasprintf(&string, format, list) >= 0) {
        writing_append_visible(&text, string);
        free(string);
    }
    writing_append(&text, "\n");
    /* When standard error is gone there is nobody left to tell. */
    (void)writing_print(&text, standard_error());
    writing_deinit(&text);
}

enum exit_code message_fail(enum exit_code code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    message_print(format, list);
    va_end(list);
    return code;
}

void message_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    message_print(format, list);
    va_end(list);
}

/* Up to the end of the line, or of the text; returns where that is. */
static const char *append_line(const char *from, const char *end, struct writing *line)
{
    struct writing piece;
    writing_init(&piece);
    for (; from < end && *from != '\n'; from++) {
        if (*from != '\0') {
            writing_append_bytes(&piece, from, 1);
            continue;
        }
        writing_append_visible(line, writing_string(&piece));
        writing_append(line, "\\x00");
        writing_clear(&piece);
    }
    writing_append_visible(line, writing_string(&piece));
    writing_deinit(&piece);
    return from;
}

void message_quote(const char *who, const struct writing *text)
{
    struct writing lines;
    const char *end = text->bytes + text->length;
    writing_init(&lines);
    for (const char *from = text->bytes; from < end; from++) {
        writing_append_format(&lines, "%s: ", who);
        from = append_line(from, end, &lines);
        writing_append(&lines, "\n");
    }
    (void)writing_print(&lines, standard_error());
    writing_deinit(&lines);
}

enum exit_code message_unknown(const char *kind, const char *name, const char *near,
                               const char *hint)
{
    if (near != NULL) {
        return message_fail(EXIT_USAGE, "unknown %s '%s'; did you mean '%s'?", kind, name, near);
    }
    return message_fail(EXIT_USAGE, "unknown %s '%s'; %s", kind, name, hint);
}

enum { NAME_BYTES_MAX = 64 };

/* Levenshtein's distance, one row at a time; both at most NAME_BYTES_MAX long. */
static size_t count_edits(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1];
    const size_t length = strlen(b);
    for (size_t i = 0; i <= length; i++) {
        row[i] = i;
    }
    for (size_t line = 1; *a != '\0'; a++, line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t i = 1; i <= length; i++) {
            const size_t replaced = diagonal + (*a != b[i - 1]);
            const size_t least = row[i - 1] < row[i] ? row[i - 1] + 1 : row[i] + 1;
            diagonal = row[i];
            row[i] = replaced < least ? replaced : least;
        }
    }
    return row[length];
}

const char *message_nearest(const char *name, const char *const *names, size_t count)
{
    const size_t length = strlen(name);
    if (length > NAME_BYTES_MAX) {
        return NULL;
    }
    const char *nearest = NULL;
    size_t best = length / 3 + 2; /* one more than what is near enough */
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) > NAME_BYTES_MAX) {
            continue;
        }
        const size_t edits = count_edits(name, names[i]);
        if (edits < best) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}
