/* Reports of a program that needs more than its device has: long, cut, damaged, and of the field.
 * What ours become is in tests/snap/formats_hbm_report.snap. */
#include "formats/common/text.h"
#include "formats/xla/private/hbm_report.h"
#include "harness/base/writing.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_report/"
#define DATA HBMSTRESS_FIELD_DATA "/data/tpu_oom/"

EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

/* Where no line ends a look for the next one is a look at all that follows. */
TEST(a_log_of_one_line_takes_no_longer_than_it_is_long)
{
    enum { COUNT = 200000 };
    static const char heading[] = "Largest program allocations in hbm: ";
    static const char field[] = "Unpadded size:1B;";
    char *text = malloc(sizeof heading + COUNT * sizeof field);
    size_t length = sizeof heading - 1;
    memcpy(text, heading, length);
    for (int i = 0; i < COUNT; i++, length += sizeof field - 1) {
        memcpy(text + length, field, sizeof field - 1);
    }
    ck_assert_int_eq(import_bytes(text, length, "hbm_report"), IMPORT_INCOMPLETE);
    free(text);
}

/* A label goes on to the next field; where none comes, each of the 64 lines that it may have was a
 * look at all blank lines behind it: seconds a megabyte, so that the suite's time runs out. */
TEST(blank_lines_behind_a_label_are_passed_once)
{
    enum { COUNT = 1 << 20 };
    static const char begin[] = "Largest program allocations in hbm:\n  1. Size: 64.00M\n"
                                "     XLA label: x\n";
    char *text = malloc(sizeof begin + COUNT);
    memcpy(text, begin, sizeof begin - 1);
    memset(text + sizeof begin - 1, '\n', COUNT);
    ck_assert_int_eq(import_bytes(text, sizeof begin - 1 + COUNT, "hbm_report"), IMPORT_INCOMPLETE);
    free(text);
}

/* Bytes of a shape are its dimensions times its element; in tiles, those of the padded dimensions.
 */
TEST(a_shape_has_its_bytes_and_those_of_its_tiles)
{
    static const char *const shapes[] = {"f32[]{:T(256)}",
                                         "f32[2,8192,151936]{2,1,0:T(8,128)}",
                                         "bf16[3,5]{1,0}",
                                         "s8[7]",
                                         "c128[2]",
                                         "pred[8]",
                                         "(f32[2], f32[2])",
                                         "f32[2,",
                                         "f32[x]",
                                         "f32",
                                         "f32[4294967296,4294967296]",
                                         "f32[512,245,256]{2,1,0:T(8,128)}",
                                         "s32[8388608,8,4]{2,1,0:T(8,128)}",
                                         "bf16[16,1280,40]{1,2,0:T(8,128)(2,1)}",
                                         "bf16[16,1280,40]{2,1,0:T(8,128)(2,1)}",
                                         "f32[56]{0:T(256)}",
                                         "f32[8,2]{1,0}",
                                         "f32[8]{0:T(8,128)}",
                                         "f32[8,2]{1,7:T(8,128)}",
                                         "f32[8,2]{1,0:T(0,0)}",
                                         "f32[18446744073709551615]{0:T(256)}",
                                         "f32[8,2]{1,0:T(8,"};
    struct writing text = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct hbm_report_shape shape = hbm_report_parse_shape(shapes[i], strlen(shapes[i]));
        writing_append_format(&text,
                              "%s: bytes %" PRIu64 ", in tiles %" PRIu64 ", innermost %" PRIu64
                              ", in tiles %" PRIu64 "\n",
                              shapes[i], shape.bytes, shape.tiled_bytes, shape.innermost,
                              shape.innermost_tiled);
    }
    snap(writing_string(&text));
    writing_deinit(&text);
}

/* --- any bytes --- */

/* clang-format off */
static const char *const files[] = {
    "used_2019.log", "sections.log", "arguments_prefixed.log", "one_line.log", "escaped.json",
    "short.log", "code.log", "cores.log", "early.log", "allocation.log", "vmem.log", "gpu.log",
    "tail.log", "two.log", "container.json", "gpu_result.log", "vllm.log", "broken_label.log",
    "temporaries.log", "temporaries_short.log", "estimate.log", "gpu_peak.log", "padded.log",
    "chip_named.log"};
/* clang-format on */
enum { FILE_COUNT = sizeof files / sizeof files[0] };

static void read_field(int index, struct text *text)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", files[index]);
    ck_assert_int_eq(text_read(path, 1 << 20, text, &refusal), IMPORT_OK);
}

/* Cut anywhere, the report is refused, or becomes a run of the same capacity; the whole one has the
 * most ops. */
