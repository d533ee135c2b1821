/* Memory events of a profile, cut and damaged, and a real profile event by event.  What our files
 * and single events become is in tests/snap/formats_xplane.snap. */
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

EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

TEST(every_cut_is_said)
{
    profile_assert_cuts_are_said(FIELD "small.xplane.pb", "xplane", 20);
}

TEST(damage_is_survived)
{
    profile_assert_damage_is_survived(FIELD "small.xplane.pb", "xplane", 2000);
    profile_assert_damage_is_survived(FIELD "devices.xplane.pb", "xplane", 2000);
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
    const struct op *op = &import.ops.ops[number];
    const bool is_allocation = csv_field_is(&row->fields[CSV_EVENT], "MemoryAllocation");
    ck_assert_int_eq(op->kind, is_allocation ? OP_ALLOC : OP_FREE);
    const struct op *block = is_allocation ? op : &import.ops.ops[op->ref];
    ck_assert_uint_eq(block->size_bytes, number_of(row, CSV_SIZE));
    if (is_allocation) {
        const uint64_t requested = block->unpadded_bytes == 0 ? block->size_bytes
                                                              : block->unpadded_bytes;
        ck_assert_uint_eq(requested, number_of(row, CSV_REQUESTED));
    }
    ck_assert_uint_eq(import.said[*said].op, number);
    ck_assert_int_eq(import.said[*said].kind, SAID_IN_USE_BYTES);
    ck_assert_uint_eq(import.said[*said].value, number_of(row, CSV_IN_USE));
    for (*said += 1; *said < import.said_count && import.said[*said].op == number; *said += 1) {
        ck_assert_uint_eq(import.said[*said].value, number_of(row, CSV_PEAK));
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
        sum_row(&devices[import.ops.ops[first + count].host], &row);
    }
    ck_assert_uint_eq(said, import.said_count);
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
    load_recognised(DATA "tf_gpu_multi_worker.xplane.pb.gz", "xplane");
    ck_assert_int_eq(
        text_read(DATA "tf_gpu_multi_worker.mem_events.csv.gz", (size_t)1 << 24, &text, &refusal),
        IMPORT_OK);
    while (first < import.said[0].op) {
        first++;
    }
    struct cursor rows = cursor_make(text.bytes, text.length);
    const uint64_t events = compare_rows(&rows, first, devices);
    text_deinit(&text);
    ck_assert_uint_eq(events, 2493);
    ck_assert_uint_eq(import.ops.count, first + events);
    const uint64_t compared = profile_assert_replay();
    printf("%-14s %6s %5s %12s %11s %11s %11s %11s\n", "allocator", "allocs", "frees", "capacity",
           "at first", "at last", "most", "said peak");
    for (uint32_t host = 0; host < import.setup.host_count; host++) {
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
