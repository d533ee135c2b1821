/* Reports of a program that needs more than its device has: each form of them becomes a run that
 * fails by as much as it says. */
#include "formats/common/text.h"
#include "formats/xla/private/hbm_report.h"
#include "harness/base/size.h"
#include "tests/formats/hbm_import.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_report/"
#define DATA HBMSTRESS_FIELD_DATA "/data/tpu_oom/"
#define SAMPLES HBMSTRESS_FIELD_DATA "/facts/tpu_oom_samples.jsonl"

/* Files of our own: all are imported by what they are, with a capacity where they have none. */
static const struct {
    const char *name;
    const char *ops;
    uint64_t fixed_bytes; /* capacity; 0 = the file says it */
    const char *note;     /* part of the notes; may be NULL */
} reports[] = {
    {"used_2019.log",
     "alloc size=8M tag=1\nhold block=0\nalloc size=32M unpadded=8M tag=2\nalloc size=16M tag=3\n"
     "load size=8K stack=24568K tag=4\n",
     0, "24.00M of that is padding, in 1"},
    {"sections.log",
     "alloc size=16M tag=1\nalloc size=30M tag=2\nalloc size=2M unpadded=1M tag=3\n"
     "load size=4199936 stack=46131712 tag=4\n",
     0, "the reserved bytes are not part of the used bytes"},
    {"arguments_prefixed.log",
     "alloc size=24M tag=1\nalloc size=2M tag=2\nalloc size=4M tag=3\nalloc size=20M tag=4\n"
     "load size=10752 stack=41932288 tag=5\n",
     0, NULL},
    {"one_line.log", "alloc size=1M tag=1\nhold block=0\nalloc size=69M tag=2\n", 0, NULL},
    {"escaped.json",
     "alloc size=16M tag=1\nalloc size=30M tag=2\nalloc size=2M unpadded=1M tag=3\n"
     "load size=4199936 stack=46131712 tag=4\n",
     0, NULL},
    {"container.json",
     "alloc size=16M tag=1\nalloc size=30M tag=2\nalloc size=2M unpadded=1M tag=3\n"
     "load size=4199936 stack=46131712 tag=4\n",
     0, NULL},
    {"short.log", NULL, 0, "chip v6e"},
    {"code.log", "load size=512 stack=69205504 tag=1\n", 0, "line 2:"},
    {"cores.log", "alloc size=20M tag=1\nload size=512 stack=52428288 tag=2\n", 0, NULL},
    {"early.log", "load size=512 stack=3221224960 tag=1\n", 0, NULL},
    {"allocation.log", "alloc size=128M\n", 0, NULL},
    {"no_beginning.log",
     "alloc size=32M unpadded=8M tag=1\nalloc size=16M tag=2\nalloc size=12M tag=3\nload size=8K stack=12280K tag=4\n",
     UINT64_C(64) << 20, "as given"},
    {"gpu.log",
     "alloc size=20M tag=1\nalloc size=1536 tag=2\nalloc size=5241344 tag=3\nalloc size=41943104 tag=4\n",
     UINT64_C(64) << 20, "counted once"},
    {"gpu_result.log", "alloc size=20M tag=1\nalloc size=8M tag=2\n", UINT64_C(24) << 20,
     "the printed request is rounded; chosen: 8388608 bytes"},
    {"two.log", NULL, 0, "3 reports in the log, 2 of them complete"},
    {"total_differs.log", NULL, 0, "\"Used\" counts"},
    {"vllm.log", "alloc size=92M tag=1\nload size=128K stack=13184K tag=2\n", 0, "line 2: "},
    {"broken_label.log", NULL, 0, "listed allocations: 3, 72.00G"},
    {"fragmented.log", NULL, 0, "assumed: capacity 31.25G is that of chip v6e to the byte"},
    {"padded.log", NULL, 0, "9.06G of that is padding, in 2"},
    {"temporaries.log", NULL, 0, "capacity 94.74G: from the report"},
    {"temporaries_short.log", NULL, 0, "chip v5e"},
    {"chip_named.log", NULL, 0,
     "assumed: the capacity is that of chip v6e, which the log names in line 1: \"Accelerator type: v6e\""},
    {"gpu_peak.log", NULL, UINT64_C(64) << 20, "the capacity is as given"},
};
enum { REPORT_COUNT = sizeof reports / sizeof reports[0] };

