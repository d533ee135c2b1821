/* Real memory snapshots of PyTorch agree with their own numbers to the byte, as events and as final
 * heaps. */
#include "formats/common/import.h"
#include "harness/device/span_map.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/formats/torch_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA HBMSTRESS_FIELD_DATA "/data/torch_snapshot/"

/* What a file says of itself, taken from what the reader of pickles gives by other means than the
 * importer's. */
struct said_by_file {
    uint64_t events, allocs, alloc_bytes, frees, unknown_frees, failures;
    uint64_t segments, total_bytes, active_bytes, allocated_bytes,
        requested_bytes;                       /* as the segments say */
    uint64_t active_count, active_block_bytes; /* as the blocks say */
    uint64_t peak_bytes;
};

static uint64_t round_to_granules(uint64_t bytes)
{
    return (bytes + 511) / 512 * 512;
}

static const char *address_text(uint64_t address)
{
    static char text[32];
    snprintf(text, sizeof text, "%" PRIu64, address);
    return text;
}

static uint64_t map_get(const json_t *map, uint64_t address)
{
    return (uint64_t)json_integer_value(json_object_get(map, address_text(address)));
}

static void map_set(json_t *map, uint64_t address, uint64_t value)
{
    json_object_set_new(map, address_text(address), json_integer((json_int_t)value));
}

/* Adds up the segments; active: from the address of each active block to its size. */
static void add_segments(const json_t *root, struct said_by_file *said, json_t *active)
{
    size_t i = 0, j = 0;
    const json_t *segment = NULL, *block = NULL;
    json_array_foreach(json_object_get(root, "segments"), i, segment)
    {
        uint64_t at = number_of(segment, "address");
        said->segments++;
        said->total_bytes += number_of(segment, "total_size");
        said->active_bytes += number_of(segment, "active_size");
        said->allocated_bytes += number_of(segment, "allocated_size");
        said->requested_bytes += number_of(segment, "requested_size");
        json_array_foreach(json_object_get(segment, "blocks"), j, block)
        {
            if (!has_text(block, "state", "inactive")) {
                said->active_count++;
                said->active_block_bytes += number_of(block, "size");
                map_set(active, at, number_of(block, "size"));
            }
            at += number_of(block, "size");
        }
    }
}

/* Which allocs are live at the end: seen from there, the first event of an address is its alloc.
 * Their blocks are in the final state, which says what they take. */
static json_t *sizes_taken(const json_t *events, const json_t *active)
{
    json_t *seen = json_object();
    json_t *sizes = json_array();
    for (size_t i = json_array_size(events); i-- > 0;) {
        const json_t *event = json_array_get(events, i);
        const uint64_t address = number_of(event, "addr");
        uint64_t size = round_to_granules(number_of(event, "size"));
        if (has_text(event, "action", "alloc") && map_get(seen, address) == 0) {
            size = map_get(active, address);
            ck_assert_uint_gt(size, 0);
        }
        map_set(seen, address, 1);
        json_array_append_new(sizes, json_integer((json_int_t)size));
    }
    json_decref(seen);
    return sizes; /* the last event first */
}

static void add_events(const json_t *events, struct said_by_file *said, json_t *active)
{
    json_t *sizes = sizes_taken(events, active);
    json_t *live = json_object();
    json_t *silent = json_deep_copy(active); /* what no event names was there all the time */
    int64_t now = 0, most = 0;
    uint64_t base = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const uint64_t address = number_of(event, "addr");
        const uint64_t size = (uint64_t)json_integer_value(
            json_array_get(sizes, json_array_size(events) - 1 - i));
        said->events++;
        said->failures += has_text(event, "action", "oom") ? 1 : 0;
        if (has_text(event, "action", "alloc")) {
            said->allocs++;
            said->alloc_bytes += number_of(event, "size");
            map_set(live, address, size);
            now += (int64_t)size;
            most = now > most ? now : most;
        } else if (has_text(event, "action", "free_completed")) {
            const bool is_known = map_get(live, address) > 0;
            said->frees++;
            said->unknown_frees += is_known ? 0 : 1;
            base += is_known ? 0 : size;
            now -= (int64_t)(is_known ? map_get(live, address) : size);
            json_object_del(live, address_text(address));
        } else {
            continue;
        }
        json_object_del(silent, address_text(address));
    }
    const char *key = NULL;
    json_t *size = NULL;
    json_object_foreach(silent, key, size)
    {
        base += (uint64_t)json_integer_value(size);
    }
    said->peak_bytes = base + (uint64_t)most;
    json_decref(sizes);
    json_decref(live);
    json_decref(silent);
}

