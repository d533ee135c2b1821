/* Memory events of a profile in the trace viewer's form, trace.json:
 * {"traceEvents":[{"ph":"X","name":"MemoryAllocation", "ts":microseconds,"args":{"addr":"...",
 * ...}}, ...]}. Events of other names are passed over by their brackets, so that files of any size
 * are read one event at a time. */
#include "formats/common/import.h"
#include "formats/profile/private/memory_events.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { EVENT_BYTES_MAX = 1 << 16 }; /* real ones have less than 1000 */
#define TIME_NS_MAX 9.0e18          /* 285 years: it fits 63 bits */

/* Where the reader is in the text. */
struct reader {
    const char *text;
    size_t length, offset;
    struct memory_events *events;
    struct import_error *error;
    bool had_events; /* "traceEvents" was there */
};

static enum import_result fail_at(const struct reader *reader, size_t at, const char *reason)
{
    size_t line = 0;
    size_t column = 0;
    import_position(reader->text, at, &line, &column);
    if (at >= reader->length) {
        return import_fail(reader->error, IMPORT_INCOMPLETE, line, column,
                           "the file is cut off here");
    }
    return import_fail(reader->error, IMPORT_INVALID, line, column, "%s", reason);
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

/* The next character that is no blank; '\0' at the end of the text. */
static char peek_letter(struct reader *reader)
{
    while (reader->offset < reader->length && is_blank(reader->text[reader->offset])) {
        reader->offset++;
    }
    return reader->offset < reader->length ? reader->text[reader->offset] : '\0';
}

static enum import_result expect_letter(struct reader *reader, char letter)
{
    if (peek_letter(reader) != letter || reader->offset == reader->length) {
        char reason[32];
        snprintf(reason, sizeof reason, "'%c' is missing here", letter);
        return fail_at(reader, reader->offset, reason);
    }
    reader->offset++;
    return IMPORT_OK;
}

/* Past the quote that ends the string whose first quote is here. */
static enum import_result skip_string(struct reader *reader)
{
    size_t i = reader->offset + 1;
    while (i < reader->length && reader->text[i] != '"') {
        i += reader->text[i] == '\\' ? 2 : 1;
    }
    if (i >= reader->length) {
        return fail_at(reader, reader->length, "");
    }
    reader->offset = i + 1;
    return IMPORT_OK;
}

/* Past an object or array, by its brackets. */
static enum import_result skip_nested(struct reader *reader)
{
    size_t depth = 0;
    do {
        if (reader->offset >= reader->length) {
            return fail_at(reader, reader->length, "");
        }
        const char letter = reader->text[reader->offset];
        if (letter == '"') {
            const enum import_result result = skip_string(reader);
            if (result != IMPORT_OK) {
                return result;
            }
            continue;
        }
        depth += letter == '{' || letter == '[';
        depth -= letter == '}' || letter == ']';
        reader->offset++;
    } while (depth > 0);
    return IMPORT_OK;
}

static enum import_result skip_value(struct reader *reader)
{
    const char first = peek_letter(reader);
    const size_t start = reader->offset;
    if (first == '{' || first == '[') {
        return skip_nested(reader);
    }
    if (first == '"') {
        return skip_string(reader);
    }
    while (reader->offset < reader->length && reader->text[reader->offset] != '\0' &&
           strchr(",]} \t\r\n", reader->text[reader->offset]) == NULL) {
        reader->offset++;
    }
    return reader->offset > start ? IMPORT_OK : fail_at(reader, start, "a value is missing here");
}

/* --- events --- */

static bool take_argument(struct memory_event *event, const char *name, const json_t *value)
{
    const size_t length = strlen(name);
    if (json_is_string(value)) {
        return memory_event_take_text(event, name, length, json_string_value(value),
                                      json_string_length(value));
    }
    if (json_is_integer(value)) {
        const json_int_t number = json_integer_value(value);
        return memory_event_take_number(event, name, length, (uint64_t)number, number < 0);
    }
    return memory_event_take_text(event, name, length, "", 0);
}

static bool take_time(struct memory_event *event, const json_t *ts)
{
    const double ns = json_is_number(ts) ? json_number_value(ts) * 1000 : 2 * TIME_NS_MAX;
    if (!(ns > -TIME_NS_MAX && ns < TIME_NS_MAX)) {
        return false;
    }
    event->time_ns = (int64_t)ns - (ns < (double)(int64_t)ns); /* downward */
    event->time_ps = (uint32_t)((ns - (double)event->time_ns) * 1000);
    return true;
}

static enum import_result take_event(struct reader *reader, size_t at, const json_t *value)
{
    struct memory_event event = {.at = at};
    char device[64];
    const char *name = json_string_value(json_object_get(value, "name"));
    const json_t *arguments = json_object_get(value, "args");
    if (name == NULL ||
        (strcmp(name, "MemoryAllocation") != 0 && strcmp(name, "MemoryDeallocation") != 0)) {
        return IMPORT_OK;
    }
    event.is_allocation = strcmp(name, "MemoryAllocation") == 0;
    if (!take_time(&event, json_object_get(value, "ts"))) {
        return fail_at(reader, at, "the 'ts' of a memory event is not a time in microseconds");
    }
    void *i = json_object_iter((json_t *)(uintptr_t)arguments);
    for (; i != NULL; i = json_object_iter_next((json_t *)(uintptr_t)arguments, i)) {
        if (!take_argument(&event, json_object_iter_key(i), json_object_iter_value(i))) {
            char reason[128];
            snprintf(reason, sizeof reason, "%.60s of a memory event is not a number of 0 or more",
                     json_object_iter_key(i));
            return fail_at(reader, at, reason);
        }
    }
    snprintf(device, sizeof device, "process %" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(value, "pid")));
    return memory_events_add(reader->events, &event, device, reader->error);
}

