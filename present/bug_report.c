#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/size.h"
#include "present/bug.h"
#include "present/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the heap as the calls leave it --- */

enum { BAR_COLUMNS = 64, ROW_COUNT_MAX = 40 };

/* A block, with its header. */
struct heap_range {
    uint64_t start, end;
    uint32_t block;
};

static int compare_heap_ranges(const void *a, const void *b)
{
    const struct heap_range *first = a, *second = b;
    return compare_places(first->start, first->block, second->start, second->block);
}

/* Those that are live after the last call; returns how many.  ranges has room for every block. */
static size_t find_ranges(const struct bug *bug, struct heap_range *ranges)
{
    size_t count = 0;
    for (size_t i = 0; i < bug->call_count; i++) {
        const struct bug_call *call = &bug->calls[i];
        if (call->kind == BUG_ALLOC && call->taken_bytes > 0) {
            const uint64_t start = call->address - bug->header_bytes;
            ranges[count++] = (struct heap_range){start, start + call->taken_bytes, call->block};
        }
        for (size_t k = 0; call->kind == BUG_FREE && k < count; k++) {
            if (ranges[k].block == call->block) {
                ranges[k] = ranges[--count];
                break;
            }
        }
    }
    qsort(ranges, count, sizeof *ranges, compare_heap_ranges);
    return count;
}

/* A column is drawn as taken where a block has one byte of it.  A capacity is at most 2^50. */
static void append_bar(const struct bug *bug, const struct heap_range *ranges, size_t count,
                       struct writing *text)
{
    char bar[BAR_COLUMNS + 1];
    memset(bar, '.', BAR_COLUMNS);
    bar[BAR_COLUMNS] = '\0';
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < BAR_COLUMNS; at++) {
            const uint64_t start = bug->capacity_bytes * at / BAR_COLUMNS;
            const uint64_t end = bug->capacity_bytes * (at + 1) / BAR_COLUMNS;
            if (ranges[i].start < end && ranges[i].end > start) {
                bar[at] = '#';
            }
        }
    }
    writing_append_format(text, "[%s]\n", bar);
}

static void append_row(struct writing *text, uint64_t start, uint64_t end, const char *what)
{
    writing_append_format(text, "  [0x%" PRIx64 ", 0x%" PRIx64 ")  %" PRIu64 " bytes  %s\n", start,
                          end, end - start, what);
}

static void append_rows(const struct bug *bug, const struct heap_range *ranges, size_t count,
                        struct writing *text)
{
    uint64_t place = 0;
    for (size_t i = 0; i < count && i < ROW_COUNT_MAX; i++) {
        char name[24];
        snprintf(name, sizeof name, "b%" PRIu32, ranges[i].block);
        if (ranges[i].start > place) {
            append_row(text, place, ranges[i].start, "free");
        }
        append_row(text, ranges[i].start, ranges[i].end, name);
        place = ranges[i].end > place ? ranges[i].end : place;
    }
    if (count > ROW_COUNT_MAX) {
        writing_append_format(text, "  and %zu more\n", count - ROW_COUNT_MAX);
    } else if (place < bug->capacity_bytes) {
        append_row(text, place, bug->capacity_bytes, "free");
    }
}

void bug_picture_append(const struct bug *bug, struct writing *text)
{
    if (!bug->has_places) {
        return;
    }
    struct heap_range *ranges = calloc((size_t)bug->block_count + 1, sizeof *ranges);
    CHECK(ranges != NULL);
    const size_t count = find_ranges(bug, ranges);
    char size[SIZE_TEXT_BYTES];
    size_print(bug->capacity_bytes, size);
    writing_append_format(text, "0%*s\n", BAR_COLUMNS + 1, size);
    append_bar(bug, ranges, count, text);
    append_rows(bug, ranges, count, text);
    free(ranges);
}

/* --- the report --- */

static void add_markdown(struct writing *text, const char *word, size_t bytes_max)
{
    (void)bytes_max;
    bug_text_append_markdown(text, word);
}

/* As say(), in Markdown. */
__attribute__((format(printf, 2, 3))) static void tell(struct writing *text, const char *format,
                                                       ...)
{
    struct say_values values;
    va_start(values.list, format);
    (void)say_until(text, format, '\0', add_markdown, SIZE_MAX, &values);
    va_end(values.list);
}

static void append_versions(const struct bug *bug, const struct bug_circumstances *circumstances,
                            struct writing *text)
{
    /* The first line, without its end. */
    char *version = bug->api->version == NULL
                        ? strdup("")
                        : strndup(circumstances->output, strcspn(circumstances->output, "\n"));
    CHECK(version != NULL);
    const char *const items[][2] = {{"allocator", version},
                                    {"sources", circumstances->sources},
                                    {"found through the target", bug->target},
                                    {"compiler", circumstances->compiler},
                                    {"system", circumstances->system},
                                    {"hbmstress", circumstances->hbmstress}};
    writing_append(text, "## Versions\n\n");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (items[i][1][0] != '\0') {
            tell(text, "- %s: %s\n", items[i][0], items[i][1]);
        }
    }
    free(version);
}