static enum import_result import_fixed(const char *path, const char *format,
                                       uint64_t capacity_bytes)
{
    struct setup fixed = {.capacity_bytes = capacity_bytes};
    const struct import_options options = {.fixed = &fixed};
    error = (struct import_error){0};
    return import_file(path, format, &options, &import, &error);
}

EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

TEST(a_gpu_too_small_for_the_report_is_refused)
{
    ck_assert_int_eq(import_fixed(FIELD "gpu.log", "auto", 16 << 20), IMPORT_INVALID);
    ck_assert_str_eq(
        error.reason,
        "the capacity of 16777216 bytes is below the 26214400 bytes that the report needs");
    ck_assert_int_eq(import_fixed(FIELD "gpu.log", "auto", 25 << 20), IMPORT_OK);
}

TEST(each_form_of_report_becomes_the_request_that_fails, .to = REPORT_COUNT)
{
    char path[4096];
    struct replayed replayed;
    snprintf(path, sizeof path, FIELD "%s", reports[_i].name);
    ck_assert_msg(import_fixed(path, "auto", reports[_i].fixed_bytes) == IMPORT_OK, "%s: %s", path,
                  error.reason);
    ck_assert_str_eq(import.format->name, "hbm_report");
    if (reports[_i].ops != NULL) {
        assert_ops(path, reports[_i].ops);
    }
    ck_assert_msg(reports[_i].note == NULL || strstr(import.notes, reports[_i].note) != NULL, "%s",
                  import.notes);
    replay(path, &replayed);
    ck_assert_uint_eq(replayed.totals.ooms, 1);
    ck_assert_uint_eq(replayed.totals.justified, 1);
    ck_assert_int_eq(replayed.result, TARGET_NO_MEMORY);
    ck_assert_uint_eq(import.said_count, 1);
    ck_assert_uint_eq(import.said[0].op, import.ops.count - 1);
    ck_assert_int_eq(import.said[0].kind, SAID_FAILED);
}

static const struct {
    const char *name;
    enum import_result result;
    size_t line;
    const char *reason;
} refused[] = {
    {"cut.log", IMPORT_INCOMPLETE, 1, "it lacks the capacity"},
    {"vmem.log", IMPORT_INCOMPLETE, 1, "memory space vmem"},
    {"allocation_vmem.log", IMPORT_INCOMPLETE, 1, "memory space vmem"},
    {"no_beginning.log", IMPORT_INCOMPLETE, 1, "give --chip or --capacity"},
    {"gpu.log", IMPORT_INCOMPLETE, 2, "give --capacity"},
    {"estimate.log", IMPORT_INCOMPLETE, 2, "no failure: nothing to replay"},
    {"chip_named_fits.log", IMPORT_INCOMPLETE, 2, "the program fits the chip that the log names"},
    {"tail.log", IMPORT_INCOMPLETE, 1, "only a list of allocations is left"},
    {"contradicts_exceeded.log", IMPORT_INVALID, 2, "are not the exceeding bytes"},
    {"contradicts_shape.log", IMPORT_INVALID, 32,
     "the bytes of the shape are not the unpadded size"},
    {"contradicts_padding.log", IMPORT_INVALID, 32, "is not the padding"},
    {"contradicts_parts.log", IMPORT_INVALID, 2, "the parts sum to more than the used bytes"},
};

TEST(what_is_missing_or_contradicts_is_said_with_its_place,
     .to = sizeof refused / sizeof refused[0])
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", refused[_i].name);
    ck_assert_int_eq(import_file(path, "auto", NULL, &import, &error), refused[_i].result);
    ck_assert_msg(strstr(error.reason, refused[_i].reason) != NULL, "%s: %s", path, error.reason);
    ck_assert_uint_eq(error.line, refused[_i].line);
    ck_assert_uint_eq(import.ops.count, 0);
}

/* Until 2020 reports count in what the chip keeps to itself; what a chip is listed with is without
 * it. */