static struct said_by_file add_up(const char *path)
{
    struct said_by_file said = {0};
    json_t *root = decode_pickle(path);
    json_t *active = json_object();
    add_segments(root, &said, active);
    ck_assert_uint_le(json_array_size(json_object_get(root, "device_traces")),
                      1 + 7); /* only the first has events */
    add_events(json_array_get(json_object_get(root, "device_traces"), 0), &said, active);
    json_decref(active);
    json_decref(root);
    return said;
}

static bool has_field_data(void)
{
    if (access(DATA, R_OK) == 0) {
        return true;
    }
    printf("skipped: no %s\n", DATA);
    return false;
}

/* Larger files are left to the night. */
enum { FILE_BYTES_MAX = 70000 };

static bool is_left_out(const char *path)
{
    struct stat file;
    ck_assert_int_eq(stat(path, &file), 0);
    return file.st_size > FILE_BYTES_MAX && draws_period() > 1;
}

/* The n-th file of the folder with that ending, by name; false: there are fewer. */
static bool field_file(size_t n, const char *ending, char path[4096])
{
    struct dirent **entries = NULL;
    const int count = scandir(DATA, &entries, NULL, alphasort);
    bool is_found = false;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const size_t length = strlen(name);
        const bool is_one = length > strlen(ending) &&
                            strcmp(name + length - strlen(ending), ending) == 0;
        if (is_one && n-- == 0) {
            snprintf(path, 4096, DATA "%s", name);
            is_found = true;
        }
        free(entries[i]);
    }
    free(entries);
    return is_found;
}

/* Whether the log says that the request failed. */
static bool was_refused(uint32_t op)
{
    for (size_t i = 0; i < import.said_count; i++) {
        if (import.said[i].op == op && import.said[i].kind == SAID_FAILED) {
            return true;
        }
    }
    return false;
}

/* What is live after the ops if each request is granted that the log says was, and the most that
 * ever was. */
struct live {
    uint64_t bytes, requested_bytes, count, peak_bytes;
};

static struct live count_live(void)
{
    struct live live = {0};
    for (uint32_t i = 0; i < import.ops.count; i++) {
        const struct op *op = &import.ops.ops[i];
        const bool is_end = op->kind == OP_FREE || op->kind == OP_COMPLETE;
        if (op->kind == OP_ALLOC && !was_refused(i)) {
            live.bytes += op->size_bytes;
            live.requested_bytes += op->unpadded_bytes == 0 ? op->size_bytes : op->unpadded_bytes;
            live.count++;
        }
        if (is_end) {
            const struct op *freed = op->kind == OP_FREE ? op : &import.ops.ops[op->event];
            const struct op *made = &import.ops.ops[freed->ref];
            if (!was_refused(freed->ref)) {
                live.bytes -= made->size_bytes;
                live.requested_bytes -= made->unpadded_bytes == 0 ? made->size_bytes
                                                                  : made->unpadded_bytes;
                live.count--;
            }
        }
        live.peak_bytes = live.bytes > live.peak_bytes ? live.bytes : live.peak_bytes;
    }
    return live;
}

