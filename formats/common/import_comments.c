#include "formats/common/import_comments.h"

#include "harness/base/writing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const view_names[] = {
    [IMPORT_EVENTS] = "events", [IMPORT_MOMENT] = "moment", [IMPORT_SUMS] = "sums"};
enum { VIEW_COUNT = sizeof view_names / sizeof view_names[0] };

/* --- writing --- */

/* Where steps begin, and which requests failed. */
static void print_said(const struct import *import, struct writing *text)
{
    for (size_t i = 0; i < import->said_count; i++) {
        const struct said *said = &import->said[i];
        if (said->kind == SAID_STEP) {
            writing_append_format(text, "step %" PRIu64 ": op %" PRIu32 "\n", said->value,
                                  said->op);
        } else if (said->kind == SAID_FAILED) {
            writing_append_format(text, "failed: op %" PRIu32 "\n", said->op);
        }
    }
}

void import_print_comments(const struct import *import, struct writing *text)
{
    writing_append(text, import->notes);
    writing_append(text, import->notes[0] != '\0' ? "\n" : "");
    if (import->view != IMPORT_EVENTS) {
        writing_append_format(text, "view: %s\n", view_names[import->view]);
    }
    if (import->message[0] != '\0') {
        writing_append_format(text, "says: %s\n", import->message);
    }
    if (import->settings[0] != '\0') {
        writing_append_format(text, "settings: %s\n", import->settings);
    }
    for (size_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if (import->devices[host][0] != '\0') {
            writing_append_format(text, "device %zu: %s\n", host, import->devices[host]);
        }
    }
    print_said(import, text);
}

/* --- reading --- */

/* The rest of a comment behind its mark. */
struct rest {
    const char *text;
    size_t length;
};

/* Takes the number before ": " from the rest.  False: it has none. */
static bool take_number(struct rest *rest, uint64_t *number)
{
    size_t i = 0;
    *number = 0;
    for (; i < rest->length && rest->text[i] >= '0' && rest->text[i] <= '9'; i++) {
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(rest->text[i] - '0'), number)) {
            return false;
        }
    }
    if (i == 0 || rest->length - i < 2 || memcmp(rest->text + i, ": ", 2) != 0) {
        return false;
    }
    rest->text += i + 2;
    rest->length -= i + 2;
    return true;
}

static void read_assumed(struct import *import, struct rest rest)
{
    import_assume(import, "%.*s", (int)rest.length, rest.text);
}

static void read_told(struct import *import, struct rest rest)
{
    import_tell(import, "%.*s", (int)rest.length, rest.text);
}

static void read_view(struct import *import, struct rest rest)
{
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        if (strlen(view_names[i]) == rest.length &&
            memcmp(view_names[i], rest.text, rest.length) == 0) {
            import->view = (enum import_view)i;
        }
    }
}

/* The line is one of the other file. */
static void read_says(struct import *import, struct rest rest)
{
    import_quote(import, rest.text, rest.length, 0);
}

static void read_settings(struct import *import, struct rest rest)
{
    snprintf(import->settings, sizeof import->settings, "%.*s", (int)rest.length, rest.text);
}

static void read_device(struct import *import, struct rest rest)
{
    uint64_t host;
    if (take_number(&rest, &host) && host < OP_HOST_COUNT_MAX) {
        import_name_device(import, host, "%.*s", (int)rest.length, rest.text);
    }
}

/* "op N": said of an op of the list, in the order of ops. */
static void read_said(struct import *import, struct rest rest, enum said_kind kind, uint64_t value)
{
    static const char word[] = "op ";
    uint64_t op = 0;
    if (rest.length < sizeof word || memcmp(rest.text, word, sizeof word - 1) != 0) {
        return;
    }
    for (size_t i = sizeof word - 1; i < rest.length; i++) {
        const char digit = rest.text[i];
        if (digit < '0' || digit > '9' || op > OP_NONE) {
            return;
        }
        op = op * 10 + (uint64_t)(digit - '0');
    }
    const uint32_t last = import->said_count == 0 ? 0 : import->said[import->said_count - 1].op;
    if (op < import->ops.count && op >= last) {
        import_say(import, (uint32_t)op, kind, value);
    }
}

static void read_step(struct import *import, struct rest rest)
{
    uint64_t step;
    if (take_number(&rest, &step)) {
        read_said(import, rest, SAID_STEP, step);
    }
}

static void read_failed(struct import *import, struct rest rest)
{
    read_said(import, rest, SAID_FAILED, 0);
}

static const struct mark {
    const char *text;
    void (*read)(struct import *import, struct rest rest);
} marks[] = {
    {"# " IMPORT_ASSUMED, read_assumed},
    {"# " IMPORT_TOLD, read_told},
    {"# view: ", read_view},
    {"# says: ", read_says},
    {"# settings: ", read_settings},
    {"# device ", read_device},
    {"# step ", read_step},
    {"# failed: ", read_failed},
};

static void read_line(struct import *import, const char *line, size_t length)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const size_t mark_length = strlen(marks[i].text);
        if (length > mark_length && memcmp(line, marks[i].text, mark_length) == 0) {
            marks[i].read(import, (struct rest){line + mark_length, length - mark_length});
            return;
        }
    }
}

void import_read_comments(const char *text, size_t length, struct import *import)
{
    size_t at = 0;
    while (at < length) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t line_length = newline == NULL ? length - at : (size_t)(newline - (text + at));
        const size_t next = at + line_length + 1;
        line_length -= line_length > 0 && text[at + line_length - 1] == '\r';
        read_line(import, text + at, line_length);
        at = next;
    }
}
