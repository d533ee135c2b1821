/* Memory events of a trace.json become the same run as those of the .xplane.pb. */
#include "harness/op/setup.h"
#include "tests/formats/profile_imports.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/trace_json/"
#define XPLANE HBMSTRESS_SOURCE_DIR "/corpus/field/xplane/"

/* Both forms of the same events. */
static void assert_same(const char *json, const char *xplane)
{
    struct import other;
    import_init(&other);
    ck_assert_int_eq(import_file(xplane, "xplane", NULL, &other, &profile_error), IMPORT_OK);
    profile_load(json, "trace_json");
    ck_assert_uint_eq(profile_import.ops.count, other.ops.count);
    for (size_t i = 0; i < other.ops.count; i++) {
        ck_assert_msg(op_equal(&profile_import.ops.ops[i], &other.ops.ops[i]), "op %zu differs", i);
    }
    ck_assert_uint_eq(profile_import.said_count, other.said_count);
    for (size_t i = 0; i < other.said_count; i++) {
        ck_assert_uint_eq(profile_import.said[i].op, other.said[i].op);
        ck_assert_int_eq(profile_import.said[i].kind, other.said[i].kind);
        ck_assert_uint_eq(profile_import.said[i].value, other.said[i].value);
    }
    ck_assert_str_eq(profile_import.notes, other.notes);
    ck_assert_mem_eq(profile_import.setup.tags, other.setup.tags, sizeof other.setup.tags);
    ck_assert_uint_eq(profile_import.setup.capacity_bytes, other.setup.capacity_bytes);
    import_deinit(&other);
}

EVERY_TEST(.timeout_s = 300, .setup = profile_setup, .teardown = profile_teardown);

TEST(both_forms_of_a_profile_give_the_same_run)
{
    assert_same(FIELD "small.trace.json", XPLANE "small.xplane.pb");
    assert_same(FIELD "devices_crlf.trace.json", XPLANE "devices.xplane.pb");
}

TEST(the_run_keeps_what_the_trace_says_is_in_use)
{
    profile_load(FIELD "small.trace.json", "trace_json");
    ck_assert_uint_eq(profile_assert_replay(), 9);
}

TEST(what_is_cut_off_or_contradicts_itself_is_refused_with_its_place)
{
    profile_assert_refused(FIELD "cut.trace.json", "trace_json", IMPORT_INCOMPLETE,
                           "the file is cut off here");
    ck_assert_uint_eq(profile_error.line, 5);
    profile_assert_refused(FIELD "contradicts.trace.json", "trace_json", IMPORT_INVALID,
                           "address 4096 is allocated, but the block there is live");
    ck_assert_uint_eq(profile_error.line, 7);
    ck_assert_uint_eq(profile_error.column, 1);
    profile_assert_refused(FIELD "missing_event.trace.json", "trace_json", IMPORT_INVALID,
                           "some events are missing (a trace.json has only some events");
    ck_assert_uint_eq(profile_error.line, 6);
}

#define EVENT \
    "{\"name\":\"MemoryAllocation\",\"ts\":1.5,\"args\":{\"addr\":\"1\",\"allocation_bytes\":\"8\"}}"
#define EVENTS(text) "{\"traceEvents\":[" text "]}"
#define ARGS(text) EVENTS("{\"name\":\"MemoryAllocation\",\"ts\":1,\"args\":{" text "}}")

static const struct {
    const char *text;
    enum import_result result;
    size_t column;
    const char *reason; /* part of it */
} bad_texts[] = {
    {EVENTS(EVENT " " EVENT), IMPORT_INVALID, 17 + 80, "',' is missing here"},
    {EVENTS(EVENT) "x", IMPORT_INVALID, 0, "something follows the end"},
    {"{\"traceEvents\":[" EVENT "],\"traceEvents\":[]}", IMPORT_INVALID, 0, "comes twice"},
    {"{\"traceEvents\":[" EVENT "], 3}", IMPORT_INVALID, 0, "a name in quotes is missing"},
    {"{\"traceEvents\":[" EVENT "]", IMPORT_INCOMPLETE, 0, "cut off"},
    {"{\"traceEvents\":[" EVENT ",\"a\\", IMPORT_INCOMPLETE, 0, "cut off"},
    {"{\"traceEvents\":{\"MemoryAllocation\":1}}", IMPORT_INVALID, 16, "'[' is missing here"},
    {"{\"traceEvents\":[" EVENT ",,]}", IMPORT_INVALID, 0, "a value is missing here"},
    {EVENTS("{\"name\":\"MemoryAllocation\" 3}"), IMPORT_INVALID, 17, "not JSON"},
    {EVENTS("{\"name\":\"MemoryAllocation\",\"name\":\"\"}"), IMPORT_INVALID, 17,
     "not JSON: duplicate"},
    {EVENTS("{\"name\":\"MemoryAllocation\",\"ts\":\"1\"}"), IMPORT_INVALID, 17,
     "the 'ts' of a memory event is not a time"},
    {EVENTS("{\"name\":\"MemoryAllocation\",\"ts\":1e17}"), IMPORT_INVALID, 17,
     "the 'ts' of a memory event is not a time"},
    {EVENTS("{\"name\":\"MemoryAllocation\",\"ts\":1}"), IMPORT_INVALID, 17, "has no 'addr'"},
    {ARGS("\"addr\":\"x\""), IMPORT_INVALID, 17, "addr of a memory event is not a number"},
    {ARGS("\"addr\":\"\""), IMPORT_INVALID, 17, "addr of a memory event is not a number"},
    {ARGS("\"addr\":\"18446744073709551616\""), IMPORT_INVALID, 17,
     "addr of a memory event is not a number"},
    {ARGS("\"addr\":1,\"allocation_bytes\":\"-8\""), IMPORT_INVALID, 17,
     "allocation_bytes of a memory event"},
    {ARGS("\"addr\":1,\"allocation_bytes\":8.5"), IMPORT_INVALID, 17,
     "allocation_bytes of a memory event"},
    {EVENTS("{\"name\":\"MemoryDeallocation\",\"ts\":1,\"args\":{\"addr\":1}}"), IMPORT_INCOMPLETE,
     0, "no allocation"},
    {EVENTS("{\"name\":\"MemoryAllocatio\",\"ts\":1}"), IMPORT_INCOMPLETE, 0,
     "the profile has no memory event"},
    {EVENTS(""), IMPORT_INCOMPLETE, 0, "the profile has no memory event"},
};

