/* What a run did goes out whole: events that replay to the state at the end, in the words of each format. */
#include "cli/happenings.h"
#include "cli/wishes.h"
#include "formats/export.h"
#include "formats/formats.h"
#include "harness/ops_file.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_COUNT_MAX = 1 << 16, SCENARIO_OPS = 300 };

/* One run with everything that was told of it. */
struct told {
    struct happenings *happenings;
    struct export_event *events;
    size_t count;
    const struct exporter *exporter; /* NULL: none is fed */
    struct export export;
    struct setup setup;
    bool has_begun;
};

static void take_event(void *context, const struct export_event *event)
{
    struct told *told = context;
    ck_assert_uint_lt(told->count, EVENT_COUNT_MAX);
    told->events[told->count++] = *event;
    if (told->exporter != NULL) {
        told->exporter->event(&told->export, event);
    }
}

static void begin(struct told *told, const struct setup *setup)
{
    if (!told->has_begun) {
        told->has_begun = true;
        told->setup = *setup;
        told->export.setup = &told->setup;
        ck_assert(told->exporter == NULL || told->exporter->begin(&told->export));
    }
}

static void judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct told *told = context;
    begin(told, run_setup(run));
    happenings_take(told->happenings, run, verdict);
}

static void told_init(struct told *told, const struct exporter *exporter, FILE *stream)
{
    *told = (struct told){.exporter = exporter, .export = {.stream = stream}};
    told->events = calloc(EVENT_COUNT_MAX, sizeof *told->events);
    told->happenings = happenings_create(take_event, told);
    ck_assert_ptr_nonnull(told->events);
    ck_assert_ptr_nonnull(told->happenings);
}

static void told_deinit(struct told *told)
{
    happenings_destroy(told->happenings);
    free(told->events);
}

/* Writes the end, and closes the stream. */
static void finish(struct told *told, const struct trial *trial)
{
    begin(told, &trial->setup);
    struct export_final final = {.reserved_bytes = happenings_reserved(told->happenings), .ops = &trial->ops,
                                 .now_ns = happenings_now_ns(told->happenings)};
    final.blocks = happenings_blocks(told->happenings, &final.block_count);
    ck_assert(told->exporter->end(&told->export, &final));
    fclose(told->export.stream);
}

/* Runs the text of a list and gives what the exporter wrote; the caller frees. */
static char *export_text(const char *ops, const struct exporter *exporter, struct told *told)
{
    struct setup setup;
    struct op_list list;
    struct ops_file_error error;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    const struct run_listener listener = {told, judged};
    setup_init(&setup);
    op_list_init(&list);
    ck_assert_msg(ops_file_parse(ops, strlen(ops), &setup, &list, &error) == OPS_FILE_OK, "%s", error.reason);
    told_init(told, exporter, stream);
    ck_assert_msg(trial_replay(target_find(setup.target), &setup, &list, &listener, &trial, reason), "%s", reason);
    ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
    finish(told, &trial);
    trial_deinit(&trial);
    op_list_deinit(&list);
    return text;
}

static const char list[] =
    "hbmstress-ops 1\ncapacity 64K\ngranule 512\ntarget hbm\noption defrag=repack\ntag 1 \"we,ights\"\n"
    "tag 2 \"jit_step\"\n\n"
    "0: alloc size=16000 tag=1 unpadded=180\n1: alloc size=16K\n2: alloc size=16K\n"
    "3: load size=4K stack=2K tag=2\n4: free block=1\n5: alloc size=20K\n6: alloc size=10K\n"
    "7: execute program=3 delay=1ms\n8: free_after block=0 delay=5ms\n9: advance delay=2ms\n"
    "10: alloc size=30K\n11: donate block=5 size=10K\n12: retire size=512 address=%0\n"
    "13: alloc size=60K\n14: free_after block=2 delay=5ms\n";

