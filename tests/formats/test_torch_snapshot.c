/* Memory snapshots of PyTorch that share much, are cut or damaged; what whole ones become is in
 * tests/snap/formats_torch_snapshot.snap. */
#include "tests/formats/import_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/torch_snapshot/"

/* clang-format off */
static const char *const files[] = {
    "complete.pickle", "complete.json", "ring.pickle", "state_1_13.pickle", "state_oom.json",
    "segments_only.pickle", "two_devices.json", "two_devices_one_fails.json",
    "two_devices_both_fail.json", "state_two_fail.json", "cut.pickle", "cut.json",
    "contradicts_final_state.pickle", "contradicts_sum.json", "contradicts_overlap.pickle",
    "executes.pickle"};
/* clang-format on */
enum { WHOLE_COUNT = 10, FILE_COUNT = sizeof files / sizeof files[0] };

EVERY_TEST(.timeout_s = 600, .setup = setup_import, .teardown = teardown_import);

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

/* --- cuts and damage --- */

static char *read_field(int index, size_t *length)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", files[index]);
    return file_bytes(path, length);
}

TEST(every_cut_of_our_files_is_said, .to = WHOLE_COUNT)
{
    size_t length = 0;
    char *bytes = read_field(_i, &length);
    length -= bytes[length - 1] == '\n' ? 1 : 0;
    for (size_t cut = 1; cut < length; cut += draws_period()) {
        const enum import_result result = import_bytes(bytes, cut, "torch_snapshot");
        ck_assert_msg(result == IMPORT_INCOMPLETE, "cut at %zu: %d %s", cut, result,
                      refusal.reason);
    }
    free(bytes);
}

TEST(damaged_files_are_imported_or_refused, .to = FILE_COUNT)
{
    size_t length = 0;
    char *bytes = read_field(_i, &length);
    const uint64_t imported = damage(bytes, length, "torch_snapshot", draws_count(300, 100));
    ck_assert(_i >= WHOLE_COUNT || imported > 0); /* in a file name it changes nothing else */
    free(bytes);
}
