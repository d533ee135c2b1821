/* What of a whole log an importer gets: the lines of the source that failed first. */
#include "formats/private/import_log.h"

#include <stdio.h>
#include <string.h>

/* Formats whose texts stand in logs of jobs, among what others printed. */
static bool is_within_logs(const struct format *format)
{
    static const char *const names[] = {"bfc", "hbm_allocations", "hbm_report", "torch_message",
                                        "tpu_message"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(format->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool import_log_may_be(const char *text, size_t length, const struct format *format)
{
    const size_t looked_at = length < 4096 ? length : 4096;
    const bool is_data = memchr(text, '\0', looked_at) != NULL || text[0] == '\x80';
    return (format == NULL || is_within_logs(format)) && !is_data && log_is_text(text, length);
}

/* The lines of an excerpt become those of the file, also in notes "line 7: ...". */
static void map_lines(const struct log_excerpt *excerpt, struct import *import)
{
    char notes[IMPORT_NOTES_BYTES];
    size_t used = 0;
    import->message_line = log_excerpt_line(excerpt, import->message_line);
    memcpy(notes, import->notes, sizeof notes);
    for (const char *at = notes; *at != '\0' && used < sizeof notes - 1;) {
        const size_t length = strcspn(at, "\n");
        size_t line = 0;
        int number_end = 0;
        const bool has_line = sscanf(at, "line %zu:%n", &line, &number_end) == 1 && number_end > 0;
        if (has_line) {
            used += (size_t)snprintf(import->notes + used, sizeof notes - used,
                                     "line %zu:", log_excerpt_line(excerpt, line));
        }
        const size_t skipped = has_line ? (size_t)number_end : 0;
        used += used < sizeof notes ? (size_t)snprintf(import->notes + used, sizeof notes - used,
                                                       "%.*s%s", (int)(length - skipped),
                                                       at + skipped, at[length] == '\n' ? "\n" : "")
                                    : 0;
        at += length + (at[length] == '\n');
    }
}

/* Imports the lines of the source that failed first.  IMPORT_UNRECOGNISED where the text says the
 * same as it stands, or no format knows these lines alone. */
static enum import_result import_excerpt(const struct import_input *input,
                                         const struct import_formats *formats,
                                         const struct log_story *story, struct import *import,
                                         struct import_error *error)
{
    const struct format *format = formats->recognised;
    struct log_excerpt excerpt;
    struct import_input part = *input;
    if (!log_excerpt_take(story, formats->parts, formats->part_count, &excerpt)) {
        return IMPORT_UNRECOGNISED;
    }
    part.text = writing_string(&excerpt.text);
    part.length = excerpt.text.length;
    format = formats->recognise != NULL ? formats->recognise(part.text, part.length) : format;
    enum import_result result = IMPORT_UNRECOGNISED;
    if (format != NULL && is_within_logs(format) && format->recognise(part.text, part.length) > 0) {
        result = format->import(&part, import, error);
        error->line = log_excerpt_line(&excerpt, error->line);
        map_lines(&excerpt, import);
        import->format = format;
    }
    log_excerpt_deinit(&excerpt);
    return result;
}

/* The request that failed is in the step behind the last one that was printed.  Of what a compiler
 * found nothing is said: it compiles before the step that needs the program. */
static void say_step(const struct log_story *story, struct import *import)
{
    const struct log_event *first = &story->events[story->first];
    uint32_t failed = OP_NONE;
    for (size_t i = 0; i < import->said_count; i++) {
        failed = import->said[i].kind == SAID_FAILED ? import->said[i].op : failed;
    }
    import->setup.until_step = story->step_total > first->step ? story->step_total : 0;
    if (import->ops.count == 0 || first->form == LOG_FORM_COMPILE) {
        return;
    }
    const uint32_t last = (uint32_t)import->ops.count - 1;
    if (first->has_step && first->is_in_step && (failed == OP_NONE || failed == last)) {
        import_say(import, last, SAID_STEP, first->step);
    } else if (first->has_step && (failed == OP_NONE || failed == last)) {
        import_say(import, last, SAID_STEP, first->step + 1);
        import_assume(import,
                      "the failure is in step %llu: step %llu is the last one printed before it",
                      (unsigned long long)first->step + 1, (unsigned long long)first->step);
    }
}

/* A log whose messages are warnings, or that tells of another failure, has none to import. */
static enum import_result fail_without_oom(const struct log_story *story,
                                           struct import_error *error)
{
    const struct log_event *first = &story->events[story->first];
    return import_fail(error, IMPORT_INCOMPLETE, first->line, 0,
                       "%s; hbmstress explain prints what the log tells",
                       story->verdict == LOG_VERDICT_RECOVERED
                           ? "the allocator's warnings are no failure: each request was served"
                           : "the log tells of a failure, but of no out-of-memory of the device");
}

static bool has_warnings(const struct log_story *story)
{
    for (size_t i = 0; i < story->event_count; i++) {
        if (story->events[i].kind == LOG_EVENT_RETRY) {
            return true;
        }
    }
    return false;
}

enum import_result import_log(const struct import_input *input,
                              const struct import_formats *formats, const struct log_story *story,
                              struct import *import, struct import_error *error)
{
    const struct format *recognised = formats->recognised;
    enum import_result result = IMPORT_UNRECOGNISED;
    if (story->verdict == LOG_VERDICT_OOM) {
        result = import_excerpt(input, formats, story, import, error);
    }
    if (result != IMPORT_OK && recognised != NULL && story->file_count == 0) {
        import_deinit(import);
        import_init(import);
        result = recognised->import(input, import, error);
        import->format = recognised;
    }
    if (result == IMPORT_OK && story->verdict == LOG_VERDICT_OOM) {
        say_step(story, import);
    } else if (result == IMPORT_OK && story->verdict != LOG_VERDICT_NOTHING &&
               strcmp(import->format->name, "hbm_allocations") != 0 && has_warnings(story)) {
        result = fail_without_oom(story, error);
    }
    return result;
}