TEST(what_is_reserved_is_not_taken_from_a_chip_that_is_given)
{
    struct setup fixed = {.chip = "v2"};
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(import_file(FIELD "used_2019.log", "auto", &options, &import, &error),
                     IMPORT_OK);
    assert_ops("used_2019.log", "alloc size=32M unpadded=8M tag=1\nalloc size=16M tag=2\n"
                                "alloc size=12M tag=3\nload size=8K stack=12280K tag=4\n");
    ck_assert_uint_eq(import.setup.capacity_bytes, chip_find("v2")->capacity_bytes);
}

TEST(another_capacity_is_taken_and_what_fits_there_is_said)
{
    struct replayed replayed;
    ck_assert_int_eq(import_fixed(FIELD "sections.log", "auto", UINT64_C(1) << 30), IMPORT_OK);
    ck_assert_ptr_nonnull(strstr(import.notes, "fits there"));
    replay("sections.log", &replayed);
    ck_assert_uint_eq(replayed.totals.ooms, 0);
}

#define OVER(space)                                                             \
    "Ran out of memory in memory space " space ". Used 17.00G of 16.00G " space \
    ". Exceeded " space " capacity by 1.00G.\n"

TEST(a_list_that_may_be_cut_is_said)
{
    static const char whole[] = OVER(
        "hbm") "Largest program allocations in hbm:\n\n  1. Size: 9.00G\n"
               "     Unpadded size: 9.00G\n     ==========================\n";
    static const char cut[] = OVER(
        "hbm") "Largest program allocations in hbm:\n\n  1. Size: 9.00G\n"
               "     Unpadded size: 9.00G\n     ==========================\n\n  2. Size: 4.";
    ck_assert_msg(import_bytes(whole, sizeof whole - 1, "auto") == IMPORT_OK, "%s", error.reason);
    ck_assert_ptr_null(strstr(import.notes, "no line end"));
    ck_assert_msg(import_bytes(cut, sizeof cut - 1, "auto") == IMPORT_OK, "%s", error.reason);
    ck_assert_ptr_nonnull(strstr(import.notes, "entries of the report's list are missing"));
}

/* A compiler that tries many tilings reports each that does not fit its scratchpad. */
TEST(the_first_complete_report_is_found_behind_any_number_of_others)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    for (int i = 0; i < 10000; i++) {
        fputs(OVER("vmem"), stream);
    }
    fputs(OVER("hbm"), stream);
    fclose(stream);
    ck_assert_msg(import_bytes(text, length, "auto") == IMPORT_OK, "%s", error.reason);
    ck_assert_ptr_nonnull(
        strstr(import.notes, "10001 or more reports in the log, 1 of them complete"));
    free(text);
}

TEST(the_name_of_a_memory_space_may_be_long)
{
    static const char text[] = OVER("sparsecore_scratchpad");
    ck_assert_int_eq(import_bytes(text, sizeof text - 1, "auto"), IMPORT_INCOMPLETE);
    ck_assert_ptr_nonnull(strstr(error.reason, "a memory space other than hbm"));
}

/* Where no line ends a look for the next one is a look at all that follows. */
TEST(a_log_of_one_line_takes_no_longer_than_it_is_long)
{
    enum { COUNT = 500000 };
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
    enum { COUNT = 8 << 20 };
    static const char begin[] = "Largest program allocations in hbm:\n  1. Size: 64.00M\n"
                                "     XLA label: x\n";
    char *text = malloc(sizeof begin + COUNT);
    memcpy(text, begin, sizeof begin - 1);
    memset(text + sizeof begin - 1, '\n', COUNT);
    ck_assert_int_eq(import_bytes(text, sizeof begin - 1 + COUNT, "hbm_report"), IMPORT_INCOMPLETE);
    free(text);
}

TEST(a_message_of_the_runtime_is_preferred_to_the_sections_below_it)
{
    static const char text[] =
        "Attempting to reserve 3.95G at the bottom of memory. That was not possible. There are "
        "1.92G free, 0B reserved, and "
        "1.92G reservable.\nTotal hbm usage >= 10.94G:\n    program  4.34G\nProgram hbm "
        "requirement 4.34G:\n    HLO temp 3.93G\n";
    ck_assert_int_eq(import_bytes(text, sizeof text - 1, "auto"), IMPORT_OK);
    ck_assert_str_eq(import.format->name, "tpu_message");
}