START_TEST(the_table_has_a_row_for_all_that_became_of_a_block)
{
    static const char expected[] = "op,action,address,size,requested,lane,host,tag,in_use,largest_hole\n"
                                   "0,alloc,49152,16384,16000,0,0,\"we,ights\",16384,49152\n"
                                   "1,alloc,32768,16384,16384,0,0,\"\",32768,32768\n"
                                   "2,alloc,16384,16384,16384,0,0,\"\",49152,16384\n"
                                   "3,alloc,12288,4096,4096,0,0,\"jit_step\",53248,12288\n"
                                   "4,free_requested,32768,16384,16384,0,0,\"\",36864,16384\n"
                                   "4,free_completed,32768,16384,16384,0,0,\"\",36864,16384\n"
                                   "5,moved_out,12288,4096,4096,0,0,\"jit_step\",57344,8192\n"
                                   "5,moved_out,16384,16384,16384,0,0,\"\",57344,8192\n"
                                   "5,moved_in,8192,4096,4096,0,0,\"jit_step\",57344,8192\n"
                                   "5,moved_in,12288,16384,16384,0,0,\"\",57344,8192\n"
                                   "5,alloc,28672,20480,20480,0,0,\"\",57344,8192\n"
                                   "6,evicted,8192,4096,4096,0,0,\"jit_step\",63488,2048\n"
                                   "6,alloc,2048,10240,10240,0,0,\"\",63488,2048\n"
                                   "7,failed,,6144,6144,0,0,\"\",63488,2048\n"
                                   "8,free_requested,49152,16384,16000,0,0,\"we,ights\",63488,2048\n"
                                   "10,free_completed,49152,16384,16000,0,0,\"we,ights\",47104,16384\n"
                                   "10,failed,,30720,30720,0,0,\"\",47104,16384\n"
                                   "11,free_requested,28672,20480,20480,0,0,\"\",47104,16384\n"
                                   "11,free_completed,28672,20480,20480,0,0,\"\",47104,16384\n"
                                   "11,alloc,28672,20480,10240,0,0,\"\",47104,16384\n"
                                   "12,retired,0,512,512,0,0,\"\",47616,16384\n"
                                   "13,failed,,61440,61440,0,0,\"\",47616,16384\n"
                                   "14,free_requested,12288,16384,16384,0,0,\"\",47616,16384\n";
    struct told told;
    char *text = export_text(list, &exporter_csv, &told);
    ck_assert_str_eq(text, expected);
    free(text);
    told_deinit(&told);
}
END_TEST

START_TEST(the_list_comes_out_as_it_was_run)
{
    struct told told;
    char *text = export_text(list, &exporter_ops, &told);
    ck_assert_ptr_nonnull(strstr(text, "12: retire size=512 address=0\n"));
    ck_assert_ptr_nonnull(strstr(text, "granule 512\n"));
    free(text);
    told_deinit(&told);
}
END_TEST

/* --- events tell everything --------------------------------------------------------------------------------- */

/* Blocks by address, as the events alone tell it. */
struct image {
    struct export_event *blocks; /* count of them, in no order */
    size_t count;
};

