/* Memory events of a profile, one by one, cut and damaged, and a real profile event by event.  What
 * our files become is in tests/snap/formats_xplane.snap. */
#include "formats/common/csv.h"
#include "formats/common/text.h"
#include "tests/formats/profile_imports.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/xplane/"
#define DATA HBMSTRESS_FIELD_DATA "/data/xla_profiler/"

EVERY_TEST(.timeout_s = 300, .setup = profile_setup, .teardown = profile_teardown);

TEST(every_cut_is_said)
{
    profile_assert_cuts_are_said(FIELD "small.xplane.pb", "xplane", 20);
}

TEST(damage_is_survived)
{
    profile_assert_damage_is_survived(FIELD "small.xplane.pb", "xplane", 2000);
    profile_assert_damage_is_survived(FIELD "devices.xplane.pb", "xplane", 2000);
}

/* --- single events --- */

/* A space of one plane and one line, written as it is read. */
struct writer {
    char bytes[65536];
    size_t length;
};

static void put_number(struct writer *to, uint64_t number)
{
    for (; number > 127; number >>= 7) {
        to->bytes[to->length++] = (char)(number | 128);
    }
    to->bytes[to->length++] = (char)number;
}

static void put_field(struct writer *to, uint64_t field, uint64_t number)
{
    put_number(to, field << 3);
    put_number(to, number);
}

