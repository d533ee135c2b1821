#include "campaign/base/message.h"

#include "harness/base/nearest.h"
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

/* Appends up to the end of the line, or of the text; returns where that is. */
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

const char *message_nearest(const char *name, const char *const *names, size_t count)
{
    return nearest_name(name, names, count);
}

enum exit_code totals_exit_code(const struct run_totals *totals)
{
    return totals_exit_code_within(totals, &(const struct report_allowed){0});
}

enum exit_code totals_exit_code_within(const struct run_totals *totals,
                                       const struct report_allowed *allowed)
{
    if (totals->disputed > 0) {
        return EXIT_HARNESS;
    }
    if (totals->premature + totals->broken > 0) {
        return EXIT_BROKEN;
    }
    return report_allowed_is_exceeded(allowed, totals) || totals->not_modelled > 0 ? EXIT_UNKNOWN
                                                                                   : EXIT_KEPT;
}

enum exit_code exit_code_worse(enum exit_code a, enum exit_code b)
{
    static const int gravity[] = {[EXIT_KEPT] = 0,
                                  [EXIT_UNKNOWN] = 1,
                                  [EXIT_BROKEN] = 2,
                                  [EXIT_USAGE] = 3,
                                  [EXIT_HARNESS] = 4};
    return gravity[a] > gravity[b] ? a : b;
}
