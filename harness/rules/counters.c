#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/rules/private/families.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* --- what the counters should be, now and after the last ops: some may be late --- */

/* The bounds by enum target_counter; low <= high.  A value between them is right. */
struct counter_bounds {
    uint64_t low[TARGET_COUNTER_COUNT], high[TARGET_COUNTER_COUNT];
};

/* So many ops back a late counter may be: see enum target_counting. */
enum { COUNTER_HISTORY_COUNT = 64 };

/* An open value, zero at first; begin_history() begins it. */
struct counter_history {
    struct counter_bounds bounds[COUNTER_HISTORY_COUNT]; /* of op i at i % COUNTER_HISTORY_COUNT */
    uint64_t op_count;                                   /* that it knows, open() among them */
    uint64_t shown[TARGET_COUNTER_COUNT]; /* the earliest op whose value each may show now */
};

static void set_bounds(struct counter_bounds *bounds, enum target_counter counter, uint64_t low,
                       uint64_t high)
{
    CHECK_COSTLY(low <= high);
    bounds->low[counter] = low;
    bounds->high[counter] = high;
}

/* Any value is right. */
static struct counter_bounds open_bounds(void)
{
    struct counter_bounds bounds = {.low = {0}};
    memset(bounds.high, 0xFF, sizeof bounds.high);
    return bounds;
}

/* Returns the right counters.  The largest hole costs O(blocks).  It may be anything without_hole,
 * while a block is in host memory, and if places are hidden, unless the heap is empty. */
static struct counter_bounds find_bounds(const struct host *host, bool without_hole)
{
    const struct model *model = host->model;
    const struct model_counters *is = model_counters(model);
    const struct {
        enum target_counter counter;
        uint64_t value;
    } exact[] = {{TARGET_COUNTER_NUM_ALLOCS, is->block_count},
                 {TARGET_COUNTER_BYTES_IN_USE, is->in_use_bytes},
                 {TARGET_COUNTER_LARGEST_ALLOC_SIZE, is->largest_block_bytes},
                 {TARGET_COUNTER_BYTES_LIMIT, is->capacity_bytes},
                 {TARGET_COUNTER_BYTES_RESERVED, is->reserved_bytes},
                 {TARGET_COUNTER_PEAK_BYTES_RESERVED, is->peak_reserved_bytes}};
    struct counter_bounds bounds = open_bounds();
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        set_bounds(&bounds, exact[i].counter, exact[i].value, exact[i].value);
    }
    set_bounds(&bounds, TARGET_COUNTER_PEAK_BYTES_IN_USE, is->peak_low_bytes, is->peak_high_bytes);
    /* Room that is kept for an absent block is no hole, and nobody can see where it is; nor where
     * blocks are whose places are hidden. */
    const bool has_places = host->contract.placement != PLACEMENT_HIDDEN || is->block_count == 0;
    if (!without_hole && has_places && model_absent_count(model) == 0) {
        const uint64_t largest = model_largest_hole_bytes(model);
        set_bounds(&bounds, TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES, largest, largest);
    }
    return bounds;
}

/* True if some counter of the host may be late. */
static bool is_history_needed(const struct target_contract *contract)
{
    for (unsigned i = 0; i < TARGET_COUNTER_COUNT; i++) {
        if (contract->counting[i] == TARGET_COUNT_LATE) {
            return true;
        }
    }
    return false;
}

/* The bounds after one more op. */
static void add_to_history(struct counter_history *history, const struct counter_bounds *bounds)
{
    history->bounds[history->op_count++ % COUNTER_HISTORY_COUNT] = *bounds;
}

/* After open. */
static void begin_history(struct counter_history *history, const struct host *host)
{
    const uint64_t capacity = model_capacity_bytes(host->model);
    struct counter_bounds bounds = {.low = {0}};
    set_bounds(&bounds, TARGET_COUNTER_BYTES_LIMIT, capacity, capacity);
    set_bounds(&bounds, TARGET_COUNTER_BYTES_RESERVABLE_LIMIT, 0, UINT64_MAX);
    set_bounds(&bounds, TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES, capacity, capacity);
    add_to_history(history, &bounds);
}

/* True if the value was right after one of the last ops, and not before what the counter showed the
 * last time; if so it shows that from now on.  The earliest op that explains the value leaves most
 * to those that follow: a value that no op explains then, none ever could. */