static size_t image_find(const struct image *image, const struct export_event *event)
{
    for (size_t i = 0; i < image->count; i++) {
        if (image->blocks[i].host == event->host && image->blocks[i].address == event->address) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void image_enter(struct image *image, const struct export_event *event)
{
    for (size_t i = 0; i < image->count; i++) {
        const struct export_event *other = &image->blocks[i];
        ck_assert_msg(other->host != event->host || other->address >= event->address + event->size_bytes ||
                          event->address >= other->address + other->size_bytes,
                      "op %" PRIu32 ": %s at %" PRIu64 " overlaps the %s of op %" PRIu32, event->op,
                      export_action_name(event->action), event->address, export_action_name(other->action), other->op);
    }
    image->blocks[image->count++] = *event;
}

static void image_leave(struct image *image, const struct export_event *event)
{
    const size_t found = image_find(image, event);
    ck_assert_msg(found != SIZE_MAX && image->blocks[found].size_bytes == event->size_bytes,
                  "op %" PRIu32 ": %s at %" PRIu64 ": no such block", event->op, export_action_name(event->action),
                  event->address);
    image->blocks[found] = image->blocks[--image->count];
}

static void image_take(struct image *image, const struct export_event *event)
{
    switch (event->action) {
    case EXPORT_ALLOC:
    case EXPORT_MOVED_IN:
    case EXPORT_RETIRED: image_enter(image, event); return;
    case EXPORT_FREE_COMPLETED:
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT: image_leave(image, event); return;
    default: return;
    }
}

/* Events replay without an overlap to the blocks that are there at the end. */
static void check_events(const char *name, struct told *told)
{
    struct image image = {.blocks = calloc(told->count + 1, sizeof *image.blocks)};
    size_t count = 0;
    for (size_t i = 0; i < told->count; i++) {
        image_take(&image, &told->events[i]);
    }
    const struct export_block *blocks = happenings_blocks(told->happenings, &count);
    ck_assert_msg(image.count == count, "%s: %zu blocks told, %zu there", name, image.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct export_event at = {.host = blocks[i].host, .address = blocks[i].address};
        const size_t found = image_find(&image, &at);
        ck_assert_msg(found != SIZE_MAX && image.blocks[found].size_bytes == blocks[i].size_bytes, "%s", name);
    }
    free(image.blocks);
}

/* What is in use on the host of the last op is the sum of its blocks. */
struct summing {
    struct told told;
    size_t op_count;
    uint64_t in_use_bytes[OP_HOST_COUNT_MAX];
};

static void sum_judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct summing *summing = context;
    if (run_observation(run)->op < run_ops(run)->count && summing->op_count != run_ops(run)->count) {
        summing->op_count = run_ops(run)->count;
        for (uint32_t i = 0; i < run_setup(run)->host_count; i++) {
            summing->in_use_bytes[i] = model_in_use_bytes(run_model(run, i));
        }
    }
    judged(&summing->told, run, verdict);
}

/* Blocks that are stranded on the host, and memory that goes bad. */
static struct fault_wish all_faults(void)
{
    struct fault_wish wish = {0};
    ck_assert_ptr_null(wishes_parse_faults("all", &wish));
    return wish;
}

static void run_scenario(const struct scenario *scenario, uint64_t seed, const char *defrag, uint64_t *moves)
{
    static struct summing summing;
    const struct run_listener listener = {&summing, sum_judged};
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(64) << 20;
    setup.seed = seed;
    ck_assert(setup_set_option(&setup, "defrag", defrag));
    const struct trial_plan plan = {.target = target_find("hbm"), .scenario = scenario, .setup = &setup,
                                    .capacity_is_free = true, .op_count_max = SCENARIO_OPS,
                                    .faults = seed % 2 == 0 ? all_faults() : (struct fault_wish){0}};
    memset(&summing, 0, sizeof summing);
    told_init(&summing.told, NULL, NULL);
    ck_assert_msg(trial_run(&plan, &listener, &trial, reason), "%s: %s", scenario->name, reason);
    check_events(scenario->name, &summing.told);
    size_t count = 0;
    const struct export_block *blocks = happenings_blocks(summing.told.happenings, &count);
    for (size_t i = 0; i < count; i++) {
        summing.in_use_bytes[blocks[i].host] -= blocks[i].size_bytes;
    }
    for (uint32_t i = 0; i < trial.setup.host_count; i++) {
        ck_assert_msg(summing.in_use_bytes[i] == 0, "%s: host %u", scenario->name, i);
    }
    for (size_t i = 0; i < summing.told.count; i++) {
        moves[summing.told.events[i].action]++;
    }
    trial_deinit(&trial);
    told_deinit(&summing.told);
}

START_TEST(events_of_every_scenario_replay_to_its_end)
{
    static const char *const contracts[] = {"none", "slide", "repack"};
    uint64_t counts[EXPORT_ACTION_COUNT] = {0};
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            run_scenario(scenarios[i], seed, contracts[(i + seed) % 3], counts);
        }
    }
    for (int i = 0; i < EXPORT_ACTION_COUNT; i++) {
        printf("  %s: %" PRIu64 " events\n", export_action_name((enum export_action)i), counts[i]);
        ck_assert_uint_gt(counts[i], 0);
    }
}
END_TEST

