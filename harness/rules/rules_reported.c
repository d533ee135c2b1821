/* What the target reports about itself: counters, holes, the allocations report, handles. */
#include "harness/base/check.h"
#include "harness/rules/private/counter_history.h"
#include "harness/rules/private/judge_reported.h"
#include "harness/rules/private/reported_row.h"
#include "harness/rules/private/rules.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Those that are compared, in the order in which they are named when several are wrong. */
static const enum target_counter compared[] = {
    TARGET_COUNTER_BYTES_IN_USE,        TARGET_COUNTER_NUM_ALLOCS,
    TARGET_COUNTER_BYTES_LIMIT,         TARGET_COUNTER_BYTES_RESERVED,
    TARGET_COUNTER_PEAK_BYTES_RESERVED, TARGET_COUNTER_PEAK_BYTES_IN_USE,
    TARGET_COUNTER_LARGEST_ALLOC_SIZE,  TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES,
};

static const char *const counter_names[TARGET_COUNTER_COUNT] = {
    [TARGET_COUNTER_NUM_ALLOCS] = "num_allocs",
    [TARGET_COUNTER_BYTES_IN_USE] = "bytes_in_use",
    [TARGET_COUNTER_PEAK_BYTES_IN_USE] = "peak_bytes_in_use",
    [TARGET_COUNTER_LARGEST_ALLOC_SIZE] = "largest_alloc_size",
    [TARGET_COUNTER_BYTES_LIMIT] = "bytes_limit",
    [TARGET_COUNTER_BYTES_RESERVED] = "bytes_reserved",
    [TARGET_COUNTER_PEAK_BYTES_RESERVED] = "peak_bytes_reserved",
    [TARGET_COUNTER_BYTES_RESERVABLE_LIMIT] = "bytes_reservable_limit",
    [TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] = "largest_free_block_bytes",
};

static bool check_late(const struct evidence *evidence, enum target_counter counter, uint64_t has,
                       uint64_t should)
{
    struct counter_history *history = &evidence->judge->histories[evidence->host->index];
    const struct evidence named = evidence_named(evidence, counter_names[counter]);
    return counter_history_takes(history, counter, has) ||
           evidence_break(&named, RULE_COUNTERS,
                          "%s is %" PRIu64 ", which was not right after any of the last %d ops, or "
                          "only before what it showed last; it should be %" PRIu64 " now",
                          counter_names[counter], has, COUNTER_HISTORY_COUNT, should);
}

static bool check_counter(const struct evidence *evidence, enum target_counter counter,
                          uint64_t has, const struct counter_bounds *bounds)
{
    const uint64_t low = bounds->low[counter];
    const struct evidence named = evidence_named(evidence, counter_names[counter]);
    switch ((enum target_counting)evidence->host->contract.counting[counter]) {
    case TARGET_COUNT_ABSENT:
        return true;
    case TARGET_COUNT_LATE:
        return check_late(evidence, counter, has, low);
    case TARGET_COUNT_AT_MOST:
        return has >= low || evidence_break(&named, RULE_COUNTERS,
                                            "%s is %" PRIu64 " but should be at least %" PRIu64,
                                            counter_names[counter], has, low);
    default:
        return (has >= low && has <= bounds->high[counter]) ||
               evidence_break(&named, RULE_COUNTERS, "%s is %" PRIu64 " but should be %" PRIu64,
                              counter_names[counter], has, low);
    }
}

/* Nothing is there but what went bad. */
static bool is_empty(const struct model *model)
{
    const struct model_counters *is = model_counters(model);
    if (is->block_count != model_retired_count(model)) {
        return false;
    }
    CHECK(is->reserved_bytes == 0); /* a program that runs has its image there */
    return true;
}

/* The empty heap has a rule of its own, for a counter that says how large the hole is. */
static bool is_of_empty_heap(const struct evidence *evidence)
{
    const uint8_t *counting = evidence->host->contract.counting;
    return counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] == TARGET_COUNT_EXACT &&
           evidence->with_holes && is_empty(evidence->host->model);
}

