#include "formats/common/import_comments.h"

#include "formats/common/cursor.h"
#include "harness/base/writing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const view_names[] = {
    [IMPORT_EVENTS] = "events", [IMPORT_MOMENT] = "moment", [IMPORT_SUMS] = "sums"};
enum { VIEW_COUNT = sizeof view_names / sizeof view_names[0] };

/* --- writing --- */

/* Prints where steps begin, and which requests failed. */
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

/* Takes the number before ": ". */
static bool take_number(struct cursor *rest, uint64_t *number)
{
    return cursor_take_number(rest, number) && cursor_take_word(rest, ": ", 2);
}

static void read_assumed(struct import *import, struct cursor rest)
{
    import_assume(import, "%.*s", (int)(rest.end - rest.at), rest.at);
}

static void read_told(struct import *import, struct cursor rest)
{
    import_tell(import, "%.*s", (int)(rest.end - rest.at), rest.at);
}

static void read_view(struct import *import, struct cursor rest)
{
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        struct cursor ahead = rest;
        if (cursor_take_text(&ahead, view_names[i]) && ahead.at == ahead.end) {
            import->view = (enum import_view)i;
        }
    }
}

/* The line is one of the other file. */
static void read_says(struct import *import, struct cursor rest)
{
    import_quote(import, rest.at, (size_t)(rest.end - rest.at), 0);
}

static void read_settings(struct import *import, struct cursor rest)
{
    snprintf(import->settings, sizeof import->settings, "%.*s", (int)(rest.end - rest.at), rest.at);
}

static void read_device(struct import *import, struct cursor rest)
{
    uint64_t host;
    if (take_number(&rest, &host) && host < OP_HOST_COUNT_MAX) {
        import_name_device(import, host, "%.*s", (int)(rest.end - rest.at), rest.at);
    }
}

/* "op N": said of an op of the list, in the order of ops. */
static void read_said(struct import *import, struct cursor rest, enum said_kind kind,
                      uint64_t value)
{
    uint64_t op;
    const uint32_t last = import->said_count == 0 ? 0 : import->said[import->said_count - 1].op;
    if (cursor_take_word(&rest, "op ", 3) && cursor_take_number(&rest, &op) &&
        rest.at == rest.end && op < import->ops.count && op >= last) {
        import_say(import, (uint32_t)op, kind, value);
    }
}

static void read_step(struct import *import, struct cursor rest)
{
    uint64_t step;
    if (take_number(&rest, &step)) {
        read_said(import, rest, SAID_STEP, step);
    }
}

static void read_failed(struct import *import, struct cursor rest)
{
    read_said(import, rest, SAID_FAILED, 0);
}

static const struct mark {
    const char *text;
    void (*read)(struct import *import, struct cursor rest);
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

void import_read_comments(const char *text, size_t length, struct import *import)
{
    struct cursor cursor = cursor_make(text, length);
    struct cursor line;
    while (cursor_next_line(&cursor, &line)) {
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
            struct cursor rest = line;
            if (cursor_take_text(&rest, marks[i].text) && rest.at < rest.end) {
                marks[i].read(import, rest);
                break;
            }
        }
    }
}
