#include "page/run_record.h"

#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/device/span_map.h"
#include "harness/lanes/lanes_list.h"
#include "harness/model/model.h"

#include <string.h>

/* Blocks: 160 MiB at most, of which only what is used takes memory. */
enum { BLOCK_ROOM = 5 << 20, MARK_ROOM = 1 << 20 };
enum { WINDOW_TURNS = 2000, WINDOW_FAILURE_COUNT = 16 };

const char *record_state_name(enum record_state state)
{
    static const char *const names[RECORD_STATE_COUNT] = {
        "movable", "held", "dying", "idle program", "busy program", "stack", "retired"};
    CHECK(state < RECORD_STATE_COUNT);
    return names[state];
}

/* --- failures --- */

static void add_hole(struct record_failure *failure, uint64_t start, uint64_t end)
{
    size_t at = failure->hole_count;
    while (at > 0 && failure->holes[at - 1].size_bytes < end - start) {
        at--;
    }
    if (at == RECORD_HOLE_COUNT_MAX) {
        return;
    }
    failure->hole_count += failure->hole_count < RECORD_HOLE_COUNT_MAX;
    memmove(&failure->holes[at + 1], &failure->holes[at],
            (failure->hole_count - 1 - at) * sizeof *failure->holes);
    failure->holes[at] = (struct device_region){start, end - start};
}

static void add_holes_between(const struct model *model, uint64_t from, uint64_t to,
                              struct record_failure *failure)
{
    struct span span;
    uint64_t at = from;
    EACH_SPAN_BETWEEN(model_map(model), from, to, &span) {
        if (span.start > at) {
            add_hole(failure, at, span.start);
        }
        at = span.end;
    }
    if (to > at) {
        add_hole(failure, at, to);
    }
}

void record_failure_find_holes(struct record_failure *failure, const struct model *model)
{
    size_t count;
    const struct device_region *regions = model_regions(model, &count);
    if (model_contract(model)->placement != PLACEMENT_RANGES) {
        return; /* nobody knows where they are */
    }
    for (size_t i = 0; i < count; i++) {
        add_holes_between(model, regions[i].address, regions[i].address + regions[i].size_bytes,
                          failure);
    }
    if (!model_contract(model)->regions.grows) {
        add_holes_between(model, model_reserved_bytes(model), model_capacity_bytes(model), failure);
    }
}

/* --- memory --- */

