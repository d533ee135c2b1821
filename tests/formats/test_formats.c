/* The table of formats, printed sizes, and any cut or damage of the small files of each format.
 * What these become is in tests/snap/formats_*.snap. */
#include "formats/common/printed_size.h"
#include "formats/common/text.h"
#include "formats/formats.h"
#include "harness/base/random.h"
#include "harness/base/size.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/"

/* --- the registry --- */

EVERY_TEST(.timeout_s = 600, .setup = setup_import, .teardown = teardown_import);

TEST(format_names_are_unique_and_found)
{
    for (size_t i = 0; formats[i] != NULL; i++) {
        ck_assert_ptr_eq(format_find(formats[i]->name), formats[i]);
        ck_assert(formats[i]->summary[0] != '\0');
        ck_assert(formats[i]->recognise != NULL && formats[i]->import != NULL);
    }
    ck_assert_ptr_null(format_find("nothing"));
}

/* --- printed sizes --- */

TEST(a_printed_size_is_exactly_the_sizes_that_print_so)
{
    struct random random;
    random_init(&random, 1);
    for (int i = 0; i < 3000; i++) {
        char text[SIZE_TEXT_BYTES];
        char edge[SIZE_TEXT_BYTES];
        struct size_range range;
        const uint64_t size_bytes = i < 3 ? (uint64_t)i
                                          : random_log_uniform(&random, 1, UINT64_C(1) << 62);
        size_print_field(size_bytes, text);
        ck_assert_msg(printed_size_parse(text, strlen(text), &range), "%s", text);
        ck_assert(range.low <= size_bytes && size_bytes <= range.high);
        ck_assert(range.low <= range.nominal && range.nominal <= range.high);
        size_print_field(range.low, edge);
        ck_assert_str_eq(edge, text);
        size_print_field(range.high, edge);
        ck_assert_str_eq(edge, text);
        size_print_field(range.high + 1, edge);
        ck_assert_str_ne(edge, text);
        if (range.low > 0) {
            size_print_field(range.low - 1, edge);
            ck_assert_str_ne(edge, text);
        }
    }
}

TEST(printed_sizes_that_are_none_are_refused)
{
    static const char *const bad[] = {"",          "B",   "1",          "1.M",
                                      ".5M",       "1.2", "1.5X",       "-1B",
                                      "99999999E", "1 M", "1.1234567M", "1234567890123M",
                                      "1.0\0M"};
    struct size_range range;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!printed_size_parse(bad[i], strlen(bad[i]), &range), "%s", bad[i]);
    }
    ck_assert(printed_size_parse("16G", 3, &range)); /* as people write it */
    ck_assert_uint_eq(range.nominal, UINT64_C(16) << 30);
    ck_assert(printed_size_parse("0.50G", 5, &range));
    ck_assert_uint_eq(range.nominal, UINT64_C(512) << 20);
}

TEST(aligned_ranges_hold_multiples_only)
{
    struct size_range range;
    ck_assert(printed_size_parse("6.43M", 5, &range));
    ck_assert(printed_size_align(&range, 512));
    ck_assert_uint_eq(range.low % 512 + range.high % 512 + range.nominal % 512, 0);
    ck_assert(printed_size_parse("1.7K", 4, &range));
    ck_assert(!printed_size_align(&range, 512));
}

/* --- any bytes --- */

static const char *const folders[] = {
    "azure_llm",       "buffer_assignment", "device_stats", "device_usage",
    "kineto",          "malloc_lab",        "ops",          "rmm",
    "static_planning", "torch_message",     "torch_stats",  "torch_timeline",
    "tpu_message"};
enum { FOLDER_COUNT = sizeof folders / sizeof folders[0] };

/* Calls for each file of the folder, whose name is its format. */
static void for_each_file(const char *folder, void (*call)(const char *folder, struct text *text))
{
    struct dirent **names = NULL;
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", folder);
    const int count = scandir(path, &names, NULL, alphasort);
    ck_assert_int_gt(count, 2);
    for (int i = 0; i < count; i++) {
        struct text text;
        snprintf(path, sizeof path, FIELD "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.') {
            ck_assert_int_eq(text_read(path, 1 << 20, &text, &refusal), IMPORT_OK);
            call(folder, &text);
            text_deinit(&text);
        }
        free(names[i]);
    }
    free(names);
}

static void cut_text(const char *folder __attribute__((unused)), struct text *text)
{
    for (size_t length = 0; length <= text->length; length += draws_period()) {
        import_bytes(text->bytes, length, "auto");
        for (size_t i = 0; formats[i] != NULL; i++) {
            import_bytes(text->bytes, length, formats[i]->name);
        }
    }
}

TEST(a_cut_at_any_byte_never_crashes, .to = FOLDER_COUNT)
{
    for_each_file(folders[_i], cut_text);
}

static void damage_text(const char *folder, struct text *text)
{
    (void)damage(text->bytes, text->length, "auto", draws_count(2000, 1));
    (void)damage(text->bytes, text->length, folder, draws_count(2000, 1));
}

TEST(damage_at_any_byte_never_crashes, .to = FOLDER_COUNT)
{
    for_each_file(folders[_i], damage_text);
}