static void assert_comes_in(const char *name, const char *text, size_t length)
{
    static struct import import;
    struct import_error error = {0};
    import_init(&import);
    const enum import_result result = import_text(text, length, "torch_snapshot", NULL, &import, &error);
    ck_assert_msg(result == IMPORT_OK || strstr(error.reason, "no block in a segment") != NULL, "%s: %s", name,
                  error.reason);
    import_deinit(&import);
}

/* Lists that once broke a promise, most of them with lanes whose calls overlap. */
static void run_recorded(const char *path)
{
    static struct setup setup;
    struct told told;
    struct op_list recorded;
    struct ops_file_error error;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char *text = NULL;
    size_t length = 0;
    const struct run_listener listener = {&told, judged};
    setup_init(&setup);
    op_list_init(&recorded);
    ck_assert_msg(ops_file_read(path, &setup, &recorded, &error) == OPS_FILE_OK, "%s: %s", path, error.reason);
    const struct target *target = target_find(setup.target);
    told_init(&told, &exporter_torch_snapshot, open_memstream(&text, &length));
    if (target != NULL && trial_replay(target, &setup, &recorded, &listener, &trial, reason)) {
        check_events(path, &told);
        finish(&told, &trial);
        assert_comes_in(path, text, length);
        trial_deinit(&trial);
    } else {
        fclose(told.export.stream);
    }
    free(text);
    told_deinit(&told);
    op_list_deinit(&recorded);
}

START_TEST(events_of_every_recorded_list_replay_to_its_end_and_come_in_again)
{
    static const char directory_name[] = HBMSTRESS_SOURCE_DIR "/corpus/regressions";
    DIR *directory = opendir(directory_name);
    size_t count = 0;
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[4096];
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ops") != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", directory_name, entry->d_name);
        run_recorded(path);
        count++;
    }
    closedir(directory);
    ck_assert_uint_gt(count, 0);
}
END_TEST

/* --- RMM ----------------------------------------------------------------------------------------------------- */

static const char plain_list[] = "hbmstress-ops 1\ncapacity 1M\ngranule 512\ntarget hbm\noption defrag=none\n\n"
                                 "0: alloc size=100000\n1: alloc size=512\n2: alloc size=700\n3: free block=1\n"
                                 "4: alloc size=2M\n5: advance delay=90m\n6: alloc size=300K\n7: free block=0\n"
                                 "8: alloc size=12345\n9: free block=6\n";

START_TEST(a_log_of_rmm_has_its_header_and_rows)
{
    struct told told;
    char *text = export_text(plain_list, &exporter_rmm, &told);
    ck_assert_str_eq(text, "Thread,Time,Action,Pointer,Size,Stream\n"
                           "0,00:00:00.000000,allocate,0x100000000e7800,100000,0x0\n"
                           "0,00:00:00.000000,allocate,0x100000000e7600,512,0x0\n"
                           "0,00:00:00.000000,allocate,0x100000000e7200,700,0x0\n"
                           "0,00:00:00.000000,free,0x100000000e7600,512,0x0\n"
                           "0,00:00:00.000000,allocate failure,(nil),2097152,0x0\n"
                           "0,01:30:00.000000,allocate,0x1000000009c200,307200,0x0\n"
                           "0,01:30:00.000000,free,0x100000000e7800,100000,0x0\n"
                           "0,01:30:00.000000,allocate,0x100000000fce00,12345,0x0\n"
                           "0,01:30:00.000000,free,0x1000000009c200,307200,0x0\n");
    free(text);
    told_deinit(&told);
}
END_TEST

/* The requests and frees of a list, without what makes no difference to a log. */
static void assert_same_requests(const struct op_list *ops, const char *const *expected, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < ops->count; i++) {
        char text[OP_TEXT_BYTES];
        const struct op *op = &ops->ops[i];
        if (op->kind != OP_ALLOC && op->kind != OP_FREE) {
            continue;
        }
        struct op plain = op_make((enum op_kind)op->kind);
        plain.ref = op->kind == OP_FREE ? op->ref : OP_NONE;
        const bool is_rounded = op->kind == OP_ALLOC && op->unpadded_bytes != 0; /* PyTorch's blocks are, to 512 */
        plain.size_bytes = is_rounded ? op->unpadded_bytes : op->size_bytes;
        ck_assert_uint_lt(found, count);
        ck_assert_str_eq(op_print(&plain, text), expected[found]);
        found++;
    }
    ck_assert_uint_eq(found, count);
}

