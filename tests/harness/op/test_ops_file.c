/* Text to ops to text is the identity.  What is wrong is named with its line and column in
 * tests/snap/bad_lists.snap. */
#include "harness/base/random.h"
#include "harness/base/size.h"
#include "harness/op/fit.h"
#include "harness/op/ops_file.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An op with every field that its kind has drawn, and no other. */
static struct op draw_op(struct random *random, uint32_t number)
{
    struct op op = op_make((enum op_kind)random_below(random, OP_KIND_COUNT));
    const struct op_kind_info *info = op_kind_info(op.kind);
    op.lane = (uint8_t)random_below(random, 3);
    op.host = (uint8_t)random_below(random, 4);
    if ((info->has_block || info->has_program) && number > 0) {
        op.ref = random_chance(random, 1, 4) ? OP_NONE : (uint32_t)random_below(random, number);
    }
    if (info->has_event && number > 0 && (info->event_required || random_chance(random, 1, 2))) {
        op.event = (uint32_t)random_below(random, number);
    }
    op.tag = info->has_tag ? (uint8_t)random_below(random, 5) : 0;
    if (op.kind == OP_FAULT) {
        op.tag = (uint8_t)random_below(random, FAULT_KIND_COUNT);
    }
    const bool has_delay = info->has_delay && op.event == OP_NONE &&
                           (op.kind != OP_FAULT || fault_info((enum fault_kind)op.tag)->has_delay);
    if (has_delay || info->has_stack || info->has_unpadded || info->has_address) {
        op.delay_ns = random_chance(random, 1, 8) && info->has_delay
                          ? DELAY_NEVER
                          : random_bits(random) >> random_below(random, 64);
    }
    op.size_bytes = info->has_size ? random_bits(random) >> random_below(random, 64) : 0;
    if (info->can_be_fitted && random_chance(random, 1, 4)) {
        const struct fit fit = fit_unpack(random_bits(random));
        op.flags |= OP_FITTED;
        op.size_bytes = fit_pack(&fit);
    }
    op.size_bytes = op.kind == OP_FAULT ? op.size_bytes % UINT32_MAX : op.size_bytes;
    op.align_log2 = info->has_align ? (uint8_t)random_below(random, OP_ALIGN_LOG2_MAX + 1) : 0;
    if (random_chance(random, 1, 5)) {
        op.flags |= op.kind == OP_EXECUTE ? OP_COLLECTIVE | OP_SPMD : OP_SPMD;
        op.group = (uint16_t)random_below(random, 100);
    }
    if (info->can_be_refused && random_chance(random, 1, 6)) {
        op.flags |= OP_RETRY;
    }
    if (random_chance(random, 1, 3)) {
        op.flags |= op.kind == OP_FAULT ? OP_FOR_EVER : op.kind == OP_RETIRE ? OP_RELATIVE : 0;
    }
    return op;
}

EVERY_TEST(.teardown = snap_rest);

TEST(text_to_ops_to_text_is_the_identity, .to = 5)
{
    struct random random;
    struct setup setup, again_setup;
    struct op_list list, again_list;
    random_init(&random, (uint64_t)_i);
    setup_init(&setup);
    setup.host_count = 4;
    setup.capacity_bytes = 64 << 20;
    setup.granule_bytes = 1024;
    setup.coordinate[2] = 1;
    setup.seed = UINT64_MAX;
    setup.has_rounding = _i % 2 == 1;
    setup.rounding = (struct target_rounding){ROUNDING_CLASSES, 8, 4096, 512};
    setup.reported = (struct setup_reported){_i % 3 > 0,           1, 2, 3, UINT64_C(1) << 62,
                                             _i % 3 == 2 ? 512 : 0};
    setup_set_option(&setup, "defrag", "slide");
    setup_set_tag(&setup, 3, "params/w0 f32[8,128]");
    op_list_init(&list);
    for (uint32_t i = 0; i < 2000; i++) {
        const struct op op = draw_op(&random, i);
        op_list_append(&list, &op);
    }
    char *text = list_text(&setup, &list, "a comment\nof two lines");
    read_list(text, &again_setup, &again_list);
    ck_assert_uint_eq(again_list.count, list.count);
    ck_assert(again_setup.has_rounding == setup.has_rounding);
    ck_assert_uint_eq(again_setup.rounding.smallest_bytes, setup.has_rounding ? 4096 : 0);
    for (size_t i = 0; i < list.count; i++) {
        ck_assert(op_equal(&list.ops[i], &again_list.ops[i]));
    }
    char *again = list_text(&again_setup, &again_list, "a comment\nof two lines");
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    op_list_deinit(&list);
    op_list_deinit(&again_list);
}