static bool takes_value(struct counter_history *history, enum target_counter counter,
                        uint64_t value)
{
    CHECK(history->op_count > 0);
    CHECK((unsigned)counter < TARGET_COUNTER_COUNT);
    const uint64_t oldest = history->op_count > COUNTER_HISTORY_COUNT
                                ? history->op_count - COUNTER_HISTORY_COUNT
                                : 0;
    uint64_t op = history->shown[counter] > oldest ? history->shown[counter] : oldest;
    for (; op < history->op_count; op++) {
        const struct counter_bounds *bounds = &history->bounds[op % COUNTER_HISTORY_COUNT];
        if (value >= bounds->low[counter] && value <= bounds->high[counter]) {
            history->shown[counter] = op;
            return true;
        }
    }
    return false;
}

static struct counter_history *find_history(struct judge *judge, const struct host *host)
{
    if (judge->histories == NULL) {
        judge->histories = array_zeroed(judge->host_count, sizeof *judge->histories);
    }
    struct counter_history *history = &judge->histories[host->index];
    if (history->op_count == 0) {
        begin_history(history, host);
    }
    return history;
}

/* Notes the right counters.  If calls overlapped, nobody knows them after each call. */
static void note_counters(struct judge *judge, const struct host *host)
{
    if (!is_history_needed(&host->contract)) {
        return;
    }
    const bool needs_hole = host->contract.counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] ==
                            TARGET_COUNT_LATE;
    const struct counter_bounds bounds = judge->is_overlapping ? open_bounds()
                                                               : find_bounds(host, !needs_hole);
    add_to_history(find_history(judge, host), &bounds);
}

bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes)
{
    struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_ANSWER);
    evidence.stats = stats;
    evidence.with_holes = with_holes;
    note_counters(judge, host);
    return rule_judge(RULE_COUNTERS, &evidence) &&
           (!host->contract.counts_owners || rule_judge(RULE_OWNERSHIP, &evidence)) &&
           rule_judge(RULE_NOT_COALESCED, &evidence);
}

/* These rules judge a target's own reports: counters, holes, the allocations report, handles. */

/* The counters that are compared, in the order in which they are named when several are wrong. */
static const struct compared {
    enum target_counter counter;
    const char *name;
} compared[] = {
    {TARGET_COUNTER_BYTES_IN_USE, "bytes_in_use"},
    {TARGET_COUNTER_NUM_ALLOCS, "num_allocs"},
    {TARGET_COUNTER_BYTES_LIMIT, "bytes_limit"},
    {TARGET_COUNTER_BYTES_RESERVED, "bytes_reserved"},
    {TARGET_COUNTER_PEAK_BYTES_RESERVED, "peak_bytes_reserved"},
    {TARGET_COUNTER_PEAK_BYTES_IN_USE, "peak_bytes_in_use"},
    {TARGET_COUNTER_LARGEST_ALLOC_SIZE, "largest_alloc_size"},
    {TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES, "largest_free_block_bytes"},
};

static bool check_counter(const struct rule_evidence *evidence, const struct compared *is,
                          uint64_t has, const struct counter_bounds *bounds)
{
    const uint64_t low = bounds->low[is->counter];
    switch ((enum target_counting)evidence->host->contract.counting[is->counter]) {
    case TARGET_COUNT_ABSENT:
        return true;
    case TARGET_COUNT_LATE:
        return takes_value(&evidence->judge->histories[evidence->host->index], is->counter, has) ||
               evidence_break_as(
                   evidence, RULE_COUNTERS, is->name,
                   "%s is %" PRIu64
                   ", which was not right after any of the last %d ops, or only before what it showed last; it should be %" PRIu64
                   " now",
                   is->name, has, COUNTER_HISTORY_COUNT, low);
    case TARGET_COUNT_AT_MOST:
        return has >= low || evidence_break_as(evidence, RULE_COUNTERS, is->name,
                                               "%s is %" PRIu64 " but should be at least %" PRIu64,
                                               is->name, has, low);
    default:
        return (has >= low && has <= bounds->high[is->counter]) ||
               evidence_break_as(evidence, RULE_COUNTERS, is->name,
                                 "%s is %" PRIu64 " but should be %" PRIu64, is->name, has, low);
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
static bool is_of_empty_heap(const struct rule_evidence *evidence)
{
    const uint8_t *counting = evidence->host->contract.counting;
    return counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] == TARGET_COUNT_EXACT &&
           evidence->with_holes && is_empty(evidence->host->model);
}

bool rules_judge_counters(const struct rule_evidence *evidence)
{
    const struct host *host = evidence->host;
    if (!evidence->with_holes && judge_counters_are_exact(evidence->judge, host, evidence->stats)) {
        return true;
    }
    const bool is_late = host->contract.counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] ==
                         TARGET_COUNT_LATE;
    const bool without_hole = is_of_empty_heap(evidence) || (!evidence->with_holes && !is_late);
    const struct counter_bounds bounds = find_bounds(host, without_hole);
    uint64_t values[TARGET_COUNTER_COUNT];
    static_assert(offsetof(struct target_stats, largest_free_block_bytes) ==
                      TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES * sizeof values[0],
                  "enum target_counter has the order of struct target_stats");
    memcpy(values, evidence->stats, sizeof values);
    for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++) {
        if (!check_counter(evidence, &compared[i], values[compared[i].counter], &bounds)) {
            return false;
        }
    }
    return true;
}