/* What the last call has to do with. */
static void append_request(const struct bug *bug, struct writing *text)
{
    const struct bug_call *call = &bug->calls[bug->call_count - 1];
    if (call->kind == BUG_FREE) {
        tell(text, "Op %" PRIu32 " frees b%" PRIu32 ".", call->op, call->block);
        return;
    }
    tell(text, "Op %" PRIu32 " asks for b%" PRIu32 " of %" PRIu64 " bytes", call->op, call->block,
         call->asked_bytes);
    if (call->align_bytes != 0) {
        tell(text, ", at a multiple of %" PRIu64, call->align_bytes);
    }
    writing_append(text, ".");
}

static void append_expected(const struct bug *bug, struct writing *text)
{
    switch (bug->sign) {
    case BUG_SIGN_REFUSED:
        tell(text, "It is served: with header and rounding it needs %" PRIu64 " bytes, ",
             bug->need_bytes);
        if (bug->has_places) {
            tell(text, "which fit at [0x%" PRIx64 ", 0x%" PRIx64 ").", bug->witness_address,
                 bug->witness_address + bug->need_bytes);
        } else {
            tell(text, "and so many of %" PRIu64 " are free.", bug->capacity_bytes);
        }
        return;
    case BUG_SIGN_OVERLAP:
        writing_append(text, "Its block meets no other live block.");
        return;
    case BUG_SIGN_OUTSIDE:
        tell(text, "Its block lies inside the %" PRIu64 " bytes of the allocator.",
             bug->capacity_bytes);
        return;
    case BUG_SIGN_MISALIGNED:
        tell(text, "Its address is a multiple of %" PRIu64 ".", bug->align_bytes);
        return;
    case BUG_SIGN_TAKEN:
        tell(text, "Its block takes %" PRIu64 " to %" PRIu64 " bytes.", bug->least_bytes,
             bug->need_bytes);
        return;
    case BUG_SIGN_CONTENTS:
        writing_append(text, "Every live block holds what was written into it.");
        return;
    case BUG_SIGN_CRASH:
    case BUG_SIGN_HANG:
        writing_append(text, "The call returns.");
        return;
    }
}

static void append_expected_and_observed(const struct bug *bug,
                                         const struct bug_circumstances *circumstances,
                                         struct writing *text)
{
    writing_append(text, "\n## Expected\n\n");
    if (bug->call_count > 0) {
        append_request(bug, text);
        writing_append(text, "\n");
    }
    append_expected(bug, text);
    writing_append(text, "\n\n## Observed\n\n");
    writing_append(text, bug->sign == BUG_SIGN_REFUSED ? "It is refused.\n" : "");
    tell(text, "In the replay of hbmstress: %s.\n\nThe program below ends with %s, and prints:\n\n",
         bug->reason, circumstances->end);
    bug_text_append_code(text, "text", circumstances->output);
}

static void append_picture(const struct bug *bug, struct writing *text)
{
    struct writing picture = {0};
    bug_picture_append(bug, &picture);
    if (picture.length > 0) {
        writing_append(text,
                       "\n## The heap after the last call\n\n`#` is taken, `.` is free; a block "
                       "is shown with its header.\n\n");
        bug_text_append_code(text, "text", writing_string(&picture));
    }
    writing_deinit(&picture);
}

static void append_program(const struct bug *bug, const struct bug_circumstances *circumstances,
                           struct writing *text)
{
    struct writing commands = {0};
    writing_append_format(&commands, "%s%s\n%s\n", circumstances->variables, circumstances->build,
                          circumstances->run);
    writing_append(text, "\n## The program\n\nIt uses the allocator's own API alone.  To build and "
                         "run it:\n\n");
    bug_text_append_code(text, "sh", writing_string(&commands));
    writing_append_format(text, "\n`%s`:\n\n", circumstances->file);
    bug_text_append_code(text, strcmp(bug->api->language, "c") == 0 ? "c" : "cpp",
                         circumstances->program);
    writing_deinit(&commands);
}

void bug_report_append(const struct bug *bug, const struct bug_circumstances *circumstances,
                       struct writing *text)
{
    tell(text, "# %s: %s\n\n", bug->target, bug_sign_title(bug->sign));
    append_versions(bug, circumstances, text);
    append_expected_and_observed(bug, circumstances, text);
    append_picture(bug, text);
    append_program(bug, circumstances, text);
    writing_append(text,
                   "\n## How it was found\n\nhbmstress found it and shrank it to these ops:\n\n");
    bug_text_append_code(text, "text", circumstances->list);
    writing_append(text, "\nThis line repeats the finding:\n\n");
    bug_text_append_code(text, "sh", circumstances->repeat);
}
