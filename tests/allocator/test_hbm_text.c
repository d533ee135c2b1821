/* What libhbm prints: sizes, an error to the letter, shapes, the report; and options that it
 * refuses. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/hbm_shape.h"
#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

static struct hbm_rig rig;

TEST(sizes_print_as_the_runtime_prints_them)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0B"},
        {1023, "1023B"},
        {1024, "1.0K"},
        {4096, "4.0K"},
        {430080, "420.0K"},
        {1048575, "1024.0K"},
        {1002ll << 20, "1002.00M"},
        {(1ll << 30) - 1024, "1024.00M"},
        {554696704, "529.00M"},
        {6532939776, "6.08G"},
        {4237689856, "3.95G"},
        {-2735391744, "-2.55G"},
        {8ll << 20, "8.00M"},
        {INT64_MAX, "8.00E"},
        {INT64_MIN, "-8.00E"},
        {33014413312, "30.75G"},
        {16909332480, "15.75G"},
    };
    char text[HBM_SIZE_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_str_eq(hbm_size_print(cases[i].bytes, text, sizeof text), cases[i].text);
    }
}

TEST(sizes_print_as_far_as_there_is_room)
{
    char text[HBM_SIZE_TEXT_BYTES] = "kept";
    ck_assert_str_eq(hbm_size_print(1002ll << 20, text, 0), "kept");
    ck_assert_str_eq(hbm_size_print(1002ll << 20, text, 1), "");
    ck_assert_str_eq(hbm_size_print(1002ll << 20, text, 4), "100");
    ck_assert_str_eq(hbm_size_print(1002ll << 20, text, 9), "1002.00M");
}

TEST(an_error_has_no_coordinate_when_none_was_given)
{
    rig_init(&rig, 8, HBM_DEFRAG_NONE);
    rig.options.code_shown = true;
    rig_create(&rig);
    struct hbm_buffer *first = rig_buffer(&rig, 2);
    rig_buffer(&rig, 4);
    hbm_free(rig.hbm, first);
    ck_assert_int_eq(rig_try(&rig, 3), HBM_NO_MEMORY);
    snap(hbm_error(rig.hbm));
    rig_stop(&rig);
}

TEST(options_that_cannot_be_are_refused)
{
    rig_init(&rig, 16, HBM_DEFRAG_REPACK);
    struct hbm_services services = hbm_device_services(&rig.device);
    struct hbm *hbm = NULL;
    struct hbm_options wrong = rig.options;
    wrong.capacity_bytes = 513;
    ck_assert_int_eq(hbm_create(&services, &wrong, &hbm), HBM_INVALID);
    wrong = rig.options;
    wrong.granule_bytes = 768;
    ck_assert_int_eq(hbm_create(&services, &wrong, &hbm), HBM_INVALID);
    wrong = rig.options;
    wrong.order[1] = HBM_DRAIN;
    ck_assert_int_eq(hbm_create(&services, &wrong, &hbm), HBM_INVALID);
    wrong = rig.options;
    wrong.chip = HBM_CHIP_V4;
    ck_assert_int_eq(hbm_create(&services, &wrong, &hbm), HBM_INVALID);
    ck_assert_ptr_null(hbm);
    for (uint64_t refused = 1; refused <= 12; refused++) {
        rig.device.host_allocs_until_refusal = refused;
        if (hbm_create(&services, &rig.options, &hbm) == HBM_OK) {
            hbm_destroy(hbm);
            ck_assert_uint_gt(refused, 4);
        }
        ck_assert_uint_eq(rig.device.host_bytes, 0);
    }
    rig.device.host_allocs_until_refusal = 0;
    for (int chip = 1; chip < HBM_CHIP_COUNT; chip++) {
        struct hbm_options options;
        hbm_options_init(&options);
        options.chip = (enum hbm_chip)chip;
        ck_assert_int_eq(hbm_create(&services, &options, &hbm), HBM_OK);
        ck_assert_ptr_eq(hbm_chip_find(hbm_chip_describe(options.chip)->name),
                         hbm_chip_describe(options.chip));
        hbm_destroy(hbm);
    }
    hbm_device_deinit(&rig.device);
}

/* ---- shapes ---- */

