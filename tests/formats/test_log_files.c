/* Of a directory of logs the names of the files say which rank wrote each. */
#include "formats/log/log_files.h"
#include "formats/log/private/log_reading.h"
#include "harness/base/random.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COUNT_MAX = 4 };

/* Files of these names, all with that text, and the source of each. */
static void check_sources(const char *const names[], const char *text, const char *const sources[])
{
    struct log_file items[NAME_COUNT_MAX] = {0};
    struct log_files files = {.files = items};
    for (; files.count < NAME_COUNT_MAX && names[files.count] != NULL; files.count++) {
        struct log_file *file = &items[files.count];
        file->name = strdup(names[files.count]);
        file->text = (struct text){.bytes = strdup(text), .length = strlen(text)};
    }
    log_files_name(&files);
    for (size_t i = 0; i < files.count; i++) {
        ck_assert_str_eq(items[i].source, sources[i]);
        ck_assert_int_eq(items[i].rank != LOG_RANK_NONE, strncmp(sources[i], "rank ", 5) == 0);
        free(items[i].name);
        free(items[i].text.bytes);
    }
}

static const struct {
    const char *names[NAME_COUNT_MAX], *sources[NAME_COUNT_MAX];
} directories[] = {
    {{"rank0.log", "rank12.log"}, {"rank 0", "rank 12"}},
    {{"fit_rank_3.txt.gz"}, {"rank 3"}},
    {{"r/attempt_0/0/stderr.log", "r/attempt_0/0/stdout.log", "r/attempt_0/1/stderr.log"},
     {"rank 0", "rank 0", "rank 1"}},
    {{"a/0/stderr.log", "b/0/stderr.log"}, {"a/0", "b/0"}},
    {{"slurm-123-4.out", "slurm-123-5.out"}, {"rank 4", "rank 5"}},
    {{"slurm-123.out", "slurm-124.out"}, {"slurm-123", "slurm-124"}},
    {{"slurm-123_4.out", "slurm-123_5.out"}, {"slurm-123_4", "slurm-123_5"}},
    {{"fit-0-abc1e.log", "fit-1-x7k2p.log"}, {"rank 0", "rank 1"}},
    {{"job.0.log", "job.1.log"}, {"rank 0", "rank 1"}},
    {{"run7.log", "dmesg.txt"}, {"run7", "dmesg"}},
    {{"nid001277.out", "nid001278.out"}, {"nid001277", "nid001278"}},
    {{"node-0.log", "node-1.log"}, {"node-0", "node-1"}},
    {{"ml_fit-2_01234567-89ab-cdef-0123-456789abcdef/trainer/5.log"}, {"fit-2"}},
    {{".log\033[1m"}, {".log?[1m"}},
};

TEST(a_files_name_says_its_rank_or_is_its_source, .to = sizeof directories / sizeof directories[0])
{
    check_sources(directories[_i].names, "x\n", directories[_i].sources);
}

/* Each host counts from 0; the lines have the rank of the job. */
TEST(the_label_of_its_lines_wins_over_a_name)
{
    const char *const names[] = {"a/0/stderr.log", NULL};
    const char *const one[] = {"rank 8"};
    const char *const many[] = {"a/0"};
    check_sources(names, "x\n[rank8]: y\n[rank8]: z\n", one);
    check_sources(names, "x\n[rank8]: y\n[rank9]: z\n", many);
}

TEST(yaml_is_read_as_json)
{
    static const char text[] = "# a comment\n"
                               "a: 1\n"
                               "list:\n"
                               "- x: \"q\"\n"
                               "  y:\n"
                               "  - plain\n"
                               "  - |\n"
                               "    literal\n"
                               "    more\n"
                               "-\n"
                               "long: 'one\n"
                               "  two'\n"
                               "none:\n"
                               "last: z\n";
    json_t *root = log_yaml_read(text, strlen(text));
    char *printed = json_dumps(root, JSON_COMPACT);
    ck_assert_str_eq(printed, "{\"a\":\"1\",\"list\":[{\"x\":\"q\",\"y\":[\"plain\",\"|\"]}],"
                              "\"long\":\"'one\",\"none\":null,\"last\":\"z\"}");
    free(printed);
    json_decref(root);
}

TEST(any_bytes_are_no_trouble_for_the_readers_of_pods)
{
    static const char *const pieces[] = {"apiVersion: v1\n",
                                         "items:\n",
                                         "- ",
                                         "  ",
                                         "name: a-1\n",
                                         "kind: Pod\n",
                                         "x",
                                         "\n",
                                         ": ",
                                         "|\n",
                                         "Name: p-1\n",
                                         "State: Terminated\n",
                                         "  c:\n",
                                         "Exit Code: 1\n",
                                         "{",
                                         "\"items\":",
                                         "\xff"};
    struct random random;
    char text[2048];
    random_init(&random, 7);
    for (int i = 0; i < 500; i++) {
        size_t length = 0;
        for (int j = 0; j < 60; j++) {
            const char *piece = pieces[random_below(&random, sizeof pieces / sizeof pieces[0])];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        struct log_pod_ends ends = {0};
        char *exact = malloc(length);
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, text, length);
        log_pods_read(exact, length, &ends);
        for (size_t j = 0; j < ends.count; j++) {
            ck_assert_uint_le(ends.ends[j].begin + ends.ends[j].length, ends.texts.length);
        }
        log_pod_ends_deinit(&ends);
        free(exact);
    }
}

TEST(lists_nested_without_end_are_cut)
{
    enum { DASH_COUNT = 200000 };
    char *text = malloc(2 * DASH_COUNT);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < DASH_COUNT; i++) {
        memcpy(text + 2 * i, "- ", 2);
    }
    json_decref(log_yaml_read(text, 2 * DASH_COUNT));
    free(text);
}
