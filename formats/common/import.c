#include "formats/common/import.h"

#include "formats/common/cursor.h"
#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/utf8.h"
#include "harness/base/writing.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void import_init(struct import *import)
{
    memset(import, 0, sizeof *import);
    setup_init(&import->setup);
    op_list_init(&import->ops);
}

void import_deinit(struct import *import)
{
    op_list_deinit(&import->ops);
    compile_report_destroy(import->compile_report);
    import->compile_report = NULL;
    stacks_destroy(import->stacks);
    import->stacks = NULL;
    free(import->said);
    import->said = NULL;
    import->said_count = import->said_room = 0;
}

uint32_t import_append(struct import *import, const struct op *op)
{
    CHECK(import->ops.count < OP_NONE);
    op_list_append(&import->ops, op);
    return (uint32_t)(import->ops.count - 1);
}

void import_say(struct import *import, uint32_t op, enum said_kind kind, uint64_t value)
{
    CHECK(op < import->ops.count);
    if (import->said_count > 0) {
        CHECK(import->said[import->said_count - 1].op <= op);
    }
    ARRAY_ADD(import->said, import->said_count,
              import->said_room) = (struct said){.op = op, .kind = kind, .value = value};
}

/* The last line of a text that is full: how many others it has no room for. */
#define LEFT_OUT "more lines, not shown here: "
enum { LEFT_OUT_BYTES = sizeof LEFT_OUT + 24 };

static void add_line(char lines[IMPORT_NOTES_BYTES], const char *prefix, const char *line)
{
    const size_t used = strlen(lines);
    const char *separator = used > 0 ? "\n" : "";
    char *last = strrchr(lines, '\n');
    last = last == NULL ? lines : last + 1;
    if (strncmp(last, LEFT_OUT, sizeof LEFT_OUT - 1) == 0) {
        const unsigned long count = strtoul(last + sizeof LEFT_OUT - 1, NULL, 10);
        snprintf(last, LEFT_OUT_BYTES, LEFT_OUT "%lu", count + 1);
    } else if (used + 1 + strlen(prefix) + strlen(line) + 1 + LEFT_OUT_BYTES < IMPORT_NOTES_BYTES) {
        snprintf(lines + used, IMPORT_NOTES_BYTES - used, "%s%s%s", separator, prefix, line);
    } else {
        snprintf(lines + used, IMPORT_NOTES_BYTES - used, "%s" LEFT_OUT "1", separator);
    }
}

/* Adds the line to the notes behind the prefix, and to the other text where there is one. */
static void add_lines(struct import *import, char *other, const char *prefix, const char *format,
                      va_list arguments)
{
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    utf8_make_printable(line);
    add_line(import->notes, prefix, line);
    if (other != NULL) {
        add_line(other, "", line);
    }
}

void import_note(struct import *import, const char *note, ...)
{
    va_list arguments;
    va_start(arguments, note);
    add_lines(import, NULL, "", note, arguments);
    va_end(arguments);
}

void import_assume(struct import *import, const char *fact, ...)
{
    va_list arguments;
    va_start(arguments, fact);
    add_lines(import, import->assumed, IMPORT_ASSUMED, fact, arguments);
    va_end(arguments);
}

void import_tell(struct import *import, const char *fact, ...)
{
    va_list arguments;
    va_start(arguments, fact);
    add_lines(import, import->told, IMPORT_TOLD, fact, arguments);
    va_end(arguments);
}

void import_quote(struct import *import, const char *text, size_t length, size_t line)
{
    snprintf(import->message, sizeof import->message, "%.*s",
             (int)(length < sizeof import->message ? length : sizeof import->message), text);
    utf8_make_printable(import->message);
    import->message_line = line;
}

void import_name_device(struct import *import, size_t host, const char *name, ...)
{
    va_list arguments;
    CHECK(host < OP_HOST_COUNT_MAX);
    va_start(arguments, name);
    vsnprintf(import->devices[host], sizeof import->devices[host], name, arguments);
    va_end(arguments);
    utf8_make_printable(import->devices[host]);
}