/* The hole is all that lies between two ranges that went bad, or the whole heap. */
bool rules_judge_not_coalesced(const struct rule_evidence *evidence)
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

/* The owner that the target reports for memory: each byte of the device has one owner. */

enum memory_owner { OWNER_FREE, OWNER_USED, OWNER_EVICTABLE, OWNER_HELD };
enum { OWNER_COUNT = OWNER_HELD + 1 };

static enum memory_owner owner_of(const struct target_contract *contract, const struct block *block)
{
    if (block->state == BLOCK_DYING || block->kind == BLOCK_RETIRED || block->hold_count > 0 ||
        block->use_count > 0) {
        return OWNER_HELD;
    }
    const bool may_go = contract->evicts || contract->program_evicts_program;
    return block->kind == BLOCK_PROGRAM && may_go ? OWNER_EVICTABLE : OWNER_USED;
}

/* By owner.  O(blocks). */
static void sum_owners(const struct host *host, uint64_t bytes[OWNER_COUNT])
{
    const struct model *model = host->model;
    bytes[OWNER_FREE] = model_free_bytes(model);
    bytes[OWNER_HELD] = model_reserved_bytes(model);
    for (size_t i = 0; i < model_slot_count(model); i++) {
        const struct block *block = model_block(model, (uint32_t)i);
        if (block->state != BLOCK_GONE) {
            bytes[owner_of(&host->contract, block)] += block->size_bytes;
        }
    }
}

static bool check_owner(const struct rule_evidence *evidence, const char *name, uint64_t has,
                        uint64_t should)
{
    return has == should ||
           evidence_break_as(evidence, RULE_OWNERSHIP, name,
                             "%s is %" PRIu64 " but should be %" PRIu64, name, has, should);
}

static bool check_sum(const struct rule_evidence *evidence)
{
    const struct target_stats *stats = evidence->stats;
    const uint64_t capacity = model_capacity_bytes(evidence->host->model);
    uint64_t sum = 0;
    const bool is_too_large = __builtin_add_overflow(stats->free_bytes, stats->used_bytes, &sum) ||
                              __builtin_add_overflow(sum, stats->evictable_bytes, &sum) ||
                              __builtin_add_overflow(sum, stats->held_bytes, &sum);
    return (!is_too_large && sum == capacity) ||
           evidence_break_as(evidence, RULE_OWNERSHIP, "sum",
                             "free %" PRIu64 ", used %" PRIu64 ", evictable %" PRIu64
                             " and held %" PRIu64 " do not add up to %" PRIu64,
                             stats->free_bytes, stats->used_bytes, stats->evictable_bytes,
                             stats->held_bytes, capacity);
}

/* The sum costs nothing; who has what is asked where the largest hole is. */
bool rules_judge_ownership(const struct rule_evidence *evidence)
{
    const struct target_stats *stats = evidence->stats;
    if (!evidence->host->contract.counts_owners) {
        return true;
    }
    if (!check_sum(evidence)) {
        return false;
    }
    if (!evidence->with_holes) {
        return true;
    }
    uint64_t is[OWNER_COUNT] = {0};
    sum_owners(evidence->host, is);
    return check_owner(evidence, "free_bytes", stats->free_bytes, is[OWNER_FREE]) &&
           check_owner(evidence, "used_bytes", stats->used_bytes, is[OWNER_USED]) &&
           check_owner(evidence, "evictable_bytes", stats->evictable_bytes, is[OWNER_EVICTABLE]) &&
           check_owner(evidence, "held_bytes", stats->held_bytes, is[OWNER_HELD]);
}
