/* Does what needs the whole log: puts the missing start to the front, turns references into
 * indices, and chooses the setup. */
#include "formats/common/private/trace_state.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- devices --- */

/* Returns how much of the chosen capacity the device of that host has. */
static uint64_t measure_device(const struct event_trace *trace, uint8_t host)
{
    const struct setup *setup = &trace->import->setup;
    const uint64_t limit_bytes = trace->hosts[host].limit_bytes;
    const uint64_t bytes = align_down(limit_bytes, setup->granule_bytes);
    return limit_bytes == 0 || bytes > setup->capacity_bytes ? setup->capacity_bytes : bytes;
}

/* All hosts have a device of the same capacity.  So this retires the top of devices that have less,
 * before anything is made.  Returns how many those are. */
static uint32_t retire_rests(struct event_trace *trace)
{
    const struct setup *setup = &trace->import->setup;
    struct op_list retired;
    op_list_init(&retired);
    for (unsigned host = 0; host < setup->host_count; host++) {
        const uint64_t bytes = measure_device(trace, (uint8_t)host);
        if (bytes < setup->capacity_bytes) {
            op_list_append(&retired, &OP_TO_MAKE(OP_RETIRE, .host = (uint8_t)host, .address = bytes,
                                                 .size_bytes = setup->capacity_bytes - bytes));
        }
    }
    if (retired.count > 0) {
        import_note(
            trace->import,
            "%zu allocators have less memory than the largest: the rest of their devices is "
            "retired",
            retired.count);
        op_list_insert(&trace->start, 0, retired.ops, retired.count);
    }
    const uint32_t count = (uint32_t)retired.count;
    op_list_deinit(&retired);
    return count;
}

/* --- lanes ---
 *
 * A schedule under which lanes execute a list in its own order.
 *
 * A lane that goes on stands at point 0 of its next op, and there, and only there, the turn can be
 * passed on: an op that waits inside, or a lane that ends, passes the turn by default, from a point
 * whose number is the target's business.  So nobody may wait inside, and nobody may end before the
 * last op of the log: an op that would wait for what another lane has yet to make is preceded by a
 * pause of its lane (time advances by nothing), and each lane whose ops end early gets one at the
 * end of the list. */

static bool is_waiting_for(const struct op_list *ops, const struct op *op, uint32_t last,
                           uint32_t named)
{
    return named != OP_NONE && named > last && ops->ops[named].lane != op->lane;
}

/* True if lane `op->lane`, which stands behind its op number `last` (OP_NONE: it has not begun),
 * would have to wait for what `op` names before the turn is its own. */
static bool would_wait(const struct op_list *ops, const struct op *op, uint32_t last)
{
    /* A lane begins when the turn is passed to it first: what it names is there by then. */
    return last != OP_NONE &&
           (is_waiting_for(ops, op, last, op->ref) || is_waiting_for(ops, op, last, op->event));
}

/* Pauses at the end, in the order in which lanes end by default: the next by number, round and
 * round. */
static void keep_alive(struct op_list *ops)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < ops->count; i++) {
        seen |= UINT32_C(1) << ops->ops[i].lane;
    }
    const uint8_t last = ops->ops[ops->count - 1].lane;
    for (unsigned i = 1; i < LANES_CLIENT_COUNT_MAX; i++) {
        const uint8_t lane = (uint8_t)((last + i) % LANES_CLIENT_COUNT_MAX);
        if ((seen >> lane & 1) != 0) {
            struct op op = op_make(OP_ADVANCE);
            op.lane = lane;
            op_list_append(ops, &op);
        }
    }
}

/* Appends, to a list whose ops have lanes, ops that keep each lane alive until the last one, and
 * the schedule under which a replay executes the ops in the order of the list. */
static void append_schedule(struct op_list *ops)
{
    const size_t count = ops->count; /* without the pauses at the end, which are run in any order */
    uint32_t next[LANES_CLIENT_COUNT_MAX];
    memset(next, 0xFF, sizeof next);
    size_t left = 0;
    for (size_t i = 1; i < count; i++) {
        left += ops->ops[i].lane != ops->ops[i - 1].lane;
    }
    const size_t change_count = left;
    keep_alive(ops);
    struct schedule_switch *switches = malloc((change_count + 1) * sizeof *switches);
    CHECK(switches != NULL);
    for (size_t i = ops->count; i-- > 0;) {
        const uint8_t lane = ops->ops[i].lane;
        if (i + 1 < count && ops->ops[i + 1].lane != lane) {
            CHECK(next[lane] != OP_NONE && left > 0);
            switches[--left] = (struct schedule_switch){
                .lane = lane, .op = next[lane], .to = ops->ops[i + 1].lane};
        }
        next[lane] = (uint32_t)i;
    }
    lanes_append_schedule(ops, switches, change_count);
    free(switches);
}

