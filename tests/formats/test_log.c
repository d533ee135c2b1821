/* Any bytes are read as a log, and a prefix has its bounds.  The stories of whole logs are in
 * tests/snap/formats_log.snap and formats_log_job.snap, what is in front of a line in
 * formats_log_lines.snap. */
#include "formats/common/log_prefix.h"
#include "formats/log/log_story.h"
#include "formats/log/private/log_reading.h"
#include "harness/base/random.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct log_story story;

static void setup_story(void)
{
    log_story_init(&story);
}

static void teardown_story(void)
{
    log_story_deinit(&story);
}

static struct log_part part_of(const char *text, size_t length)
{
    return (struct log_part){text, length, NULL, NULL, LOG_RANK_NONE};
}

static void read_bytes(const char *text, size_t length)
{
    const struct log_part part = part_of(text, length);
    log_story_read(&part, 1, &story);
}

EVERY_TEST(.setup = setup_story, .teardown = teardown_story);

/* Any bytes: no more sources and events than there is room for. */
TEST(any_text_is_read)
{
    static const char *const pieces[] = {"[rank",
                                         "7]:",
                                         "(A pid=",
                                         "3) ",
                                         "\n",
                                         "\r",
                                         "{\"log\":\"",
                                         "\"}",
                                         "\033[3",
                                         "0m",
                                         "CUDA error: out of memory",
                                         "Traceback (most recent call last):\n",
                                         "  File \"a\", line 3",
                                         "Barrier timed out",
                                         "/job:w/task:",
                                         "99999999999999999999",
                                         "step ",
                                         "[repeated ",
                                         "\0"};
    struct random random;
    struct writing text;
    writing_init(&text);
    random_init(&random, 5);
    for (int i = 0; i < 300; i++) {
        struct log_excerpt excerpt;
        writing_clear(&text);
        for (int j = 0; j < 40; j++) {
            const char *piece = pieces[random_below(&random, sizeof pieces / sizeof pieces[0])];
            writing_append_bytes(&text, piece, piece[0] == '\0' ? 1 : strlen(piece));
        }
        read_bytes(text.bytes, text.length);
        ck_assert_uint_le(story.event_count, LOG_EVENT_COUNT_MAX);
        const struct log_part part = part_of(text.bytes, text.length);
        if (log_excerpt_take(&story, &part, 1, &excerpt)) {
            ck_assert_uint_le(excerpt.text.length, 2 * text.length + 2);
            log_excerpt_deinit(&excerpt);
        }
    }
    writing_clear(&text);
    for (int i = 0; i < 3 * LOG_SOURCE_COUNT_MAX; i++) {
        writing_append_format(&text, "(A pid=%d) CUDA error: out of memory %d\n", i, i);
    }
    read_bytes(text.bytes, text.length);
    ck_assert_uint_eq(story.source_count, LOG_SOURCE_COUNT_MAX);
    ck_assert_uint_eq(story.event_count, LOG_EVENT_COUNT_MAX);
    writing_deinit(&text);
}

TEST(a_prefix_ends_with_its_line_and_with_512_bytes)
{
    char line[4096];
    ck_assert_uint_eq(log_prefix_length("[rank0]: \n[rank1]: ", 19), 9);
    ck_assert_uint_eq(log_prefix_length("[rank0\n]: ", 10), 0);
    memset(line, ' ', sizeof line);
    memcpy(line, "ERROR", 5);
    memcpy(line + sizeof line - 32, "04-30 22:40:27 [core.py:1136] x", 31);
    ck_assert_uint_eq(log_prefix_length(line, sizeof line), 0);
}
