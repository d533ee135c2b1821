/* What stands before a line of a log is told from the line itself, whoever printed it: by texts of
 * many lines and by whole logs alike. */
#include "formats/common/log_prefix.h"
#include "formats/log/log_line.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The two together are the line. */
static const struct {
    const char *prefix, *rest;
} lines[] = {
    {"(EngineCore pid=591547) ERROR 04-30 22:40:27 [core.py:1136] ", "    arguments  92.38G "},
    {"(EngineCore pid=104) ", "Traceback (most recent call last):"},
    {"(VllmWorkerProcess pid=4) ERROR 04-30 22:40:27 worker_base.py:464] ", "x"},
    {"ERROR 04-30 22:40:27 [core.py:396] ", "x"},
    {"\033[36m(RayTrainWorker pid=3, ip=10.0.0.1)\033[0m ", "world size: 4"},
    {"0: (EngineCore_0 pid=1) (RayWorkerWrapper pid=2) ", "x"},
    {"(VllmWorker rank=1 pid=77) ", "x"},
    {"[2026-01-12 10:57:43 TP3] ", "Scheduler hit an exception"},
    {"[2026-01-12 10:57:43] ", "x"},
    {"[2026-01-12 10:57:43 module)m] ", "x"},
    {"[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] ", "[Rank 0] Watchdog"},
    {"[rank12]: ", "  File \"a.py\", line 3"},
    {"I0317 10:00:13.658792 125344476638336 metric_logger.py:181] ", "completed step: 1"},
    {"E0317 10:00:13.658792   17 a/b.cc:9] ", "x"},
    {"2024-10-09 15:47:38.568412: E external/xla/xla/tsl/bfc.cc:1170] ", "x"},
    {"[2026-01-12 10:57:43,123] [INFO] [utils.py:781:see_memory_usage] ", "MA 1 GB"},
    {"2026-01-12 10:57:43,123 - trainer - ERROR - ", "x"},
    {"2026-01-12 10:57:43,123 - ERROR - ", "x"},
    {"2026-09-02T20:18:43.9575040Z (EngineCore pid=4) DEBUG 09-02 20:06:36 [v1/w.py:548] ", "x"},
    {"2026-09-02T20:18:43+02:00 ", "x"},
    {"3: ", "x"},
    {" 3: ", "srun pads its labels"},
    {"[pod/train-0/worker] ", "x"},
    {"[default3]:", "x"},
    {"[1,2]<stderr>:", "x"},
    {"[ 7063.247407] ", "x"},
    {"2026-01-12T10:57:43Z [rank0]: INFO: ", "x"},
    {"[rank0]: ", ""},
    {"[rank0]:", ""},
    {"", "Program hbm requirement 2.00G:"},
    {"", "    HLO temp  2.00G"},
    {"", "(0) Resource exhausted"},
    {"", "(8,128)(2,1)"},
    {"", "[core.py:1136] alone it may be anything"},
    {"", "[Rank 0] Watchdog"},
    {"", "ERROR: alone it is part of the message"},
    {"", "2024 was a year"},
    {"", "1. Size: 2.00G"},
    {"", ""},
};

TEST(a_prefix_is_told_from_its_line, .to = sizeof lines / sizeof lines[0])
{
    char line[512];
    snprintf(line, sizeof line, "%s%s", lines[_i].prefix, lines[_i].rest);
    const size_t length = strlen(line);
    ck_assert_msg(log_prefix_length(line, length) == strlen(lines[_i].prefix), "%s: %zu", line,
                  log_prefix_length(line, length));
}

/* Behind "3: " of a log whose first lines have such labels. */
TEST(a_whole_log_parts_its_lines_at_the_same_place, .to = sizeof lines / sizeof lines[0])
{
    char text[512];
    struct log_line line;
    snprintf(text, sizeof text, "%s%s", lines[_i].prefix, lines[_i].rest);
    log_line_split(text, strlen(text), true, &line);
    ck_assert_msg(line.prefix_bytes == strlen(lines[_i].prefix), "%s: %zu", text,
                  line.prefix_bytes);
}

/* Each beginning of a line stands in memory of its own, so that a read behind it is seen. */
TEST(a_cut_prefix_is_at_most_what_is_there, .to = sizeof lines / sizeof lines[0])
{
    char line[512];
    snprintf(line, sizeof line, "%s%s", lines[_i].prefix, lines[_i].rest);
    for (size_t length = strlen(line); length > 0; length--) {
        char *copy = malloc(length);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, line, length);
        ck_assert_uint_le(log_prefix_length(copy, length), length);
        free(copy);
    }
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