static uint64_t compute_padded_bytes(const char *text)
{
    struct hbm_shape shape;
    uint64_t bytes = 0;
    char printed[HBM_SHAPE_TEXT_BYTES];
    ck_assert_int_eq(hbm_shape_parse(text, &shape, NULL), HBM_SHAPE_OK);
    ck_assert_str_eq(hbm_shape_print(&shape, printed, sizeof printed), text);
    ck_assert_int_eq(hbm_shape_padded_bytes(&shape, &bytes), HBM_SHAPE_OK);
    return bytes;
}

TEST(shapes_pad_to_tiles)
{
    ck_assert_uint_eq(compute_padded_bytes("f32[512,245,256]{2,1,0:T(8,128)}"), 130023424);
    ck_assert_uint_eq(compute_padded_bytes("s32[8388608,8,4]{2,1,0:T(8,128)}"), 34359738368);
    ck_assert_uint_eq(compute_padded_bytes("bf16[16,1280,40]{1,2,0:T(8,128)}"), 1638400);
    ck_assert_uint_eq(compute_padded_bytes("f32[56]{0:T(256)}"), 1024);
    ck_assert_uint_eq(compute_padded_bytes("f32[]{:T(256)}"), 1024);
    ck_assert_uint_eq(compute_padded_bytes("f32[]"), 4);
    ck_assert_uint_eq(compute_padded_bytes("pred[8,128]{1,0:T(8,128)}"), 4096);
    ck_assert_uint_eq(compute_padded_bytes("s4[3]{0}"), 2);
    ck_assert_uint_eq(compute_padded_bytes("f32[0,7]{1,0}"), 0);
    ck_assert_uint_eq(compute_padded_bytes("f32[8,128,1,1]{3,2,1,0:T(8,128)}"), 8 * 128 * 1024 * 4);
}

