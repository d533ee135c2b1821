/* Request traces as lifetimes of KV caches: sizes and times are those of the options, and the file
 * of the field adds up. */
#include "formats/formats.h"
#include "tests/formats/import_checks.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/azure_llm"
#define DATA HBMSTRESS_FIELD_DATA "/data/serving/AzureLLMInferenceTrace_conv.csv.gz"
#define HEADER "TIMESTAMP,ContextTokens,GeneratedTokens\n"

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

TEST(a_request_lives_from_its_arrival_to_its_last_token)
{
    const struct import_options options = {.kv_bytes_per_token = 512, .kv_tokens_per_second = 100};
    import_checks_file(FIELD "/four_requests.csv", "azure_llm", &options, &import);
    /* arrivals at 0, 1, 3 and 4.5 s; 50, 300, 0 and 25 tokens at 100 a second */
    import_checks_ops(
        &import, "alloc size=75K\nfree block=0\nalloc size=155K\nalloc size=3584\nfree block=3\n"
                 "free block=2\nalloc size=115200\nfree block=6\n");
    ck_assert_uint_eq(import.setup.capacity_bytes, 155 * 1024 + 3584);
    ck_assert_ptr_nonnull(strstr(import.notes, "512 bytes per token\n"));
    ck_assert_ptr_nonnull(strstr(import.notes, "100 tokens a second\n"));
    ck_assert_ptr_nonnull(strstr(import.notes, "the last line has no line end"));
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

TEST(what_the_options_do_not_say_is_assumed_and_noted)
{
    import_checks_file(FIELD "/four_requests.csv", "azure_llm", NULL, &import);
    ck_assert_uint_eq(import.ops.ops[0].size_bytes, 150 * 327680);
    ck_assert_ptr_nonnull(strstr(import.notes, "assumed: 327680 bytes per token (80"));
    ck_assert_ptr_nonnull(strstr(import.notes, "assumed: 25 tokens a second"));
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

TEST(later_forms_and_times_out_of_order_are_read)
{
    const struct import_options options = {.kv_bytes_per_token = 512, .kv_tokens_per_second = 1};
    import_checks_file(FIELD "/later_form.csv", "azure_llm", &options, &import);
    import_checks_ops(&import, "alloc size=3584\nalloc size=5632\nfree block=0\nfree block=1\n");
    ck_assert_ptr_nonnull(strstr(import.notes, "left out: 1 requests without tokens"));
    const char text[] = HEADER
        "2024-02-29 00:00:01,1,1\n2024-02-28 23:59:59.5,2,1\n2024-03-01 00:00:00,4,1\n";
    struct import_error error = {0};
    ck_assert_int_eq(import_text(text, sizeof text - 1, "auto", &options, &import, &error),
                     IMPORT_OK);
    import_checks_ops(
        &import, "alloc size=1536\nfree block=0\nalloc size=1K\nfree block=2\nalloc size=2560\n"
                 "free block=4\n");
}

#define ROW(text) HEADER text "\n"
static const struct import_refused refused_texts[] = {
    {"TIMESTAMP,ContextTokens\n", IMPORT_INVALID, 1, 0, "the header is not 'TIMESTAMP,"},
    {HEADER, IMPORT_INCOMPLETE, 2, 0, "the file has no request"},
    {ROW("2023-13-16 18:15:46.68,1,1"), IMPORT_INVALID, 2, 8, "the time"},
    {ROW("2023-11-16T18:15:46.68,1,1"), IMPORT_INVALID, 2, 11, "the time"},
    {ROW("2023-11-16 24:15:46.68,1,1"), IMPORT_INVALID, 2, 14, "the time"},
    {ROW("2023-11-16 18:15:46.68+01:00,1,1"), IMPORT_INVALID, 2, 23, "the time"},
    {ROW("2023-11-16 18:15:46.68,x,1"), IMPORT_INVALID, 2, 24, "the context tokens"},
    {ROW("2023-11-16 18:15:46.68,1073741825,1"), IMPORT_INVALID, 2, 34, "the context tokens"},
    {ROW("2023-11-16 18:15:46.68,1,1,1"), IMPORT_INVALID, 2, 27, "something follows"},
    {ROW("2023-11-16 18:15:46.68,1000000000,1000000000\n2023-11-16 18:15:47,1000000000,1000000000"),
     IMPORT_INVALID, 3, 0, "more than 2^50 bytes are live"},
};
static const struct import_refused refused_files[] = {
    {"cut.csv", IMPORT_INCOMPLETE, 3, 18, "the last line is cut off"},
    {"negative.csv", IMPORT_INVALID, 2, 33,
     "the generated tokens are not a number up to 2^30: '-44'"},
};

TEST(what_is_wrong_is_said_with_its_place)
{
    for (size_t i = 0; i < sizeof refused_texts / sizeof refused_texts[0]; i++) {
        import_checks_refused(&refused_texts[i], NULL, "azure_llm", &import);
    }
    for (size_t i = 0; i < sizeof refused_files / sizeof refused_files[0]; i++) {
        import_checks_refused(&refused_files[i], FIELD, "azure_llm", &import);
    }
}

TEST(bytes_beyond_what_a_device_holds_are_refused)
{
    const struct import_options options = {.kv_bytes_per_token = UINT64_C(1) << 40};
    const char text[] = HEADER "2024-01-01 00:00:00,1000,25\n";
    struct import_error error = {0};
    ck_assert_int_eq(import_text(text, sizeof text - 1, "auto", &options, &import, &error),
                     IMPORT_INVALID);
    ck_assert_str_eq(error.reason,
                     "1025 tokens of 1099511627776 bytes each are more than 2^50 bytes");
    ck_assert_uint_eq(error.line, 2);
}

TEST(any_cut_and_any_damage_is_survived)
{
    static const char *const names[] = {"four_requests.csv", "later_form.csv"};
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        size_t length = 0;
        snprintf(path, sizeof path, FIELD "/%s", names[i]);
        char *text = import_checks_read(path, &length);
        import_checks_prefixes(text, length, "azure_llm", &import);
        import_checks_damage(text, length, "azure_llm", 2000, &import);
        free(text);
    }
}

/* --- field data --- */

/* A request as the C library reads it, in units of 100 ns. */
struct request {
    uint64_t begin, end, tokens;
};

static size_t read_requests(const char *path, struct request **requests)
{
    size_t length = 0;
    size_t count = 0;
    char *text = import_checks_read(path, &length);
    text = realloc(text, length + 1);
    text[length] = '\0';
    *requests = calloc(length / 20 + 1, sizeof **requests);
    for (char *line = strtok(text, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
        struct tm tm = {0};
        unsigned fraction, context, generated;
        if (sscanf(line, "%d-%d-%d %d:%d:%d.%7u,%u,%u", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &fraction, &context, &generated) != 9) {
            continue;
        }
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        const uint64_t begin = (uint64_t)timegm(&tm) * 10000000 + fraction;
        (*requests)[count++] = (struct request){begin, begin + (uint64_t)generated * 10000000 / 25,
                                                context + generated};
    }
    free(text);
    return count;
}

/* The most tokens at any arrival. */
static uint64_t count_peak(const struct request *requests, size_t count)
{
    uint64_t peak = 0;
    uint64_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t lifetime = requests[i].end - requests[i].begin;
        longest = lifetime > longest ? lifetime : longest;
        uint64_t tokens = requests[i].tokens;
        for (size_t k = i; k-- > 0 && requests[k].begin + longest > requests[i].begin;) {
            tokens += requests[k].end > requests[i].begin ? requests[k].tokens : 0;
        }
        peak = tokens > peak ? tokens : peak;
    }
    return peak;
}

TEST(the_file_of_the_field_imports_with_its_own_sums)
{
    struct request *requests = NULL;
    uint64_t tokens = 0;
    uint64_t bytes = 0;
    if (access(DATA, R_OK) != 0) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    const size_t count = read_requests(DATA, &requests);
    const uint64_t peak_bytes = count_peak(requests, count) * 327680;
    import_checks_file(DATA, "azure_llm", NULL, &import);
    for (size_t i = 0; i < count; i++) {
        tokens += requests[i].tokens;
    }
    for (size_t i = 0; i < import.ops.count; i++) {
        bytes += import.ops.ops[i].size_bytes;
    }
    printf("%zu requests, %" PRIu64 " tokens, peak %" PRIu64 " bytes\n", count, tokens, peak_bytes);
    ck_assert_uint_eq(import.ops.count, 2 * count);
    ck_assert_uint_eq(bytes, tokens * 327680);
    ck_assert_uint_eq(import.setup.capacity_bytes, peak_bytes + peak_bytes / 8); /* a long log */
    import.ops.count = 2000; /* as much as a test has time for */
    ck_assert_uint_eq(import_checks_replay(&import), 0);
    free(requests);
}