TEST(bytes_of_a_shape_are_its_dimensions_times_its_element)
{
    static const struct {
        const char *shape;
        uint64_t bytes;
    } shapes[] = {{"f32[]{:T(256)}", 4},
                  {"f32[2,8192,151936]{2,1,0:T(8,128)}", UINT64_C(2) * 8192 * 151936 * 4},
                  {"bf16[3,5]{1,0}", 30},
                  {"s8[7]", 7},
                  {"c128[2]", 32},
                  {"pred[8]", 0},
                  {"(f32[2], f32[2])", 0},
                  {"f32[2,", 0},
                  {"f32[x]", 0},
                  {"f32", 0},
                  {"f32[4294967296,4294967296]", 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        ck_assert_msg(hbm_report_parse_shape(shapes[i].shape, strlen(shapes[i].shape)).bytes ==
                          shapes[i].bytes,
                      "%s", shapes[i].shape);
    }
}

TEST(bytes_in_tiles_are_those_of_the_padded_dimensions)
{
    static const struct {
        const char *shape;
        uint64_t tiled_bytes, innermost, innermost_tiled;
    } shapes[] = {
        {"f32[512,245,256]{2,1,0:T(8,128)}", UINT64_C(512) * 248 * 256 * 4, 256, 256},
        {"s32[8388608,8,4]{2,1,0:T(8,128)}", UINT64_C(8388608) * 8 * 128 * 4, 4, 128},
        {"bf16[16,1280,40]{1,2,0:T(8,128)(2,1)}", UINT64_C(16) * 40 * 1280 * 2, 1280, 1280},
        {"bf16[16,1280,40]{2,1,0:T(8,128)(2,1)}", UINT64_C(16) * 1280 * 128 * 2, 40, 128},
        {"f32[56]{0:T(256)}", 1024, 56, 256},
        {"f32[]{:T(256)}", 1024, 1, 256},
        {"f32[8,2]{1,0}", 0, 2, 0},
        {"f32[8]{0:T(8,128)}", 0, 8, 128},
        {"f32[8,2]{1,7:T(8,128)}", 0, 2, 128},
        {"f32[8,2]{1,0:T(0,0)}", 0, 2, 0},
        {"f32[18446744073709551615]{0:T(256)}", 0, 0, 0},
        {"f32[8,2]{1,0:T(8,", 0, 2, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct hbm_report_shape shape = hbm_report_parse_shape(shapes[i].shape,
                                                                     strlen(shapes[i].shape));
        ck_assert_msg(shape.tiled_bytes == shapes[i].tiled_bytes &&
                          shape.innermost == shapes[i].innermost &&
                          shape.innermost_tiled == shapes[i].innermost_tiled,
                      "%s: %" PRIu64 " %" PRIu64 " %" PRIu64, shapes[i].shape, shape.tiled_bytes,
                      shape.innermost, shape.innermost_tiled);
    }
}

/* --- what is told without a run --- */

static const struct compile_allocation *get_allocation(size_t index)
{
    ck_assert_ptr_nonnull(import.compile_report);
    ck_assert_uint_lt(index, import.compile_report->allocation_count);
    return &import.compile_report->allocations[index];
}

TEST(an_allocation_is_told_with_all_of_its_texts)
{
    ck_assert_int_eq(import_fixed(FIELD "broken_label.log", "auto", 0), IMPORT_OK);
    ck_assert_str_eq(import.setup.system, "xla_tpu");
    ck_assert_uint_eq(import.message_line, 3);
    ck_assert_str_eq(import.message,
                     "Ran out of memory in memory space hbm. Used 140.00G of 94.75G hbm. "
                     "Exceeded hbm capacity by 45.25G.");
    ck_assert_uint_eq(import.compile_report->allocation_count, 3);
    ck_assert_uint_eq(get_allocation(0)->size.nominal, UINT64_C(36) << 30);
    ck_assert_str_eq(get_allocation(0)->op, "jit(update)/transpose(jvp(decoder))/layers/mlp/"
                                            "a_name_that_is_longer_than_sixty-three_characters/"
                                            "dot_general");
    ck_assert_str_eq(get_allocation(0)->source, "/job/train/decoder.py:207");
    ck_assert_str_eq(get_allocation(0)->label, "fusion.77");
    ck_assert_str_eq(get_allocation(0)->shape, "f32[9,32768,32768]{2,1,0:T(8,128)}");
    ck_assert_str_eq(get_allocation(0)->type, "HLO temp");
    ck_assert_str_eq(get_allocation(1)->op, "jit(update)/adam[ b1=0.9 b2=0.95 ]/mul");
    ck_assert_str_eq(get_allocation(1)->source, "stack frame 12");
}

TEST(a_row_behind_a_prefix_that_begins_with_a_parenthesis_is_read)
{
    ck_assert_int_eq(import_fixed(FIELD "vllm.log", "auto", 0), IMPORT_OK);
    const struct compile_size *numbers = import.compile_report->numbers;
    ck_assert_uint_eq(numbers[COMPILE_PROGRAM].range.nominal, 13 << 20);
    ck_assert_uint_eq(numbers[COMPILE_ARGUMENTS].range.nominal, 92 << 20);
    ck_assert_uint_eq(numbers[COMPILE_ROW_TEMP].range.nominal, 12544 << 10);
    ck_assert_uint_eq(import.compile_report->allocation_count, 2);
    ck_assert_str_eq(get_allocation(0)->source, "/app/model_runner.py:812");
}

TEST(what_stands_behind_the_temporaries_is_read)
{
    ck_assert_int_eq(import_fixed(FIELD "fragmented.log", "auto", 0), IMPORT_OK);
    const struct compile_report *report = import.compile_report;
    ck_assert_uint_eq(report->utilization.hundredths, 10000);
    ck_assert_uint_eq(report->fragmentation.hundredths, 3570);
    const struct compile_size missing = compile_report_missing(report);
    ck_assert(missing.is_said);
    ck_assert_uint_gt(report->numbers[COMPILE_FRAGMENTATION].range.low, missing.range.high);
    ck_assert_str_eq(report->remarks, "");
}

/* Sums, and sizes by the tiles of the layout. */
TEST(a_report_that_does_not_agree_with_itself_says_where)
{
    ck_assert_int_eq(import_fixed(FIELD "total_short.log", "auto", 0), IMPORT_OK);
    ck_assert_str_eq(import.compile_report->remarks,
                     "program and arguments are 20.00M less than the used bytes: the report does "
                     "not say what that is\nallocation 1 has 30.00M, but its shape in the tiles of "
                     "its layout has 15.00M");
    ck_assert_int_eq(import_fixed(FIELD "broken_label.log", "auto", 0), IMPORT_OK);
    ck_assert_str_eq(import.compile_report->remarks,
                     "the report lists 3 temporaries (HLO temp) of 72.00G; its total says 99.98G: "
                     "27.98G are not listed, of them 1003.52M fragmentation");
}

TEST(a_report_of_which_no_list_is_made_is_told)
{
    ck_assert_int_eq(import_fixed(FIELD "gpu_peak.log", "auto", 0), IMPORT_INCOMPLETE);
    ck_assert_str_eq(import.message, "Out of memory while trying to allocate 41943104 bytes.");
    ck_assert_uint_eq(import.compile_report->allocation_count, 2);
    ck_assert_str_eq(get_allocation(0)->source, "/job/f.py:9");
    ck_assert_str_eq(get_allocation(1)->shape, "f32[1024,4096]");
    ck_assert_int_eq(import_fixed(FIELD "no_beginning.log", "auto", 0), IMPORT_INCOMPLETE);
    ck_assert_ptr_nonnull(import.compile_report);
    ck_assert_int_eq(import_fixed(FIELD "vmem.log", "auto", 0), IMPORT_INCOMPLETE);
    ck_assert_ptr_null(import.compile_report);
    ck_assert_int_eq(import_fixed(FIELD "contradicts_parts.log", "auto", 0), IMPORT_INVALID);
    ck_assert_ptr_null(import.compile_report);
}

/* The guess is told, and no request fails that fits there. */
TEST(a_named_chip_that_holds_the_program_is_told_and_makes_no_failure)
{
    ck_assert_int_eq(import_fixed(FIELD "chip_named_fits.log", "auto", 0), IMPORT_INCOMPLETE);
    ck_assert_str_eq(import.compile_report->chip, "v6e");
    ck_assert_ptr_nonnull(strstr(import.assumed, "that of chip v6e"));
    ck_assert_int_eq(import_fixed(FIELD "chip_named_fits.log", "auto", UINT64_C(16) << 30),
                     IMPORT_OK);
    ck_assert_uint_eq(import.said_count, 1);
}

TEST(a_report_that_fits_the_named_chip_yields_to_a_later_one_that_does_not)
{
    static const char text[] = "Accelerator type: v6e\n"
                               "Program hbm requirement 10.00G:\n    HLO temp 9.00G\n\n"
                               "Program hbm requirement 40.00G:\n    HLO temp 39.00G\n";
    struct replayed replayed;
    ck_assert_msg(import_bytes(text, sizeof text - 1, "auto") == IMPORT_OK, "%s", error.reason);
    ck_assert_ptr_nonnull(strstr(import.notes, "2 reports in the log, 1 of them complete"));
    replay("two programs", &replayed);
    ck_assert_uint_eq(replayed.totals.justified, 1);
}

TEST(the_list_of_an_estimate_is_no_failure)
{
    ck_assert_int_eq(import_fixed(FIELD "estimate.log", "auto", 0), IMPORT_INCOMPLETE);
    const struct compile_size *numbers = import.compile_report->numbers;
    ck_assert_str_eq(import.compile_report->chip, "v5p");
    ck_assert_uint_eq(numbers[COMPILE_USED].range.nominal, UINT64_C(201) << 29);
    ck_assert_uint_eq(numbers[COMPILE_SHARED].range.nominal, UINT64_C(89) << 29);
    ck_assert_ptr_nonnull(strstr(import.assumed, "which the log names in line 1: \"v5p-16\""));
}

/* In the first the job went on after the compiler had refused a program. */
TEST(of_two_failures_that_which_ended_the_job_is_told)
{
    ck_assert_int_eq(import_fixed(FIELD "report_then_message.log", "auto", 0), IMPORT_OK);
    ck_assert_str_eq(import.format->name, "tpu_message");
    ck_assert_ptr_null(import.compile_report);
    ck_assert_int_eq(import_fixed(FIELD "message_then_report.log", "auto", 0), IMPORT_OK);
    ck_assert_str_eq(import.format->name, "tpu_message");
}

TEST(the_module_of_a_sentence_over_two_lines_is_read)
{
    ck_assert_int_eq(import_fixed(FIELD "temporaries.log", "auto", 0), IMPORT_OK);
    ck_assert_str_eq(import.compile_report->module, "jit__train_step");
    ck_assert_str_eq(import.message,
                     "Ran out of memory on HBM, the total memory required for HLO temporaries "
                     "(160.25G) exceeds available HBM (94.74G). HLO module: jit__train_step.");
}

/* --- any bytes --- */

static const char *const files[] = {"used_2019.log",
                                    "sections.log",
                                    "arguments_prefixed.log",
                                    "one_line.log",
                                    "escaped.json",
                                    "short.log",
                                    "code.log",
                                    "cores.log",
                                    "early.log",
                                    "allocation.log",
                                    "vmem.log",
                                    "gpu.log",
                                    "tail.log",
                                    "two.log",
                                    "container.json",
                                    "gpu_result.log",
                                    "vllm.log",
                                    "broken_label.log",
                                    "temporaries.log",
                                    "temporaries_short.log",
                                    "estimate.log",
                                    "gpu_peak.log",
                                    "padded.log",
                                    "chip_named.log"};
enum { FILE_COUNT = sizeof files / sizeof files[0] };

static void read_field(int index, struct text *text)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", files[index]);
    ck_assert_int_eq(text_read(path, 1 << 20, text, &error), IMPORT_OK);
}

#define ENTRY(first, noise, name)                                     \
    first "     Operator: op_name=\"" name "\"\n" noise               \
          "     Unpadded size: 16.00M\n     XLA label: %copy.1 = x\n" \
          "     Allocation type: HLO temp\n     ==========================\n\n"

/* A line of another program in an entry, or a first line that is not there, costs that entry and no
 * other. */
TEST(one_damaged_entry_does_not_end_its_list, .to = 2)
{
    static const char *const texts[] = {
        ENTRY("  2. Size: 16.00M\n", "I0101 other.cc:7] Program terminated\n", "b"),
        ENTRY("", "", "b")};
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    fprintf(
        stream,
        "Ran out of memory in memory space hbm. Used 96.00M of 64.00M hbm. Exceeded hbm capacity by "
        "32.00M.\n\n  Largest program allocations in hbm:\n\n%s%s%s",
        ENTRY("  1. Size: 16.00M\n", "", "a"), texts[_i], ENTRY("  3. Size: 16.00M\n", "", "c"));
    fclose(stream);
    ck_assert_msg(import_bytes(text, length, "auto") == IMPORT_OK, "%s", error.reason);
    ck_assert(strstr(import.notes,
                     "1 entries of the report's lists are not used: they are cut off") != NULL);
    bool has[3] = {false, false, false};
    for (int tag = 1; tag < OP_TAG_COUNT; tag++) {
        for (int i = 0; i < 3; i++) {
            has[i] = has[i] ||
                     strcmp(import.setup.tags[tag], (const char[]){(char)('a' + i), '\0'}) == 0;
        }
    }
    ck_assert(has[0] && !has[1] && has[2]);
    free(text);
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
    damage(text.bytes, text.length, (uint64_t)_i, (int)draws_count(600, 1));
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

/* The request that fails lacks what the report says exceeds the capacity, to the printed precision.
 */
static void check_replay(const char *name, const struct hbm_report *report,
                         const struct replayed *replayed)
{
    const struct compile_size *exceeded = &report->numbers[COMPILE_EXCEEDED];
    const uint64_t lacking_bytes = replayed->oom.requested_bytes - replayed->oom.free_bytes;
    ck_assert_msg(replayed->totals.ooms == 1 && replayed->totals.justified == 1,
                  "%s: %" PRIu64 " ooms", name, replayed->totals.ooms);
    ck_assert_msg(!exceeded->is_said || (lacking_bytes >= exceeded->range.low &&
                                         lacking_bytes <= exceeded->range.high),
                  "%s: lacks %" PRIu64, name, lacking_bytes);
}

/* The report that is imported, or the first: the sums of all of a file are checked. */
static unsigned survey_reports(const char *name, const struct text *text, size_t *count,
                               struct hbm_report *used)
{
    static struct hbm_report report;
    unsigned checked = 0;
    size_t offset = 0;
    bool is_found = false;
    for (*count = 0; hbm_report_next(text->bytes, text->length, &offset, &report); (*count)++) {
        checked += check_sums(name, &report);
        if (!is_found) {
            *used = report;
            is_found = hbm_report_missing(&report, false) == NULL;
        }
    }
    return checked;
}

static void print_row(const char *name, const struct text *text, size_t *imported)
{
    static struct hbm_report report;
    struct replayed replayed;
    size_t count = 0;
    const unsigned checked = survey_reports(name, text, &count, &report);
    char lacking[SIZE_TEXT_BYTES];
    if (import_bytes(text->bytes, text->length, "auto") != IMPORT_OK) {
        printf("  %-58s %zu reports, %3u sums agree; refused: %s\n", name, count, checked,
               error.reason);
        return;
    }
    replay(name, &replayed);
    (*imported)++;
    size_print_field(replayed.oom.requested_bytes - replayed.oom.free_bytes, lacking);
    printf("  %-58s %zu reports, %3u sums agree; %s, %zu ops, %s too much\n", name, count, checked,
           import.format->name, import.ops.count, lacking);
    if (strcmp(import.format->name, "hbm_report") == 0) {
        check_replay(name, &report, &replayed);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the directory, sorted; the caller frees. */
static size_t list_directory(const char *path, char *names[64])
{
    DIR *directory = opendir(path);
    size_t count = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.') {
            ck_assert_uint_lt(count, 64);
            names[count++] = strdup(entry->d_name);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    qsort(names, count, sizeof *names, compare_names);
    return count;
}

TEST(every_report_of_the_field_is_imported_or_refused_for_a_true_reason)
{
    char *names[64];
    size_t imported = 0;
    const size_t count = list_directory(DATA, names);
    if (count == 0) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        struct text text;
        snprintf(path, sizeof path, DATA "%s", names[i]);
        ck_assert_int_eq(text_read(path, 1 << 20, &text, &error), IMPORT_OK);
        print_row(names[i], &text, &imported);
        text_deinit(&text);
        free(names[i]);
    }
    printf("  %zu of %zu imported\n", imported, count);
    ck_assert_uint_eq(count, 16);
    ck_assert_uint_eq(
        imported, 10); /* the others: four without a beginning, one list alone, one of XLA:GPU */
}

/* With the chip of its name each file without a beginning is a run, too. */
TEST(files_without_a_beginning_are_imported_with_a_capacity)
{
    static const struct {
        const char *name;
        uint64_t capacity_bytes;
        uint64_t ooms;
    } cut[] = {{"hbm_excerpt_flax_issue1733_2021_11.47G.EXCERPT.txt", UINT64_C(7662) << 20, 1},
               {"hbm_excerpt_ptxla_issue3041_2021_v2_8.74G.EXCERPT.txt", UINT64_C(7662) << 20, 1},
               {"hbm_excerpt_ptxla_issue6674_2024_v3_15.45G.EXCERPT.txt", UINT64_C(15854) << 20, 0},
               {"hbm_excerpt_trax_issue1343_2021_97.92G.EXCERPT.txt", UINT64_C(15854) << 20, 1},
               {"xla_gpu_buffer_assignment_oom.EXCERPT.txt", UINT64_C(128) << 30, 1}};
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        char path[4096];
        struct replayed replayed;
        snprintf(path, sizeof path, DATA "%s", cut[i].name);
        if (access(path, R_OK) != 0) {
            printf("skipped: no %s\n", path);
            continue;
        }
        ck_assert_msg(import_fixed(path, "hbm_report", cut[i].capacity_bytes) == IMPORT_OK,
                      "%s: %s", path, error.reason);
        replay(path, &replayed);
        ck_assert_msg(replayed.totals.ooms == cut[i].ooms, "%s: %" PRIu64, path,
                      replayed.totals.ooms);
    }
}

/* One sample a line, as JSON: those of the compiler are recognised in their text. */
static void import_sample(const json_t *sample, size_t *counts)
{
    const char *kind = json_string_value(json_object_get(sample, "kind"));
    const char *said = json_string_value(json_object_get(sample, "text"));
    if (strncmp(kind, "compile_", 8) != 0) {
        return;
    }
    const enum import_result result = import_bytes(said, strlen(said), "hbm_report");
    const bool is_imported = result == IMPORT_OK;
    const bool has_run = strcmp(kind, "compile_hbm") == 0 || strcmp(kind, "compile_hbm_tc_sc") == 0;
    ck_assert_msg(is_imported == has_run && (is_imported || result == IMPORT_INCOMPLETE),
                  "%s: %s: %s", kind, said, error.reason);
    counts[is_imported ? 1 : 0]++;
    if (is_imported) {
        struct replayed replayed;
        replay(said, &replayed);
        ck_assert_uint_eq(replayed.totals.justified, 1);
    }
}

TEST(every_public_sample_of_the_compiler_is_taken)
{
    size_t counts[2] = {0};
    FILE *stream = fopen(SAMPLES, "r");
    if (stream == NULL) {
        printf("skipped: no %s\n", SAMPLES);
        return;
    }
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stream) > 0) {
        json_t *sample = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(sample);
        import_sample(sample, counts);
        json_decref(sample);
    }
    free(line);
    fclose(stream);
    printf("  samples of the compiler: %zu imported, %zu refused\n", counts[1], counts[0]);
    ck_assert_uint_gt(counts[1], 10);
}
