/* Memory snapshots of PyTorch: small ones of every form become exactly these ops, and whatever
 * contradicts itself is refused with its place. */
#include "harness/base/random.h"
#include "tests/formats/torch_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/torch_snapshot/"

/* --- our own files --- */

static const struct {
    const char *file;
    const char *reason; /* NULL: it is imported */
    enum import_result result;
    size_t op_count;
    uint64_t capacity_bytes;
    uint32_t host_count;
    uint64_t failed_count; /* requests that the log saw fail */
    uint64_t oom_count;    /* in a replay */
} files[] = {
    {"complete.pickle", NULL, IMPORT_OK, 11, (23 << 20) + 1024, 1, 1, 1},
    {"complete.json", NULL, IMPORT_OK, 11, (23 << 20) + 1024, 1, 1, 1},
    {"ring.pickle", NULL, IMPORT_OK, 16, 9 << 20, 1, 0, 1},
    {"state_1_13.pickle", NULL, IMPORT_OK, 6, 20 << 20, 1, 0, 0},
    {"state_oom.json", NULL, IMPORT_OK, 12, (24 << 20) + 1024, 2, 1, 1},
    {"segments_only.pickle", NULL, IMPORT_OK, 10, 23069184, 2, 0, 0},
    {"two_devices.json", NULL, IMPORT_OK, 6, 7 << 20, 2, 1, 1},
    {"two_devices_one_fails.json", NULL, IMPORT_OK, 4, 4 << 20, 2, 1, 1},
    {"two_devices_both_fail.json", NULL, IMPORT_OK, 9, 5 << 20, 2, 2, 2},
    {"state_two_fail.json", NULL, IMPORT_OK, 8, 2 << 20, 3, 3, 3},
    {"cut.pickle", "byte 2: FRAME: it has 1845 bytes, but only 1226 follow (a cut file?)",
     IMPORT_INCOMPLETE, 0, 0, 0, 0, 0},
    {"cut.json", "JSON, column 1500: premature end of input near '\"s' (a cut file?)",
     IMPORT_INCOMPLETE, 0, 0, 0, 0, 0},
    {"contradicts_final_state.pickle",
     "device_traces[0][3]: the block at 139638245163008 is never freed, but the final state has it as inactive",
     IMPORT_INVALID, 0, 0, 0, 0, 0},
    {"contradicts_sum.json", "segments[1]: 'active_size' is 16777728, but its blocks have 16777216",
     IMPORT_INVALID, 0, 0, 0, 0, 0},
    {"contradicts_overlap.pickle",
     "device_traces[0][1]: its block of 1048576 bytes at 12890142720 overlaps the live one at 12889096192",
     IMPORT_INVALID, 0, 0, 0, 0, 0},
    {"executes.pickle",
     "byte 66: STACK_GLOBAL: refused: a memory snapshot has only plain data, and hbmstress executes nothing from a pickle",
     IMPORT_INVALID, 0, 0, 0, 0, 0},
};
enum { FILE_COUNT = sizeof files / sizeof files[0] };

EVERY_TEST(.timeout_s = 600, .setup = setup_import, .teardown = teardown_import);

TEST(each_of_our_files_is_recognised_and_becomes_what_it_says_or_is_refused, .to = FILE_COUNT)
{
    char path[4096];
    uint64_t failed_count = 0;
    snprintf(path, sizeof path, FIELD "%s", files[_i].file);
    const enum import_result result = import_file(path, "auto", NULL, &import, &refusal);
    ck_assert_msg(result == files[_i].result, "%s: %s", files[_i].file, refusal.reason);
    if (result != IMPORT_OK) {
        ck_assert_str_eq(refusal.reason, files[_i].reason);
        return;
    }
    ck_assert_str_eq(import.format->name, "torch_snapshot");
    for (uint32_t i = 0; i < import.ops.count; i++) {
        failed_count += was_refused(i) ? 1 : 0;
    }
    ck_assert_uint_eq(import.ops.count, files[_i].op_count);
    ck_assert_uint_eq(import.setup.capacity_bytes, files[_i].capacity_bytes);
    ck_assert_uint_eq(import.setup.host_count, files[_i].host_count);
    ck_assert_uint_eq(failed_count, files[_i].failed_count);
    ck_assert_uint_eq(replay(), files[_i].oom_count);
}

TEST(every_file_of_the_folder_has_a_row)
{
    DIR *folder = opendir(FIELD);
    ck_assert_ptr_nonnull(folder);
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(folder);
    ck_assert_uint_eq(count, FILE_COUNT);
}