TEST(a_field_of_a_message_is_rounded_as_printf_rounds)
{
    static const char units[] = "KMGTPE";
    struct random random;
    random_init(&random, 5);
    for (uint32_t i = 0; i < 400000; i++) {
        uint64_t size = i < 200000
                            ? 1024 + i
                            : 1024 + (random_bits(&random) >> (11 + random_below(&random, 50)));
        char text[SIZE_TEXT_BYTES];
        char printed[SIZE_TEXT_BYTES];
        size_print_field(size, text);
        int unit = 0;
        for (; size >= 1024 * 1024; unit++) {
            size /= 1024;
        }
        (void)snprintf(printed, sizeof printed, unit == 0 ? "%.1f%c" : "%.2f%c",
                       (double)size / 1024.0, units[unit]);
        ck_assert_str_eq(text, printed);
    }
}

TEST(a_fault_strikes_the_next_call_and_takes_a_while_unless_it_says_otherwise)
{
    struct setup setup;
    struct op_list list;
    read_list("0: fault call=copy\n1: fault call=clock_jump\n"
              "2: fault for_ever=yes delay=5ms call=unload_busy nth=0\n"
              "3: retire address=64K size=4K\n",
              &setup, &list);
    for (const struct op *op = list.ops; op < list.ops + list.count; op++) {
        show("%s ", op->kind == OP_FAULT ? fault_info((enum fault_kind)op->tag)->name : "retire");
        SHOW(op->size_bytes, op->delay_ns, op->flags == OP_FOR_EVER, op->flags == 0, op->address);
    }
    op_list_deinit(&list);
}

static const struct {
    const char *target;
    bool can_be_named;
} named_targets[] = {
    {"hbm", true},
    {"./mine.so", true},
    {"/a folder/of mine.so", true},
    {"my allocator.so", true},
    {"/a  b/it's \"$x\".so", true},
    {"two words", false},
    {" /a.so", false},
    {"/a.so ", false},
    {"/a\tb.so", false},
    {"/a\nb.so", false},
    {"/a\x7F.so", false},
    {"", false},
};

TEST(a_target_that_can_be_named_comes_back, .to = sizeof named_targets / sizeof named_targets[0])
{
    struct setup setup, again;
    struct op_list list;
    struct ops_file_error error;
    setup_init(&setup);
    op_list_init(&list);
    (void)snprintf(setup.target, sizeof setup.target, "%s", named_targets[_i].target);
    char *text = list_text(&setup, &list, NULL);
    const bool is_same = ops_file_parse(text, strlen(text), &again, &list, &error) == OPS_FILE_OK &&
                         strcmp(again.target, named_targets[_i].target) == 0;
    ck_assert_int_eq(is_same, named_targets[_i].can_be_named);
    ck_assert_int_eq(ops_file_can_name(named_targets[_i].target), named_targets[_i].can_be_named);
    free(text);
    op_list_deinit(&list);
}

TEST(a_path_too_long_for_a_list_cannot_be_named)
{
    char path[SETUP_VALUE_BYTES + 1];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[SETUP_VALUE_BYTES] = '\0';
    ck_assert(!ops_file_can_name(path));
    path[SETUP_VALUE_BYTES - 1] = '\0';
    ck_assert(ops_file_can_name(path));
}

TEST(options_and_tags_come_once_each)
{
    struct setup setup;
    struct op_list list;
    read_list("option a=1\ntag 3 \"x\"\noption b=1\ntag 4 \"x\"\n", &setup, &list);
    ck_assert_uint_eq(setup.option_count, 2);
    ck_assert_str_eq(setup.tags[4], "x");
}

