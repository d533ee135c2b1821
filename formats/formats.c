#include "formats/formats.h"

#include "formats/common/text.h"
#include "formats/export/export.h"
#include "harness/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct format *const formats[] = {&format_ops,
                                        &format_azure_llm,
                                        &format_bfc,
                                        &format_hbm_allocations,
                                        &format_hbm_report,
                                        &format_jax_device_memory,
                                        &format_malloc_lab,
                                        &format_rmm,
                                        &format_static_planning,
                                        &format_torch_snapshot,
                                        &format_torch_state,
                                        &format_tpu_message,
                                        &format_trace_json,
                                        &format_xplane,
                                        NULL};

const struct format *format_find(const char *name)
{
    for (size_t i = 0; formats[i] != NULL; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            return formats[i];
        }
    }
    return NULL;
}

const struct format *format_recognise(const char *text, size_t length)
{
    const struct format *best = NULL;
    unsigned best_score = 0;
    for (size_t i = 0; formats[i] != NULL; i++) {
        const unsigned score = formats[i]->recognise(text, length);
        CHECK(score <= 100);
        if (score > best_score) {
            best = formats[i];
            best_score = score;
        }
    }
    return best;
}

void import_init(struct import *import)
{
    import->format = NULL;
    import->notes[0] = import->named_target[0] = '\0';
    setup_init(&import->setup);
    op_list_init(&import->ops);
    import->said = NULL;
    import->said_count = import->said_room = 0;
}

void import_deinit(struct import *import)
{
    op_list_deinit(&import->ops);
    free(import->said);
    import->said = NULL;
    import->said_count = import->said_room = 0;
}

void import_say(struct import *import, uint32_t op, enum said_kind kind, uint64_t value)
{
    CHECK(op < import->ops.count);
    if (import->said_count > 0) {
        CHECK(import->said[import->said_count - 1].op <= op);
    }
    if (import->said_count == import->said_room) {
        import->said_room = import->said_room == 0 ? 64 : import->said_room * 2;
        import->said = realloc(import->said, import->said_room * sizeof *import->said);
        CHECK(import->said != NULL);
    }
    import->said[import->said_count++] = (struct said){.op = op, .kind = kind, .value = value};
}

static void format_names(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; formats[i] != NULL && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ",
                                 formats[i]->name);
    }
}

static void fail_unrecognised(const char *text, size_t length, const char *names,
                              struct import_error *error)
{
    static const char own[] = EXPORT_CSV_HEADER;
    if (length >= strlen(own) && memcmp(text, own, strlen(own)) == 0) {
        import_fail(error, IMPORT_UNRECOGNISED, 0, 0,
                    "this is a table that 'export --format csv' wrote: it does not "
                    "come in again; the formats ops, torch_snapshot and rmm of export do");
        return;
    }
    import_fail(error, IMPORT_UNRECOGNISED, 0, 0, "no format recognises this text; known are %s",
                names);
}

static const struct format *format_choose(const char *text, size_t length, const char *name,
                                          struct import_error *error)
{
    char names[IMPORT_REASON_BYTES / 2];
    format_names(names, sizeof names);
    if (name != NULL && strcmp(name, "auto") != 0) {
        const struct format *format = format_find(name);
        if (format == NULL) {
            import_fail(error, IMPORT_UNRECOGNISED, 0, 0,
                        "there is no format '%s'; one of auto, %s", name, names);
        }
        return format;
    }
    const struct format *format = format_recognise(text, length);
    if (format == NULL) {
        fail_unrecognised(text, length, names, error);
    }
    return format;
}

#define GRANULE_BYTES_MAX UINT64_C(65536) /* as in .ops files */

