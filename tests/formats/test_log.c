/* A log's lines are taken apart, whatever stands in front of them, and any bytes are read as one.
 * The stories of whole logs are in tests/snap/formats_log.snap and formats_log_job.snap. */
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

static void check_line(const char *text, const char *source, const char *time, const char *words)
{
    struct log_line line;
    char printed[LOG_TIME_TEXT_BYTES];
    log_line_split(text, strlen(text), text[0] == '3', &line);
    ck_assert_str_eq(line.source, source);
    ck_assert_str_eq(log_time_print(&line.time, printed), time);
    ck_assert_msg(strncmp(line.at + line.prefix_bytes, words, strlen(words)) == 0, "%s: %s", text,
                  line.at + line.prefix_bytes);
    ck_assert_uint_eq(line.length - line.prefix_bytes, strlen(words));
}

EVERY_TEST(.setup = setup_story, .teardown = teardown_story);

TEST(each_prefix_is_taken_off_and_says_who_and_when)
{
    check_line("(EngineCore pid=7) ERROR 04-30 22:40:27 [core.py:1136]   indented",
               "EngineCore pid=7", "04-30 22:40:27", "  indented");
    check_line("(VllmWorkerProcess pid=7) ERROR 04-30 22:40:27 worker.py:11] x",
               "VllmWorkerProcess pid=7", "04-30 22:40:27", "x");
    check_line("3: (EngineCore_0 pid=7) (RayWorkerWrapper pid=9) x",
               "task 3, EngineCore_0 pid=7, RayWorkerWrapper pid=9", "", "x");
    check_line("[2031-01-12 10:57:43 DP1 TP3] x", "DP1 TP3", "01-12 10:57:43", "x");
    check_line("[rank5]:[E1206 18:44:12.715298746 File.cpp:607] [Rank 5] x", "rank 5",
               "12-06 18:44:12", "[Rank 5] x");
    check_line("[rank5]:[W812 16:00:28.643448608 File.cpp:3933] x", "rank 5", "08-12 16:00:28",
               "x");
    check_line("[rank5]:   File", "rank 5", "", "  File");
    check_line("I0317 10:00:13.658792 125344476638336 metric_logger.py:181] x", "",
               "03-17 10:00:13", "x");
    check_line("2031-10-09 15:47:38.568412: E external/xla/a.cc:1170] x", "", "10-09 15:47:38",
               "x");
    check_line("[2031-10-09 15:47:38,568] [INFO] [utils.py:781:see_memory_usage] x", "",
               "10-09 15:47:38", "x");
    check_line("2031-10-09 15:47:38,568 - train - INFO - x", "", "10-09 15:47:38", "x");
    check_line("[1,2]<stderr>:x", "rank 2", "", "x");
    check_line("[ 7063.247407] x", "", "", "x");
    check_line("(see page 7) x", "", "", "(see page 7) x");
    check_line("[rank]: x", "", "", "[rank]: x");
    check_line("", "", "", "");
}

/* The collector's stamp is 12 minutes late: the program's own time counts. */
TEST(the_programs_time_wins_over_the_collectors)
{
    struct log_line line;
    static const char text[] =
        "2031-09-02T20:18:43.9575040Z (EngineCore pid=418) DEBUG 09-02 20:06:36 [w.py:548] x";
    char printed[LOG_TIME_TEXT_BYTES];
    log_line_split(text, sizeof text - 1, false, &line);
    ck_assert_str_eq(log_time_print(&line.time, printed), "09-02 20:06:36");
    ck_assert_int_eq(line.time.clock, LOG_CLOCK_PROGRAM);
    ck_assert_uint_eq(line.pid, 418);
}

TEST(folded_lines_count)
{
    struct log_line line;
    static const char text[] = "(W pid=1, ip=10.0.0.1) out [repeated 3x across cluster]";
    log_line_split(text, sizeof text - 1, false, &line);
    ck_assert_uint_eq(line.repeated_count, 3);
    ck_assert_str_eq(line.source, "W pid=1, ip=10.0.0.1");
}

TEST(steps_are_read_in_each_form)
{
    static const struct {
        const char *text;
        uint64_t step;
    } steps[] = {{"completed step: 24031, seconds: 0.5", 24031},
                 {"step 24031 loss 2", 24031},
                 {"global_step=7, lr=1", 7},
                 {"iteration       10/     100 |", 10},
                 {" 12%|###  | 7/100 [00:12<02:40,  1.7s/it]", 7},
                 {"Epoch 3:  12%|###  | 7/100 [00:12<02:40,  1.7it/s]", 7}};
    uint64_t step = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        ck_assert_msg(log_step_read(steps[i].text, strlen(steps[i].text), &step), "%s",
                      steps[i].text);
        ck_assert_uint_eq(step, steps[i].step);
    }
    static const char *const others[] = {"Loading shards: 100%|##| 4/4 [00:12<00:00, 3.0s/it]",
                                         "global_step=3.2e+4", "timestep 7", "steps: 7",
                                         "footstep"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(!log_step_read(others[i], strlen(others[i]), &step), "%s", others[i]);
    }
}

TEST(how_many_steps_there_were_to_be_is_read_in_each_form)
{
    static const struct {
        const char *text;
        uint64_t total;
    } totals[] = {{"Step 24031/80000, loss 2.1", 80000},
                  {"step 7 of 100", 100},
                  {"iteration       10/     100 | lm loss", 100},
                  {" 12%|###  | 7/100 [00:12<02:40,  1.7s/it]", 100},
                  {"  Total optimization steps = 80,000", 80000},
                  {"Config param steps: 500", 0},
                  {"steps=80000", 80000},
                  {"max_steps: 300", 300},
                  {"num_train_steps=1000, lr=1", 1000},
                  {"warmup_steps=100", 0},
                  {"  Gradient Accumulation steps = 8", 0},
                  {"max_steps: -1", 0},
                  {"step 7 loss 1/2", 0},
                  {"completed step: 24031, seconds: 0.5", 0}};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        uint64_t total = 0;
        const bool is_read = log_step_total_read(totals[i].text, strlen(totals[i].text), &total);
        ck_assert_msg(is_read == (totals[i].total > 0), "%s", totals[i].text);
        ck_assert_msg(!is_read || total == totals[i].total, "%s: %lu", totals[i].text,
                      (unsigned long)total);
    }
}

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
