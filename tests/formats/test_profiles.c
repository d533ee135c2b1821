/* Profiles with memory events, cut and damaged, and events that are passed over.  What whole ones
 * become is in tests/snap/formats_xplane.snap, formats_jax_device_memory.snap and
 * formats_trace_json.snap; real ones are in field/imported_field.snap. */
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

/* The caller frees. */
static char *read_field(const char *name, size_t *length)
{
    char path[4096];
    snprintf(path, sizeof path, HBMSTRESS_SOURCE_DIR "/corpus/field/%s", name);
    return file_bytes(path, length);
}

/* Every beginning of the file is imported or said to be cut off, from so many bytes on recognised,
 * and never invalid. */
static void check_cuts(const char *name, const char *format, size_t recognised_min)
{
    size_t length = 0;
    uint64_t cut_count = 0;
    char *bytes = read_field(name, &length);
    for (size_t cut = 1; cut < length; cut++) {
        const enum import_result result = import_bytes(bytes, cut, format);
        ck_assert_msg(result == IMPORT_OK || result == IMPORT_INCOMPLETE, "%s cut at %zu: %s", name,
                      cut, refusal.reason);
        cut_count += result == IMPORT_INCOMPLETE;
        const struct format *recognised = format_recognise(bytes, cut);
        ck_assert_msg(cut < recognised_min ||
                          (recognised != NULL && strcmp(recognised->name, format) == 0),
                      "%s cut at %zu is not recognised", name, cut);
    }
    ck_assert_uint_gt(cut_count, length / 2);
    free(bytes);
}

/* With bytes changed, the file is sometimes imported, and sometimes refused with a reason. */
static void check_damage(const char *name, const char *format, uint64_t rounds)
{
    size_t length = 0;
    char *bytes = read_field(name, &length);
    const uint64_t imported = damage(bytes, length, format, rounds);
    ck_assert_uint_gt(imported, 0);
    ck_assert_uint_lt(imported, rounds);
    free(bytes);
}

TEST(every_cut_is_said)
{
    check_cuts("xplane/small.xplane.pb", "xplane", 20);
    check_cuts("jax_device_memory/small.prof", "jax_device_memory", 13);
    check_cuts("trace_json/small.trace.json", "trace_json", 75);
    check_cuts("trace_json/devices_crlf.trace.json", "trace_json", 75);
}

TEST(damage_is_survived)
{
    check_damage("xplane/small.xplane.pb", "xplane", 2000);
    check_damage("xplane/devices.xplane.pb", "xplane", 2000);
    check_damage("jax_device_memory/small.prof", "jax_device_memory", 4000);
    check_damage("trace_json/small.trace.json", "trace_json", 2000);
}

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
