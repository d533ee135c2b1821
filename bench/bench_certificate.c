/* Prints what hbm-certificate-check takes for certificates of many blocks: how long the document
 * is, and the processor time from its text to the answer.  Prints only. */
#include "checker/certificate_check.h"
#include "harness/base/check.h"
#include "harness/base/writing.h"
#include "measure/clock.h"

#include <stdlib.h>
#include <string.h>

enum { GRANULE = 512, ROUND_COUNT = 3 };

/* Blocks of one granule with one granule free below each.  The request takes more granules than the
 * half that is free by `missing`. */
struct proof_shape {
    const char *name, *claim, *defrag;
    size_t missing;
    void (*append_proof)(struct writing *text, size_t count);
};

/* Pushes all blocks down, and puts the request above them. */
static void append_plan(struct writing *text, size_t count)
{
    writing_append_format(
        text, "{\"kind\": \"plan\", \"until\": 0, \"address\": %zu, \"evict\": [], \"moves\": [",
        count * GRANULE);
    for (size_t i = 0; i < count; i++) {
        writing_append_format(text,
                              "%s\n   {\"block\": %zu, \"from\": %zu, \"to\": %zu, \"bytes\": %d}",
                              i == 0 ? "" : ",", i, (2 * i + 1) * GRANULE, i * GRANULE, GRANULE);
    }
    writing_append(text, "]}");
}

static void append_spans(struct writing *text, size_t count)
{
    (void)count;
    writing_append(text, "{\"kind\": \"spans\"}");
}

static void append_rounding(struct writing *text, size_t count)
{
    writing_append_format(text,
                          "{\"kind\": \"rounding\", \"unit\": %d, \"need\": %zu, \"have\": %zu}",
                          GRANULE, 2 * count + 1, 2 * count);
}

static const struct proof_shape shapes[] = {
    {"plan, repack", "premature", "repack", 0, append_plan},
    {"plan, slide", "premature", "slide", 0, append_plan},
    {"spans, slide", "justified", "slide", 1, append_spans},
    {"rounding", "justified", "repack", 1, append_rounding},
};

static void append_head(struct writing *text, const struct proof_shape *shape, size_t count)
{
    writing_append_format(
        text,
        "{\"format\": \"hbmstress-certificate\", \"version\": 1, \"list\": null,\n \"claim\": \"%s\",\n"
        " \"device\": {\"capacity\": %zu, \"granule\": %d},\n"
        " \"contract\": {\"defrag\": \"%s\", \"drains\": true, \"evicts\": true,"
        " \"program_evicts_program\": false},\n"
        " \"refused\": {\"copy\": false, \"wait\": false, \"unload\": false,"
        " \"host_memory\": false},\n"
        " \"request\": {\"class\": \"buffer\", \"bytes\": %zu, \"align\": %d, \"stack\": 0,"
        " \"program\": -1},\n \"blocks\": [",
        shape->claim, 2 * count * GRANULE, GRANULE, shape->defrag,
        (count + shape->missing) * GRANULE, GRANULE);
}

static void append_document(struct writing *text, const struct proof_shape *shape, size_t count)
{
    append_head(text, shape, count);
    for (size_t i = 0; i < count; i++) {
        writing_append_format(text,
                              "%s\n  {\"op\": %zu, \"kind\": \"buffer\", \"state\": \"live\","
                              " \"address\": %zu, \"size\": %d, \"align\": %d, \"stack\": 0,"
                              " \"holds\": 0, \"used_until\": 0, \"freed_at\": 0}",
                              i == 0 ? "" : ",", i, (2 * i + 1) * GRANULE, GRANULE, GRANULE);
    }
    writing_append(text, "],\n \"proof\": ");
    shape->append_proof(text, count);
    writing_append(text, "}\n");
}

static void measure_shape(const struct proof_shape *shape, size_t count, int round_count)
{
    char reason[CERTIFICATE_REASON_BYTES];
    struct writing text;
    double best = 0;
    writing_init(&text);
    append_document(&text, shape, count);
    for (int round = 0; round < round_count; round++) {
        const double before = read_cpu_ns();
        CHECK(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID);
        const double elapsed = read_cpu_ns() - before;
        best = round == 0 || elapsed < best ? elapsed : best;
    }
    printf("%-14s %8zu blocks  %7.2f MB  %9.1f ms\n", shape->name, count, (double)text.length / 1e6,
           best / 1e6);
    (void)fflush(stdout);
    writing_deinit(&text);
}

int main(int argc, char **argv)
{
    const bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    const size_t count_max = is_quick ? 1000 : argc == 2 ? strtoul(argv[1], NULL, 10) : 100000;
    if (argc > 2 || count_max < 1000 || count_max > 1000000) {
        (void)fprintf(stderr,
                      "usage: bench_certificate [--quick | BLOCKS]\n"
                      "Prints what checking certificates of 1000 to BLOCKS blocks takes.\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (size_t count = 1000; count <= count_max; count *= 10) {
            measure_shape(&shapes[i], count, is_quick ? 1 : ROUND_COUNT);
        }
    }
    return 0;
}
