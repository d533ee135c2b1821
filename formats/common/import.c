#include "formats/common/import.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/utf8.h"

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
    import->said = array_grown(import->said, import->said_count, &import->said_room,
                               sizeof *import->said);
    import->said[import->said_count++] = (struct said){.op = op, .kind = kind, .value = value};
}

/* The last line of a text that is full: how many others it has no room for. */
#define LEFT_OUT "more lines, not shown here: "
enum { LEFT_OUT_BYTES = sizeof LEFT_OUT + 24 };

static char *find_left_out(char *lines)
{
    char *last = strrchr(lines, '\n');
    last = last == NULL ? lines : last + 1;
    return strncmp(last, LEFT_OUT, sizeof LEFT_OUT - 1) == 0 ? last : NULL;
}

static void add_line(char lines[IMPORT_NOTES_BYTES], const char *prefix, const char *line)
{
    const size_t used = strlen(lines);
    const char *separator = used > 0 ? "\n" : "";
    char *left_out = find_left_out(lines);
    if (left_out != NULL) {
        const unsigned long count = strtoul(left_out + sizeof LEFT_OUT - 1, NULL, 10);
        snprintf(left_out, LEFT_OUT_BYTES, LEFT_OUT "%lu", count + 1);
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