static bool import_exported(const char *format, const char *text, struct import *import)
{
    struct import_error error = {0};
    if (format_find(format) == NULL) {
        printf("skipped: format %s is not there\n", format);
        return false;
    }
    import_init(import);
    ck_assert_msg(import_text(text, strlen(text), "auto", NULL, import, &error) == IMPORT_OK, "%zu: %s", error.line,
                  error.reason);
    ck_assert_str_eq(import->format->name, format);
    return true;
}

START_TEST(a_log_of_rmm_comes_back_as_the_same_requests)
{
    static const char *const expected[] = {"alloc size=100000", "alloc size=512",   "alloc size=700",
                                           "free block=1",      "alloc size=2M",    "alloc size=300K",
                                           "free block=0",      "alloc size=12345", "free block=5"};
    struct told told;
    static struct import import;
    char *text = export_text(plain_list, &exporter_rmm, &told);
    if (import_exported("rmm", text, &import)) {
        assert_same_requests(&import.ops, expected, sizeof expected / sizeof expected[0]);
        import_deinit(&import);
    }
    free(text);
    told_deinit(&told);
}
END_TEST

/* --- PyTorch ---------------------------------------------------------------------------------------------------- */

static uint64_t number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_integer(value), "no %s", key);
    return (uint64_t)json_integer_value(value);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    ck_assert_ptr_nonnull(value);
    return value;
}

/* Blocks tile the segment, and their sums are its own. */
static void check_segment(const json_t *segment)
{
    uint64_t address = number_of(segment, "address");
    uint64_t allocated = 0, active = 0, requested = 0;
    size_t i;
    json_t *block;
    json_array_foreach(json_object_get(segment, "blocks"), i, block) {
        const char *state = string_of(block, "state");
        const uint64_t size = number_of(block, "size");
        ck_assert_uint_eq(number_of(block, "address"), address);
        address += size;
        allocated += strcmp(state, "active_allocated") == 0 ? size : 0;
        active += strcmp(state, "inactive") != 0 ? size : 0;
        requested += number_of(block, "requested_size");
    }
    ck_assert_uint_eq(address, number_of(segment, "address") + number_of(segment, "total_size"));
    ck_assert_uint_eq(allocated, number_of(segment, "allocated_size"));
    ck_assert_uint_eq(active, number_of(segment, "active_size"));
    ck_assert_uint_eq(requested, number_of(segment, "requested_size"));
}

/* Each event has what it must; allocs less completed frees is what is active at the end. */
static void check_trace(const json_t *trace, const json_t *segment)
{
    size_t live = 0, active = 0, i;
    json_t *event, *block;
    json_array_foreach(trace, i, event) {
        const char *action = string_of(event, "action");
        ck_assert(json_is_array(json_object_get(event, "frames")));
        (void)number_of(event, "size");
        (void)number_of(event, "time_us");
        (void)number_of(event, "stream");
        (void)number_of(event, strcmp(action, "oom") == 0 ? "device_free" : "addr");
        live += strcmp(action, "alloc") == 0 ? 1 : 0;
        live -= strcmp(action, "free_completed") == 0 ? 1 : 0;
    }
    json_array_foreach(json_object_get(segment, "blocks"), i, block) {
        active += strcmp(string_of(block, "state"), "inactive") != 0 ? 1 : 0;
    }
    ck_assert_uint_eq(live, active);
}

START_TEST(a_snapshot_of_pytorch_is_tiled_and_has_the_events_that_led_there)
{
    struct told told;
    json_error_t error;
    char *text = export_text(list, &exporter_torch_snapshot, &told);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%d: %s", error.line, error.text);
    const json_t *segments = json_object_get(root, "segments");
    const json_t *traces = json_object_get(root, "device_traces");
    ck_assert_uint_eq(json_array_size(segments), 1);
    ck_assert_uint_eq(json_array_size(traces), 1);
    check_segment(json_array_get(segments, 0));
    check_trace(json_array_get(traces, 0), json_array_get(segments, 0));
    ck_assert_ptr_nonnull(strstr(text, "\"active_pending_free\""));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"jit_step\""));
    json_decref(root);
    free(text);
    told_deinit(&told);
}
END_TEST

