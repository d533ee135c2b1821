/* The heap as the calls leave it. */
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/bug_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_COLUMNS = 64, ROW_COUNT_MAX = 40 };

/* A block, with its header. */
struct range {
    uint64_t start, end;
    uint32_t block;
};

static int compare_ranges(const void *a, const void *b)
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
        qsort(ranges, count, sizeof *ranges, compare_ranges);
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