TEST(events_become_ops_with_what_they_asked_for_and_where)
{
    load(FIELD "complete.pickle", "torch_events");
    assert_ops(
        "alloc size=512 unpadded=4 tag=2\n"
        "alloc size=4M tag=2\n"
        "alloc size=3M tag=1\n"
        "alloc size=2K tag=1\n"
        "free block=3\n"
        "alloc size=1K unpadded=1000 tag=3\n"
        "alloc size=12M unpadded=11776K tag=1\n" /* the allocator did not split what it had */
        "free block=2\n"
        "alloc size=6M tag=1\n"
        "free block=8\n");
    ck_assert_str_eq(import.setup.tags[1], "train.py:34 forward");
    ck_assert_str_eq(import.setup.tags[2], "train.py:12 load_model");
    ck_assert_str_eq(import.setup.tags[3], "optim.py:56 step");
    char *of_pickle = ops_text();
    load(FIELD "complete.json", "torch_events");
    assert_ops(of_pickle);
    free(of_pickle);
    ck_assert_str_eq(import.setup.system, "pytorch");
}

TEST(the_missing_start_of_a_ring_is_rebuilt)
{
    load(FIELD "ring.pickle", "auto");
    assert_ops(
        "alloc size=2M tag=1\n" /* its free was requested before the ring, and is not complete */
        "alloc size=512\n"      /* the same, and completes at once */
        "alloc size=3M\n"       /* freed by a later event */
        "alloc size=1M\n"
        "alloc size=1M tag=2\n" /* in the final state only */
        "free_after block=0 delay=never\n"
        "free block=1\n"
        "alloc size=1M tag=1\n"
        "free_after block=2 delay=never lane=1\n"
        "alloc size=1M unpadded=1048476 tag=1 lane=1\n"
        "complete event=8 lane=1\n"
        "free_after block=3 delay=never\n"
        "free block=7\n"
        "advance delay=0s lane=1\n"
        "switch op=11 point=0 to=1\n"
        "switch op=13 point=0 to=0 lane=1\n");
}

TEST(a_final_state_becomes_its_heap_and_the_request_that_failed)
{
    load(FIELD "state_oom.json", "auto");
    assert_ops("alloc size=2M tag=254\n" /* a small segment, free */
               "retire size=512 address=23069184\n"
               "alloc size=8M unpadded=8387908 tag=2\n"
               "alloc size=4M tag=254\n"
               "alloc size=8M tag=1\n"
               "retire size=512 address=2M\n" /* below it the device's own free memory */
               "free block=0\n"
               "free_after block=2 delay=never\n"
               "free block=3\n"
               "retire size=22529K address=2M host=1\n"
               "alloc size=2M tag=3 host=1\n"
               "alloc size=6M unpadded=6291446 tag=3\n");
    ck_assert_int_eq(import.said[import.said_count - 1].kind, SAID_FAILED);
    ck_assert_uint_eq(import.said[import.said_count - 1].op, 11);
}

/* The last event is the failure, and by its bytes the request would fit: only the heap tells why it
 * failed. */
TEST(a_trace_that_ends_in_a_failure_becomes_the_heap_in_which_it_failed)
{
    load(FIELD "complete.json", "auto");
    ck_assert_str_eq(
        import.message,
        "device_traces[0][12]: oom, size 6291456, device_free 1048676, in train.py:34 forward");
    char *unasked = ops_text();
    load(FIELD "complete.json", "torch_state");
    assert_ops(unasked);
    free(unasked);
    assert_ops("alloc size=12M unpadded=11776K tag=1\n"
               "alloc size=4M tag=254\n"
               "alloc size=4M tag=2\n"
               "retire size=512 address=3146240\n"
               "alloc size=2095616 tag=254\n"
               "alloc size=1K unpadded=1000 tag=3\n"
               "alloc size=512 unpadded=4 tag=2\n"
               "retire size=512 address=1M\n"
               "free block=1\n"
               "free block=4\n"
               "alloc size=6M tag=1\n");
    ck_assert_uint_eq(replay(), 1); /* 7 MiB are free, but not in one piece */
}

/* Device 1 never failed: it had at least its segments. */
TEST(a_device_on_which_nothing_failed_has_at_least_its_segments)
{
    load(FIELD "two_devices_one_fails.json", "auto");
    assert_ops("retire size=2560K address=1536K\n"
               "alloc size=1M\n"
               "alloc size=4M host=1\n"
               "alloc size=2M\n"); /* fits in 4 MiB by its bytes, and not in what device 0 has */
    const struct setup fixed = {.capacity_bytes = 64 << 20};
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(
        import_file(FIELD "two_devices_one_fails.json", "auto", &options, &import, &refusal),
        IMPORT_OK);
    ck_assert_uint_eq(import.setup.capacity_bytes, 64 << 20);
    ck_assert_int_eq(import.ops.ops[0].kind, OP_ALLOC); /* nothing is retired */
}

