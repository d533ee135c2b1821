#include "tests/helpers/shown.h"

#include "harness/base/writing.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

char folder[SCRATCH_PATH_BYTES];

static struct writing shown;

void show(const char *format, ...)
{
    char text[1 << 13];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ck_assert_int_lt(length, sizeof text);
    const char *at = text;
    for (const char *found; folder[0] != '\0' && (found = strstr(at, folder)) != NULL;) {
        writing_append_bytes(&shown, at, (size_t)(found - at));
        writing_append(&shown, "OUT");
        at = found + strlen(folder);
    }
    writing_append(&shown, at);
}

static bool leaves_out;    /* what is 0 */
static bool is_line_begun; /* something is shown by this SHOW */

void show_begin(bool leaves)
{
    leaves_out = leaves;
    is_line_begun = false;
}

void show_end(void)
{
    show(is_line_begun ? "\n" : "");
}

static void show_value(const char *name, const char *value, bool is_given)
{
    for (const char *at = strstr(name, "->"); at != NULL; at = strstr(name, "->")) {
        name = at + 2; /* of which struct is plain */
    }
    if (is_given || !leaves_out) {
        show("%s%s %s", is_line_begun ? ", " : "", name, value);
        is_line_begun = true;
    }
}

void show_text(const char *name, const char *value)
{
    char text[1 << 12];
    (void)snprintf(text, sizeof text, value == NULL ? "none" : "\"%s\"", value);
    show_value(name, text, value != NULL && value[0] != '\0');
}

void show_truth(const char *name, bool value)
{
    show_value(name, value ? "yes" : "no", value);
}

void show_number(const char *name, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    show_value(name, text, value != 0);
}

void show_signed(const char *name, int value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%d", value);
    show_value(name, text, value != 0);
}

void hear_end(int from)
{
    char text[1 << 13];
    messages_end(from, text, sizeof text);
    show("%s", text);
}

const char *shown_take(void)
{
    static struct writing taken;
    const struct writing before = taken;
    taken = shown;
    shown = before;
    writing_clear(&shown);
    return writing_string(&taken);
}

void snap_rest(void)
{
    if (shown.length > 0) {
        snap_shown();
    }
}
