/* RMM's CSV: threads and streams become lanes, failures stay requests, and every file of the field
 * imports with its own sums. */
#include "formats/formats.h"
#include "harness/lanes/lanes_list.h"
#include "tests/formats/import_checks.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/rmm"
#define DATA HBMSTRESS_FIELD_DATA "/data/rmm"
#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

static struct import import;

static void setup_import(void)
{
    import_init(&import);
}

static void teardown_import(void)
{
    import_deinit(&import);
}

EVERY_TEST(.setup = setup_import, .teardown = teardown_import);

TEST(threads_and_streams_are_lanes_and_a_failure_is_a_request)
{
    import_checks_file(FIELD "/two_threads.csv", "rmm", NULL, &import);
    ck_assert_uint_eq(lanes_count(&import.ops), 3);
    ck_assert_uint_eq(import.said_count, 1);
    ck_assert_uint_eq(import.said[0].op, 4);
    ck_assert_int_eq(import.said[0].kind, SAID_FAILED);
    ck_assert_uint_eq(import.ops.ops[4].size_bytes, 1 << 20);
    ck_assert_uint_eq(import.setup.capacity_bytes, 3584);
    ck_assert_ptr_nonnull(strstr(import.notes, "the time goes back 1 times"));
    ck_assert_uint_eq(import_checks_replay(&import), 1);
}