TEST(of_the_smaller_of_two_devices_that_failed_the_rest_is_retired)
{
    load(FIELD "two_devices_both_fail.json", "auto");
    assert_ops("retire size=3M address=2M\n"
               "alloc size=1M\n" /* was there before */
               "alloc size=4M host=1\n"
               "alloc size=3M\n"
               "free_after block=1 delay=never\n"
               "alloc size=512K\n" /* of another stream: a lane would skip what is retired */
               "complete event=4\n"
               "free block=5\n"
               "alloc size=2M host=1\n");
    ck_assert(was_refused(3) && was_refused(8));
    ck_assert_ptr_nonnull(strstr(
        import.notes, "2 streams are not distinguished: a replay with lanes retires nothing"));
}

/* Device 1 went on after its failure; that of device 2 was earlier than that of device 0. */
TEST(of_the_devices_that_end_in_a_failure_the_latest_gets_its_request)
{
    load(FIELD "state_two_fail.json", "torch_state");
    assert_ops("alloc size=2M\n"
               "retire size=1M address=1M host=2\n"
               "alloc size=1M host=2\n"
               "alloc size=4M\n");
    ck_assert(was_refused(3));
    ck_assert_ptr_nonnull(strstr(
        import.notes,
        "on 1 more devices, the last event is a failed request; only the latest of all is replayed, on device 0"));
}

/* --- texts made here --- */

#define SEGMENT(blocks) "{\"segments\":[{\"address\":4096,\"blocks\":[" blocks "]}]"
#define BLOCK(size, state) "{\"size\":" #size ",\"state\":\"" state "\"}"
#define TRACE(events) ",\"device_traces\":[[" events "]]}"
#define EVENT(action, addr, size) \
    "{\"action\":\"" action "\",\"addr\":" #addr ",\"size\":" #size "}"

static enum import_result import_string(const char *text)
{
    refusal = (struct import_error){0};
    return import_text(text, strlen(text), "torch_snapshot", NULL, &import, &refusal);
}

static void assert_refused(const char *text, const char *reason)
{
    ck_assert_int_eq(import_string(text), IMPORT_INVALID);
    ck_assert_msg(strstr(refusal.reason, reason) != NULL, "'%s' is not in '%s'", reason,
                  refusal.reason);
}

/* --- failures --- */

TEST(a_failure_for_want_of_bytes_keeps_its_events)
{
    ck_assert_msg(
        import_string(
            "{\"segments\":[{\"address\":4096,\"blocks\":[" BLOCK(1048576, "active_allocated") "]}]" TRACE(
                EVENT(
                    "alloc", 4096,
                    1048576) ",{\"action\":\"oom\",\"size\":4194304,\"device_free\":2097152,"
                             "\"frames\":[{\"filename\":\"a.py\",\"line\":7,\"name\":\"f\"}]}")) ==
            IMPORT_OK,
        "%s", refusal.reason);
    assert_ops("alloc size=1M\nalloc size=4M tag=1\n");
    ck_assert(was_refused(1));
    ck_assert_uint_eq(import.setup.capacity_bytes, 3 << 20);
    ck_assert_uint_eq(replay(), 1);
    ck_assert_str_eq(import.message,
                     "device_traces[0][1]: oom, size 4194304, device_free 2097152, in a.py:7 f");
    ck_assert_ptr_nonnull(strstr(import.assumed, "blocks lie where the replay places them"));
}

/* A segment of 4 MiB, all free but its last 512 bytes. */
#define SEGMENT_4M(address, keys)     \
    "{\"address\":" #address "," keys \
    "\"blocks\":[" BLOCK(4193792, "inactive") "," BLOCK(512, "active_allocated") "]}"
#define OOM(size, device_free) \
    "{\"action\":\"oom\",\"size\":" #size ",\"device_free\":" #device_free "}"
#define FAILED(segments, settings, event)                            \
    "{\"segments\":[" segments "],\"allocator_settings\":{" settings \
    "}" TRACE(EVENT("alloc", 1048576, 512) "," EVENT("free_completed", 1048576, 512) "," event)