START_TEST(a_snapshot_of_pytorch_comes_back_as_the_same_requests)
{
    static const char *const expected[] = {"alloc size=100000", "alloc size=512",   "alloc size=700",
                                           "free block=1",      "alloc size=2M",    "alloc size=300K",
                                           "free block=0",      "alloc size=12345", "free block=5"};
    struct told told;
    static struct import import;
    char *text = export_text(plain_list, &exporter_torch_snapshot, &told);
    if (import_exported("torch_snapshot", text, &import)) {
        assert_same_requests(&import.ops, expected, sizeof expected / sizeof expected[0]);
        import_deinit(&import);
    }
    free(text);
    told_deinit(&told);
}
END_TEST

static uint64_t failure_count(const struct told *told)
{
    uint64_t count = 0;
    for (size_t i = 0; i < told->count; i++) {
        count += told->events[i].action == EXPORT_FAILED ? 1 : 0;
    }
    return count;
}

/* The granule is that of the list, or PyTorch's where the list has a larger one. */
START_TEST(a_snapshot_of_pytorch_has_its_out_of_memories_at_the_same_capacity)
{
    static const char *const granules[] = {"1", "128", "512", "4K"};
    static const char ops[] = "0: alloc size=300000\n1: alloc size=40000\n2: alloc size=700\n3: free block=1\n"
                              "4: alloc size=800000\n5: load size=9000 stack=20000\n6: free block=2\n"
                              "7: alloc size=730000\n8: alloc size=719000\n9: execute program=5 delay=1s\n"
                              "10: alloc size=4K\n";
    char text[1024];
    snprintf(text, sizeof text, "hbmstress-ops 1\ncapacity 1M\ngranule %s\ntarget hbm\n%s", granules[_i], ops);
    struct told told;
    static struct import import;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char *exported = export_text(text, &exporter_torch_snapshot, &told);
    ck_assert_uint_gt(failure_count(&told), 1);
    ck_assert(import_exported("torch_snapshot", exported, &import));
    ck_assert_uint_eq(import.setup.capacity_bytes, 1 << 20);
    ck_assert(trial_replay(target_find("hbm"), &import.setup, &import.ops, NULL, &trial, reason));
    ck_assert_uint_eq(trial.totals.ooms, failure_count(&told));
    trial_deinit(&trial);
    import_deinit(&import);
    free(exported);
    told_deinit(&told);
}
END_TEST

START_TEST(exporters_have_names_of_their_own)
{
    for (size_t i = 0; exporters[i] != NULL; i++) {
        ck_assert_ptr_eq(exporter_find(exporters[i]->name), exporters[i]);
        ck_assert(exporters[i]->summary[0] != '\0');
    }
    ck_assert_ptr_null(exporter_find("nonsense"));
}
END_TEST

static Suite *suite_make(void)
{
    Suite *suite = suite_create("export");
    TCase *cases = tcase_create("export");
    tcase_set_timeout(cases, 300);
    tcase_add_test(cases, exporters_have_names_of_their_own);
    tcase_add_test(cases, the_table_has_a_row_for_all_that_became_of_a_block);
    tcase_add_test(cases, the_list_comes_out_as_it_was_run);
    tcase_add_test(cases, events_of_every_scenario_replay_to_its_end);
    tcase_add_test(cases, events_of_every_recorded_list_replay_to_its_end_and_come_in_again);
    tcase_add_test(cases, a_log_of_rmm_has_its_header_and_rows);
    tcase_add_test(cases, a_log_of_rmm_comes_back_as_the_same_requests);
    tcase_add_test(cases, a_snapshot_of_pytorch_is_tiled_and_has_the_events_that_led_there);
    tcase_add_loop_test(cases, a_snapshot_of_pytorch_has_its_out_of_memories_at_the_same_capacity, 0, 4);
    tcase_add_test(cases, a_snapshot_of_pytorch_comes_back_as_the_same_requests);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return suite_run(suite_make());
}
