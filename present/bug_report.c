#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/size.h"
#include "present/bug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the heap as the calls leave it --- */

enum { BAR_COLUMNS = 64, ROW_COUNT_MAX = 40 };

/* A block, with its header. */
struct range {
    uint64_t start, end;
    uint32_t block;
};

static int compare_heap_ranges(const void *a, const void *b)
{
    const struct range *first = a, *second = b;
    return first->start != second->start ? (first->start < second->start ? -1 : 1)
                                         : (int)(first->block > second->block) * 2 - 1;
}

static void remove_range(struct range *ranges, size_t *count, uint32_t block)
{
    for (size_t i = 0; i < *count; i++) {
        if (ranges[i].block == block) {
            ranges[i] = ranges[--*count];
            return;
        }
    }
}

/* Those that are live after the last call; returns how many.  ranges has room for every block. */
static size_t find_ranges(const struct bug *bug, struct range *ranges)
{
    size_t count = 0;
    for (size_t i = 0; i < bug->call_count; i++) {
        const struct bug_call *call = &bug->calls[i];
        if (call->kind == BUG_FREE) {
            remove_range(ranges, &count, call->block);
        } else if (call->kind == BUG_ALLOC && call->taken_bytes > 0) {
            const uint64_t start = call->address - bug->header_bytes;
            ranges[count++] = (struct range){start, start + call->taken_bytes, call->block};
        }
    }
    if (count > 0) {
        qsort(ranges, count, sizeof *ranges, compare_heap_ranges);
    }
    return count;
}

/* A column is drawn as taken where a block has one byte of it.  A capacity is at most 2^50. */
static void append_bar(const struct bug *bug, const struct range *ranges, size_t count,
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

static void append_rows(const struct bug *bug, const struct range *ranges, size_t count,
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
    struct range *ranges = calloc((size_t)bug->block_count + 1, sizeof *ranges);
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

static void append_item(struct writing *text, const char *name, const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    writing_append_format(text, "- %s: ", name);
    bug_text_append_markdown(text, value);
    writing_append(text, "\n");
}

/* The first line, without its end. */
static void append_first_line(struct writing *line, const char *lines)
{
    writing_append_bytes(line, lines, strcspn(lines, "\n"));
}

static void append_versions(const struct bug *bug, const struct bug_circumstances *circumstances,
                            struct writing *text)
{
    struct writing version;
    writing_init(&version);
    if (bug->api->version != NULL) {
        append_first_line(&version, circumstances->output);
    }
    writing_append(text, "## Versions\n\n");
    append_item(text, "allocator", writing_string(&version));
    append_item(text, "sources", circumstances->sources);
    append_item(text, "found through the target", bug->target);
    append_item(text, "compiler", circumstances->compiler);
    append_item(text, "system", circumstances->system);
    append_item(text, "hbmstress", circumstances->hbmstress);
    writing_deinit(&version);
}

/* What the last call has to do with. */
static void append_request(const struct bug *bug, struct writing *text)
{
    const struct bug_call *call = &bug->calls[bug->call_count - 1];
    writing_append_format(text, "Op %" PRIu32 " %s", call->op,
                          call->kind == BUG_FREE ? "frees" : "asks for");
    if (call->kind == BUG_FREE) {
        writing_append_format(text, " b%" PRIu32 ".", call->block);
        return;
    }
    writing_append_format(text, " b%" PRIu32 " of %" PRIu64 " bytes", call->block,
                          call->asked_bytes);
    if (call->align_bytes != 0) {
        writing_append_format(text, ", at a multiple of %" PRIu64, call->align_bytes);
    }
    writing_append(text, ".");
}

static void append_expected(const struct bug *bug, struct writing *text)
{
    switch (bug->sign) {
    case BUG_SIGN_REFUSED:
        writing_append_format(text,
                              "It is served: with header and rounding it needs %" PRIu64 " bytes, ",
                              bug->need_bytes);
        if (bug->has_places) {
            writing_append_format(text, "which fit at [0x%" PRIx64 ", 0x%" PRIx64 ").",
                                  bug->witness_address, bug->witness_address + bug->need_bytes);
        } else {
            writing_append_format(text, "and so many of %" PRIu64 " are free.",
                                  bug->capacity_bytes);
        }
        return;
    case BUG_SIGN_OVERLAP:
        writing_append(text, "Its block meets no other live block.");
        return;
    case BUG_SIGN_OUTSIDE:
        writing_append_format(text, "Its block lies inside the %" PRIu64 " bytes of the allocator.",
                              bug->capacity_bytes);
        return;
    case BUG_SIGN_MISALIGNED:
        writing_append_format(text, "Its address is a multiple of %" PRIu64 ".", bug->align_bytes);
        return;
    case BUG_SIGN_TAKEN:
        writing_append_format(text, "Its block takes %" PRIu64 " to %" PRIu64 " bytes.",
                              bug->least_bytes, bug->need_bytes);
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
    writing_append_format(text, "%sIn the replay of hbmstress: ",
                          bug->sign == BUG_SIGN_REFUSED ? "It is refused.\n" : "");
    bug_text_append_markdown(text, bug->reason);
    writing_append(text, ".\n\nThe program below ends with ");
    bug_text_append_markdown(text, circumstances->end);
    writing_append(text, ", and prints:\n\n");
    bug_text_append_code(text, "text", circumstances->output);
}

static void append_picture(const struct bug *bug, struct writing *text)
{
    struct writing picture;
    writing_init(&picture);
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
    struct writing commands;
    writing_init(&commands);
    writing_append_format(&commands, "%s%s\n%s\n", circumstances->variables, circumstances->build,
                          circumstances->run);
    writing_append(text, "\n## The program\n\nIt uses the allocator's own API alone.  To build and "
                         "run it:\n\n");
    bug_text_append_code(text, "sh", writing_string(&commands));
    writing_append(text, "\n`");
    writing_append(text, circumstances->file);
    writing_append(text, "`:\n\n");
    bug_text_append_code(text, strcmp(bug->api->language, "c") == 0 ? "c" : "cpp",
                         circumstances->program);
    writing_deinit(&commands);
}

void bug_report_append(const struct bug *bug, const struct bug_circumstances *circumstances,
                       struct writing *text)
{
    writing_append(text, "# ");
    bug_text_append_markdown(text, bug->target);
    writing_append_format(text, ": %s\n\n", bug_sign_title(bug->sign));
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