TEST(free_memory_that_could_not_serve_the_request_is_shown_as_in_use)
{
    static const struct {
        const char *text, *tag;
    } failed[] = {
        {FAILED(SEGMENT_4M(8388608, "\"segment_type\":\"small\","), "", OOM(2097152, 0)),
         "free in the small pool"},
        {FAILED(SEGMENT_4M(8388608, "\"segment_type\":\"large\","), "", OOM(1048576, 0)),
         "free in the large pool"},
        {FAILED(SEGMENT_4M(8388608, "\"stream\":7,"), "", OOM(2097152, 0)),
         "free for another stream"},
        {FAILED(SEGMENT_4M(8388608, "\"segment_pool_id\":[0,1],"), "", OOM(2097152, 0)),
         "free in a private pool"},
        {FAILED(SEGMENT_4M(8388608, ""), "\"max_split_size\":3145728", OOM(2097152, 0)),
         "free, kept whole by max_split_size"},
        {FAILED(SEGMENT_4M(8388608, "\"stream\":7,"), "", OOM(6291456, 8388608)),
         "free on the device, not for a segment"},
    };
    for (size_t i = 0; i < sizeof failed / sizeof failed[0]; i++) {
        ck_assert_msg(import_string(failed[i].text) == IMPORT_OK, "%s", refusal.reason);
        ck_assert_str_eq(import.setup.tags[1], failed[i].tag);
        ck_assert_uint_eq(replay(), 1);
        import_deinit(&import);
        import_init(&import);
    }
}

/* Pool, stream and size are right: that PyTorch did not use it is not explained away. */
TEST(a_free_block_that_would_have_served_stays_free)
{
    ck_assert_msg(import_string(FAILED(SEGMENT_4M(8388608, "\"segment_type\":\"large\","), "",
                                       OOM(2097152, 0))) == IMPORT_OK,
                  "%s", refusal.reason);
    ck_assert_uint_eq(replay(), 0);
    ck_assert_ptr_nonnull(
        strstr(import.assumed, "a free block of 4193792 bytes serves the request, which failed"));
}

TEST(a_device_that_refused_what_it_had_is_told_as_such)
{
    ck_assert_msg(import_string(FAILED(SEGMENT_4M(8388608, ""), "", OOM(12582912, 33554432))) ==
                      IMPORT_OK,
                  "%s", refusal.reason);
    ck_assert_uint_eq(replay(), 1);
    ck_assert_ptr_nonnull(strstr(
        import.assumed,
        "the device refused a segment of 12582912 bytes although it had 33554432 free: a limit"));
}

TEST(numbers_of_64_bits_are_neither_lines_nor_blocks)
{
#define HUGE_NUMBER "18446744073709551615"
    ck_assert_msg(
        import_string("{\"segments\":[]" TRACE(
            "{\"action\":\"oom\",\"size\":" HUGE_NUMBER ",\"device_free\":" HUGE_NUMBER
            ",\"frames\":[{\"filename\":\"/18446744073709551616/a.py\",\"line\":" HUGE_NUMBER
            ",\"name\":\"f\"}]},{\"action\":\"alloc\",\"addr\":512,\"size\":512},"
            "{\"action\":\"free_completed\",\"addr\":512,\"size\":512}")) == IMPORT_OK,
        "%s", refusal.reason);
    assert_ops("alloc size=1P tag=1\nalloc size=512\nfree block=1\n");
    ck_assert_str_eq(import.setup.tags[1], "a.py f");
    assert_refused(
        "{\"segments\":[]" TRACE("{\"action\":\"alloc\",\"addr\":512,\"size\":" HUGE_NUMBER "}"),
        "device_traces[0][0]: 'size' is 9223372036854775807; accepted: 0 to");
    assert_refused(
        "{\"segments\":[{\"address\":0,\"blocks\":[{\"state\":\"inactive\",\"size\":" HUGE_NUMBER
        "}]}]}",
        "segments[0].blocks[0]: 'size' is 9223372036854775807; accepted: 0 to");
}

/* --- what is refused --- */

TEST(what_contradicts_itself_is_refused_with_its_place)
{
#define ACTIVE SEGMENT(BLOCK(1024, "active_allocated"))
#define INACTIVE SEGMENT(BLOCK(1024, "inactive"))
    assert_refused(
        ACTIVE TRACE(EVENT("alloc", 4096, 1024) "," EVENT("alloc", 4096, 1024)),
        "device_traces[0][1]: it allocates a block at 4096, where the block of event [0] is not yet free");
    assert_refused(
        INACTIVE TRACE(EVENT("free_requested", 4096, 1024) "," EVENT("free_requested", 4096, 1024)),
        "device_traces[0][1]: it frees the block at 4096 a second time");
    assert_refused(
        INACTIVE TRACE(EVENT("free_completed", 4096, 1024) "," EVENT("free_requested", 4096, 1024)),
        "device_traces[0][1]: it frees the block at 4096 a second time");
    assert_refused(
        INACTIVE TRACE(EVENT("alloc", 4096, 1024) "," EVENT("free_requested", 4096, 512)),
        "device_traces[0][1]: it frees 512 bytes at 4096, but event [0] gives 1024");
    assert_refused(
        ACTIVE TRACE(EVENT("alloc", 4096, 1024) "," EVENT("free_completed", 4096, 1024)),
        "device_traces[0][1]: the block at 4096 is freed, but the final state has it as active");
    assert_refused(
        ACTIVE TRACE(EVENT("free_requested", 4096, 1024)),
        "device_traces[0][0]: the block at 4096 is waiting for its free, but the final state has it as active");
    assert_refused(
        ACTIVE TRACE(EVENT("alloc", 8192, 1024)),
        "device_traces[0][0]: the block at 8192 is never freed, but the final state has no block there");
    assert_refused(
        ACTIVE TRACE(EVENT("alloc", 4096, 2048)),
        "segments[0].blocks[0]: it has 1024 bytes, 1024 of them requested, but device_traces[0][0] gives 2048");
    assert_refused(
        ACTIVE TRACE(EVENT("alloc", 4608, 512) "," EVENT("free_completed", 4608, 512)),
        "device_traces[0][0]: its block of 512 bytes at 4608 overlaps the live one at 4096");
#undef ACTIVE
#undef INACTIVE
}