bool rules_judge_counters(const struct evidence *evidence)
{
    const struct host *host = evidence->host;
    if (!evidence->with_holes && judge_counters_are_exact(evidence->judge, host, evidence->stats)) {
        return true;
    }
    const bool is_late = host->contract.counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] ==
                         TARGET_COUNT_LATE;
    const bool without_hole = is_of_empty_heap(evidence) || (!evidence->with_holes && !is_late);
    const struct counter_bounds bounds = counter_bounds_of(host, without_hole);
    uint64_t values[TARGET_COUNTER_COUNT];
    static_assert(offsetof(struct target_stats, largest_free_block_bytes) ==
                      TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES * sizeof values[0],
                  "enum target_counter has the order of struct target_stats");
    memcpy(values, evidence->stats, sizeof values);
    for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++) {
        if (!check_counter(evidence, compared[i], values[compared[i]], &bounds)) {
            return false;
        }
    }
    return true;
}

/* The hole is all that lies between two ranges that went bad, or the whole heap. */
bool rules_judge_not_coalesced(const struct evidence *evidence)
{
    const struct model *model = evidence->host->model;
    if (!is_of_empty_heap(evidence) || model_absent_count(model) > 0) {
        return true;
    }
    const uint64_t largest = model_largest_hole_bytes(model);
    const uint64_t has = evidence->stats->largest_free_block_bytes;
    return has == largest ||
           evidence_break(evidence, RULE_NOT_COALESCED,
                          "everything is free, yet the largest hole is %" PRIu64 " of %" PRIu64,
                          has, largest);
}

/* --- the allocations report --- */

struct report_check {
    struct evidence evidence; /* its mechanism is that of the row under way */
    const struct host *host;
    uint64_t *addresses; /* of the rows that have one; address_count, at most as many as there are
                            blocks */
    size_t address_count;
    bool *is_reported; /* by index of the absent blocks */
    uint64_t count, sum_bytes, last_size_bytes;
    bool is_good;
};

/* Rows without an address tell nothing apart but by what they say: each stands for a block of its
 * own. */
static bool check_absent_row(struct report_check *check, const struct target_row *row)
{
    const struct model *model = check->host->model;
    for (size_t i = 0; i < model_absent_count(model); i++) {
        if (!check->is_reported[i] &&
            reported_row_is_of(row, model_block(model, model_absent_slot(model, i)))) {
            return check->is_reported[i] = true;
        }
    }
    check->evidence.mechanism = "row without an address";
    return evidence_break(&check->evidence, RULE_REPORT,
                          "a row of %" PRIu64
                          " bytes has no address, but no such block is in host memory",
                          row->size_bytes);
}

static void count_row(struct report_check *check, const struct target_row *row)
{
    if (check->is_good && check->count > 0 && row->size_bytes > check->last_size_bytes) {
        check->evidence.mechanism = "order of the rows";
        check->is_good = evidence_break(&check->evidence, RULE_REPORT,
                                        "the rows do not begin with the largest");
    }
    check->count++;
    check->sum_bytes += row->size_bytes;
    check->last_size_bytes = row->size_bytes;
}