TEST(bad_texts_are_refused_with_their_place, .to = sizeof bad_texts / sizeof bad_texts[0])
{
    const char *text = bad_texts[_i].text;
    ck_assert_int_eq(
        import_text(text, strlen(text), "trace_json", NULL, &profile_import, &profile_error),
        bad_texts[_i].result);
    ck_assert_msg(strstr(profile_error.reason, bad_texts[_i].reason) != NULL, "%s",
                  profile_error.reason);
    if (bad_texts[_i].column != 0) {
        ck_assert_uint_eq(profile_error.line, 1);
        ck_assert_uint_eq(profile_error.column, bad_texts[_i].column);
    }
}

TEST(numbers_may_be_texts_and_addresses_signed)
{
    static const char text[] = EVENTS(
        "{\"name\":\"MemoryAllocation\",\"ts\":-2,\"pid\":7,\"args\":{\"addr\":-4096,\"allocation_bytes\":8}},"
        "{\"name\":\"MemoryDeallocation\",\"ts\":\t-1.5,\"pid\":7,"
        "\"args\":{\"addr\":\"18446744073709547520\"}}");
    ck_assert_int_eq(
        import_text(text, sizeof text - 1, "auto", NULL, &profile_import, &profile_error),
        IMPORT_OK);
    profile_assert_ops("alloc size=8\nfree block=0\n");
    ck_assert_ptr_nonnull(strstr(profile_import.notes, "0 = process 7"));
}

TEST(times_below_a_nanosecond_order_events)
{
    static const char text[] = EVENTS(
        "{\"name\":\"MemoryAllocation\",\"ts\":0.000002,\"args\":{\"addr\":1,\"allocation_bytes\":8}},"
        "{\"name\":\"MemoryAllocation\",\"ts\":0.000001,\"args\":{\"addr\":2,\"allocation_bytes\":16}}");
    ck_assert_int_eq(
        import_text(text, sizeof text - 1, "auto", NULL, &profile_import, &profile_error),
        IMPORT_OK);
    profile_assert_ops("alloc size=16\nalloc size=8\n");
}

/* Of other events nothing is read, however long they are and whatever stands in them. */
TEST(events_that_are_not_of_memory_are_passed_over)
{
    enum { LONG = 70000 };
    static char text[LONG + 400];
    char name[LONG + 1];
    memset(name, 'x', LONG);
    name[LONG] = '\0';
    const int length = snprintf(
        text, sizeof text,
        EVENTS(
            "{\"name\":\"fusion\",\"ts\":2,\"args\":{\"long_name\":\"%s\","
            "\"kind\":\"MemoryBound\"}},{\"name\":\"a\",\"a\":\"Memory\\u0000\"},"
            "{\"name\":\"MemoryAllocation\",\"ts\":1,\"args\":{\"addr\":1,\"allocation_bytes\":8}}"),
        name);
    ck_assert_int_eq(
        import_text(text, (size_t)length, "auto", NULL, &profile_import, &profile_error),
        IMPORT_OK);
    profile_assert_ops("alloc size=8\n");
}

/* 20 MB of nesting must cost neither stack nor much time. */
TEST(deep_nesting_is_passed_over)
{
    enum { DEPTH = 10 << 20 };
    char *text = malloc(2 * DEPTH + 64);
    size_t length = (size_t)sprintf(text, "{\"a\":");
    memset(text + length, '[', DEPTH);
    memset(text + length + DEPTH, ']', DEPTH);
    length += 2 * (size_t)DEPTH;
    length += (size_t)sprintf(text + length, ",\"traceEvents\":[]}");
    ck_assert_int_eq(import_text(text, length, "trace_json", NULL, &profile_import, &profile_error),
                     IMPORT_INCOMPLETE);
    ck_assert_ptr_nonnull(strstr(profile_error.reason, "no memory event"));
    free(text);
}

TEST(every_cut_is_said)
{
    profile_assert_cuts_are_said(FIELD "small.trace.json", "trace_json", 75);
    profile_assert_cuts_are_said(FIELD "devices_crlf.trace.json", "trace_json", 75);
}

TEST(damage_is_survived)
{
    profile_assert_damage_is_survived(FIELD "small.trace.json", "trace_json", 2000);
}