TEST(what_breaks_the_grammar_is_refused_with_its_place)
{
    assert_refused("3", "neither a dict with 'segments' nor a list of segments");
    assert_refused("{}", "'segments' is missing or not a list");
    assert_refused("[1]", "segments[0]: it is not a dict");
    assert_refused("[{\"address\":1}]", "segments[0]: 'blocks' is not a list with blocks");
    assert_refused("[{\"blocks\":[{}]}]", "segments[0]: 'address' is missing");
    assert_refused("[{\"address\":-1,\"blocks\":[{}]}]",
                   "segments[0]: 'address' is -1; accepted: 0 to");
    assert_refused("[{\"address\":1.5,\"blocks\":[{}]}]",
                   "segments[0]: 'address' is not a whole number");
    assert_refused("[{\"address\":1,\"device\":64,\"blocks\":[{}]}]",
                   "segments[0]: 'device' is 64; accepted: 0 to 63");
    assert_refused(SEGMENT("{}") "}", "segments[0].blocks[0]: 'size' is missing");
    assert_refused(SEGMENT(BLOCK(0, "inactive")) "}",
                   "segments[0].blocks[0]: the block has 0 bytes");
    assert_refused(SEGMENT(BLOCK(512, "gone")) "}",
                   "segments[0].blocks[0]: the state 'gone' is unknown");
    assert_refused(SEGMENT("{\"size\":512}") "}", "segments[0].blocks[0]: 'state' is missing");
    assert_refused(
        SEGMENT("{\"size\":512,\"address\":1,\"state\":\"inactive\"}") "}",
        "segments[0].blocks[0]: it begins at 1, not at 4096, where the block before it ends or the segment begins");
    assert_refused(
        SEGMENT("{\"size\":512,\"requested_size\":513,\"state\":\"active_allocated\"}") "}",
        "segments[0].blocks[0]: 513 bytes were requested in a block of 512 bytes");
    assert_refused(
        SEGMENT(BLOCK(1125899906842624, "inactive") "," BLOCK(512, "inactive")) "}",
        "segments[0].blocks[1]: with this block, the segments of device 0 have more than 2^50 bytes");
    assert_refused(
        "[{\"address\":0,\"blocks\":[" BLOCK(
            1024, "inactive") "]},{\"address\":512,\"blocks\":[" BLOCK(512, "inactive") "]}]",
        "segments[1].blocks[0]: it begins at 512, inside segments[0].blocks[0]");
    assert_refused("{\"segments\":[],\"device_traces\":3}", "'device_traces' is not a list");
    assert_refused("{\"segments\":[],\"device_traces\":[3]}", "device_traces[0]: it is not a list");
    assert_refused("{\"segments\":[]" TRACE("3"), "device_traces[0][0]: it is not a dict");
    assert_refused("{\"segments\":[]" TRACE("{}"), "device_traces[0][0]: 'action' is missing");
    assert_refused("{\"segments\":[]" TRACE("{\"action\":\"alloc\",\"size\":1}"),
                   "device_traces[0][0]: 'addr' is missing");
    assert_refused("{\"segments\":[]" TRACE(EVENT("alloc", 1, 0)),
                   "device_traces[0][0]: the event has 0 bytes");
    assert_refused("{\"segments\":[],\"segments\":[]}", "duplicate object key");
    assert_refused("{\"segments\":[\"\xff\"]}", "JSON, column");
    ck_assert_int_eq(import_string("{\"segments\":[]" TRACE("")), IMPORT_INCOMPLETE);
    ck_assert_str_eq(refusal.reason, "the file has no block in a segment, and no event of one");
}