uint64_t import_fixed_capacity(const struct setup *fixed, uint64_t granule_bytes)
{
    const struct chip *chip = chip_find(fixed->chip);
    if (chip != NULL &&
        (fixed->capacity_bytes == 0 || fixed->capacity_bytes == chip->capacity_bytes)) {
        return granule_bytes == 0 ? chip->capacity_bytes
                                  : chip->capacity_bytes / granule_bytes * granule_bytes;
    }
    return fixed->capacity_bytes;
}

void import_apply_fixed(const struct setup *fixed, struct setup *setup)
{
    if (fixed->granule_bytes != 0) {
        setup->granule_bytes = fixed->granule_bytes;
    }
    if (fixed->chip[0] != '\0' || fixed->capacity_bytes != 0) {
        memcpy(setup->chip, fixed->chip, sizeof setup->chip);
        setup->capacity_bytes = import_fixed_capacity(fixed, setup->granule_bytes);
    }
    if (fixed->target[0] != '\0') {
        memcpy(setup->target, fixed->target, sizeof setup->target);
    }
    for (uint32_t i = 0; i < fixed->option_count; i++) {
        (void)setup_set_option(setup, fixed->options[i].key, fixed->options[i].value);
    }
}

void import_suggest_option(struct setup *setup, const char *key, const char *value)
{
    if (strcmp(setup->target, "hbm") == 0 && setup_option(setup, key) == NULL) {
        CHECK(setup_set_option(setup, key, value));
    }
}

/* --- comments --- */

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

