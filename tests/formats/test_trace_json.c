/* Memory events of a trace.json among others, nested, cut and damaged.  What they become is in
 * tests/snap/formats_trace_json.snap. */
#include "tests/formats/profile_imports.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/trace_json/"
EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

#define EVENTS(text) "{\"traceEvents\":[" text "]}"
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
    ck_assert_int_eq(import_text(text, (size_t)length, "auto", NULL, &import, &refusal), IMPORT_OK);
    assert_ops("alloc size=8\n");
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
    ck_assert_int_eq(import_text(text, length, "trace_json", NULL, &import, &refusal),
                     IMPORT_INCOMPLETE);
    ck_assert_ptr_nonnull(strstr(refusal.reason, "no memory event"));
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
