/* A message of the runtime becomes the shortest ops that end in it; what is cut or contradicts
 * itself is refused. */
#include "formats/formats.h"
#include "tests/formats/import_checks.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/tpu_message/"

static const struct {
    const char *name;
    const char *ops;
    uint64_t capacity_bytes;
    uint64_t granule_bytes;
    bool is_open;     /* heaps that it allows disagree */
    const char *note; /* part of the notes; may be NULL */
} messages[] = {
    {"buffer", "alloc size=7959195136 tag=2\nalloc size=96M\n", UINT64_C(7662) << 20, 512, false,
     "2 messages"},
    {"buffer_code", "alloc size=6810880K tag=2\nalloc size=1280M\n", 0, 512, false, NULL},
    {"buffer_abbreviated", "alloc size=7845468K tag=2\nalloc size=7680K\n", 0, 512, false, NULL},
    {"buffer_pieces",
     "alloc size=34099K tag=3\nalloc size=512 tag=5\nalloc size=34099K tag=3\nalloc size=512 tag=5\n"
     "alloc size=210432 tag=3\nalloc size=7929225728 tag=5\nhold block=1\nhold block=3\nhold block=5\n"
     "free block=0\nfree block=2\nfree block=4\nalloc size=40M\n",
     0, 512, true, "all that was in use was pinned"},
    {"buffer_below_free", NULL, 0, 512, true, "the largest free piece was just smaller"},
    {"buffer_below_free_large",
     "alloc size=1289749K tag=3\nalloc size=3277513216 tag=5\nhold block=1\nfree block=0\n"
     "alloc size=11744051K\n",
     0, 512, true, "all that was in use was pinned"},
    {"program_allocate", NULL, 0, 512, false, "line 2: Error loading program 'jit_decode'"},
    {"program_reserve", "alloc size=2798M tag=2\nload size=512 stack=5632M tag=1\n", 0, 512, false,
     "one granule"},
    {"program_reserve_pieces", NULL, 0, 512, true, NULL},
    {"program_reserve_busy",
     "load size=512 stack=1G tag=4\nexecute program=0 delay=never\nalloc size=6423576064 tag=2\n"
     "load size=512 stack=2G tag=1\n",
     0, 512, false, NULL},
    {"program_reserve_nothing_free",
     "load size=512 stack=64M tag=1\nalloc size=8034188800 tag=2\nexecute program=0 delay=0s\n", 0,
     512, false, NULL},
    {"program_reserve_image", "alloc size=1262M tag=2\nload size=268435968 stack=6G tag=1\n", 0,
     512, true, "the image took 268435968 bytes"},
    {"program_reserve_table", "alloc size=15104M tag=2\nload size=512 stack=2621441K\n",
     UINT64_C(16) << 30, 512, false, "from the message"},
    {"driver", NULL, 0, 512, true, NULL},
    {"small_granule", NULL, 0, 64, false, NULL},
    {"behind_scratchpad", NULL, 0, 512, false, NULL},
};
enum { MESSAGE_COUNT = sizeof messages / sizeof messages[0] };

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

TEST(each_form_of_message_becomes_its_shortest_ops, .to = MESSAGE_COUNT)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s.log", messages[_i].name);
    import_checks_file(path, "tpu_message", NULL, &import);
    if (messages[_i].ops != NULL) {
        import_checks_ops(&import, messages[_i].ops);
    }
    if (messages[_i].capacity_bytes != 0) {
        ck_assert_uint_eq(import.setup.capacity_bytes, messages[_i].capacity_bytes);
    }
    ck_assert_uint_eq(import.setup.granule_bytes, messages[_i].granule_bytes);
    ck_assert_int_eq(messages[_i].is_open, import.setup.reported.is_there);
    ck_assert_ptr_null(setup_option(&import.setup, "defrag"));
    ck_assert_ptr_nonnull(strstr(import.assumed, "printed sizes are rounded"));
    ck_assert(messages[_i].note == NULL || strstr(import.notes, messages[_i].note) != NULL);
}

/* What a message does not say is assumed, with the number that would change the verdict. */
TEST(a_request_above_all_that_is_free_assumes_that_nothing_else_could_go)
{
    import_checks_file(FIELD "buffer.log", "tpu_message", NULL, &import);
    ck_assert_ptr_nonnull(strstr(import.assumed, "an idle program or an unfinished free: with "
                                                 "25669120 bytes of those the refusal would"));
    import_checks_file(FIELD "program_reserve.log", "tpu_message", NULL, &import);
    ck_assert_ptr_nonnull(strstr(import.assumed, "was an unfinished free: with 805306880 bytes"));
}