TEST(default_tiles_follow_the_second_minor_dimension)
{
    static const struct {
        uint64_t second;
        uint32_t tile;
    } cases[] = {{1, 2}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {99, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hbm_shape shape;
        hbm_shape_init(&shape, HBM_F32, (uint64_t[]){7, cases[i].second, 3}, 3);
        ck_assert_uint_eq(shape.tile[0], cases[i].tile);
    }
}

TEST(text_that_is_no_shape_is_refused_at_its_first_wrong_byte)
{
    static const struct {
        const char *text;
        enum hbm_shape_result result;
        size_t offset;
    } cases[] = {
        {"", HBM_SHAPE_SYNTAX, 0},
        {"f33[1]", HBM_SHAPE_SYNTAX, 0},
        {"f32", HBM_SHAPE_SYNTAX, 3},
        {"f32[1,]", HBM_SHAPE_SYNTAX, 6},
        {"f32[1", HBM_SHAPE_SYNTAX, 5},
        {"f32[2]{1}", HBM_SHAPE_SYNTAX, 8},
        {"f32[2,2]{0,0}", HBM_SHAPE_SYNTAX, 12},
        {"f32[2,2]{0 1}", HBM_SHAPE_SYNTAX, 10},
        {"f32[2]{0:T(0)}", HBM_SHAPE_SYNTAX, 13},
        {"f32[2] ", HBM_SHAPE_SYNTAX, 6},
        {"f32[99999999999999999999]", HBM_SHAPE_OVERFLOW, 23},
        {"f32[1,1,1,1,1,1,1,1,1]", HBM_SHAPE_LIMIT, 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hbm_shape shape;
        size_t offset = 0;
        ck_assert_int_eq(hbm_shape_parse(cases[i].text, &shape, &offset), cases[i].result);
        ck_assert_msg(offset == cases[i].offset, "%s: %zu", cases[i].text, offset);
    }
    struct hbm_shape huge;
    uint64_t bytes = 5;
    ck_assert_int_eq(hbm_shape_parse("f32[4294967296,4294967296]", &huge, NULL), HBM_SHAPE_OK);
    ck_assert_int_eq(hbm_shape_padded_bytes(&huge, &bytes), HBM_SHAPE_OVERFLOW);
    ck_assert_uint_eq(bytes, 5);
    /* As many elements as 64 bits can count, of one byte each. */
    ck_assert_int_eq(hbm_shape_parse("u8[4294967296,4294967295]", &huge, NULL), HBM_SHAPE_OK);
    ck_assert_int_eq(hbm_shape_padded_bytes(&huge, &bytes), HBM_SHAPE_OVERFLOW);
    ck_assert_uint_eq(bytes, 5);
}

/* Reads "key": [1, 2] or "key": "text" out of one line of JSON. */
static const char *find_field(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *found = strstr(line, quoted);
    ck_assert_ptr_nonnull(found);
    return found + strlen(quoted);
}

static void list_copy(char *to, const char *from)
{
    for (from++; *from != ']'; from++) {
        if (*from != ' ') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static void vector_check(const char *line)
{
    char type[16] = "", dims[128], order[64], tile[64], text[300];
    struct hbm_shape shape;
    uint64_t bytes;
    sscanf(find_field(line, "dtype"), "\"%15[a-z0-9]\"", type);
    list_copy(dims, find_field(line, "dims"));
    list_copy(order, find_field(line, "minor_to_major"));
    list_copy(tile, find_field(line, "tile"));
    snprintf(text, sizeof text, "%s[%s]{%s:T(%s)}", type, dims, order, tile);
    ck_assert_int_eq(hbm_shape_parse(text, &shape, NULL), HBM_SHAPE_OK);
    ck_assert_int_eq(hbm_shape_padded_bytes(&shape, &bytes), HBM_SHAPE_OK);
    ck_assert_uint_eq(bytes, strtoull(find_field(line, "padded_bytes"), NULL, 10));
    ck_assert_int_eq(hbm_shape_unpadded_bytes(&shape, &bytes), HBM_SHAPE_OK);
    ck_assert_uint_eq(bytes, strtoull(find_field(line, "unpadded_bytes"), NULL, 10));
}

TEST(published_padded_sizes_hold)
{
    char path[4096], line[4096];
    const char *folder = getenv("HBMSTRESS_FACTS_DIR");
#ifdef HBMSTRESS_FACTS_DIR
    if (folder == NULL) {
        folder = HBMSTRESS_FACTS_DIR;
    }
#endif
    FILE *file = NULL;
    if (folder != NULL) {
        snprintf(path, sizeof path, "%s/tpu_padding_vectors.jsonl", folder);
        file = fopen(path, "r");
    }
    if (file == NULL) {
        puts("skipped: HBMSTRESS_FACTS_DIR names no folder with tpu_padding_vectors.jsonl");
        return;
    }
    int count = 0;
    for (; fgets(line, sizeof line, file) != NULL; count++) {
        vector_check(line);
    }
    fclose(file);
    ck_assert_int_gt(count, 0);
}

/* ---- report ---- */

struct totals {
    uint64_t bytes, count, last_bytes;
    char lines[4096];
};

static void total_add(void *context, const struct hbm_report_entry *entry)
{
    struct totals *totals = context;
    ck_assert_uint_le(entry->size_bytes, totals->last_bytes);
    totals->last_bytes = entry->size_bytes;
    totals->bytes += entry->size_bytes;
    totals->count++;
}

static void line_keep(void *context, const char *text)
{
    struct totals *totals = context;
    const size_t used = strlen(totals->lines);
    const int length = snprintf(totals->lines + used, sizeof totals->lines - used, "%s\n", text);
    ck_assert_uint_lt(used + (size_t)length, sizeof totals->lines);
}

/* A block in each state, two of one size, and what is reserved for a program that executes. */
TEST(report_says_of_each_block_where_and_what_it_is)
{
    static struct totals totals;
    rig_start(&rig, 64, HBM_DEFRAG_NONE);
    (void)rig_buffer(&rig, 2);
    (void)rig_buffer(&rig, 2);
    ck_assert_int_eq(hbm_hold(rig.hbm, rig_buffer(&rig, 3)), HBM_OK);
    (void)rig_program(&rig, 1, 4, 2);
    ck_assert_int_eq(hbm_execute(rig.hbm, rig_program(&rig, 2, 5, 6), 2), HBM_OK);
    ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 7), 1), HBM_OK);
    ck_assert_int_eq(hbm_retire(rig.hbm, 8 * RIG_GRANULE, RIG_GRANULE), HBM_OK);
    hbm_report_print(rig.hbm, &(struct hbm_sink){line_keep, &totals});
    snap(totals.lines);
    static const uint64_t sums[HBM_STATE_COUNT] = {2048, 1536, 3584, 2048, 2560, 512};
    uint64_t bytes[HBM_STATE_COUNT];
    rig.device.host_allocs_until_refusal = 1; /* of none: the sums need no memory */
    hbm_report_sum(rig.hbm, bytes);
    ck_assert_mem_eq(bytes, sums, sizeof sums);
    /* Without memory to sort them in they come in the order of their addresses. */
    totals.lines[0] = '\0';
    rig.device.host_allocs_until_refusal = 1;
    hbm_report_print(rig.hbm, &(struct hbm_sink){line_keep, &totals});
    snap(totals.lines);
    rig_stop(&rig);
}

TEST(report_lists_each_block_once_largest_first_and_agrees_with_counters)
{
    static struct totals totals = {.last_bytes = UINT64_MAX};
    struct hbm_shape shape;
    struct hbm_buffer *buffer;
    rig_init(&rig, 64, HBM_DEFRAG_REPACK);
    rig.options.log_allocations_on_oom = true;
    rig.options.sink = (struct hbm_sink){line_keep, &totals};
    rig_create(&rig);
    hbm_shape_init(&shape, HBM_F32, (uint64_t[]){3, 100}, 2);
    struct hbm_request request = {.size_bytes = 2048,
                                  .unpadded_bytes = 1200,
                                  .shape = &shape,
                                  .tag = 7,
                                  .tag_name = "weights"};
    ck_assert_int_eq(hbm_allocate(rig.hbm, &request, &buffer), HBM_OK);
    ck_assert_int_eq(hbm_hold(rig.hbm, buffer), HBM_OK);
    rig_program(&rig, 3, 5, 0);
    ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 9), 1), HBM_OK);
    rig.device.lost[1] = true;
    ck_assert_int_eq(hbm_report_visit(rig.hbm, total_add, &totals), HBM_OK);
    struct hbm_stats stats = rig_stats(&rig);
    ck_assert_uint_eq(totals.bytes, stats.bytes_in_use);
    ck_assert_uint_eq(totals.count, stats.num_allocs);
    ck_assert_int_eq(rig_try(&rig, 62), HBM_NO_MEMORY);
    snap(totals.lines);
    rig_stop(&rig);
}

