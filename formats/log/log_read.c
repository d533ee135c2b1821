/* Reads a log line by line: who printed each, and what it says. */
#include "formats/log/private/log_reading.h"
#include "harness/base/array.h"
#include "harness/base/hash.h"

#include <stdio.h>
#include <string.h>

void log_story_init(struct log_story *story)
{
    *story = (struct log_story){.first = LOG_EVENT_UNKNOWN};
}

void log_story_deinit(struct log_story *story)
{
    for (size_t i = 0; i < story->file_count; i++) {
        free(story->files[i]);
    }
    free(story->files);
    free(story->events);
    free(story->sources);
    log_story_init(story);
}

void log_name_source(const struct log_fragment *fragment, const struct log_line *line,
                     char name[LOG_SOURCE_BYTES])
{
    const char *entry = fragment->entry->source;
    if (entry[0] == '\0' || strcmp(entry, line->source) == 0) { /* "[rank3]:" in rank 3's file */
        memcpy(name, line->source, strlen(line->source) + 1);
        return;
    }
    const int length = snprintf(name, LOG_SOURCE_BYTES, "%s%s%s", entry,
                                line->source[0] == '\0' ? "" : ", ", line->source);
    CHECK(length >= 0);
}

/* --- srun's labels --- */

enum { LABEL_LINE_COUNT = 256, LABEL_LINE_COUNT_MIN = 4, LABEL_NUMBER_MAX = 4096 };

bool log_has_task_labels(const struct log_text *text)
{
    struct log_walk walk;
    struct log_fragment fragment;
    bool is_seen[LABEL_NUMBER_MAX] = {false};
    size_t line_count = 0;
    size_t labelled_count = 0;
    size_t again_count = 0; /* with a number that another line had: no numbered list */
    log_walk_init(&walk, text);
    while (line_count < LABEL_LINE_COUNT && log_walk_next(&walk, &fragment)) {
        struct log_line line;
        log_line_split(fragment.at, fragment.length, true, &line);
        if (fragment.length == 0) {
            continue;
        }
        line_count++;
        if (strncmp(line.source, "task ", 5) == 0 && line.rank < LABEL_NUMBER_MAX) {
            const unsigned long task = strtoul(line.source + 5, NULL, 10) % LABEL_NUMBER_MAX;
            labelled_count++;
            again_count += is_seen[task];
            is_seen[task] = true;
        }
    }
    log_walk_deinit(&walk);
    return labelled_count >= LABEL_LINE_COUNT_MIN && labelled_count * 2 >= line_count &&
           again_count * 2 >= labelled_count;
}

/* --- sources --- */

static uint32_t add_source(struct log_reading *reading, const char *name,
                           const struct log_line *line)
{
    struct log_story *story = reading->story;
    story->sources = array_grown(story->sources, story->source_count, &story->source_room,
                                 sizeof *story->sources);
    reading->states = array_grown(reading->states, story->source_count, &reading->state_room,
                                  sizeof *reading->states);
    struct log_source *source = &story->sources[story->source_count];
    *source = (struct log_source){.rank = line->rank, .pid = line->pid};
    snprintf(source->name, sizeof source->name, "%s", name);
    reading->states[story->source_count] = (struct log_source_state){
        .open_event = LOG_EVENT_UNKNOWN, .retry_event = LOG_EVENT_UNKNOWN};
    return (uint32_t)story->source_count++;
}

/* Names that fall together cost at most LOG_SOURCE_COUNT_MAX looks a line. */
static uint32_t find_source(struct log_reading *reading, const char *name,
                            const struct log_line *line)
{
    struct log_story *story = reading->story;
    const size_t slot_count = sizeof reading->slots / sizeof reading->slots[0];
    size_t slot = hash_string(HASH_START, name) % slot_count;
    while (reading->slots[slot] != 0) {
        const uint32_t source = reading->slots[slot] - 1;
        if (strcmp(story->sources[source].name, name) == 0) {
            return source;
        }
        slot = (slot + 1) % slot_count;
    }
    if (story->source_count == LOG_SOURCE_COUNT_MAX) {
        return LOG_SOURCE_COUNT_MAX - 1;
    }
    const uint32_t source = add_source(reading, name, line);
    reading->slots[slot] = source + 1;
    return source;
}

static void read_fragment(struct log_reading *reading, const struct log_fragment *fragment)
{
    char name[LOG_SOURCE_BYTES];
    struct log_here here = {.file_line = fragment->line};
    log_line_split(fragment->at, fragment->length, reading->story->has_task_labels, &here.line);
    if (here.line.time.clock == LOG_CLOCK_NONE) {
        here.line.time = fragment->entry->time;
    }
    if (here.line.rank == LOG_RANK_NONE) {
        here.line.rank = fragment->entry->rank;
    }
    here.file = fragment->entry->file;
    log_name_source(fragment, &here.line, name);
    here.source = find_source(reading, name, &here.line);
    here.words = here.line.at + here.line.prefix_bytes;
    here.length = here.line.length - here.line.prefix_bytes;
    if (here.length == 0) {
        return;
    }
    struct log_source *source = &reading->story->sources[here.source];
    source->line_count++;
    source->file = here.file;
    source->last_line = fragment->line;
    source->last_order = reading->order;
    if (here.line.time.clock >= source->last_time.clock) {
        source->last_time = here.line.time;
    }
    log_take_line(reading, &here);
}

static void read_lines(struct log_reading *reading, const struct log_text *log)
{
    struct log_story *story = reading->story;
    struct log_walk walk;
    struct log_fragment fragment;
    uint32_t file = 0;
    size_t before = 0; /* lines of the files before this one */
    log_walk_init(&walk, log);
    while (log_walk_next(&walk, &fragment)) {
        if (fragment.entry->file != file) {
            file = fragment.entry->file;
            before = story->line_count;
            reading->has_step = false; /* what another file has come to says nothing of this one */
        }
        read_fragment(reading, &fragment);
        story->line_count = before + fragment.line > story->line_count ? before + fragment.line
                                                                       : story->line_count;
        reading->order++;
    }
    log_walk_deinit(&walk);
}

void log_story_read(const struct log_part *parts, size_t count, struct log_story *story)
{
    struct log_text log;
    struct log_reading reading = {.story = story};
    log_story_deinit(story);
    log_text_init(&log, parts, count);
    story->file_count = parts[0].name == NULL ? 0 : count;
    story->files = story->file_count == 0 ? NULL
                                          : array_resized(NULL, count * sizeof *story->files);
    for (size_t i = 0; i < story->file_count; i++) {
        story->files[i] = strdup(parts[i].name);
        CHECK(story->files[i] != NULL);
    }
    story->is_structured = log.is_structured;
    story->left_out_count = log.left_out_count;
    story->has_task_labels = log_has_task_labels(&log);
    read_lines(&reading, &log);
    log_choose(&reading);
    log_text_deinit(&log);
    free(reading.states);
}

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
            writing_append_bytes(&excerpt->text, line.at + line.label_bytes,
                                 line.length - line.label_bytes);
            writing_append(&excerpt->text, "\n");
            ARRAY_ADD(excerpt->lines, excerpt->line_count, excerpt->line_room) = fragment.line;
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
    bool has_labels = false;
    for (size_t i = 0; i < story->source_count; i++) {
        has_labels = has_labels || story->sources[i].name[0] != '\0';
    }
    if (!story->is_structured && !has_labels && bounds.begin == 0 && bounds.end == SIZE_MAX) {
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
