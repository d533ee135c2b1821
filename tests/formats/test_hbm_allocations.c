/* Our own allocations report becomes the heap that it shows, block by block, and the request of the
 * message beside it.
 */
#include "formats/common/text.h"
#include "harness/trial/trial_run.h"
#include "tests/formats/hbm_import.h"
#include "tests/helpers/suite.h"

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_allocations/"

/* Tag 254 fills what is free. */
static const char every_state[] =
    "alloc size=200192 unpadded=180019 tag=1\nload size=32K stack=100K tag=255\nload size=10K stack=0\n"
    "alloc size=22K tag=254\n"
    "alloc size=64K tag=3\nalloc size=64K tag=3\nalloc size=336K tag=254\nalloc size=512\nfree block=3\nhold block=4\n"
    "free_after block=5 delay=never\nfree block=6\nhold block=7\nexecute program=1 delay=never\n";

static const struct {
    const char *name;
    bool has_request;
} heaps[] = {{"every_state.log", true},
             {"prefixed_crlf.log", true},
             {"cut_then_whole.log", true},
             {"no_message.log", false}};

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

TEST(a_report_becomes_the_heap_that_it_shows, .to = sizeof heaps / sizeof heaps[0])
{
    char path[4096];
    char expected[2048];
    struct replayed replayed;
    snprintf(path, sizeof path, FIELD "%s", heaps[_i].name);
    snprintf(expected, sizeof expected, "%s%s", every_state,
             heaps[_i].has_request ? "alloc size=600K\n" : "");
    ck_assert_msg(import_file(path, "auto", NULL, &import, &error) == IMPORT_OK, "%s: %s", path,
                  error.reason);
    ck_assert_str_eq(import.format->name, "hbm_allocations");
    assert_ops(path, expected);
    ck_assert_uint_eq(import.setup.capacity_bytes, 1 << 20);
    ck_assert_str_eq(import.setup.tags[255], "jit_step");
    replay(path, &replayed);
    ck_assert_uint_eq(replayed.in_use_bytes, 374784);
    ck_assert_uint_eq(replayed.totals.ooms, heaps[_i].has_request ? 1 : 0);
    ck_assert_uint_eq(replayed.totals.skipped, 0);
    if (heaps[_i].has_request) {
        ck_assert_ptr_nonnull(
            strstr(replayed.message,
                   "Attempting to allocate 600.0K. That was not possible. There are 558.0K free."));
    }
}

/* Each block's address, as the report has it: said for the op that makes it, and seen in the run.
 */
struct places {
    size_t checked;
};
static void check_place(void *context, const struct run *run, const struct verdict *verdict)
{
    struct places *places = context;
    const struct observation *seen = run_observation(run);
    (void)verdict;
    for (size_t i = 0; i < import.said_count && seen->op < import.ops.count; i++) {
        if (import.said[i].op == seen->op && import.said[i].kind == SAID_ADDRESS) {
            ck_assert_uint_eq(import.said[i].value, seen->address);
            places->checked++;
        }
    }
}

TEST(each_block_is_at_its_address)
{
    static const uint64_t addresses[] = {0xcf200, 0xc7200, 0xc4a00, 0xaf200, 0x9f200, 0x4b000};
    struct places places = {0};
    const struct run_listener listener = {.context = &places, .judged = check_place};
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    ck_assert_int_eq(import_file(FIELD "every_state.log", "auto", NULL, &import, &error),
                     IMPORT_OK);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        size_t found = 0;
        for (size_t k = 0; k < import.said_count; k++) {
            found += import.said[k].kind == SAID_ADDRESS && import.said[k].value == addresses[i];
        }
        ck_assert_uint_eq(found, 1);
    }
    ck_assert(
        trial_replay(target_find("hbm"), &import.setup, &import.ops, &listener, &trial, reason));
    ck_assert_uint_ge(places.checked, 6);
    trial_deinit(&trial);
}

