/* Request traces as lifetimes of KV caches: the file of the field adds up.  What ours become is in
 * tests/snap/formats_azure_llm.snap. */
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DATA HBMSTRESS_FIELD_DATA "/data/serving/AzureLLMInferenceTrace_conv.csv.gz"
EVERY_TEST(.setup = setup_import, .teardown = teardown_import);

/* --- field data --- */

/* A request as the C library reads it, in units of 100 ns. */
struct request {
    uint64_t begin, end, tokens;
};

static size_t read_requests(const char *path, struct request **requests)
{
    size_t length = 0;
    size_t count = 0;
    char *text = file_bytes(path, &length);
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
    load_recognised(DATA, "azure_llm");
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
    ck_assert_uint_eq(replay(), 0);
    free(requests);
}
