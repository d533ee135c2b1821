/* The lines of the source that failed first, for importers: what other ranks printed in between,
 * labels and wrappings are gone. */
#include "formats/log/private/log_reading.h"
#include "harness/base/array.h"

#include <string.h>

/* The lines, counted as they are read, that may be taken. */
struct bounds {
    size_t begin, end;
};

static struct bounds find_bounds(const struct log_story *story)
{
    const struct log_event *first = &story->events[story->first];
    struct bounds bounds = {0, SIZE_MAX};
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        const bool is_message = event->kind == LOG_EVENT_OOM || event->kind == LOG_EVENT_RETRY;
        if (!is_message || event == first || event->source != first->source) {
            continue;
        }
        if (event->last_order < first->order && event->last_order >= bounds.begin) {
            bounds.begin = event->last_order + 1;
        }
        if (event->kind == LOG_EVENT_OOM && event->order > first->order &&
            event->order < bounds.end && !log_forms_are_one(event->form, first->form)) {
            bounds.end = event->order;
        }
    }
    return bounds;
}

static bool has_labels(const struct log_story *story)
{
    for (size_t i = 0; i < story->source_count; i++) {
        if (story->sources[i].name[0] != '\0') {
            return true;
        }
    }
    return false;
}

static void take_fragment(const struct log_fragment *fragment, const struct log_line *line,
                          struct log_excerpt *excerpt)
{
    writing_append_bytes(&excerpt->text, line->at + line->label_bytes,
                         line->length - line->label_bytes);
    writing_append(&excerpt->text, "\n");
    excerpt->lines = array_grown(excerpt->lines, excerpt->line_count, &excerpt->line_room,
                                 sizeof *excerpt->lines);
    excerpt->lines[excerpt->line_count++] = fragment->line;
}

/* Lines without a label go on with what the line before them began. */
static void take_lines(const struct log_story *story, const struct log_text *log,
                       const struct bounds *bounds, struct log_excerpt *excerpt)
{
    const char *wanted = story->sources[story->events[story->first].source].name;
    struct log_walk walk;
    struct log_fragment fragment;
    bool is_wanted = false;
    log_walk_init(&walk, log);
    for (size_t order = 0; order < bounds->end && log_walk_next(&walk, &fragment); order++) {
        struct log_line line;
        char name[LOG_SOURCE_BYTES];
        log_line_split(fragment.at, fragment.length, story->has_task_labels, &line);
        log_name_source(&fragment, &line, name);
        if (name[0] != '\0' || wanted[0] == '\0') {
            is_wanted = strcmp(name, wanted) == 0;
        }
        if (is_wanted && order >= bounds->begin) {
            take_fragment(&fragment, &line, excerpt);
        }
    }
    log_walk_deinit(&walk);
}

bool log_excerpt_take(const struct log_story *story, const struct log_part *parts, size_t count,
                      struct log_excerpt *excerpt)
{
    if (story->verdict != LOG_VERDICT_OOM) {
        return false;
    }
    const struct bounds bounds = find_bounds(story);
    if (!story->is_structured && !has_labels(story) && bounds.begin == 0 &&
        bounds.end == SIZE_MAX) {
        return false;
    }
    struct log_text log;
    *excerpt = (struct log_excerpt){0};
    writing_init(&excerpt->text);
    log_text_init(&log, parts, count);
    take_lines(story, &log, &bounds, excerpt);
    log_text_deinit(&log);
    return true;
}

void log_excerpt_deinit(struct log_excerpt *excerpt)
{
    writing_deinit(&excerpt->text);
    free(excerpt->lines);
}

size_t log_excerpt_line(const struct log_excerpt *excerpt, size_t line)
{
    return line == 0 || line > excerpt->line_count ? line : excerpt->lines[line - 1];
}