/* "\xEF\xBB\xBF": editors on Windows put it in front of UTF-8. */
static size_t byte_order_mark_length(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

enum import_result import_text(const char *text, size_t length, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error)
{
    static const struct setup nothing; /* all empty */
    const size_t skipped = byte_order_mark_length(text, length);
    const struct import_input input = {
        .text = text + skipped,
        .length = length - skipped,
        .fixed = options != NULL && options->fixed != NULL ? options->fixed : &nothing,
        .kv_bytes_per_token = options != NULL ? options->kv_bytes_per_token : 0,
        .kv_tokens_per_second = options != NULL ? options->kv_tokens_per_second : 0,
    };
    import_deinit(import);
    import_init(import);
    const uint64_t granule_bytes = input.fixed->granule_bytes;
    if ((granule_bytes & (granule_bytes - 1)) != 0 || granule_bytes > GRANULE_BYTES_MAX) {
        return import_fail(error, IMPORT_INVALID, 0, 0,
                           "the granule is not a power of two up to 64K");
    }
    if (input.length == 0) {
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0, "the file is empty");
    }
    const struct format *format = format_choose(input.text, input.length, format_name, error);
    if (format == NULL) {
        return IMPORT_UNRECOGNISED;
    }
    enum import_result result = format->import(&input, import, error);
    if (result == IMPORT_OK && import->ops.count == 0 &&
        format != &format_ops) { /* an empty .ops is a run of no ops */
        result = import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                             "there is nothing in it to replay: no memory in use, and no request");
    }
    if (result != IMPORT_OK) {
        import_deinit(import);
        import_init(import);
        return result;
    }
    import->format = format;
    return IMPORT_OK;
}

enum import_result import_file(const char *path, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error)
{
    struct text text;
    enum import_result result = text_read(path, IMPORT_BYTES_MAX, &text, error);
    if (result == IMPORT_OK) {
        result = import_text(text.bytes, text.length, format_name, options, import, error);
        text_deinit(&text);
    }
    return result;
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

/* The character of the form that its first byte has, as a number; UINT32_MAX: bytes of it are
 * missing. */
static uint32_t character_decode(const char *text, size_t length, uint32_t first_bits)
{
    uint32_t character = first_bits;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            return UINT32_MAX; /* the NUL at the end, too */
        }
        character = character << 6 | ((unsigned char)text[i] & 0x3F);
    }
    return character;
}

size_t import_character_length(const char *text)
{
    static const struct {
        unsigned char mask, lead;
        size_t length;
        uint32_t lowest, highest; /* what a shorter form says is not well-formed */
    } forms[] = {{0x80, 0x00, 1, 0, 0x7F},
                 {0xE0, 0xC0, 2, 0x80, 0x7FF},
                 {0xF0, 0xE0, 3, 0x800, 0xFFFF},
                 {0xF8, 0xF0, 4, 0x10000, 0x10FFFF}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const unsigned char first = (unsigned char)text[0];
        if ((first & forms[i].mask) != forms[i].lead) {
            continue;
        }
        const uint32_t character = character_decode(text, forms[i].length,
                                                    first & (unsigned char)~forms[i].mask);
        const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
        return character >= forms[i].lowest && character <= forms[i].highest && !is_surrogate
                   ? forms[i].length
                   : 0;
    }
    return 0;
}

/* C1 controls are two bytes in UTF-8, and terminals obey some of them: U+009B begins a command as
 * ESC [ does. */
static bool is_control(const char *text, size_t length)
{
    const unsigned char first = (unsigned char)text[0];
    return first < 0x20 || first == 0x7F ||
           (length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0);
}

/* Reasons and notes quote what was read: bytes that could upset a terminal or break the line become
 * '?'. */
static void make_printable(char *text)
{
    while (*text != '\0') {
        const size_t length = import_character_length(text);
        if (length == 0 || is_control(text, length)) {
            memset(text, '?', length == 0 ? 1 : length);
        }
        text += length == 0 ? 1 : length;
    }
}

enum import_result import_fail(struct import_error *error, enum import_result result, size_t line,
                               size_t column, const char *reason, ...)
{
    CHECK(result != IMPORT_OK);
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(error->reason, sizeof error->reason, reason, arguments);
    va_end(arguments);
    make_printable(error->reason);
    error->line = line;
    error->column = column;
    return result;
}

void import_note(struct import *import, const char *note, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, note);
    vsnprintf(line, sizeof line, note, arguments);
    va_end(arguments);
    make_printable(line);
    const size_t used = strlen(import->notes);
    const size_t separator = used > 0 ? 1 : 0;
    if (used + separator + strlen(line) < sizeof import->notes) {
        snprintf(import->notes + used, sizeof import->notes - used, "%s%s", used > 0 ? "\n" : "",
                 line);
    }
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
