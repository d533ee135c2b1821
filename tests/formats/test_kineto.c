/* Memory events of PyTorch's profiler become a trace of the device's blocks, what was there before
 * them, and the request that failed; timelines without addresses become blocks of the same sums. */
#include "tests/formats/import_checks.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/"
#define MIB (UINT64_C(1) << 20)

static void import_file_of(const char *name)
{
    import_checks_field(name, &import);
    ck_assert_str_eq(import.setup.system, "pytorch");
}

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

/* The rest of what was allocated before comes first, and events count in the order of their times.
 */
TEST(a_window_becomes_its_blocks_and_what_was_there)
{
    import_file_of("kineto/window.json");
    import_checks_ops(&import, "alloc size=8M tag=2\nalloc size=32M tag=2\nalloc size=16M tag=1\n"
                               "alloc size=24M tag=1\nfree block=2\nalloc size=8M tag=1\n"
                               "free block=0\nfree block=3\n");
    ck_assert_uint_eq(import.setup.capacity_bytes, 512 * MIB);
    ck_assert_str_eq(import.setup.tags[2], SETUP_BEFORE_NAME);
    ck_assert_uint_eq(import.said_count, 6);
    ck_assert_uint_eq(import.said[5].value, 40 * MIB);
    ck_assert_ptr_nonnull(strstr(import.notes, "1 events of host memory (CPU)"));
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

TEST(a_comma_behind_the_last_event_is_no_fault)
{
    import_file_of("kineto/trailing_comma.json");
    ck_assert_uint_eq(import.ops.count, 8);
}

TEST(a_request_that_failed_fails)
{
    import_file_of("kineto/out_of_memory.json");
    ck_assert_uint_eq(import_checks_replay(&import), 1);
    ck_assert_ptr_nonnull(
        strstr(import.told, "a request for 96.00M failed; of 120.00M that PyTorch had reserved, "
                            "80.00M were allocated"));
    ck_assert_ptr_nonnull(strstr(import.assumed, "the 40.00M that were reserved and free"));
    ck_assert_ptr_nonnull(strstr(import.assumed, "the capacity is what was reserved"));
}

TEST(events_that_are_missing_are_told)
{
    import_file_of("kineto/missing_events.json");
    ck_assert_ptr_nonnull(strstr(import.assumed, "1 blocks are made where one is live"));
    ck_assert_ptr_nonnull(strstr(import.told, "events are missing"));
}

TEST(rows_become_blocks_of_their_categories)
{
    import_file_of("torch_timeline/rows.raw.json");
    import_checks_ops(&import,
                      "alloc size=4000K tag=1\nalloc size=8000K tag=2\nalloc size=512 tag=3\n"
                      "alloc size=2000K tag=4\nalloc size=1000K tag=5\nfree block=4\n"
                      "alloc size=1000K tag=5\nfree block=3\nfree block=6\n");
    ck_assert_str_eq(import.setup.tags[4], "activations");
    ck_assert_ptr_nonnull(strstr(import.told, "the most was live at 1000 ns"));
    ck_assert_ptr_nonnull(strstr(import.told, "1 rows free or rename what is not there"));
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

TEST(sums_become_blocks_that_have_them)
{
    import_file_of("torch_timeline/sums.json");
    import_checks_ops(&import, "alloc size=4K tag=1\nalloc size=8K tag=2\nalloc size=1K tag=3\n"
                               "alloc size=2K tag=4\nfree block=2\nalloc size=512 tag=3\n"
                               "free block=3\nalloc size=2K tag=5\nfree block=5\nfree block=7\n");
    ck_assert_ptr_nonnull(strstr(import.told, "the most was live at 200 us: 15.0K"));
    ck_assert_ptr_nonnull(strstr(import.assumed, "only sums are known"));
}

static const struct import_refused refused[] = {
    {"kineto/cut.json", IMPORT_INCOMPLETE, 8, 19, "the file is cut off here"},
    {"kineto/cpu_only.json", IMPORT_INCOMPLETE, 0, 0,
     "all 1 memory events of the trace are of host memory"},
    {"kineto/no_memory_events.json", IMPORT_INCOMPLETE, 0, 0, "profile with profile_memory=True"},
    {"torch_timeline/cut.json", IMPORT_INCOMPLETE, 1, 0, "(a cut file?)"},
    {"torch_timeline/bad_action.json", IMPORT_INVALID, 0, 0, "row 2 is not [time, action 1 to 4"},
    {"torch_timeline/picture.html", IMPORT_INCOMPLETE, 0, 0, "is a picture"},
};

TEST(what_has_no_whole_trace_is_refused, .to = sizeof refused / sizeof refused[0])
{
    import_checks_refused(&refused[_i], FIELD, "auto", &import);
}

static const char *const files[] = {"kineto/window.json",         "kineto/out_of_memory.json",
                                    "kineto/missing_events.json", "torch_timeline/rows.raw.json",
                                    "torch_timeline/sums.json",   "torch_timeline/picture.html"};
enum { FILE_COUNT = sizeof files / sizeof files[0] };

TEST(damage_is_refused_or_replays, .to = FILE_COUNT)
{
    import_checks_field_damage(files[_i], 300, &import);
}