TEST(memory_that_is_all_free_is_nothing_to_replay)
{
    ck_assert_int_eq(
        import_string(SEGMENT(BLOCK(1024, "inactive")) TRACE(EVENT("snapshot", 0, 512))),
        IMPORT_INCOMPLETE);
    ck_assert_str_eq(refusal.reason,
                     "the file has nothing to replay: no memory in use, and no request");
}

/* A list of 1000 blocks that 1000 segments share would be a million blocks in 4 KB. */
TEST(shared_values_are_visited_only_as_often_as_the_file_is_long)
{
    static char bytes[1 << 16];
    char *at = bytes;
    static const char block[] =
        "}\x94(\x8c\x04sizeM\x00\x02\x8c\x05stateX\x08\x00\x00\x00inactiveu0";
    static const char segment[] = "}\x94(\x8c\x07"
                                  "addressK\x00\x8c\x06"
                                  "blocks](";
    memcpy(at, "\x80\x04", 2);
    at += 2;
    memcpy(at, block, sizeof block - 1);
    at += sizeof block - 1;
    memcpy(at, segment, sizeof segment - 1);
    at += sizeof segment - 1;
    for (int i = 0; i < 1000; i++, at += 2) {
        memcpy(at, "h\x00", 2);
    }
    memcpy(at, "eu0](", 5);
    at += 5;
    for (int i = 0; i < 1000; i++, at += 2) {
        memcpy(at, "h\x01", 2);
    }
    memcpy(at, "e.", 2);
    at += 2;
    const size_t length = (size_t)(at - bytes);
    ck_assert_int_eq(import_text(bytes, length, "torch_snapshot", NULL, &import, &refusal),
                     IMPORT_INVALID);
    ck_assert_msg(strstr(refusal.reason, "shared so often") != NULL, "%s", refusal.reason);
}

/* --- pickles that share much --- */

/* A pickle while it is written, in memory that is large enough. */
struct pickled {
    char *bytes;
    size_t length;
};

static void put_bytes(struct pickled *pickle, const char *bytes, size_t length)
{
    memcpy(pickle->bytes + pickle->length, bytes, length);
    pickle->length += length;
}
#define PUT(pickle, literal) put_bytes(pickle, literal, sizeof literal - 1)

/* Fetches what is in the memo, count times. */
static void put_gets(struct pickled *pickle, char memo, int count)
{
    for (int i = 0; i < count; i++) {
        put_bytes(pickle, (const char[]){'h', memo}, 2);
    }
}

/* Up to where the first event of a snapshot with one free block belongs. */
static void put_head(struct pickled *pickle)
{
    PUT(pickle, "\x80\x04}(\x8c\x08segments](}(\x8c\x07"
                "addressK\x00\x8c\x06"
                "blocks](}(\x8c\x04sizeM\x00\x02");
    PUT(pickle, "\x8c\x05stateX\x08\x00\x00\x00inactiveueue\x8c\x0d"
                "device_traces](](");
}

/* The same event 1000 times, with 500 keys that nobody knows: half a million keys in 7 KB. */
TEST(the_keys_of_shared_values_count_as_visits)
{
    static char bytes[1 << 14];
    struct pickled pickle = {.bytes = bytes};
    put_head(&pickle);
    PUT(&pickle, "}\x94(");
    for (int i = 0; i < 500; i++) {
        char key[16];
        put_bytes(&pickle, key, (size_t)snprintf(key, sizeof key, "\x8c\x05k%04dN", i));
    }
    PUT(&pickle, "\x8c\x06"
                 "action\x8c\x05otheru");
    put_gets(&pickle, 0, 999);
    PUT(&pickle, "eeu.");
    ck_assert_int_eq(import_text(bytes, pickle.length, "torch_snapshot", NULL, &import, &refusal),
                     IMPORT_INVALID);
    ck_assert_msg(strstr(refusal.reason, "shared so often") != NULL, "%s", refusal.reason);
}

/* 40,000 events, each with a stack of 512 frames, each of them of a file with a name of 500,000
 * bytes: 10^13 bytes to look at, in 600 KB, unless what is shared is looked at once. */