static bool has_word(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word)) != NULL;
}

static enum import_result read_event(struct reader *reader)
{
    (void)peek_letter(reader);
    const size_t at = reader->offset;
    enum import_result result = skip_value(reader);
    const size_t length = reader->offset - at;
    if (result != IMPORT_OK || !(has_word(reader->text + at, length, "\"MemoryAllocation\"") ||
                                 has_word(reader->text + at, length, "\"MemoryDeallocation\""))) {
        return result;
    }
    if (length > EVENT_BYTES_MAX) {
        return fail_at(reader, at, "a memory event has more than 64 KiB");
    }
    json_error_t error;
    json_t *value = json_loadb(reader->text + at, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                               &error);
    if (value == NULL &&
        (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory)) {
        return import_fail(reader->error, IMPORT_UNREADABLE, 0, 0, "no host memory for its JSON");
    }
    if (value == NULL) {
        char reason[JSON_ERROR_TEXT_LENGTH + 32];
        snprintf(reason, sizeof reason, "not JSON: %s", error.text);
        return fail_at(reader, at, reason);
    }
    result = take_event(reader, at, value);
    json_decref(value);
    return result;
}

/* Past one separator of an object or array: ',' or the bracket that ends it. */
static enum import_result read_separator(struct reader *reader, char bracket, bool *is_end)
{
    *is_end = peek_letter(reader) == bracket;
    if (*is_end) {
        reader->offset++;
        return IMPORT_OK;
    }
    return expect_letter(reader, ',');
}

static enum import_result read_events(struct reader *reader)
{
    bool is_end = false;
    if (reader->had_events) {
        return fail_at(reader, reader->offset, "'traceEvents' comes twice");
    }
    reader->had_events = true;
    enum import_result result = expect_letter(reader, '[');
    if (result == IMPORT_OK && peek_letter(reader) == ']') {
        reader->offset++;
        return IMPORT_OK;
    }
    while (result == IMPORT_OK && !is_end) {
        result = read_event(reader);
        if (result == IMPORT_OK) {
            result = read_separator(reader, ']', &is_end);
        }
    }
    return result;
}

/* --- the file --- */

static enum import_result read_member(struct reader *reader)
{
    if (peek_letter(reader) != '"') {
        return fail_at(reader, reader->offset, "a name in quotes is missing here");
    }
    const size_t at = reader->offset;
    enum import_result result = skip_string(reader);
    const size_t length = reader->offset - at;
    if (result == IMPORT_OK) {
        result = expect_letter(reader, ':');
    }
    if (result != IMPORT_OK) {
        return result;
    }
    static const char events[] = "\"traceEvents\"";
    if (length == sizeof events - 1 && memcmp(reader->text + at, events, length) == 0) {
        (void)peek_letter(reader);
        return read_events(reader);
    }
    return skip_value(reader);
}

static enum import_result read_object(struct reader *reader)
{
    bool is_end = false;
    enum import_result result = expect_letter(reader, '{');
    while (result == IMPORT_OK && !is_end) {
        result = read_member(reader);
        if (result == IMPORT_OK) {
            result = read_separator(reader, '}', &is_end);
        }
    }
    if (result == IMPORT_OK && (peek_letter(reader) != '\0' || reader->offset < reader->length)) {
        return fail_at(reader, reader->offset, "something follows the end of the trace");
    }
    return result;
}

static enum import_result import_trace_json(const struct import_input *input, struct import *import,
                                            struct import_error *error)
{
    struct reader reader = {.text = input->text, .length = input->length, .error = error};
    reader.events = memory_events_create(input, true);
    enum import_result result = read_object(&reader);
    if (result == IMPORT_OK) {
        result = memory_events_import(reader.events, input, import, error);
    }
    memory_events_destroy(reader.events);
    return result;
}

static unsigned recognise_trace_json(const char *text, size_t length)
{
    struct reader reader = {.text = text, .length = length};
    if (peek_letter(&reader) != '{' || !has_word(text, length, "\"traceEvents\"")) {
        return 0;
    }
    return has_word(text, length, "\"MemoryAllocation\"") ||
                   has_word(text, length, "\"MemoryDeallocation\"")
               ? 85
               : 20;
}

const struct format format_trace_json = {
    .name = "trace_json",
    .summary =
        "memory events of an XLA or TensorFlow profile in the trace viewer's form (trace.json)",
    .recognise = recognise_trace_json,
    .import = import_trace_json,
};