static void read_view(struct import *import, struct cursor rest)
{
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        struct cursor ahead = rest;
        if (cursor_take_text(&ahead, view_names[i]) && ahead.at == ahead.end) {
            import->view = (enum import_view)i;
        }
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

enum mark {
    MARK_ASSUMED,
    MARK_TOLD,
    MARK_VIEW,
    MARK_SAYS,
    MARK_SETTINGS,
    MARK_DEVICE,
    MARK_STEP,
    MARK_FAILED,
    MARK_COUNT
};
static const char *const marks[MARK_COUNT] = {"# " IMPORT_ASSUMED, "# " IMPORT_TOLD, "# view: ",
                                              "# says: ",          "# settings: ",   "# device ",
                                              "# step ",           "# failed: "};

static void read_mark(struct import *import, enum mark mark, struct cursor rest)
{
    uint64_t number = 0;
    const bool has_number = (mark == MARK_DEVICE || mark == MARK_STEP) &&
                            cursor_take_number(&rest, &number) && cursor_take_word(&rest, ": ", 2);
    const int length = (int)(rest.end - rest.at);
    if (mark == MARK_ASSUMED) {
        import_assume(import, "%.*s", length, rest.at);
    } else if (mark == MARK_TOLD) {
        import_tell(import, "%.*s", length, rest.at);
    } else if (mark == MARK_VIEW) {
        read_view(import, rest);
    } else if (mark == MARK_SAYS) { /* its line is one of the other file */
        import_quote(import, rest.at, (size_t)length, 0);
    } else if (mark == MARK_SETTINGS) {
        snprintf(import->settings, sizeof import->settings, "%.*s", length, rest.at);
    } else if (mark == MARK_FAILED) {
        read_said(import, rest, SAID_FAILED, 0);
    } else if (mark == MARK_STEP && has_number) {
        read_said(import, rest, SAID_STEP, number);
    } else if (has_number && number < OP_HOST_COUNT_MAX) {
        import_name_device(import, number, "%.*s", length, rest.at);
    }
}

void import_read_comments(const char *text, size_t length, struct import *import)
{
    struct cursor cursor = cursor_make(text, length);
    struct cursor line;
    while (cursor_next_line(&cursor, &line)) {
        for (int i = 0; i < MARK_COUNT; i++) {
            struct cursor rest = line;
            if (cursor_take_text(&rest, marks[i]) && rest.at < rest.end) {
                read_mark(import, (enum mark)i, rest);
                break;
            }
        }
    }
}

/* --- the device --- */

uint64_t capacity_granule(uint64_t size_bits)
{
    const uint64_t bits = size_bits | IMPORT_GRANULE_BYTES;
    return bits & ~(bits - 1);
}

/* Nobody gives a capacity.  Only moves fit the peak into its own bytes, and while a long log stays
 * near its peak nearly each request would have blocks moved. */
static void assume_capacity(uint64_t peak_bytes, struct import *import)
{
    struct setup *setup = &import->setup;
    const bool is_long = import->ops.count > CAPACITY_TIGHT_OPS_MAX &&
                         peak_bytes <= IMPORT_CAPACITY_MAX / 2;
    const uint64_t spare_bytes = is_long ? align_up(peak_bytes / CAPACITY_SPARE_PART,
                                                    setup->granule_bytes)
                                         : 0;
    setup->capacity_bytes = peak_bytes > setup->granule_bytes ? peak_bytes : setup->granule_bytes;
    setup->capacity_bytes += spare_bytes;
    import_suggest_option(setup, "defrag", "repack");
    if (is_long) {
        import_assume(import,
                      "capacity %" PRIu64 ", the peak of live bytes, %" PRIu64
                      " in granules of %" PRIu64 ", and an eighth more: of a log of more than %d "
                      "ops, each request near the peak would have blocks moved otherwise",
                      setup->capacity_bytes, peak_bytes, setup->granule_bytes,
                      CAPACITY_TIGHT_OPS_MAX);
    } else {
        import_assume(import,
                      "capacity %" PRIu64 ", the peak of live bytes in granules of %" PRIu64
                      "; no memory is spare",
                      setup->capacity_bytes, setup->granule_bytes);
    }
}

/* A capacity that the user did not fix is cut to whole granules. */
enum import_result capacity_choose(const struct import_input *input, uint64_t size_bits,
                                   uint64_t peak_bytes, struct import *import,
                                   struct import_error *error)
{
    struct setup *setup = &import->setup;
    setup->granule_bytes = setup->granule_bytes == 0 ? capacity_granule(size_bits)
                                                     : setup->granule_bytes;
    import_apply_fixed(input->fixed, setup);
    if (setup->capacity_bytes == 0 && setup->chip[0] == '\0') {
        assume_capacity(peak_bytes, import);
    } else if (input->fixed->capacity_bytes == 0) {
        setup->capacity_bytes = align_down(import_fixed_capacity(setup, setup->granule_bytes),
                                           setup->granule_bytes);
    }
    if (setup->capacity_bytes < peak_bytes) {
        import_note(import, "the peak of live bytes is %" PRIu64 ", above the capacity",
                    peak_bytes);
    }
    if (setup->capacity_bytes > IMPORT_CAPACITY_MAX || setup->capacity_bytes == 0) {
        return IMPORT_REFUSE(error, 0,
                             "the capacity is %" PRIu64
                             " bytes; accepted: 1 to 2^50 bytes in whole granules",
                             setup->capacity_bytes);
    }
    return IMPORT_OK;
}

/* --- failures --- */

enum import_result import_fail(struct import_error *error, enum import_result result, size_t line,
                               size_t column, const char *reason, ...)
{
    CHECK(result != IMPORT_OK);
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(error->reason, sizeof error->reason, reason, arguments);
    va_end(arguments);
    utf8_make_printable(error->reason);
    error->line = line;
    error->column = column;
    return result;
}

void import_position(const char *text, size_t offset, size_t *line, size_t *column)
{
    size_t lines = 1;
    size_t line_start = 0;
    for (const char *end; (end = memchr(text + line_start, '\n', offset - line_start)) != NULL;
         lines++) {
        line_start = (size_t)(end - text) + 1;
    }
    *line = lines;
    *column = offset - line_start + 1;
}

size_t import_line_at(const char *text, size_t offset)
{
    size_t line, column;
    import_position(text, offset, &line, &column);
    return line;
}

const char *import_error_print(const char *path, const struct import_error *error, char *text,
                               size_t size)
{
    if (error->line == 0) {
        snprintf(text, size, "%s: %s", path, error->reason);
    } else if (error->column == 0) {
        snprintf(text, size, "%s:%zu: %s", path, error->line, error->reason);
    } else {
        snprintf(text, size, "%s:%zu:%zu: %s", path, error->line, error->column, error->reason);
    }
    return text;
}