static void check_row(void *context, const struct target_row *row)
{
    struct report_check *check = context;
    struct span span = {0};
    if (!check->is_good) {
        return;
    }
    if (check->host->contract.placement != PLACEMENT_RANGES) { /* sums alone tell */
        count_row(check, row);
        return;
    }
    if (row->address == TARGET_ADDRESS_NONE) {
        check->is_good = check_absent_row(check, row);
        count_row(check, row);
        return;
    }
    const uint64_t start = row->address - check->host->contract.header_bytes;
    const bool found = span_map_intersects(model_map(check->host->model), start, start + 1, &span);
    const struct block *block = found ? model_block(check->host->model, (uint32_t)span.owner)
                                      : NULL;
    if (block == NULL || block->address != start) {
        check->evidence.mechanism = "row without a block";
        check->is_good = evidence_break(&check->evidence, RULE_REPORT,
                                        "a row names 0x%" PRIx64 ", where no block begins",
                                        row->address);
    } else if (!reported_row_is_of(row, block)) {
        check->evidence.mechanism = "wrong row";
        check->is_good = evidence_break(&check->evidence, RULE_REPORT,
                                        "block %" PRIu32 " is reported with size %" PRIu64
                                        ", kind %u, tag %" PRIu32 ", but has %" PRIu64 ", %u, %u",
                                        block->op, row->size_bytes, (unsigned)row->kind, row->tag,
                                        block->size_bytes, block->kind, block->tag);
    }
    if (check->is_good && check->address_count < model_counters(check->host->model)->block_count) {
        check->addresses[check->address_count++] = row->address;
    }
    count_row(check, row);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Each row named a block: as many different rows as there are blocks name each one once. */
static bool check_rows(struct report_check *check)
{
    const struct model_counters *is = model_counters(check->host->model);
    if (!check->is_good) {
        return false;
    }
    if (check->count != is->block_count || check->sum_bytes != is->in_use_bytes) {
        check->evidence.mechanism = "sums";
        return evidence_break(&check->evidence, RULE_REPORT,
                              "%" PRIu64 " rows of %" PRIu64 " bytes for %" PRIu64
                              " blocks of %" PRIu64,
                              check->count, check->sum_bytes, is->block_count, is->in_use_bytes);
    }
    qsort(check->addresses, check->address_count, sizeof *check->addresses, compare_numbers);
    for (size_t i = 1; i < check->address_count; i++) {
        if (check->addresses[i] == check->addresses[i - 1]) {
            check->evidence.mechanism = "doubled row";
            return evidence_break(&check->evidence, RULE_REPORT,
                                  "two rows name the block at 0x%" PRIx64, check->addresses[i]);
        }
    }
    return true;
}

bool rules_judge_report(const struct evidence *evidence)
{
    const struct host *host = evidence->host;
    struct report_check check = {.evidence = *evidence, .host = host, .is_good = true};
    if (host->target->report == NULL) {
        return true;
    }
    check.addresses = malloc((model_counters(host->model)->block_count + 1) *
                             sizeof *check.addresses);
    check.is_reported = calloc(model_absent_count(host->model) + 1, sizeof *check.is_reported);
    CHECK(check.addresses != NULL);
    CHECK(check.is_reported != NULL);
    host->target->report(host->instance, check_row, &check);
    /* A report that could not be sorted may be left out. */
    const bool is_excused = (device_faults_fired(host->device) & 1u << FAULT_HOST_MEMORY) != 0 &&
                            check.count == 0;
    const bool is_good = is_excused || check_rows(&check);
    free(check.addresses);
    free(check.is_reported);
    return is_good;
}

/* --- handles --- */

/* No two things share a handle; sorted once per report, because per op it would cost a set. */
static bool judge_distinct_handles(const struct evidence *evidence)
{
    const struct model *model = evidence->host->model;
    const size_t live = model_live_count(model);
    const size_t count = live + model_program_count(model);
    uint64_t *handles = malloc((count + 1) * sizeof *handles);
    CHECK(handles != NULL);
    for (size_t i = 0; i < count; i++) {
        handles[i] = i < live ? model_live(model, i)->handle
                              : model_program(model, i - live)->handle;
    }
    qsort(handles, count, sizeof *handles, compare_numbers);
    bool is_good = true;
    for (size_t i = 1; i < count && is_good; i++) {
        is_good = handles[i] != handles[i - 1] ||
                  evidence_break(evidence, RULE_HANDLE,
                                 "two blocks or programs have the same handle");
    }
    free(handles);
    return is_good;
}

bool rules_judge_handle(const struct evidence *evidence)
{
    if (evidence->sight == SIGHT_REPORT) {
        return judge_distinct_handles(evidence);
    }
    return evidence->call->block.handle != 0 ||
           evidence_break(evidence, RULE_HANDLE, "the handle is 0");
}