static void put_bytes(struct writer *to, uint64_t field, const char *bytes, size_t length)
{
    put_number(to, field << 3 | 2);
    put_number(to, length);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static const char *const stat_names[] = {
    "addr",  "allocation_bytes", "requested_bytes", "bytes_allocated", "allocator_name",
    "tf_op", "bytes_available"};
enum { ADDR, SIZE, REQUESTED, IN_USE, ALLOCATOR, TF_OP, AVAILABLE, STAT_COUNT, ABSENT = -1 };

/* values[stat], or ABSENT; of the allocator: which; of the op and of what is available: 0 = ABSENT.
 */
static void put_event(struct writer *line, bool is_allocation, int64_t time_ps,
                      const int64_t *values)
{
    struct writer event = {.length = 0};
    put_field(&event, 1, is_allocation ? 1 : 2);
    put_field(&event, 2, (uint64_t)time_ps);
    for (int i = 0; i < STAT_COUNT; i++) {
        struct writer stat = {.length = 0};
        char name[16];
        snprintf(name, sizeof name, "A%" PRId64, values[i]);
        put_field(&stat, 1, (uint64_t)i + 1);
        if (i == ALLOCATOR || i == TF_OP) {
            put_bytes(&stat, 5, name, strlen(name));
        } else {
            put_field(&stat, 4, (uint64_t)values[i]);
        }
        if (values[i] != ABSENT && (i < TF_OP || values[i] != 0)) {
            put_bytes(&event, 4, stat.bytes, stat.length);
        }
    }
    put_bytes(line, 4, event.bytes, event.length);
}

static void put_name(struct writer *plane, uint64_t field, uint64_t id, const char *name)
{
    struct writer metadata = {.length = 0};
    struct writer entry = {.length = 0};
    put_bytes(&metadata, 2, name, strlen(name));
    put_field(&entry, 1, id);
    put_bytes(&entry, 2, metadata.bytes, metadata.length);
    put_bytes(plane, field, entry.bytes, entry.length);
}

static enum import_result import_line(const struct writer *line)
{
    static struct writer plane, space;
    plane.length = space.length = 0;
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_bytes(&plane, 3, line->bytes, line->length);
    put_name(&plane, 4, 1, "MemoryAllocation");
    put_name(&plane, 4, 2, "MemoryDeallocation");
    for (int i = 0; i < STAT_COUNT; i++) {
        put_name(&plane, 5, (uint64_t)i + 1, stat_names[i]);
    }
    put_bytes(&space, 1, plane.bytes, plane.length);
    return import_text(space.bytes, space.length, "auto", NULL, &profile_import, &profile_error);
}

/* Events of one allocator in order of time, +: allocation: {addr, size, requested, in use}. */
struct step {
    bool is_allocation;
    int64_t addr, size, requested, in_use;
};
enum { STEP_COUNT_MAX = 4 };

static enum import_result import_steps(const struct step steps[STEP_COUNT_MAX])
{
    struct writer line = {.length = 0};
    for (int i = 0; i < STEP_COUNT_MAX && (steps[i].is_allocation || steps[i].addr != 0); i++) {
        const int64_t values[STAT_COUNT] = {steps[i].addr, steps[i].size, steps[i].requested,
                                            steps[i].in_use, 0};
        put_event(&line, steps[i].is_allocation, i, values);
    }
    return import_line(&line);
}

static const struct {
    struct step steps[STEP_COUNT_MAX];
    const char *reason; /* part of it */
} bad_steps[] = {
    {{{true, ABSENT, 8, 8, ABSENT}}, "has no 'addr'"},
    {{{true, 1, ABSENT, ABSENT, ABSENT}}, "has neither 'allocation_bytes' nor 'requested_bytes'"},
    {{{true, 1, 8, 9, ABSENT}}, "requested_bytes is 9, more than allocation_bytes, 8"},
    {{{true, 1, -8, ABSENT, ABSENT}},
     "allocation_bytes of a memory event is not a number of 0 or more"},
    {{{true, 1, (INT64_C(1) << 50) + 1, ABSENT, ABSENT}}, "more than 2^50"},
    {{{true, 1, INT64_C(1) << 50, ABSENT, ABSENT}, {true, 2, 8, ABSENT, ABSENT}}, "more than 2^50"},
    {{{true, 1, 8, ABSENT, ABSENT}, {true, 1, 8, ABSENT, ABSENT}},
     "address 1 is allocated, but the block there is live"},
    {{{true, 1, 8, ABSENT, ABSENT}, {false, 1, 9, ABSENT, ABSENT}},
     "freed with 9 bytes, but was allocated with 8"},
    {{{true, 1, 8, ABSENT, ABSENT}, {false, 1, 8, ABSENT, ABSENT}, {false, 1, 8, ABSENT, ABSENT}},
     "a second time"},
    {{{true, 1, 8, ABSENT, 7}}, "bytes_allocated is 7, below the bytes of the live blocks, 8"},
    {{{true, 1, 8, ABSENT, 8}, {true, 2, 8, ABSENT, 24}},
     "bytes_allocated is 24, but the events so far sum to 16"},
    {{{true, 1, 8, ABSENT, 16}, {false, 2, ABSENT, ABSENT, 20}},
     "bytes_allocated is 20, but the events so far sum to 16"},
    {{{true, 1, 8, ABSENT, 12}, {false, 2, 9, ABSENT, 3}},
     "from before the profile have 9 bytes, but only 4 were in use"},
};

TEST(events_that_contradict_are_refused, .to = sizeof bad_steps / sizeof bad_steps[0])
{
    ck_assert_int_eq(import_steps(bad_steps[_i].steps), IMPORT_INVALID);
    ck_assert_msg(strstr(profile_error.reason, bad_steps[_i].reason) != NULL, "%s",
                  profile_error.reason);
    ck_assert_msg(strstr(profile_error.reason, "byte ") != NULL, "%s", profile_error.reason);
}

TEST(frees_whose_size_nothing_says_are_left_out_and_counted)
{
    const struct step steps[STEP_COUNT_MAX] = {{true, 1, 8, ABSENT, ABSENT},
                                               {false, 2, ABSENT, ABSENT, ABSENT}};
    ck_assert_int_eq(import_steps(steps), IMPORT_OK);
    profile_assert_ops("alloc size=8\n");
    ck_assert_ptr_nonnull(
        strstr(profile_import.notes, "left out: 1 frees of blocks from before the profile"));
    ck_assert_ptr_nonnull(
        strstr(profile_import.notes, "assumed: on 1 devices, nothing was live before"));
}

TEST(empty_blocks_are_left_out_with_their_frees)
{
    const struct step steps[STEP_COUNT_MAX] = {{true, 1, 0, 0, 8},
                                               {true, 2, 8, ABSENT, 16},
                                               {false, 1, ABSENT, ABSENT, 16},
                                               {true, 1, 8, ABSENT, 24}};
    ck_assert_int_eq(import_steps(steps), IMPORT_OK);
    profile_assert_ops("alloc size=8 tag=1\nhold block=0\nalloc size=8\nalloc size=8\n");
    ck_assert_ptr_nonnull(strstr(profile_import.notes, "left out: 1 allocations of 0 bytes"));
}

TEST(an_allocator_without_a_limit_has_the_device_of_the_others)
{
    struct writer line = {.length = 0};
    const int64_t limited[STAT_COUNT] = {1, 512, ABSENT, 512, 0, 0, 512};
    const int64_t unlimited[STAT_COUNT] = {1, 4096, ABSENT, 8192, 1, 0, INT64_MAX};
    put_event(&line, true, 0, limited);
    ck_assert_int_eq(import_line(&line), IMPORT_OK);
    ck_assert_uint_eq(profile_import.setup.capacity_bytes, 1024);
    put_event(&line, true, 1, unlimited);
    ck_assert_int_eq(import_line(&line), IMPORT_OK);
    ck_assert_uint_eq(profile_import.setup.capacity_bytes, 8192); /* what it needs */
    profile_assert_ops(
        "retire size=7K address=1K\nalloc size=4K tag=1 host=1\nhold block=1 host=1\nalloc size=512\n"
        "alloc size=4K host=1\n");
    ck_assert_ptr_nonnull(
        strstr(profile_import.notes, "assumed: 1 devices have the capacity of the others"));
    profile_assert_replay();
}

TEST(the_253_largest_ops_have_tags_and_the_rest_is_other)
{
    static struct writer line;
    line.length = 0;
    for (int64_t i = 1; i <= 300; i++) { /* the later the larger */
        const int64_t values[STAT_COUNT] = {i, 8 * i, ABSENT, ABSENT, 0, i};
        put_event(&line, true, i, values);
    }
    ck_assert_int_eq(import_line(&line), IMPORT_OK);
    const struct op *ops = profile_import.ops.ops;
    const struct setup *setup = &profile_import.setup;
    ck_assert_str_eq(setup->tags[ops[299].tag], "A300");
    ck_assert_str_eq(setup->tags[ops[300 - 253].tag], "A48");
    ck_assert_str_eq(setup->tags[ops[300 - 254].tag], "other");
    ck_assert_str_eq(setup->tags[ops[0].tag], "other");
}

TEST(a_device_whose_events_are_left_out_is_there)
{
    struct writer line = {.length = 0};
    const int64_t first[STAT_COUNT] = {1, 8, ABSENT, 8, 0};
    const int64_t second[STAT_COUNT] = {1, ABSENT, ABSENT, 0, 1};
    put_event(&line, true, 0, first);
    put_event(&line, false, 1, second);
    ck_assert_int_eq(import_line(&line), IMPORT_OK);
    ck_assert_uint_eq(profile_import.setup.host_count, 2);
    profile_assert_ops("alloc size=8\n");
    profile_assert_replay();
}

TEST(the_64th_allocator_is_the_last)
{
    struct writer line = {.length = 0};
    for (int64_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        const int64_t values[STAT_COUNT] = {1, 8, ABSENT, ABSENT, i};
        put_event(&line, true, i, values);
    }
    ck_assert_int_eq(import_line(&line), IMPORT_OK);
    ck_assert_uint_eq(profile_import.setup.host_count, 64);
    const int64_t values[STAT_COUNT] = {1, 8, ABSENT, ABSENT, OP_HOST_COUNT_MAX};
    put_event(&line, true, 0, values);
    ck_assert_int_eq(import_line(&line), IMPORT_INVALID);
    ck_assert_ptr_nonnull(strstr(profile_error.reason, "more than 64 allocators"));
}

/* --- a real profile --- */

enum {
    CSV_EVENT = 2,
    CSV_ALLOCATOR = 3,
    CSV_REQUESTED = 8,
    CSV_SIZE = 9,
    CSV_IN_USE = 10,
    CSV_AVAILABLE = 12,
    CSV_PEAK = 14
};

static uint64_t number_of(const struct csv_row *row, int column)
{
    int64_t value = -1;
    ck_assert(csv_field_integer(&row->fields[column], &value));
    return (uint64_t)value;
}

/* One allocator, summed from the rows. */
struct device_row {
    char name[32];
    uint64_t allocs, frees, capacity_bytes, first_bytes, last_bytes, peak_bytes, said_peak_bytes;
};

static void sum_row(struct device_row *device, const struct csv_row *row)
{
    const bool is_allocation = csv_field_is(&row->fields[CSV_EVENT], "MemoryAllocation");
    const uint64_t in_use = number_of(row, CSV_IN_USE);
    if (device->allocs + device->frees == 0) {
        snprintf(device->name, sizeof device->name, "%.*s", (int)row->fields[CSV_ALLOCATOR].length,
                 row->fields[CSV_ALLOCATOR].text);
        device->first_bytes = in_use - (is_allocation ? number_of(row, CSV_SIZE)
                                                      : -number_of(row, CSV_SIZE));
        device->capacity_bytes = in_use + number_of(row, CSV_AVAILABLE);
    }
    ck_assert_uint_eq(device->capacity_bytes, in_use + number_of(row, CSV_AVAILABLE));
    *(is_allocation ? &device->allocs : &device->frees) += 1;
    device->last_bytes = in_use;
    device->peak_bytes = in_use > device->peak_bytes ? in_use : device->peak_bytes;
    device->said_peak_bytes = number_of(row, CSV_PEAK);
}

/* The op of a row: the rows are in order of time. */
static void compare_row(const struct csv_row *row, uint32_t number, size_t *said)
{
    const struct op *op = &profile_import.ops.ops[number];
    const bool is_allocation = csv_field_is(&row->fields[CSV_EVENT], "MemoryAllocation");
    ck_assert_int_eq(op->kind, is_allocation ? OP_ALLOC : OP_FREE);
    const struct op *block = is_allocation ? op : &profile_import.ops.ops[op->ref];
    ck_assert_uint_eq(block->size_bytes, number_of(row, CSV_SIZE));
    if (is_allocation) {
        const uint64_t requested = block->unpadded_bytes == 0 ? block->size_bytes
                                                              : block->unpadded_bytes;
        ck_assert_uint_eq(requested, number_of(row, CSV_REQUESTED));
    }
    ck_assert_uint_eq(profile_import.said[*said].op, number);
    ck_assert_int_eq(profile_import.said[*said].kind, SAID_IN_USE_BYTES);
    ck_assert_uint_eq(profile_import.said[*said].value, number_of(row, CSV_IN_USE));
    for (*said += 1; *said < profile_import.said_count && profile_import.said[*said].op == number;
         *said += 1) {
        ck_assert_uint_eq(profile_import.said[*said].value, number_of(row, CSV_PEAK));
    }
}

static uint64_t compare_rows(struct cursor *cursor, uint32_t first, struct device_row *devices)
{
    struct csv_row row;
    const char *reason = NULL;
    size_t column = 0;
    size_t said = 0;
    uint64_t count = 0;
    ck_assert_int_eq(csv_next(cursor, &row, &reason, &column), CSV_ROW); /* the header */
    ck_assert(csv_field_is(&row.fields[CSV_SIZE], "allocation_bytes"));
    for (; csv_next(cursor, &row, &reason, &column) == CSV_ROW; count++) {
        compare_row(&row, first + (uint32_t)count, &said);
        sum_row(&devices[profile_import.ops.ops[first + count].host], &row);
    }
    ck_assert_uint_eq(said, profile_import.said_count);
    return count;
}

TEST(a_real_profile_is_the_same_event_by_event)
{
    struct text text;
    struct device_row devices[OP_HOST_COUNT_MAX] = {0};
    uint32_t first = 0;
    if (access(DATA "tf_gpu_multi_worker.xplane.pb.gz", R_OK) != 0) {
        printf("skipped: no %s\n", DATA "tf_gpu_multi_worker.xplane.pb.gz");
        return;
    }
    profile_load(DATA "tf_gpu_multi_worker.xplane.pb.gz", "xplane");
    ck_assert_int_eq(text_read(DATA "tf_gpu_multi_worker.mem_events.csv.gz", (size_t)1 << 24, &text,
                               &profile_error),
                     IMPORT_OK);
    while (first < profile_import.said[0].op) {
        first++;
    }
    struct cursor rows = cursor_make(text.bytes, text.length);
    const uint64_t events = compare_rows(&rows, first, devices);
    text_deinit(&text);
    ck_assert_uint_eq(events, 2493);
    ck_assert_uint_eq(profile_import.ops.count, first + events);
    const uint64_t compared = profile_assert_replay();
    printf("%-14s %6s %5s %12s %11s %11s %11s %11s\n", "allocator", "allocs", "frees", "capacity",
           "at first", "at last", "most", "said peak");
    for (uint32_t host = 0; host < profile_import.setup.host_count; host++) {
        const struct device_row *row = &devices[host];
        printf("%-14s %6" PRIu64 " %5" PRIu64 " %12" PRIu64 " %11" PRIu64 " %11" PRIu64
               " %11" PRIu64 " "
               "%11" PRIu64 "\n",
               row->name, row->allocs, row->frees, row->capacity_bytes, row->first_bytes,
               row->last_bytes, row->peak_bytes, row->said_peak_bytes);
    }
    printf("%" PRIu64 " events, %" PRIu64 " sums and peaks compared in the replay: equal\n", events,
           compared);
}
