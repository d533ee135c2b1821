#include "formats/profile/private/chrome_trace.h"

#include <stdio.h>
#include <string.h>

enum { EVENT_BYTES_MAX = 1 << 16 }; /* real ones have less than 1000 */
#define TIME_NS_MAX 9.0e18          /* 285 years: it fits 63 bits */

enum import_result chrome_trace_fail(const struct chrome_trace *trace, size_t at,
                                     const char *reason)
{
    const bool is_cut = at >= trace->length;
    size_t line = 0, column = 0;
    import_position(trace->text, at, &line, &column);
    return import_fail(trace->error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID, line, column,
                       "%s", is_cut ? "the file is cut off here" : reason);
}

/* The next character that is no blank; '\0' at the end of the text. */
static char peek_letter(struct chrome_trace *trace)
{
    while (trace->offset < trace->length && trace->text[trace->offset] != '\0' &&
           strchr(" \t\r\n", trace->text[trace->offset]) != NULL) {
        trace->offset++;
    }
    return trace->offset < trace->length ? trace->text[trace->offset] : '\0';
}

static enum import_result expect_letter(struct chrome_trace *trace, char letter)
{
    if (peek_letter(trace) != letter || trace->offset == trace->length) {
        char reason[32];
        snprintf(reason, sizeof reason, "'%c' is missing here", letter);
        return chrome_trace_fail(trace, trace->offset, reason);
    }
    trace->offset++;
    return IMPORT_OK;
}

/* Past the quote that ends the string whose first quote is here. */
static enum import_result skip_string(struct chrome_trace *trace)
{
    size_t i = trace->offset + 1;
    while (i < trace->length && trace->text[i] != '"') {
        i += trace->text[i] == '\\' ? 2 : 1;
    }
    if (i >= trace->length) {
        return chrome_trace_fail(trace, trace->length, "");
    }
    trace->offset = i + 1;
    return IMPORT_OK;
}

/* Past an object or array, by its brackets. */
static enum import_result skip_nested(struct chrome_trace *trace)
{
    size_t depth = 0;
    do {
        if (trace->offset >= trace->length) {
            return chrome_trace_fail(trace, trace->length, "");
        }
        const char letter = trace->text[trace->offset];
        if (letter == '"') {
            IMPORT_TRY(skip_string(trace));
            continue;
        }
        depth += letter == '{' || letter == '[';
        depth -= letter == '}' || letter == ']';
        trace->offset++;
    } while (depth > 0);
    return IMPORT_OK;
}

static enum import_result skip_value(struct chrome_trace *trace)
{
    const char first = peek_letter(trace);
    const size_t start = trace->offset;
    if (first == '{' || first == '[') {
        return skip_nested(trace);
    }
    if (first == '"') {
        return skip_string(trace);
    }
    while (trace->offset < trace->length && trace->text[trace->offset] != '\0' &&
           strchr(",]} \t\r\n", trace->text[trace->offset]) == NULL) {
        trace->offset++;
    }
    return trace->offset > start ? IMPORT_OK
                                 : chrome_trace_fail(trace, start, "a value is missing here");
}

static enum import_result read_event(struct chrome_trace *trace)
{
    (void)peek_letter(trace);
    const size_t at = trace->offset;
    enum import_result result = skip_value(trace);
    const size_t length = trace->offset - at;
    const char *const *word = trace->words;
    while (result == IMPORT_OK && *word != NULL && !text_has(trace->text + at, length, *word)) {
        word++;
    }
    if (result != IMPORT_OK || *word == NULL) {
        return result;
    }
    if (length > EVENT_BYTES_MAX) {
        return chrome_trace_fail(trace, at, "a memory event has more than 64 KiB");
    }
    json_error_t error;
    json_t *value = json_loadb(trace->text + at, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                               &error);
    if (value == NULL &&
        (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory)) {
        return import_fail(trace->error, IMPORT_UNREADABLE, 0, 0, "no host memory for its JSON");
    }
    if (value == NULL) {
        char reason[JSON_ERROR_TEXT_LENGTH + 32];
        snprintf(reason, sizeof reason, "not JSON: %s", error.text);
        return chrome_trace_fail(trace, at, reason);
    }
    result = trace->take(trace, at, value);
    json_decref(value);
    return result;
}

/* Past one separator of an object or array: ',' or the bracket that ends it. */
static enum import_result read_separator(struct chrome_trace *trace, char bracket, bool *is_end)
{
    *is_end = peek_letter(trace) == bracket;
    if (*is_end) {
        trace->offset++;
        return IMPORT_OK;
    }
    return expect_letter(trace, ',');
}

static enum import_result read_events(struct chrome_trace *trace)
{
    bool is_end = false;
    if (trace->had_events) {
        return chrome_trace_fail(trace, trace->offset, "'traceEvents' comes twice");
    }
    trace->had_events = true;
    IMPORT_TRY(expect_letter(trace, '['));
    bool may_end = true; /* behind the bracket, and behind a comma that is no fault */
    while (!is_end) {
        if (may_end && peek_letter(trace) == ']') {
            trace->offset++;
            break;
        }
        IMPORT_TRY(read_event(trace));
        IMPORT_TRY(read_separator(trace, ']', &is_end));
        may_end = trace->may_end_with_comma;
    }
    return IMPORT_OK;
}

/* --- the file --- */

static enum import_result read_member(struct chrome_trace *trace)
{
    if (peek_letter(trace) != '"') {
        return chrome_trace_fail(trace, trace->offset, "a name in quotes is missing here");
    }
    static const char events[] = "\"traceEvents\"";
    const size_t at = trace->offset;
    IMPORT_TRY(skip_string(trace));
    const size_t length = trace->offset - at;
    IMPORT_TRY(expect_letter(trace, ':'));
    (void)peek_letter(trace);
    if (length == sizeof events - 1 && memcmp(trace->text + at, events, length) == 0) {
        return read_events(trace);
    }
    const size_t value_at = trace->offset;
    IMPORT_TRY(skip_value(trace));
    return trace->take_member != NULL && length > 2
               ? trace->take_member(trace, trace->text + at + 1, length - 2, value_at,
                                    trace->offset - value_at)
               : IMPORT_OK;
}

enum import_result chrome_trace_read(struct chrome_trace *trace)
{
    bool is_end = false;
    IMPORT_TRY(expect_letter(trace, '{'));
    while (!is_end) {
        IMPORT_TRY(read_member(trace));
        IMPORT_TRY(read_separator(trace, '}', &is_end));
    }
    return peek_letter(trace) != '\0' || trace->offset < trace->length
               ? chrome_trace_fail(trace, trace->offset, "something follows the end of the trace")
               : IMPORT_OK;
}

bool chrome_trace_is_likely(const char *text, size_t length)
{
    struct chrome_trace trace = {.text = text, .length = length};
    return peek_letter(&trace) == '{' && text_has(text, length, "\"traceEvents\"");
}

bool chrome_trace_time(const json_t *ts, int64_t *time_ns, uint32_t *time_ps)
{
    const double ns = json_is_number(ts) ? json_number_value(ts) * 1000 : 2 * TIME_NS_MAX;
    if (!(ns > -TIME_NS_MAX && ns < TIME_NS_MAX)) {
        return false;
    }
    *time_ns = (int64_t)ns - (ns < (double)(int64_t)ns); /* downward */
    *time_ps = (uint32_t)((ns - (double)*time_ns) * 1000);
    return true;
}