TEST(shared_stacks_take_no_longer_than_the_file_is_long)
{
    enum { NAME_BYTES = 500000, EVENT_COUNT = 40000 };
    struct pickled pickle = {.bytes = malloc(NAME_BYTES + 4 * EVENT_COUNT)};
    put_head(&pickle);
    PUT(&pickle, "}(\x8c\x06"
                 "action\x8c\x05"
                 "alloc\x8c\x04"
                 "addrK\x01\x8c\x04sizeM\x00\x02\x8c\x06"
                 "frames](");
    PUT(&pickle, "}\x94(\x8c\x08"
                 "filenameX\x20\xa1\x07\x00"); /* 500,000 */
    memset(pickle.bytes + pickle.length, 'x', NAME_BYTES);
    pickle.length += NAME_BYTES;
    PUT(&pickle, "u");
    put_gets(&pickle, 0, 511);
    PUT(&pickle, "eu\x94");
    put_gets(&pickle, 1, EVENT_COUNT - 1);
    PUT(&pickle, "eeu.");
    ck_assert_int_eq(
        import_text(pickle.bytes, pickle.length, "torch_snapshot", NULL, &import, &refusal),
        IMPORT_INVALID);
    ck_assert_str_eq(
        refusal.reason,
        "device_traces[0][1]: it allocates a block at 1, where the block of event [0] is not yet free");
    free(pickle.bytes);
}

TEST(the_254_places_with_the_most_bytes_get_tags_and_the_rest_is_other)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    fputs("{\"segments\":[],\"device_traces\":[[", stream);
    for (int i = 1; i <= 300; i++) { /* place i allocates i granules */
        fprintf(
            stream,
            "%s{\"action\":\"alloc\",\"addr\":%d,\"size\":%d,\"frames\":[{\"filename\":\"/x/a.py\","
            "\"line\":%d,\"name\":\"f\"}]},{\"action\":\"free_completed\",\"addr\":%d,\"size\":%d}",
            i == 1 ? "" : ",", i << 20, i * 512, i, i << 20, i * 512);
    }
    fputs("]]}", stream);
    fclose(stream);
    ck_assert_msg(import_string(text) == IMPORT_OK, "%s", refusal.reason);
    free(text);
    ck_assert_str_eq(import.setup.tags[1], "a.py:300 f");
    ck_assert_str_eq(import.setup.tags[254], "a.py:47 f");
    ck_assert_str_eq(import.setup.tags[255], "other");
    ck_assert_uint_eq(import.ops.ops[0].tag, 255);
    ck_assert_uint_eq(import.ops.ops[2 * 299].tag, 1);
}