static void compare_with(const struct said_by_file *said)
{
    const struct live live = count_live();
    ck_assert_uint_eq(said->active_block_bytes, said->active_bytes);
    ck_assert_uint_eq(live.bytes, said->active_bytes);
    ck_assert_uint_eq(live.count, said->active_count);
    ck_assert_uint_eq(live.requested_bytes, said->requested_bytes);
}

/* No file gives a capacity. */
static uint64_t spare_bytes(uint64_t peak_bytes)
{
    return import.ops.count > CAPACITY_TIGHT_OPS_MAX ? (peak_bytes / 8 + 511) / 512 * 512 : 0;
}

EVERY_TEST(.timeout_s = 600, .setup = setup_import, .teardown = teardown_import);

TEST(every_real_file_agrees_with_its_own_numbers)
{
    char path[4096];
    size_t n = 0;
    if (!has_field_data()) {
        return;
    }
    printf("%-40s %6s %6s %6s %5s %4s %12s %12s %12s %12s %6s %6s\n", "file", "events", "allocs",
           "frees", "start", "live", "active", "requested", "peak", "segments", "ops", "OOMs");
    for (; field_file(n, ".pickle.gz", path); n++) {
        if (is_left_out(path)) {
            continue;
        }
        const struct said_by_file said = add_up(path);
        load(path, "auto");
        ck_assert_str_eq(import.format->name, "torch_snapshot");
        compare_with(&said);
        const uint64_t peak_bytes = count_live().peak_bytes;
        if (said.allocs > 0) {
            ck_assert_uint_eq(peak_bytes, said.peak_bytes);
            ck_assert_uint_eq(import.setup.capacity_bytes,
                              said.peak_bytes + spare_bytes(said.peak_bytes));
            ck_assert_uint_le(said.peak_bytes, said.total_bytes);
        }
        const uint64_t ooms = replay();
        ck_assert_uint_eq(ooms, 0);
        printf("%-40.40s %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %5" PRIu64 " %4" PRIu64
               " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %6zu %6" PRIu64 "\n",
               strrchr(path, '/') + 1, said.events, said.allocs, said.frees, said.unknown_frees,
               said.active_count, said.active_bytes, said.requested_bytes, peak_bytes,
               said.total_bytes, import.ops.count, ooms);
    }
    ck_assert_uint_eq(n, 8);
}

TEST(the_final_heap_of_every_real_file_is_rebuilt_block_by_block)
{
    char path[4096];
    char reason[RUN_REASON_BYTES] = "";
    for (size_t n = 0; has_field_data() && field_file(n, ".pickle.gz", path); n++) {
        if (is_left_out(path)) {
            continue;
        }
        const struct said_by_file said = add_up(path);
        load(path, "torch_state");
        compare_with(&said);
        struct run *run = run_create(target_find("hbm"), &import.setup, reason);
        ck_assert_msg(run != NULL, "%s", reason);
        for (uint32_t i = 0, next = 0; i < import.ops.count; i++) {
            ck_assert_int_eq(run_step(run, &import.ops.ops[i])->kind, VERDICT_NONE);
            ck_assert_int_eq(run_observation(run)->result, TARGET_OK);
            if (next < import.said_count && import.said[next].op == i) {
                ck_assert_uint_eq(run_observation(run)->address, import.said[next++].value);
            }
        }
        ck_assert_int_eq(run_finish(run)->kind, VERDICT_NONE);
        run_destroy(run);
        printf("%-40.40s %6zu ops: %" PRIu64 " blocks of %" PRIu64 " bytes in %" PRIu64
               " segments at their places\n",
               strrchr(path, '/') + 1, import.ops.count, said.active_count, said.active_bytes,
               said.segments);
    }
}