/* --- the list --- */

/* The list in the making. */
struct list_builder {
    const struct event_trace *trace;
    struct op_list list;
    uint32_t *numbers; /* by op of the events: its index now */
    uint32_t last[LANES_CLIENT_COUNT_MAX];
    size_t failure;   /* the next of trace->failures */
    uint32_t retired; /* ops before the missing start */
    uint64_t freed_failures;
};

static uint32_t number_now(const struct list_builder *builder, uint32_t reference)
{
    if (reference == OP_NONE) {
        return OP_NONE;
    }
    return (reference & TRACE_START_REF) != 0 ? builder->retired + (reference & ~TRACE_START_REF)
                                              : builder->numbers[reference];
}

static void put_op(struct list_builder *builder, const struct op *op)
{
    builder->last[op->lane] = (uint32_t)builder->list.count;
    op_list_append(&builder->list, op);
}

/* Who asked and got nothing has nothing to free; where a replay may grant it, it must not keep it.
 */
static void free_failure(struct list_builder *builder, const struct op *failed)
{
    const struct trace_failure *failure = &builder->trace->failures[builder->failure++];
    const uint64_t base = builder->trace->hosts[failed->host].rounded.base;
    const uint64_t live_bytes = base + (uint64_t)failure->rounded_now;
    if (live_bytes + failed->size_bytes > measure_device(builder->trace, failed->host)) {
        return;
    }
    put_op(builder, &OP_ON(OP_FREE, (uint32_t)builder->list.count - 1, .lane = failed->lane,
                           .host = failed->host));
    builder->freed_failures++;
}

static void put_event(struct list_builder *builder, uint32_t number, struct op op, bool is_laned)
{
    const struct event_trace *trace = builder->trace;
    op.lane = is_laned ? op.lane : 0;
    op.ref = number_now(builder, op.ref);
    op.event = number_now(builder, op.event);
    if (is_laned && would_wait(&builder->list, &op, builder->last[op.lane])) {
        put_op(builder, &OP_TO_MAKE(OP_ADVANCE, .lane = op.lane)); /* a pause */
    }
    builder->numbers[number] = (uint32_t)builder->list.count;
    put_op(builder, &op);
    if (builder->failure < trace->failure_count && trace->failures[builder->failure].op == number) {
        free_failure(builder, &op);
    }
}

/* Takes the list of the events to its final form, in which references are indices: [start][events,
 * and what keeps them apart].  retired: so many ops stand before the missing start.  The requests
 * that failed and would fit are freed behind.  is_laned: ops keep their lanes, and a schedule
 * follows. */
static void finish_list(struct event_trace *trace, uint32_t retired, bool is_laned,
                        uint64_t *freed_failures)
{
    struct import *import = trace->import;
    struct list_builder builder = {.trace = trace, .list = trace->start, .retired = retired};
    if (trace->start.count == 0 && trace->failure_count == 0 && !is_laned) {
        for (size_t i = 0; i < import->ops.count; i++) { /* it stands as it is, in one lane */
            import->ops.ops[i].lane = 0;
        }
        return;
    }
    builder.numbers = array_resized(NULL, (import->ops.count + 1) * sizeof *builder.numbers);
    op_list_init(&trace->start); /* it goes on as the list */
    memset(builder.last, 0xFF, sizeof builder.last);
    builder.last[0] = builder.list.count == 0 ? OP_NONE : (uint32_t)builder.list.count - 1;
    for (size_t i = 0; i < import->ops.count; i++) {
        put_event(&builder, (uint32_t)i, import->ops.ops[i], is_laned);
    }
    for (size_t i = 0; i < import->said_count; i++) {
        import->said[i].op = builder.numbers[import->said[i].op];
    }
    for (size_t i = 0; import->stacks != NULL && i < import->stacks->op_count; i++) {
        import->stacks->ops[i].op = number_now(&builder, import->stacks->ops[i].op);
    }
    free(builder.numbers);
    op_list_deinit(&import->ops);
    import->ops = builder.list;
    *freed_failures = builder.freed_failures;
    if (is_laned) {
        append_schedule(&import->ops);
    }
}

/* --- the setup --- */

static uint64_t find_peak(const struct event_trace *trace, bool is_rounded)
{
    uint64_t highest = 0;
    for (unsigned i = 0; i < trace->host_count; i++) {
        const struct trace_sum *sum = is_rounded ? &trace->hosts[i].rounded : &trace->hosts[i].said;
        const uint64_t peak = sum->base + (uint64_t)sum->peak;
        highest = peak > highest ? peak : highest;
    }
    return highest;
}

/* --- notes --- */