/* By number: of what has none any more the op is not to act at all. */
TEST(a_removed_op_redirects_no_other)
{
    static const bool keep[] = {true, true, false, true, true};
    struct setup setup;
    struct op_list list;
    read_list("hbmstress-ops 1\r\n# by hand\r\n10: alloc size=4K\r\n\r\n20: free block=10\r\n",
              &setup, &list);
    show_ops(&list);
    op_list_deinit(&list);
    read_list("0: alloc size=1K\n1: alloc size=2K\n2: use block=0 delay=1s\n"
              "3: free_after block=1 event=2\n4: free block=0\n",
              &setup, &list);
    op_list_filter(&list, keep);
    show_ops(&list);
    op_list_deinit(&list);
}

TEST(a_file_appears_whole_or_not_at_all)
{
    struct setup setup;
    struct op_list list;
    struct ops_file_error error;
    setup_init(&setup);
    op_list_init(&list);
    ck_assert_int_eq(ops_file_write("/nonexistent/x.ops", &setup, &list, NULL, &error),
                     OPS_FILE_UNWRITABLE);
    ck_assert_ptr_nonnull(strstr(error.reason, "/nonexistent/x.ops"));
    ck_assert_int_eq(ops_file_read("/", &setup, &list, &error), OPS_FILE_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(error.reason, "directory"));
    op_list_deinit(&list);
}

/* A text that is read in several parts, one line of which is longer than a part; the numbers of its
 * ops have a gap. */
enum { LONG_COMMENT_BYTES = 3 << 20, LONG_OP_COUNT = 60000 };

static void write_long_list(const char *path, const char *last)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "hbmstress-ops 1\nseed 5\n# ");
    for (int i = 0; i < LONG_COMMENT_BYTES; i++) {
        fputc('x', file);
    }
    fprintf(file, "\n");
    for (int i = 0; i < LONG_OP_COUNT; i++) {
        const int number = i < LONG_OP_COUNT / 2 ? i : 2 * i;
        fprintf(file, i % 2 == 0 ? "%d: alloc size=%dK\n" : "%d: free block=%d\n", number,
                i % 2 == 0              ? i + 1
                : i < LONG_OP_COUNT / 2 ? i - 1
                                        : 2 * (i - 1));
    }
    fprintf(file, "%s", last);
    ck_assert_int_eq(fclose(file), 0);
}

TEST(a_long_file_is_read_as_one_text, .to = 4)
{
    static const struct {
        const char *last;
        enum ops_file_result result;
        size_t column;
    } rows[] = {{"", OPS_FILE_OK, 0},
                {"900000: alloc size=0x\n", OPS_FILE_INVALID, 20},
                {"900000: alloc size=1K", OPS_FILE_INVALID, 22},
                {"7: alloc size=1K\n", OPS_FILE_INVALID, 1}};
    char path[SCRATCH_PATH_BYTES];
    struct setup setup;
    struct op_list list;
    struct ops_file_error error;
    scratch_name(path, "long_list");
    const int made = mkstemp(path);
    ck_assert_int_ge(made, 0);
    close(made);
    op_list_init(&list);
    write_long_list(path, rows[_i].last);
    ck_assert_int_eq(ops_file_read(path, &setup, &list, &error), rows[_i].result);
    ck_assert_uint_eq(error.line, rows[_i].column == 0 ? 0 : 4 + LONG_OP_COUNT);
    ck_assert_uint_eq(error.column, rows[_i].column);
    ck_assert_uint_eq(setup.seed, 5);
    ck_assert_uint_eq(list.count, LONG_OP_COUNT);
    for (uint32_t i = 0; i < LONG_OP_COUNT; i += 2) {
        ck_assert_uint_eq(list.ops[i].size_bytes, (uint64_t)(i + 1) << 10);
        ck_assert_uint_eq(list.ops[i + 1].ref, i);
    }
    op_list_deinit(&list);
    unlink(path);
}

TEST(sizes_print_as_the_runtime_prints_them)
{
    static const uint64_t samples[] = {0,          1023,      1024,       1048575,
                                       1050673152, 554696704, 6532939776, 4237689856};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        show("%s\n", size_text_of(samples[i]).text);
    }
}