struct run_record *run_record_create(const struct setup *setup, const struct op_list *list)
{
    struct run_record *record = shared_memory_create(sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    record->list = list;
    setup_copy(&record->setup, setup);
    record->has_lanes = lanes_are_in(list);
    record->ops = shared_memory_create((list->count + 1) * sizeof *record->ops);
    record->block_room = BLOCK_ROOM;
    record->blocks = shared_memory_create(record->block_room * sizeof *record->blocks);
    record->mark_room = MARK_ROOM;
    record->marks = shared_memory_create(record->mark_room * sizeof *record->marks);
    if (record->ops == NULL || record->blocks == NULL || record->marks == NULL) {
        run_record_destroy(record);
        return NULL;
    }
    return record;
}

void run_record_destroy(struct run_record *record)
{
    if (record == NULL) {
        return;
    }
    shared_memory_destroy(record->ops, (record->list->count + 1) * sizeof *record->ops);
    shared_memory_destroy(record->blocks, record->block_room * sizeof *record->blocks);
    shared_memory_destroy(record->marks, record->mark_room * sizeof *record->marks);
    shared_memory_destroy(record, sizeof *record);
}

/* --- what is asked of it --- */

uint32_t run_record_peak(const struct run_record *record, uint32_t *host)
{
    uint32_t peak = RECORD_NONE;
    *host = 0;
    for (uint32_t i = 0; i < record->op_count; i++) {
        const struct record_op *op = &record->ops[i];
        const struct record_op *most = peak == RECORD_NONE ? NULL : &record->ops[peak];
        if (most == NULL ||
            (__uint128_t)op->in_use_bytes * record->capacity_bytes[most->host] >
                (__uint128_t)most->in_use_bytes * record->capacity_bytes[op->host]) {
            peak = i;
        }
    }
    *host = peak == RECORD_NONE ? 0 : record->ops[peak].host;
    return peak;
}

/* Turns around which all stays. */
struct kept_windows {
    uint32_t turns[WINDOW_FAILURE_COUNT + 2];
    size_t count;
    uint32_t width;
};

/* The first failures, those that are not justified before the others; the peak; and the end, as
 * long as more is recorded. */
static void find_windows(const struct run_record *record, struct kept_windows *windows)
{
    uint32_t host;
    const uint32_t peak = run_record_peak(record, &host);
    *windows = (struct kept_windows){.width = WINDOW_TURNS};
    for (int is_usual = 0; is_usual < 2; is_usual++) {
        for (size_t i = 0; i < record->failure_count && windows->count < WINDOW_FAILURE_COUNT;
             i++) {
            const enum verdict_kind kind = record->failures[i].verdict.kind;
            if ((kind == VERDICT_NONE || kind == VERDICT_JUSTIFIED) == (is_usual == 1)) {
                windows->turns[windows->count++] = record->failures[i].turn;
            }
        }
    }
    windows->turns[windows->count++] = record->op_count;
    if (peak != RECORD_NONE) {
        windows->turns[windows->count++] = peak;
    }
}

static bool is_in_windows(const struct kept_windows *windows, const struct record_block *block)
{
    for (size_t i = 0; i < windows->count; i++) {
        if ((uint64_t)block->begin <= (uint64_t)windows->turns[i] + windows->width &&
            (uint64_t)block->end + windows->width >= windows->turns[i]) {
            return true;
        }
    }
    return block->end == RECORD_OPEN;
}

/* Classes of life times size: 16 for each doubling, larger ones are worth more. */
enum { WORTH_COUNT = 128 * 16 };
static size_t find_worth(const struct run_record *record, const struct record_block *block)
{
    const uint32_t end = block->end == RECORD_OPEN ? record->op_count : block->end;
    const __uint128_t area = (__uint128_t)(end - block->begin) * block->size_bytes;
    const uint64_t high = (uint64_t)(area >> 64);
    const uint64_t low = (uint64_t)area;
    if (area < 16) {
        return (size_t)low;
    }
    const unsigned top = high > 0 ? 127 - (unsigned)__builtin_clzll(high)
                                  : 63 - (unsigned)__builtin_clzll(low);
    return (size_t)(top * 16 + (unsigned)((area >> (top - 4)) & 15));
}

/* The first count of them in their order that are worth enough. */
static void keep_worthy(struct run_record *record, const struct kept_windows *windows, size_t count,
                        size_t least, size_t at_least_count)
{
    size_t kept = 0;
    size_t edge = at_least_count; /* that many of class least stay */
    for (size_t i = 0; i < record->block_count; i++) {
        const struct record_block block = record->blocks[i];
        bool stays = is_in_windows(windows, &block);
        if (!stays && block.end > block.begin) {
            const size_t worth = find_worth(record, &block);
            stays = worth > least || (worth == least && edge > 0);
            edge -= worth == least && edge > 0;
        }
        if (stays) {
            record->blocks[kept++] = block;
        } else {
            record->left_out_count += block.end > block.begin;
        }
    }
    CHECK(kept <= count);
    record->block_count = kept;
}

static size_t count_in_windows(const struct run_record *record, const struct kept_windows *windows,
                               size_t counts[WORTH_COUNT])
{
    size_t count = 0;
    memset(counts, 0, WORTH_COUNT * sizeof *counts);
    for (size_t i = 0; i < record->block_count; i++) {
        const struct record_block *block = &record->blocks[i];
        if (is_in_windows(windows, block)) {
            count++;
        } else if (block->end > block->begin) {
            counts[find_worth(record, block)]++;
        }
    }
    return count;
}

void run_record_thin(struct run_record *record, size_t count)
{
    static size_t counts[WORTH_COUNT];
    struct kept_windows windows;
    find_windows(record, &windows);
    size_t in_windows = count_in_windows(record, &windows, counts);
    while (in_windows > count && windows.width > 0) {
        windows.width /= 2;
        in_windows = count_in_windows(record, &windows, counts);
    }
    size_t room = count > in_windows ? count - in_windows : 0;
    size_t least = WORTH_COUNT - 1;
    while (least > 0 && counts[least] <= room) {
        room -= counts[least];
        least--;
    }
    keep_worthy(record, &windows, count > in_windows ? count : in_windows, least, room);
}
