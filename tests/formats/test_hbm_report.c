/* Reports of a program that needs more than its device has: long, cut, damaged, and of the field.
 * What ours become is in tests/snap/formats_hbm_report.snap. */
#include "formats/common/text.h"
#include "formats/xla/private/hbm_report.h"
#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_report/"
#define DATA HBMSTRESS_FIELD_DATA "/data/tpu_oom/"
#define SAMPLES HBMSTRESS_FIELD_DATA "/facts/tpu_oom_samples.jsonl"

static enum import_result import_fixed(const char *path, const char *format,
                                       uint64_t capacity_bytes)
{
    struct setup fixed = {.capacity_bytes = capacity_bytes};
    const struct import_options options = {.fixed = &fixed};
    refusal = (struct import_error){0};
    return import_file(path, format, &options, &import, &refusal);
}

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

/* What the last op of a replay came to. */
struct replayed {
    struct run_totals totals;
    struct verdict oom; /* the last out-of-memory */
    uint32_t result;    /* of the last op, enum target_result */
    uint64_t in_use_bytes;
    size_t op_count;
    char message[OBSERVATION_MESSAGE_BYTES];
};

static void note_op(void *context, const struct run *run, const struct verdict *verdict)
{
    struct replayed *replayed = context;
    const struct observation *seen = run_observation(run);
    if (seen->op >= replayed->op_count) {
        return; /* the end of the run, which frees everything */
    }
    replayed->result = seen->result;
    replayed->in_use_bytes = seen->bytes_in_use;
    if (verdict->kind != VERDICT_NONE) {
        replayed->oom = *verdict;
        snprintf(replayed->message, sizeof replayed->message, "%s", run_message(run));
    }
}

/* Runs the ops; every promise must be kept. */
static void replay_noting(const char *name, struct replayed *replayed)
{
    const struct run_listener listener = {.context = replayed, .judged = note_op};
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    *replayed = (struct replayed){.op_count = import.ops.count};
    ck_assert_msg(
        trial_replay(target_find("hbm"), &import.setup, &import.ops, &listener, &trial, reason),
        "%s: %s", name, reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", name, trial.first.reason);
    replayed->totals = trial.totals;
    trial_deinit(&trial);
}

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
               refusal.reason);
        return;
    }
    replay_noting(name, &replayed);
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
        ck_assert_int_eq(text_read(path, 1 << 20, &text, &refusal), IMPORT_OK);
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
                      "%s: %s", path, refusal.reason);
        replay_noting(path, &replayed);
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
                  "%s: %s: %s", kind, said, refusal.reason);
    counts[is_imported ? 1 : 0]++;
    if (is_imported) {
        struct replayed replayed;
        replay_noting(said, &replayed);
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
