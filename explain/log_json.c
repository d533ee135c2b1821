#include "explain/log_json.h"

#include "harness/base/json.h"

static const char *const kind_names[] = {
    [LOG_EVENT_OOM] = "out_of_memory",
    [LOG_EVENT_RETRY] = "retry",
    [LOG_EVENT_PLAN] = "budget",
    [LOG_EVENT_SCRATCHPAD] = "scratchpad",
    [LOG_EVENT_HOST_OOM] = "host_out_of_memory",
    [LOG_EVENT_KILLED] = "killed",
    [LOG_EVENT_CRASH] = "crash",
    [LOG_EVENT_EXCEPTION] = "exception",
    [LOG_EVENT_TIMEOUT] = "time_out",
    [LOG_EVENT_PEER] = "peer_gone",
};

static const char *const verdict_names[] = {
    [LOG_VERDICT_NOTHING] = "nothing",         [LOG_VERDICT_OOM] = "device_out_of_memory",
    [LOG_VERDICT_HOST] = "host_out_of_memory", [LOG_VERDICT_FAILED] = "failed",
    [LOG_VERDICT_KILLED] = "killed",           [LOG_VERDICT_PLAN] = "budget",
    [LOG_VERDICT_WAITED] = "only_waited",      [LOG_VERDICT_RECOVERED] = "recovered",
};

static const char *const silence_names[] = {
    [LOG_SILENCE_ALONE] = "alone",
    [LOG_SILENCE_BEFORE] = "before_failure",
    [LOG_SILENCE_SAME_STEP] = "step_of_failure",
    [LOG_SILENCE_AFTER] = "after_failure",
};

static void tell_event_in_json(const struct log_story *story, size_t index, struct writing *text)
{
    const struct log_event *event = &story->events[index];
    char printed[LOG_TIME_TEXT_BYTES];
    json_open(text, "log_event");
    json_add_string(text, "kind", kind_names[event->kind]);
    json_add_boolean(text, "first", (int)index == story->first);
    json_add_string(text, "source", story->sources[event->source].name);
    if (story->file_count > 0) {
        json_add_string(text, "file", story->files[event->file]);
    }
    json_add_number(text, "line", event->line);
    json_add_number(text, "last_line", event->last_line);
    json_add_number(text, "count", event->count);
    if (event->time.clock != LOG_CLOCK_NONE) {
        json_add_string(text, "time", log_time_print(&event->time, printed));
    }
    if (event->has_step) {
        json_add_number(text, event->is_in_step ? "in_step" : "after_step", event->step);
    }
    if (event->waited_ms > 0) {
        json_add_number(text, "waited_ms", event->waited_ms);
    }
    if (event->has_victim) {
        json_add_number(text, "victim_rank", event->victim_rank);
    }
    if (event->where[0] != '\0') {
        json_add_string(text, "where", event->where);
    }
    json_add_boolean(text, "survived", event->has_survived);
    json_add_string(text, "text", event->text);
    json_close(text);
}

void explain_log_in_json(const struct log_story *story, struct writing *text)
{
    for (size_t i = 0; i < story->event_count; i++) {
        tell_event_in_json(story, i, text);
    }
    json_open(text, "log");
    json_add_string(text, "verdict", verdict_names[story->verdict]);
    json_add_number(text, "lines", story->line_count);
    json_add_number(text, "sources", story->source_count);
    if (story->file_count > 0) {
        json_add_number(text, "files", story->file_count);
        json_add_number(text, "files_left_out", story->files_left_out_count);
        json_add_boolean(text, "order_known", story->is_order_known);
    }
    json_add_number(text, "events_omitted", story->event_omitted);
    if (story->blame.is_said) {
        json_nest(text, "root_cause", '{');
        if (story->blame.rank != LOG_RANK_NONE) {
            json_add_number(text, "rank", story->blame.rank);
        }
        json_add_string(text, "host", story->blame.host);
        if (story->blame.has_exit_code && story->blame.exit_code < 0) {
            json_add_number(text, "signal", (uint64_t)-story->blame.exit_code);
        } else if (story->blame.has_exit_code) {
            json_add_number(text, "exit_code", (uint64_t)story->blame.exit_code);
        }
        json_unnest(text, '}');
    }
    json_nest(text, "missing_ranks", '[');
    for (uint32_t i = 0; i < story->missing_count; i++) {
        json_add_number(text, NULL, story->missing[i]);
    }
    json_unnest(text, ']');
    json_nest(text, "silent", '[');
    for (uint32_t i = 0; i < story->silent_count; i++) {
        json_add_string(text, NULL, story->sources[story->silent[i]].name);
    }
    json_unnest(text, ']');
    if (story->silent_count > 0) {
        json_nest(text, "silent_since", '[');
    }
    for (uint32_t i = 0; i < story->silent_count; i++) {
        json_add_string(text, NULL, silence_names[story->silence[i]]);
    }
    if (story->silent_count > 0) {
        json_unnest(text, ']');
    }
    json_close(text);
}