TEST(a_place_is_the_innermost_frame_that_is_not_of_torch)
{
#define FRAME(file, line, name) \
    "{\"filename\":\"" file "\",\"line\":" #line ",\"name\":\"" name "\"}"
#define PLACED(frames)                                                         \
    "{\"segments\":[]" TRACE(                                                  \
        "{\"action\":\"alloc\",\"addr\":4096,\"size\":512,\"frames\":[" frames \
        "]}," EVENT("free_completed", 4096, 512))
    static const struct {
        const char *text, *tag;
    } rows[] = {
        {PLACED(""), ""},
        {PLACED(FRAME("??", 0, "at::empty")), "no Python frame"},
        {PLACED(FRAME("", 0, "x") "," FRAME("/v/site-packages/torch/nn/a.py", 5, "g")), "a.py:5 g"},
        {PLACED(FRAME("/v/site-packages/torch/nn/a.py", 5,
                      "g") "," FRAME("/v/site-packages/torchvision/b.py", 6, "h")),
         "b.py:6 h"},
        {PLACED(FRAME("C:\\\\site-packages\\\\torch\\\\nn\\\\a.py", 5,
                      "g") "," FRAME("C:\\\\u\\\\c.py", 7, "k")),
         "c.py:7 k"},
        {PLACED(FRAME("<eval_with_key>.3", 5, "g") "," FRAME("<stdin>", 1, "<module>")),
         "<stdin>:1 <module>"},
        {PLACED("3,{}," FRAME("/u/c.py", 7, "k")), "c.py:7 k"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(import_string(rows[i].text) == IMPORT_OK, "%zu: %s", i, refusal.reason);
        ck_assert_str_eq(import.setup.tags[1], rows[i].tag);
        ck_assert_uint_eq(import.ops.ops[0].tag, rows[i].tag[0] == '\0' ? 0 : 1);
    }
}

TEST(events_after_the_failure_take_the_request_from_the_final_heap)
{
    static const char oom[] = "{\"action\":\"oom\",\"size\":512,\"device_free\":0}";
    char text[1024];
    snprintf(text, sizeof text, "%s%s]]}",
             SEGMENT(BLOCK(1024, "active_allocated")) ",\"device_traces\":[[", oom);
    ck_assert_msg(import_string(text) == IMPORT_OK, "%s", refusal.reason);
    ck_assert_uint_eq(import.ops.count, 2);
    snprintf(text, sizeof text, "%s%s,%s]]}",
             SEGMENT(BLOCK(1024, "active_allocated")) ",\"device_traces\":[[", oom,
             EVENT("segment_free", 8192, 2097152));
    ck_assert_msg(import_string(text) == IMPORT_OK, "%s", refusal.reason);
    ck_assert_uint_eq(import.ops.count, 1);
    ck_assert_ptr_nonnull(
        strstr(import.notes, "the file does not show a failed request in this state"));
}

TEST(events_of_several_devices_are_merged_by_time)
{
#define TIMED(action, time, addr) \
    "{\"action\":\"" action "\",\"time_us\":" #time ",\"addr\":" #addr ",\"size\":512}"
    ck_assert_msg(
        import_string("{\"segments\":[],\"device_traces\":[[" TIMED("alloc", 10, 4096) "," TIMED(
            "free_requested", 30,
            4096) "," TIMED("free_completed", 50,
                            4096) "],[" TIMED("alloc", 20, 4096) "," TIMED("free_completed", 40,
                                                                           4096) "]]}") ==
            IMPORT_OK,
        "%s", refusal.reason);
    assert_ops(
        "alloc size=512\n"
        "alloc size=512 host=1\n"
        "free block=0\n" /* requested at 30, complete before anything else happens on its device */
        "free block=1 host=1\n");
#undef TIMED
}

/* Segments that come and go: at the failure there were 2 MiB more than at the end, and 1 MiB was
 * free. */
TEST(capacity_is_what_the_failure_says)
{
    ck_assert_msg(
        import_string(SEGMENT(BLOCK(1048576, "active_allocated")) TRACE(
            EVENT("segment_alloc", 4096, 1048576) "," EVENT(
                "alloc", 4096,
                1048576) ","
                         "{\"action\":\"oom\",\"size\":9223372036854775807,\"device_free\":1048577}," EVENT(
                             "segment_free", 8388608, 2097152))) == IMPORT_OK,
        "%s", refusal.reason);
    ck_assert_uint_eq(import.setup.capacity_bytes, 4 << 20);
    ck_assert_uint_eq(import.ops.count, 2);
    ck_assert_uint_eq(import.ops.ops[1].size_bytes, UINT64_C(1) << 50);
    const struct setup fixed = {.capacity_bytes = 64 << 20};
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(import_file(FIELD "complete.json", "auto", &options, &import, &refusal),
                     IMPORT_OK);
    ck_assert_uint_eq(import.setup.capacity_bytes, 64 << 20);
}

/* --- cuts and damage --- */

static const struct import_options with_stacks = {.with_stacks = true};

/* CHECKs that each op that has a stack is one of the list. */
static void check_stacks(void)
{
    ck_assert(import.stacks != NULL);
    free(stacks_by_op(import.stacks, import.ops.count));
}

TEST(every_cut_of_our_files_is_said, .to = FILE_COUNT)
{
    char path[4096];
    size_t length = 0;
    snprintf(path, sizeof path, FIELD "%s", files[_i].file);
    if (files[_i].result != IMPORT_OK) {
        return;
    }
    char *bytes = file_bytes(path, &length);
    length -= bytes[length - 1] == '\n' ? 1 : 0;
    for (size_t cut = 1; cut < length; cut++) {
        char *copy = malloc(cut); /* exactly as long: the sanitizer sees a read behind it */
        memcpy(copy, bytes, cut);
        const enum import_result result = import_text(copy, cut, "torch_snapshot", &with_stacks,
                                                      &import, &refusal);
        ck_assert_msg(result == IMPORT_INCOMPLETE, "cut at %zu: %d %s", cut, result,
                      refusal.reason);
        free(copy);
    }
    free(bytes);
}

TEST(damaged_files_are_imported_or_refused, .to = FILE_COUNT)
{
    char path[4096];
    size_t length = 0;
    struct random random;
    random_init(&random, (uint64_t)_i);
    snprintf(path, sizeof path, FIELD "%s", files[_i].file);
    char *bytes = file_bytes(path, &length);
    char *copy = malloc(length);
    size_t imported = 0;
    for (int round = 0; round < 300; round++) {
        memcpy(copy, bytes, length);
        const uint64_t flips = random_between(&random, 1, 3);
        for (uint64_t i = 0; i < flips; i++) {
            copy[random_below(&random, length)] = (char)random_bits(&random);
        }
        const enum import_result result = import_text(copy, length, "torch_snapshot", &with_stacks,
                                                      &import, &refusal);
        imported += result == IMPORT_OK ? 1 : 0;
        if (result == IMPORT_OK) {
            check_stacks();
        }
        ck_assert(result == IMPORT_OK || refusal.reason[0] != '\0');
    }
    if (files[_i].result == IMPORT_OK) {
        ck_assert_uint_gt(imported, 0); /* a flip in a file name changes nothing else */
    }
    free(copy);
    free(bytes);
}
