/* How large a block may be: the published function and its text, and who knows it.  The rule that
 * holds answers to it, and out-of-memories, are in tests/cases/oracle/rounding.case. */
#include "checker/certificate_check.h"
#include "harness/base/random.h"
#include "harness/op/rounding.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

static struct target_rounding parse(const char *text)
{
    struct target_rounding rounding = {0};
    struct rounding_error error = {0};
    ck_assert_msg(rounding_parse(text, strlen(text), &rounding, &error), "%s: %s", text,
                  error.reason);
    return rounding;
}

/* --- the function --- */

#define HIGHEST ROUNDING_BYTES_MAX

/* Of each size that is asked, the most that a block may have. */
static void show_most(const char *text, uint64_t granule, const uint64_t *asked, size_t count)
{
    const struct target_rounding rounding = parse(text);
    show("%s, granule %" PRIu64 ":", text, granule);
    for (size_t i = 0; i < count; i++) {
        show(" %" PRIu64 " %" PRIu64 "%s", asked[i],
             rounding_bytes_max(&rounding, granule, asked[i]), i + 1 < count ? "," : "\n");
    }
}
#define MOST(text, granule, ...)                              \
    show_most(text, granule, (const uint64_t[]){__VA_ARGS__}, \
              sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

EVERY_TEST(.teardown = snap_rest);

TEST(a_block_is_at_most_its_class_and_the_overhead)
{
    MOST("granule", 512, 1, 512, 513);
    MOST("granule", 1, 513);
    /* A header of 16 bytes; a remainder of up to 4096 that is not split off. */
    MOST("granule overhead=16", 512, 496, 512);
    MOST("granule overhead=4K", 512, 1, 512);
    /* Powers of two. */
    MOST("classes=1", 1, 1, 2, 3);
    MOST("classes=1", 512, 3, 1025);
    MOST("classes=1 smallest=64K", 512, 1, 65536, 65537);
    /* jemalloc: four in each doubling, quantum 16: 16, 32, 48, 64, 80, 96, 112, 128, 160, … */
    MOST("classes=4", 16, 1, 33, 49, 65, 128, 129, 161, 257, 14337, (4 << 20) + 1);
    /* OffsetAllocator: a float of three bits of mantissa: each number up to 16, then eight. */
    MOST("classes=8", 1, 15, 16, 17, 118, 1024, 1025, 65537, 529445);
    MOST("classes=64", 512, 65537, 100 << 20);
    MOST("classes=8 smallest=5000", 512, 1);
    MOST("classes=8 smallest=5000 overhead=512", 512, 5000);
    /* No block is larger than 2^63. */
    MOST("granule", 512, HIGHEST - 1, HIGHEST);
    MOST("granule overhead=1P", 512, HIGHEST - 1);
    MOST("classes=1", 512, HIGHEST / 2 + 1);
    MOST("classes=8", 512, HIGHEST - 1);
    MOST("classes=64 overhead=1P", 512, HIGHEST);
    MOST("classes=64", 512, UINT64_MAX);
    MOST("any", 512, 1, HIGHEST);
}

/* The same by counting: from the power of two below, step by step. */
static uint64_t count_up_to_class(uint64_t asked, uint64_t steps)
{
    uint64_t low = 1;
    while (low * 2 < asked) {
        low *= 2;
    }
    uint64_t size = low;
    while (size < asked) {
        size += low > steps ? low / steps : 1;
    }
    return size;
}

TEST(classes_split_each_doubling_into_equal_parts)
{
    struct random random;
    random_init(&random, 5);
    for (int i = 0; i < 20000; i++) {
        const struct target_rounding rounding = {.kind = ROUNDING_CLASSES,
                                                 .steps = UINT32_C(1) << random_below(&random, 7)};
        const uint64_t asked = (random_bits(&random) >> random_between(&random, 2, 62)) + 1;
        const uint64_t size = rounding_bytes_max(&rounding, 1, asked);
        ck_assert_uint_eq(size, count_up_to_class(asked, rounding.steps));
        ck_assert_uint_eq(rounding_bytes_max(&rounding, 1, size), size);
    }
}

TEST(a_request_needs_what_it_asked_where_nothing_else_is_promised)
{
    const struct target_rounding plain = parse("granule");
    const struct target_rounding any = parse("any");
    const struct target_rounding classes = parse("classes=1 overhead=512");
    const struct target_rounding header = parse("granule overhead=16");
    ck_assert_uint_eq(rounding_bytes_needed(&plain, 512, 700), 700);
    ck_assert_uint_eq(rounding_bytes_needed(&any, 512, 700), 700);
    ck_assert_uint_eq(rounding_bytes_needed(&classes, 512, 700), 1536);
    ck_assert_uint_eq(rounding_bytes_needed(&header, 512, 700), 1024);
    ck_assert_uint_eq(rounding_bytes_needed(&classes, 512, HIGHEST), HIGHEST);
}

/* --- its text --- */

TEST(the_text_of_a_rounding_reads_back)
{
    static const char *const texts[] = {"granule",
                                        "granule overhead=16",
                                        "any",
                                        "classes=1",
                                        "classes=64 smallest=4K",
                                        "classes=8 overhead=3M",
                                        "classes=8 smallest=4K overhead=512"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[ROUNDING_TEXT_BYTES];
        const struct target_rounding rounding = parse(texts[i]);
        ck_assert_ptr_null(rounding_flaw(&rounding));
        rounding_print(&rounding, text);
        ck_assert_str_eq(text, texts[i]);
    }
    const struct target_rounding other = parse("  classes=8\toverhead=512  smallest=4096 ");
    char text[ROUNDING_TEXT_BYTES];
    rounding_print(&other, text);
    ck_assert_str_eq(text, "classes=8 smallest=4K overhead=512");
}

TEST(what_is_wrong_with_a_text_is_named_with_its_place)
{
    /* A line each. */
    const char *text = "\ngranul\n  anything\nclases=8\n8\nclasses=\nclasses=eight\nclasses=0\n"
                       "classes=3\nclasses=7\nclasses=65\nclasses=8 smalest=4K\n"
                       "classes=8 smallest\nclasses=8 smallest=0\nclasses=8 smallest=2P\n"
                       "classes=8 smallest=4K smallest=4K\nclasses=8 overhead=x\n"
                       "granule smallest=4K\nany overhead=4K\n";
    for (size_t length = 0; *text != '\0'; text += length + 1) {
        struct target_rounding rounding = {.kind = ROUNDING_CLASSES, .steps = 4};
        struct rounding_error error = {0};
        length = strcspn(text, "\n");
        ck_assert(!rounding_parse(text, length, &rounding, &error));
        show("'%.*s' %zu: %s\n", (int)length, text, error.at, error.reason);
        ck_assert_uint_eq(rounding.steps, 4);
    }
}

/* --- contracts --- */

TEST(a_rounding_that_makes_no_sense_is_refused)
{
    static const struct target_rounding flaws[] = {
        {.kind = (enum rounding_kind)3},
        {.kind = ROUNDING_CLASSES},
        {.kind = ROUNDING_CLASSES, .steps = 6},
        {.kind = ROUNDING_CLASSES, .steps = 128},
        {.kind = ROUNDING_CLASSES, .steps = 8, .smallest_bytes = UINT64_MAX},
        {.kind = ROUNDING_GRANULE, .overhead_bytes = UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
        struct setup setup;
        char reason[RUN_REASON_BYTES] = "";
        prepare();
        setup_init(&setup);
        setup.capacity_bytes = 16 * G;
        script.contract.rounding = flaws[i];
        ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
        show("%s\n", reason);
    }
}

/* What a run is set up with once the target is open; "" = no rounding. */
static void check_setup(const char *contract, const char *given, const char *expected)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    char text[ROUNDING_TEXT_BYTES] = "";
    prepare();
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.contract.rounding = parse(contract);
    if (given[0] != '\0') {
        setup.has_rounding = true;
        setup.rounding = parse(given);
    }
    script.run = run_create(&scripted_target, &setup, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
    const struct setup *completed = run_setup(script.run);
    if (completed->has_rounding) {
        rounding_print(&completed->rounding, text);
    }
    ck_assert_str_eq(text, expected);
    char judged[ROUNDING_TEXT_BYTES];
    rounding_print(&model_contract(run_model(script.run, 0))->rounding, judged);
    ck_assert_str_eq(judged, expected[0] == '\0' ? "granule" : expected);
    stop();
}

TEST(a_run_knows_the_rounding_that_it_judges_by)
{
    check_setup("granule", "", "");
    check_setup("classes=8", "", "classes=8");
    check_setup("granule overhead=16", "", "granule overhead=16");
    check_setup("classes=8", "granule", "granule");
    check_setup("granule", "classes=1", "classes=1");
}

/* --- certificates --- */

TEST(a_certificate_names_the_bytes_that_the_contract_needs)
{
    static const struct {
        const char *rounding, *bytes;
    } rows[] = {{"granule", "\"bytes\": 4200,"}, {"classes=1", "\"bytes\": 8192,"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct writing text;
        char reason[CERTIFICATE_REASON_BYTES] = "";
        struct op op = op_make(OP_ALLOC);
        prepare();
        script.contract.rounding = parse(rows[i].rounding);
        start_hosts(1);
        KEEPS(alloc_at(4, 8));
        KEEPS(on(OP_HOLD, 0));
        op.size_bytes = 4200;
        script.result = TARGET_NO_MEMORY;
        JUDGED(step(op), VERDICT_JUSTIFIED);
        writing_init(&text);
        run_print_certificate(script.run, &text);
        ck_assert_msg(strstr(writing_string(&text), rows[i].bytes) != NULL, "%s",
                      writing_string(&text));
        ck_assert_msg(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID, "%s",
                      reason);
        writing_deinit(&text);
        stop();
    }
}