static void note_contents(const struct event_trace *trace, const struct trace_totals *totals)
{
    struct import *import = trace->import;
    import_note(import,
                "%" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " failures; at most %" PRIu64
                " bytes live at a time; %" PRIu64 " bytes in %" PRIu64 " blocks at the end",
                totals->allocs, totals->frees, totals->failures, totals->peak_bytes,
                totals->live_bytes, totals->live_count);
    if (totals->at_start > 0) {
        import_assume(import,
                      "the log begins in the middle: %" PRIu64 " blocks (%" PRIu64
                      " bytes in all) existed before it and are allocated first",
                      totals->at_start, trace->start_bytes);
    }
    if (totals->unknown_frees > 0) {
        import_note(import,
                    "left out: %" PRIu64
                    " frees of blocks whose allocation and size are not in the log",
                    totals->unknown_frees);
    }
    if (trace->cut_request_count > 0) {
        import_assume(import,
                      "%" PRIu64
                      " failed requests asked for more than 2^50 bytes; here they ask for 2^50",
                      trace->cut_request_count);
    }
}

static void note_failures(const struct event_trace *trace, uint64_t freed_failures)
{
    const struct op_list *ops = &trace->import->ops;
    uint64_t queued_count = 0;
    for (size_t i = 0; trace->totals.failures > 0 && i < ops->count; i++) {
        queued_count += ops->ops[i].kind == OP_FREE_AFTER && ops->ops[i].delay_ns == DELAY_NEVER;
    }
    if (queued_count > 0) {
        import_assume(
            trace->import,
            "how long a queued free takes is not in the log: no wait ends the %" PRIu64
            " of them before the log shows their end, which decides the verdict where a failed request had room then",
            queued_count);
    }
    if (freed_failures > 0) {
        import_assume(
            trace->import,
            "%" PRIu64
            " failed requests would fit by their bytes: a free follows each, because the log frees only what it granted",
            freed_failures);
    }
}

/* True if each stream becomes a lane. */
static bool choose_lanes(const struct event_trace *trace, uint32_t retired)
{
    const char *target = trace->input->fixed->target;
    const bool are_few = trace->stream_count <= LANES_CLIENT_COUNT_MAX;
    const bool is_short = trace->import->ops.count + trace->start.count <= TRACE_LANE_OPS_MAX;
    const bool may_lane = target[0] == '\0' || strcmp(target, "hbm") == 0;
    char reason[64] = "";
    if (trace->stream_count <= 1) {
        return false;
    }
    if (!are_few) {
        snprintf(reason, sizeof reason, "at most %d lanes can run", LANES_CLIENT_COUNT_MAX);
    } else if (!is_short) {
        snprintf(reason, sizeof reason, "with more than %d ops, a replay with lanes is slow",
                 TRACE_LANE_OPS_MAX);
    } else if (retired > 0) {
        snprintf(reason, sizeof reason, "a replay with lanes retires nothing");
    } else if (!may_lane) {
        snprintf(reason, sizeof reason, "the requested target may not support lanes");
    }
    import_note(trace->import, "%" PRIu32 " streams %s%s", trace->stream_count,
                reason[0] == '\0' ? "became lanes; the schedule preserves the order of the log"
                                  : "are not distinguished: ",
                reason);
    return reason[0] == '\0';
}

/* --- the end --- */

static enum import_result finish_trace(struct event_trace *trace, struct trace_totals *totals)
{
    struct import *import = trace->import;
    if (import->ops.count + trace->start.count == 0) {
        return IMPORT_LACKS(
            trace->error, "%s",
            trace->totals.unknown_frees == 0
                ? "the log has no allocation"
                : "the log has no allocation, only frees of blocks of unknown size");
    }
    uint64_t freed_failures = 0;
    *totals = trace->totals;
    totals->streams = trace->stream_count;
    totals->peak_bytes = find_peak(trace, false);
    for (unsigned i = 0; i < trace->host_count; i++) {
        totals->live_bytes += trace->hosts[i].said.base + (uint64_t)trace->hosts[i].said.now;
    }
    note_contents(trace, totals);
    struct setup *setup = &import->setup;
    setup->host_count = trace->host_count > setup->host_count ? trace->host_count
                                                              : setup->host_count;
    IMPORT_TRY(capacity_choose(trace->input, trace->size_bits, find_peak(trace, true), import,
                               trace->error));
    const uint32_t retired = retire_rests(trace);
    totals->retired = retired;
    finish_list(trace, retired, choose_lanes(trace, retired), &freed_failures);
    note_failures(trace, freed_failures);
    return IMPORT_OK;
}

enum import_result trace_end(struct event_trace *trace, struct trace_totals *totals)
{
    struct trace_totals own;
    const enum import_result result = finish_trace(trace, totals == NULL ? &own : totals);
    trace_abandon(trace);
    return result;
}
