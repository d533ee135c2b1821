/* Checks that any text is read as a log, twice the same, with events whose lines are in it and
 * whose words a terminal can show, and that the lines for importers are the file's
 * (formats/log/log_story.h). */
#include "formats/log/log_story.h"
#include "fuzz/engine.h"
#include "fuzz/text_check.h"
#include "harness/base/check.h"

#include <string.h>

static const char name[] = "fuzz_log";

static void check_story(const struct log_story *story, const char *text, size_t length)
{
    CHECK(story->event_count <= LOG_EVENT_COUNT_MAX && story->source_count <= LOG_SOURCE_COUNT_MAX);
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        CHECK(event->source < story->source_count && event->count > 0 && event->line > 0);
        text_check_position(name, text, length, event->line, 0);
        text_check_position(name, text, length, event->last_line, 0);
    }
    CHECK(story->verdict == LOG_VERDICT_NOTHING ||
          (story->first >= 0 && (size_t)story->first < story->event_count));
}

static void check_excerpt(const struct log_story *story, const char *text, size_t length)
{
    struct log_excerpt excerpt;
    const struct log_part part = {text, length, NULL, NULL, LOG_RANK_NONE};
    if (!log_excerpt_take(story, &part, 1, &excerpt)) {
        return;
    }
    for (size_t i = 1; i <= excerpt.line_count; i++) {
        text_check_position(name, text, length, log_excerpt_line(&excerpt, i), 0);
    }
    log_excerpt_deinit(&excerpt);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *text = (const char *)bytes;
    struct log_story story;
    struct log_story again;
    const struct log_part part = {text, length, NULL, NULL, LOG_RANK_NONE};
    if (length > TEXT_CHECK_BYTES_MAX) {
        return 0;
    }
    log_story_init(&story);
    log_story_init(&again);
    log_story_read(&part, 1, &story);
    check_story(&story, text, length);
    check_excerpt(&story, text, length);
    log_story_read(&part, 1, &again);
    CHECK(again.verdict == story.verdict && again.first == story.first &&
          again.event_count == story.event_count && again.source_count == story.source_count);
    log_story_deinit(&again);
    log_story_deinit(&story);
    return 0;
}