/* Both print as 3.98G: in one heap the request is the larger one, in another it is not. */
TEST(sizes_that_print_alike_leave_open_which_is_larger)
{
    static const char text[] =
        "Attempting to allocate 3.98G. That was not possible. There are 3.98G free.";
    ck_assert_int_eq(import_text(text, sizeof text - 1, "tpu_message", NULL, &import, &error),
                     IMPORT_OK);
    const struct setup_reported *reported = &import.setup.reported;
    ck_assert(reported->is_there && reported->requested_high > reported->free_low);
    ck_assert_uint_eq(reported->requested_low, reported->free_low);
    static const char stack[] =
        "Attempting to reserve 6.25G at the bottom of memory. That was not possible. There are "
        "6.25G free, 0B reserved, and 6.25G reservable.";
    teardown_import();
    setup_import();
    ck_assert_int_eq(import_text(stack, sizeof stack - 1, "tpu_message", NULL, &import, &error),
                     IMPORT_OK);
    ck_assert_uint_eq(import.setup.reported.image_least, 512);
}

TEST(coordinates_and_names_are_taken_over)
{
    import_checks_file(FIELD "buffer.log", "tpu_message", NULL, &import);
    ck_assert_uint_eq(import.setup.coordinate[0], 2);
    ck_assert_uint_eq(import.setup.coordinate[1], 1);
    import_checks_file(FIELD "buffer_code.log", "tpu_message", NULL, &import);
    ck_assert_uint_eq(import.setup.coordinate[3], 1);
    import_checks_file(FIELD "program_reserve.log", "tpu_message", NULL, &import);
    ck_assert_str_eq(import.setup.tags[1], "jit_update");
}

TEST(a_cut_message_says_what_is_missing)
{
    char text[512];
    ck_assert_int_eq(import_file(FIELD "cut.log", "auto", NULL, &import, &error),
                     IMPORT_INCOMPLETE);
    ck_assert_str_eq(
        import_error_print("cut.log", &error, text, sizeof text),
        "cut.log:1:21: the message is cut off or damaged: it lacks the free, reserved and reservable bytes");
}

/* Whatever is cut off the end: the import says so, or it gives what the whole message gives. */
TEST(a_message_cut_anywhere_is_never_taken_for_another)
{
    static const char whole[] =
        "x: Attempting to allocate 40.00M. That was not possible. There are 100.10M free. Due to "
        "fragmentation, the largest contiguous region of free memory is 33.30M.";
    ck_assert_int_eq(import_text(whole, sizeof whole - 1, "tpu_message", NULL, &import, &error),
                     IMPORT_OK);
    const size_t op_count = import.ops.count;
    const size_t first_sentence = (size_t)(strstr(whole, " Due") - whole);
    for (size_t length = 1; length < sizeof whole - 1; length++) {
        const enum import_result result = import_text(whole, length, "tpu_message", NULL, &import,
                                                      &error);
        if (result == IMPORT_OK) {
            const bool is_whole = length == sizeof whole - 2 && import.ops.count == op_count;
            const bool is_sentence = length >= first_sentence - 1 && length <= first_sentence + 1;
            ck_assert_msg(is_whole || is_sentence, "%.*s", (int)length, whole);
        } else {
            ck_assert_int_eq(result, IMPORT_INCOMPLETE);
            ck_assert(error.reason[0] != '\0');
        }
    }
}

static const struct {
    const char *text;
    const char *reason;
} contradictions[] = {
    {"Attempting to reserve 1.00G at the bottom of memory. That was not possible. There are 1.00G free, 2.00G reserved, "
     "and 1.50G reservable.",
     "contradict"},
    {"Attempting to allocate 99.00M. That was not possible. There are 8000.00P free.", "more than"},
    {"Attempting to allocate 99.00M. That was not possible. There are 9999999999.00P free.",
     "it lacks the free bytes"},
    {"Attempting to allocate 0B. That was not possible. There are 0B free.", "the request"},
    {"Attempting to allocate 1.00G. That was not possible. There are 2.00G free. Due to fragmentation, the largest "
     "contiguous region of free memory is 512B.",
     "100000 pieces"},
    {"Attempting to allocate 1.00G. That was not possible. There are 2.00G free. Due to fragmentation, the largest "
     "contiguous region of free memory is 1.50G.",
     "not above the largest"},
};

TEST(contradictions_are_refused, .to = sizeof contradictions / sizeof contradictions[0])
{
    const char *text = contradictions[_i].text;
    ck_assert_int_ne(import_text(text, strlen(text), "tpu_message", NULL, &import, &error),
                     IMPORT_OK);
    ck_assert_msg(strstr(error.reason, contradictions[_i].reason) != NULL, "%s", error.reason);
    ck_assert_uint_eq(error.line, 1);
}

TEST(a_capacity_that_cannot_hold_the_message_is_refused)
{
    const struct setup fixed = {.capacity_bytes = 64 << 20};
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(import_file(FIELD "buffer.log", "auto", &options, &import, &error),
                     IMPORT_INVALID);
    ck_assert_str_eq(
        error.reason,
        "the capacity of 67108864 bytes is below the 74994176 bytes that the message needs");
}