TEST(old_times_plain_streams_and_crlf_are_read)
{
    import_checks_file(FIELD "/old_times_crlf.csv", "rmm", NULL, &import);
    import_checks_ops(&import, "alloc size=256\nfree block=0\n");
    ck_assert_ptr_nonnull(strstr(import.notes, "left out: 2 rows"));
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

TEST(a_log_that_begins_in_the_middle_gets_its_start)
{
    import_checks_file(FIELD "/starts_late.csv", "rmm", NULL, &import);
    import_checks_ops(&import, "alloc size=256\nfree block=0\nalloc size=512\n");
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

#define ROW(text) HEADER text "\n"
static const struct import_refused refused_texts[] = {
    {"thread,time\n", IMPORT_INVALID, 1, 0, "the header is not 'Thread,"},
    {HEADER "7,10:00:00.1,allocate,0x1,8,0x0", IMPORT_INCOMPLETE, 2, 32, "no line end"},
    {HEADER, IMPORT_INCOMPLETE, 0, 0, "no allocation"},
    {ROW("x,10:00:00.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 1,
     "the thread is not a number: 'x,10"},
    {ROW("18446744073709551616,10:00:00.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 1, "the thread"},
    {ROW("7,24:00:00.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 3, "the time"},
    {ROW("7,10:60:00.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 3, "the time"},
    {ROW("7,10:00:61.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 3, "the time"},
    {ROW("7,10.00:00.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 3, "the time"},
    {ROW("7,1a:00:00.1,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 3, "the time"},
    {ROW("7,10:00:00,allocate,0x1,8,0x0"), IMPORT_INVALID, 2, 3, "the time"},
    {ROW("7,10:00:00.1,alloc,0x1,8,0x0"), IMPORT_INVALID, 2, 14, "the action"},
    {ROW("7,10:00:00.1,allocate,12,8,0x0"), IMPORT_INVALID, 2, 23, "the pointer"},
    {ROW("7,10:00:00.1,allocate,0x10000000000000000,8,0x0"), IMPORT_INVALID, 2, 25, "the pointer"},
    {ROW("7,10:00:00.1,allocate,0x1,-8,0x0"), IMPORT_INVALID, 2, 27, "the size"},
    {ROW("7,10:00:00.1,allocate,0x1,8,-1"), IMPORT_INVALID, 2, 29, "the stream"},
    {ROW("7,10:00:00.1,allocate,0x1,8,0x0,9"), IMPORT_INVALID, 2, 32, "something follows"},
    {ROW("7,10:00:00.1,allocate,(nil),8,0x0"), IMPORT_INVALID, 2, 0,
     "8 bytes are allocated at the null pointer"},
    {ROW("7,10:00:00.1,allocate,0x1,2000000000000000,0x0"), IMPORT_INVALID, 2, 0, "more than 2^50"},
    {ROW("7,10:00:00.1,allocate failure,(nil),0,0x0"), IMPORT_INVALID, 2, 0, "0 bytes"},
    {ROW("7,10:00:00.1,allocate,0x1,8,0x0\n\n7,10:00:00.2,allocate,0x1,8,0x0"), IMPORT_INVALID, 4,
     0, "where one is live"},
};
static const struct import_refused refused_files[] = {
    {"cut.csv", IMPORT_INCOMPLETE, 4, 19, "the last line is cut off"},
    {"sizes_differ.csv", IMPORT_INVALID, 3, 0, "gives 512 bytes; the block was allocated with 256"},
};

TEST(what_is_wrong_is_said_with_its_place)
{
    for (size_t i = 0; i < sizeof refused_texts / sizeof refused_texts[0]; i++) {
        import_checks_refused(&refused_texts[i], NULL, "rmm", &import);
    }
    for (size_t i = 0; i < sizeof refused_files / sizeof refused_files[0]; i++) {
        import_checks_refused(&refused_files[i], FIELD, "rmm", &import);
    }
}

TEST(more_than_thirty_two_threads_are_counted)
{
    char text[16384] = HEADER;
    for (int i = 0; i < 100; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%d,10:00:00.1,allocate,0x%x,512,0x0\n", i,
                 i + 1);
    }
    struct import_error error = {0};
    ck_assert_int_eq(import_text(text, strlen(text), "rmm", NULL, &import, &error), IMPORT_OK);
    ck_assert_ptr_nonnull(strstr(import.notes, "100 streams are not distinguished"));
    ck_assert(!lanes_are_in(&import.ops));
}

TEST(any_cut_and_any_damage_is_survived)
{
    static const char *const names[] = {"two_threads.csv", "old_times_crlf.csv"};
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        size_t length = 0;
        snprintf(path, sizeof path, FIELD "/%s", names[i]);
        char *text = import_checks_read(path, &length);
        import_checks_prefixes(text, length, "rmm", &import);
        import_checks_damage(text, length, "rmm", 2000, &import);
        free(text);
    }
}

/* --- field data --- */

/* What the rows say, counted another way: by sscanf() and a list. */
struct counted {
    uint64_t allocs, frees, failures, live_bytes, peak_bytes;
};

static struct counted count_rows(const char *path)
{
    struct counted counted = {0};
    char line[512];
    FILE *stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    while (fgets(line, sizeof line, stream) != NULL) {
        char action[32];
        uint64_t size = 0;
        if (sscanf(line, "%*u,%*[^,],%31[^,],%*[^,],%" SCNu64, action, &size) != 2) {
            continue;
        }
        counted.allocs += strcmp(action, "allocate") == 0;
        counted.frees += strcmp(action, "free") == 0;
        counted.failures += strcmp(action, "allocate failure") == 0;
        counted.live_bytes += strcmp(action, "allocate") == 0 ? size : 0;
        counted.live_bytes -= strcmp(action, "free") == 0 ? size : 0;
        counted.peak_bytes = counted.live_bytes > counted.peak_bytes ? counted.live_bytes
                                                                     : counted.peak_bytes;
    }
    fclose(stream);
    return counted;
}

static void compare_counts(const char *path)
{
    const struct counted counted = count_rows(path);
    char said[512];
    import_checks_file(path, "rmm", NULL, &import);
    snprintf(said, sizeof said,
             "%" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " failures; at most %" PRIu64
             " bytes live at a time; %" PRIu64 " bytes in",
             counted.allocs, counted.frees, counted.failures, counted.peak_bytes,
             counted.live_bytes);
    ck_assert_msg(strstr(import.notes, said) != NULL, "%s\n%s", said, import.notes);
    ck_assert_uint_eq(import.setup.capacity_bytes, counted.peak_bytes);
    printf("%-32s %6zu ops, peak %10" PRIu64 " bytes, %" PRIu64 " OOMs\n", strrchr(path, '/') + 1,
           import.ops.count, counted.peak_bytes, import_checks_replay(&import));
}

TEST(every_file_of_the_field_imports_with_its_own_sums)
{
    DIR *folder = opendir(DATA);
    if (folder == NULL) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, DATA "/%s", entry->d_name);
        if (strstr(entry->d_name, ".csv") != NULL) {
            compare_counts(path);
        }
    }
    closedir(folder);
}