static const struct {
    const char *name;
    enum import_result result;
    size_t line;
    const char *reason;
} refused[] = {
    {"cut.log", IMPORT_INCOMPLETE, 1, "of its 6 blocks, only 4 are listed"},
    {"on_the_host.log", IMPORT_INCOMPLETE, 9, "on the host"},
    {"contradicts_sum.log", IMPORT_INVALID, 1,
     "the report gives 374784 bytes in use, but its blocks sum to 374272"},
    {"contradicts_state.log", IMPORT_INVALID, 3, "are held"},
    {"contradicts_limit.log", IMPORT_INVALID, 1, "do not sum to the limit"},
    {"overlap.log", IMPORT_INVALID, 10, "overlaps"},
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

/* The first blocks without the others are never taken for the heap. */
TEST(a_report_cut_anywhere_is_refused_or_whole)
{
    struct text text;
    ck_assert_int_eq(text_read(FIELD "every_state.log", 1 << 20, &text, &error), IMPORT_OK);
    for (size_t length = 0; length < text.length; length++) {
        if (import_bytes(text.bytes, length, "hbm_allocations") == IMPORT_OK) {
            ck_assert_uint_ge(import.ops.count, 14);
        }
        (void)import_bytes(text.bytes, length, "auto");
    }
    text_deinit(&text);
}

TEST(damage_at_any_byte_never_crashes)
{
    struct text text;
    ck_assert_int_eq(text_read(FIELD "every_state.log", 1 << 20, &text, &error), IMPORT_OK);
    damage(text.bytes, text.length, 7, 4000);
    text_deinit(&text);
}

/* A quarter of a million first lines, each of a report that is cut: in lines of their own, and in
 * one. */
TEST(many_cut_reports_take_no_longer_than_the_text_is_long, .to = 2)
{
    static const char *const heads[] = {"HBM allocations:\n", "HBM allocations: "};
    const size_t head_length = strlen(heads[_i]);
    const size_t count = 250000;
    char *text = malloc(count * head_length);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * head_length, heads[_i], head_length);
    }
    ck_assert_int_eq(import_bytes(text, count * head_length, "auto"), IMPORT_INCOMPLETE);
    ck_assert_uint_eq(error.line, 1);
    free(text);
}

/* Lines are counted from report to report: overlap.log, with four lines before it. */
TEST(the_lines_of_a_report_behind_cut_ones_are_those_of_the_text)
{
    struct text text;
    char *both = NULL;
    size_t length = 0;
    ck_assert_int_eq(text_read(FIELD "overlap.log", 1 << 20, &text, &error), IMPORT_OK);
    FILE *stream = open_memstream(&both, &length);
    fprintf(stream, "first\nHBM allocations: 3\nHBM allocations: HBM allocations: \n\n%s",
            text.bytes);
    fclose(stream);
    text_deinit(&text);
    ck_assert_int_eq(import_bytes(both, length, "hbm_allocations"), IMPORT_INVALID);
    ck_assert_msg(strstr(error.reason, "overlaps") != NULL, "%s", error.reason);
    ck_assert_uint_eq(error.line, 14);
    free(both);
}

/* no_message.log with other text before and behind it. */
static char *surround_log(const char *before, const char *behind, size_t *length)
{
    struct text text;
    char *all = NULL;
    ck_assert_int_eq(text_read(FIELD "no_message.log", 1 << 20, &text, &error), IMPORT_OK);
    FILE *stream = open_memstream(&all, length);
    fprintf(stream, "%s%s%s", before, text.bytes, behind);
    fclose(stream);
    text_deinit(&text);
    return all;
}

#define MESSAGE(size, free) \
    "Attempting to allocate " size ". That was not possible. There are " free " free.\n"