TEST(a_report_cut_anywhere_is_refused_or_fails_as_the_whole_does, .to = FILE_COUNT)
{
    struct text text;
    read_field(_i, &text);
    const bool is_imported = import_bytes(text.bytes, text.length, "hbm_report") == IMPORT_OK;
    const uint64_t capacity_bytes = import.setup.capacity_bytes;
    const size_t op_count = import.ops.count;
    for (size_t length = 0; length < text.length; length += draws_period()) {
        if (import_bytes(text.bytes, length, "hbm_report") == IMPORT_OK) {
            ck_assert_msg(is_imported && import.setup.capacity_bytes == capacity_bytes &&
                              import.ops.count <= op_count,
                          "%s cut at %zu", files[_i], length);
            ck_assert_uint_eq(import.said_count, 1);
        }
        (void)import_bytes(text.bytes, length, "auto");
    }
    text_deinit(&text);
}

TEST(damage_at_any_byte_never_crashes, .to = FILE_COUNT)
{
    struct text text;
    read_field(_i, &text);
    (void)damage(text.bytes, text.length, "auto", draws_count(600, 1));
    text_deinit(&text);
}

/* --- the field --- */

static bool is_consistent(const struct compile_size *sum, uint64_t low, uint64_t high)
{
    return sum->range.high >= low && sum->range.low <= high;
}

/* To the printed precision: Used - capacity == Exceeded; Total == reserved + program + arguments;
 * the requirement == its rows; each entry's shape == its unpadded size, and size - unpadded ==
 * padding.  Counts what was checked. */
static unsigned check_sums(const char *name, const struct hbm_report *report)
{
    const struct compile_size *n = report->numbers;
    unsigned checked = 0;
    if (n[COMPILE_EXCEEDED].is_said) {
        const uint64_t low = n[COMPILE_USED].range.low > n[COMPILE_CAPACITY].range.high
                                 ? n[COMPILE_USED].range.low - n[COMPILE_CAPACITY].range.high
                                 : 0; /* both may print as 1.00M */
        ck_assert_msg(is_consistent(&n[COMPILE_EXCEEDED], low,
                                    n[COMPILE_USED].range.high - n[COMPILE_CAPACITY].range.low),
                      "%s: exceeded", name);
        checked++;
    }
    if (n[COMPILE_TOTAL].is_said && n[COMPILE_RESERVED].is_said && n[COMPILE_PROGRAM].is_said) {
        ck_assert_msg(is_consistent(&n[COMPILE_TOTAL],
                                    n[COMPILE_RESERVED].range.low + n[COMPILE_PROGRAM].range.low +
                                        n[COMPILE_ARGUMENTS].range.low,
                                    n[COMPILE_RESERVED].range.high + n[COMPILE_PROGRAM].range.high +
                                        n[COMPILE_ARGUMENTS].range.high),
                      "%s: total", name);
        checked++;
    }
    if (n[COMPILE_REQUIREMENT].is_said && n[COMPILE_ROW_GLOBAL].is_said) {
        ck_assert_msg(
            is_consistent(&n[COMPILE_REQUIREMENT],
                          n[COMPILE_ROW_RESERVED].range.low + n[COMPILE_ROW_GLOBAL].range.low +
                              n[COMPILE_ROW_SCOPED].range.low + n[COMPILE_ROW_TEMP].range.low +
                              n[COMPILE_ROW_OVERLAYS].range.low,
                          n[COMPILE_ROW_RESERVED].range.high + n[COMPILE_ROW_GLOBAL].range.high +
                              n[COMPILE_ROW_SCOPED].range.high + n[COMPILE_ROW_TEMP].range.high +
                              n[COMPILE_ROW_OVERLAYS].range.high),
            "%s: requirement", name);
        checked++;
    }
    for (size_t i = 0; i < report->entry_count; i++) {
        const struct listed_allocation *entry = &report->entries[i];
        if (entry->shape_bytes != 0 && entry->unpadded.is_said) {
            ck_assert_msg(is_consistent(&entry->unpadded, entry->shape_bytes, entry->shape_bytes),
                          "%s: shape of entry %zu", name, i);
            checked++;
        }
        if (entry->padding.is_said) {
            ck_assert_msg(is_consistent(&entry->padding,
                                        entry->size.low - entry->unpadded.range.high,
                                        entry->size.high - entry->unpadded.range.low),
                          "%s: padding of entry %zu", name, i);
            checked++;
        }
    }
    return checked;
}

static int is_no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* What they become is in tests/snap/field/imported_field.snap. */
TEST(the_sums_of_every_report_of_the_field_agree)
{
    static struct hbm_report report;
    struct dirent **names = NULL;
    unsigned checked = 0;
    const int count = scandir(DATA, &names, is_no_dot, alphasort);
    if (count <= 0) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        size_t length = 0, offset = 0;
        snprintf(path, sizeof path, DATA "%s", names[i]->d_name);
        char *text = file_bytes(path, &length);
        while (hbm_report_next(text, length, &offset, &report)) {
            checked += check_sums(names[i]->d_name, &report);
        }
        free(text);
        free(names[i]);
    }
    free(names);
    printf("%u sums of %d files agree\n", checked, count);
    ck_assert_int_eq(count, 16);
    ck_assert_uint_gt(checked, 50);
}
