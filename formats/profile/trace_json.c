/* Memory events of a profile in the trace viewer's form, trace.json:
 * {"traceEvents":[{"ph":"X","name":"MemoryAllocation", "ts":microseconds,"args":{"addr":"...",
 * ...}}, ...]}. */
#include "formats/common/import.h"
#include "formats/profile/private/chrome_trace.h"
#include "formats/profile/private/memory_events.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {"\"MemoryAllocation\"", "\"MemoryDeallocation\"", NULL};

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

static enum import_result take_event(struct chrome_trace *trace, size_t at, const json_t *value)
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
    if (!chrome_trace_time(json_object_get(value, "ts"), &event.time_ns, &event.time_ps)) {
        return chrome_trace_fail(trace, at,
                                 "the 'ts' of a memory event is not a time in microseconds");
    }
    void *i = json_object_iter((json_t *)(uintptr_t)arguments);
    for (; i != NULL; i = json_object_iter_next((json_t *)(uintptr_t)arguments, i)) {
        if (!take_argument(&event, json_object_iter_key(i), json_object_iter_value(i))) {
            char reason[128];
            snprintf(reason, sizeof reason, "%.60s of a memory event is not a number of 0 or more",
                     json_object_iter_key(i));
            return chrome_trace_fail(trace, at, reason);
        }
    }
    snprintf(device, sizeof device, "process %" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(value, "pid")));
    return memory_events_add(trace->context, &event, device, trace->error);
}

static enum import_result import_trace_json(const struct import_input *input, struct import *import,
                                            struct import_error *error)
{
    struct memory_events *events = memory_events_create(input, true);
    struct chrome_trace trace = {.text = input->text,
                                 .length = input->length,
                                 .error = error,
                                 .words = words,
                                 .take = take_event,
                                 .context = events};
    enum import_result result = chrome_trace_read(&trace);
    if (result == IMPORT_OK) {
        result = memory_events_import(events, input, import, error);
    }
    memory_events_destroy(events);
    return result;
}

static unsigned recognise_trace_json(const char *text, size_t length)
{
    if (!chrome_trace_is_likely(text, length)) {
        return 0;
    }
    return text_has(text, length, words[0]) || text_has(text, length, words[1]) ? 85 : 20;
}

const struct format format_trace_json = {
    .name = "trace_json",
    .summary =
        "memory events of an XLA or TensorFlow profile in the trace viewer's form (trace.json)",
    .recognise = recognise_trace_json,
    .import = import_trace_json,
};