static void note_unpadded(void *context, const struct hbm_report_entry *entry)
{
    uint64_t *found = context;
    ck_assert_uint_eq(entry->padding_bytes, entry->unpadded_bytes < entry->size_bytes
                                                ? entry->size_bytes - entry->unpadded_bytes
                                                : 0);
    ck_assert_ptr_null(entry->tag_name);
    ck_assert_ptr_null(entry->shape);
    ck_assert_int_eq(entry->tag, 0);
    *found = entry->unpadded_bytes;
}

/* Whether a plain block has a description of its own depends on how much of it is padding. */
TEST(report_has_the_unpadded_bytes_that_were_asked_for)
{
    const uint64_t size_bytes = 1000 * RIG_GRANULE;
    const uint64_t asked[] = {
        0, 1, size_bytes - 65536, size_bytes - 65535, size_bytes, size_bytes + 1, UINT64_MAX};
    rig_start(&rig, 1000, HBM_DEFRAG_NONE);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const struct hbm_request request = {.size_bytes = size_bytes - 1,
                                            .unpadded_bytes = asked[i]};
        struct hbm_buffer *buffer;
        uint64_t found = 0;
        ck_assert_int_eq(hbm_allocate(rig.hbm, &request, &buffer), HBM_OK);
        ck_assert_int_eq(hbm_report_visit(rig.hbm, note_unpadded, &found), HBM_OK);
        ck_assert_uint_eq(found, asked[i] != 0 ? asked[i] : size_bytes - 1);
        hbm_free(rig.hbm, buffer);
    }
    rig_stop(&rig);
}