/* Takes the event into the map of live blocks, and compares it with the next op. */
static void step_complete(const json_t *event, struct span_map *map, uint32_t *next)
{
    const uint64_t address = number_of(event, "addr");
    const struct op *op = &import.ops.ops[*next];
    struct span span = {.start = address,
                        .end = address + round_to_granules(number_of(event, "size")),
                        .owner = *next};
    if (has_text(event, "action", "alloc")) {
        ck_assert(span_map_claim(map, span.start, span.end, span.owner).is_free);
        ck_assert_int_eq(op->kind, OP_ALLOC);
        ck_assert_uint_eq(op->size_bytes, span.end - span.start);
        ck_assert_uint_eq(op->unpadded_bytes == 0 ? op->size_bytes : op->unpadded_bytes,
                          number_of(event, "size"));
        (*next)++;
    } else if (has_text(event, "action", "free_completed")) {
        struct span found;
        ck_assert(span_map_intersects(map, span.start, span.end, &found));
        ck_assert(found.start == span.start && found.end == span.end);
        ck_assert_int_eq(op->kind, OP_FREE);
        ck_assert_uint_eq(op->ref, found.owner);
        span_map_erase(map, span.start, span.end);
        (*next)++;
    }
}

TEST(a_complete_trace_is_followed_event_by_event_to_its_final_state)
{
    if (!has_field_data()) {
        return;
    }
    struct span_map map;
    struct said_by_file said = {0};
    uint32_t next = 0;
    span_map_init(&map);
    load(DATA "cs336_silmont_small_complete.pickle.gz", "auto");
    json_t *root = decode_pickle(DATA "cs336_silmont_small_complete.pickle.gz");
    json_t *active = json_object();
    const json_t *events = json_array_get(json_object_get(root, "device_traces"), 0);
    for (size_t i = 0; i < json_array_size(events); i++) {
        step_complete(json_array_get(events, i), &map, &next);
    }
    ck_assert_uint_eq(next, import.ops.count);
    add_segments(root, &said, active);
    ck_assert_uint_eq(map.count, json_object_size(active));
    uint64_t bytes = 0;
    struct span_cursor cursor;
    for (bool is_there = span_map_first(&map, &cursor); is_there;
         is_there = span_map_next(&map, &cursor)) {
        struct span span;
        span_map_get(&map, &cursor, &span);
        ck_assert_uint_eq(map_get(active, span.start), span.end - span.start);
        bytes += span.end - span.start;
    }
    ck_assert_uint_eq(bytes, said.active_bytes);
    printf("complete: %zu events, %" PRIu32 " ops, no overlap; %zu blocks of %" PRIu64
           " bytes are live, as in the "
           "final state\n",
           json_array_size(events), next, map.count, bytes);
    span_map_deinit(&map);
    json_decref(active);
    json_decref(root);
}

/* device,idx,action,addr,size,stream,time_us,device_free, as somebody else's script took it out of
 * the pickle. */
TEST(the_events_are_those_that_were_derived_from_the_file)
{
    if (!has_field_data()) {
        return;
    }
    size_t length = 0;
    size_t i = 0;
    char *csv = file_bytes(DATA "cs336_silmont_small_complete.events.csv.gz", &length);
    json_t *root = decode_pickle(DATA "cs336_silmont_small_complete.pickle.gz");
    const json_t *events = json_array_get(json_object_get(root, "device_traces"), 0);
    char *rest = csv;
    (void)strtok_r(rest, "\r\n", &rest);
    for (char *line; (line = strtok_r(NULL, "\r\n", &rest)) != NULL; i++) {
        char expected[256];
        const json_t *event = json_array_get(events, i);
        snprintf(expected, sizeof expected,
                 "0,%zu,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", i,
                 json_string_value(json_object_get(event, "action")), number_of(event, "addr"),
                 number_of(event, "size"), number_of(event, "stream"), number_of(event, "time_us"));
        ck_assert_str_eq(line, expected);
    }
    ck_assert_uint_eq(i, json_array_size(events));
    json_decref(root);
    free(csv);
}