/* The message of the next failure stands behind the report of this one. */
TEST(the_request_is_of_the_message_with_the_free_bytes_of_the_report)
{
    size_t length = 0;
    char *text = surround_log(MESSAGE("600.0K", "558.0K"), MESSAGE("900.0K", "300.0K"), &length);
    ck_assert_int_eq(import_bytes(text, length, "hbm_allocations"), IMPORT_OK);
    ck_assert_uint_eq(import.ops.ops[import.ops.count - 1].size_bytes, 600 << 10);
    ck_assert(strstr(import.notes, "free bytes differ") == NULL);
    free(text);
    text = surround_log("", MESSAGE("900.0K", "300.0K"), &length);
    ck_assert_int_eq(import_bytes(text, length, "hbm_allocations"), IMPORT_OK);
    ck_assert(strstr(import.notes, "its free bytes differ from the report's") != NULL);
    free(text);
}

TEST(reports_that_are_not_used_are_counted)
{
    size_t length = 0;
    char *text = surround_log("HBM allocations: 6\nHBM allocations:\n", "HBM allocations: \n",
                              &length);
    ck_assert_int_eq(import_bytes(text, length, "hbm_allocations"), IMPORT_OK);
    ck_assert(strstr(import.notes, "2 reports before this one are cut off and not used") != NULL);
    ck_assert(strstr(import.notes, "1 reports after this one are not used") != NULL);
    free(text);
}

/* Tags print without what is not ASCII, a quote and a backslash; those of one name are one. */
TEST(blocks_of_one_name_share_a_tag_whatever_its_letters)
{
    static const char text[] =
        "HBM allocations: 2 blocks, 1.0K in use (1024 bytes), 0B of it padding, 0B reserved, 0B free, 1.0K limit\n"
        "  512B at 0x0: buffer, movable, tag -1 caf\xC3\xA9\\x, shape -, unpadded 512B, padding 0B, 512 bytes\n"
        "  512B at 0x200: buffer, movable, tag -1 caf\xC3\xA9\\x, shape -, unpadded 512B, padding 0B, 512 bytes\n";
    ck_assert_msg(import_bytes(text, sizeof text - 1, "hbm_allocations") == IMPORT_OK, "%s",
                  error.reason);
    ck_assert_uint_eq(import.ops.count, 2);
    ck_assert_str_eq(import.setup.tags[255], "caf___x");
    ck_assert_uint_eq(import.ops.ops[0].tag, 255);
    ck_assert_uint_eq(import.ops.ops[1].tag, 255);
}

TEST(names_beyond_the_last_tag_are_counted)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    fprintf(
        stream,
        "HBM allocations: 300 blocks, 150.0K in use (153600 bytes), 0B of it padding, 0B reserved, 0B free, "
        "150.0K limit\n");
    for (int i = 0; i < 300; i++) {
        fprintf(
            stream,
            "  512B at 0x%x: buffer, movable, tag 0 name%d, shape -, unpadded 512B, padding 0B, 512 bytes\n",
            512 * i, i);
    }
    fclose(stream);
    ck_assert_msg(import_bytes(text, length, "hbm_allocations") == IMPORT_OK, "%s", error.reason);
    ck_assert_ptr_nonnull(
        strstr(import.notes, "45 blocks have a name but get no tag, because none is left"));
    free(text);
}

TEST(a_log_may_have_long_prefixes)
{
    char *text = NULL;
    size_t length = 0;
    char prefix[901];
    memset(prefix, 'x', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    FILE *stream = open_memstream(&text, &length);
    fprintf(
        stream,
        "%s HBM allocations: 1 blocks, 512B in use (512 bytes), 0B of it padding, 0B reserved, 0B free, 512B "
        "limit\n%s   512B at 0x0: buffer, movable, tag 1 a, shape -, unpadded 512B, padding 0B, 512 bytes\n",
        prefix, prefix);
    fclose(stream);
    ck_assert_msg(import_bytes(text, length, "hbm_allocations") == IMPORT_OK, "%s", error.reason);
    free(text);
}
