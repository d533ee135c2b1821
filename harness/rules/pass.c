#include "harness/rules/private/pass.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/rules/overlap.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the record --- */

void overlap_clear(struct overlap *overlap)
{
    for (size_t i = 0; i < overlap->call_count; i++) {
        free(overlap->calls[i].message);
    }
    overlap->call_count = overlap->mark_count = 0;
    overlap->under_way_count = 0;
}

void overlap_deinit(struct overlap *overlap)
{
    overlap_clear(overlap);
    free(overlap->calls);
    free(overlap->marks);
    *overlap = (struct overlap){0};
}

static void add_mark(struct overlap *overlap, const struct judge *judge, uint32_t call,
                     bool is_return)
{
    overlap->marks = array_grown(overlap->marks, overlap->mark_count, &overlap->mark_capacity,
                                 sizeof *overlap->marks);
    struct overlap_mark *mark = &overlap->marks[overlap->mark_count++];
    mark->call = call;
    mark->is_return = is_return;
    mark->completed_count = timeline_completed_count(judge->hosts[0].timeline);
    for (uint32_t i = 0; i < judge->host_count; i++) {
        size_t count = 0;
        (void)device_calls(judge->hosts[i].device, &count);
        mark->device_call_counts[i] = (uint32_t)count;
    }
}

uint32_t overlap_begin(struct overlap *overlap, const struct judge *judge, struct host *host,
                       uint8_t lane)
{
    overlap->calls = array_grown(overlap->calls, overlap->call_count, &overlap->call_capacity,
                                 sizeof *overlap->calls);
    const uint32_t number = (uint32_t)overlap->call_count++;
    overlap->calls[number] = (struct overlap_call){.host = host, .lane = lane};
    overlap->under_way_count++;
    add_mark(overlap, judge, number, false);
    return number;
}

void overlap_stretch(struct overlap *overlap, const struct judge *judge)
{
    CHECK(overlap->mark_count > 0);
    overlap->marks[overlap->mark_count - 1].completed_count = timeline_completed_count(
        judge->hosts[0].timeline);
}

const char *overlap_message(struct host *host, const struct call *call)
{
    const char *text = call->skipped || call->result == TARGET_OK
                           ? NULL
                           : host->target->message(host->instance);
    return text == NULL ? "" : text;
}

void overlap_end(struct overlap *overlap, const struct judge *judge,
                 const struct overlap_answer *answer)
{
    struct overlap_call *over = &overlap->calls[answer->number];
    CHECK(!over->is_over);
    over->call = *answer->call;
    over->is_over = true;
    over->message = strdup(answer->message);
    CHECK(over->message != NULL);
    overlap->under_way_count--;
    add_mark(overlap, judge, answer->number, true);
}

/* --- judging: one pass over the record --- */

/* Something changed: whoever can take effect does, and every out-of-memory under way is held
 * against what is now. */
static bool update_calls(struct pass *pass)
{
    if (!overlap_effects_take(pass)) {
        return false;
    }
    overlap_oom_ask(pass);
    return true;
}

/* --- the log --- */

static bool complete_until(struct pass *pass, uint64_t completed_count)
{
    struct judge *judge = pass->judge;
    uint64_t *absorbed_count = &judge->absorbed_counts[0]; /* lanes share one time */
    while (*absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(judge->hosts[0].timeline, (*absorbed_count)++);
        for (uint32_t i = 0; i < judge->host_count; i++) {
            model_complete(judge->hosts[i].model, event);
            judge_clear_gone(&judge->hosts[i]);
        }
        if (!update_calls(pass)) {
            return false;
        }
    }
    return true;
}

/* True if a call under way on the host may evict. */
static bool may_evict(const struct pass *pass, const struct host *host)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *over = call_at(pass, i);
        if (pass->pending[i].is_under_way && over->host == host &&
            judge_may_evict(host, &over->call.op)) {
            return true;
        }
    }
    return false;
}

static bool take_eviction(struct pass *pass, struct host *host, const struct device_call *unload)
{
    if (!overlap_effects_bring(pass, host, unload->from - 1) ||
        !judge_eviction(pass->judge, host, unload, may_evict(pass, host))) {
        return false;
    }
    model_evict(host->model, judge_unloaded_slot(host, unload));
    judge_clear_gone(host);
    return true;
}

static bool take_copy(struct pass *pass, struct host *host, const struct device_call *made)
{
    if (!overlap_effects_bring_source(pass, host, made)) {
        return false;
    }
    if (made->kind != DEVICE_CALL_STAGE_OUT) {
        overlap_effects_give_way(pass, host, made);
    }
    return overlap_moves_take(&pass->moves, pass->judge, host, made) && update_calls(pass);
}

static bool take_device_call(struct pass *pass, struct host *host, const struct device_call *made)
{
    if (!complete_until(pass, made->completed_before)) {
        return false;
    }
    pass->device_call_counts[host->index]++; /* what completed before it was before what it writes
                                              */
    if (made->result != DEVICE_OK) {
        overlap_stages_take_refused(&pass->moves.stages, host, made);
        return true;
    }
    switch (made->kind) {
    case DEVICE_CALL_UNLOAD:
        return take_eviction(pass, host, made) && update_calls(pass);
    case DEVICE_CALL_COPY:
    case DEVICE_CALL_STAGE_OUT:
    case DEVICE_CALL_STAGE_IN:
        return take_copy(pass, host, made);
    default:
        return true;
    }
}

static bool take_log(struct pass *pass, const struct overlap_mark *mark)
{
    for (uint32_t i = 0; i < pass->judge->host_count; i++) {
        struct host *host = &pass->judge->hosts[i];
        size_t count = 0;
        const struct device_call *calls = device_calls(host->device, &count);
        while (pass->device_call_counts[i] < mark->device_call_counts[i]) {
            if (!take_device_call(pass, host, &calls[pass->device_call_counts[i]])) {
                return false;
            }
        }
    }
    return complete_until(pass, mark->completed_count);
}

/* --- returns --- */

/* Returns which other call was under way: of several the one that began last. */
static const struct overlap_call *find_other_call(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *other = NULL;
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (i != number && pass->pending[i].is_under_way) {
            other = call_at(pass, i);
        }
    }
    return other;
}

static void name_other(struct pass *pass, uint32_t number)
{
    char *reason = pass->judge->verdict->reason;
    const struct overlap_call *other = find_other_call(pass, number);
    const size_t used = strlen(reason);
    const size_t room = sizeof pass->judge->verdict->reason;
    if (other != NULL) {
        snprintf(reason + used, room - used, "; meanwhile lane %u was in op %" PRIu32 " (%s)",
                 other->lane, other->call.number, op_kind_info(other->call.op.kind)->name);
    }
}

static void begin_verdict(struct judge *judge, const struct overlap_call *over)
{
    clear_verdict(judge->verdict, over->call.number);
    judge->oom_kind = VERDICT_NONE;
    judge->hides_oom = judge->has_wrong_status = false;
    judge->message = over->message;
}

/* Finishes a call whose status is judged.  False: a promise is broken, and the run is over. */
static bool finish_answered(struct pass *pass, uint32_t number)
{
    if (!overlap_effects_finish(pass, number)) {
        return false;
    }
    /* What the call's effect broke, now or before its return. */
    if (pass->pending[number].is_noted) {
        *pass->judge->verdict = pass->pending[number].noted;
    }
    return overlap_oom_finish(pass, number);
}

/* False: a promise is broken, and the run is over. */
static bool finish_call(struct pass *pass, uint32_t number)
{
    struct overlap_call *over = call_at(pass, number);
    pass->current = number;
    over->call.slot = slot_named(over->host, &over->call);
    begin_verdict(pass->judge, over);
    const bool is_good = over->call.skipped ||
                         (judge_status(pass->judge, over->host, &over->call) &&
                          finish_answered(pass, number));
    const enum verdict_kind kind = pass->judge->verdict->kind;
    if (kind == VERDICT_BROKEN || kind == VERDICT_PREMATURE) {
        name_other(pass, number);
    }
    pass->pending[number].is_under_way = false;
    return is_good;
}

/* --- the end --- */

/* Makes the call to judge.  If each call of the host failed it is one of them, if possible one that
 * may have mitigated.  If one succeeded, nobody knows what it and the others changed. */
static struct call make_last_call(const struct pass *pass, const struct host *host)
{
    struct call looking = {.op = op_make(OP_REPORT), .slot = SLOT_NONE};
    const struct call *failed = NULL;
    for (size_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *over = &pass->overlap->calls[i];
        if (over->host != host || over->call.skipped) {
            continue;
        }
        if (over->call.result == TARGET_OK) {
            return looking;
        }
        if (failed == NULL || !judge_may_mitigate(pass->judge, failed)) {
            failed = &over->call;
        }
    }
    looking = failed == NULL ? looking : *failed;
    looking.slot = SLOT_NONE;
    return looking;
}

static bool look_at_blocks(struct pass *pass, struct host *host, const struct call *last)
{
    overlap_moves_stamp_staged(&pass->moves, host);
    overlap_stages_strand_refused(&pass->moves.stages, host);
    if (!judge_host_memory(pass->judge, host) ||
        !judge_places(pass->judge, host, last, pass->moves.has_moved) ||
        !overlap_moves_judge_order(&pass->moves, pass->judge, host)) {
        return false;
    }
    overlap_moves_stamp(&pass->moves, host);
    return judge_contents(pass->judge, host);
}

/* Checks the counters.  The peak has only bounds: at least the one before, at most all that was
 * taken, as if there at once.  A target that reports another peak is not followed. */
static bool look_at_counters(struct pass *pass, struct host *host)
{
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    const uint64_t high = pass->in_use_before[host->index] + pass->taken_bytes[host->index];
    const struct model_counters *counters = model_counters(host->model);
    model_widen_peak(host->model, pass->peak_low_before[host->index],
                     high > counters->peak_high_bytes ? high : counters->peak_high_bytes);
    if (!judge_counters(pass->judge, host, &stats, true)) {
        return false;
    }
    if (host->contract.counting[TARGET_COUNTER_PEAK_BYTES_IN_USE] == TARGET_COUNT_EXACT &&
        stats.peak_bytes_in_use >= counters->peak_low_bytes &&
        stats.peak_bytes_in_use <= counters->peak_high_bytes) {
        model_widen_peak(host->model, stats.peak_bytes_in_use, stats.peak_bytes_in_use);
    }
    return true;
}

/* No call is under way: everything is looked at. */
static bool look_at_hosts(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->judge->host_count; i++) {
        struct host *host = &pass->judge->hosts[i];
        const struct call last = make_last_call(pass, host);
        if (!judge_bounds(pass->judge, host) || !look_at_blocks(pass, host, &last) ||
            !look_at_counters(pass, host) || !judge_failed(pass->judge, host, &last)) {
            return false;
        }
    }
    return true;
}

/* --- the pass --- */

static bool take_mark(struct pass *pass, const struct overlap_mark *mark, bool is_last)
{
    pass->current = mark->call;
    if (!take_log(pass, mark)) {
        return false;
    }
    if (mark->is_return) {
        return finish_call(pass, mark->call) && update_calls(pass) &&
               (!is_last || look_at_hosts(pass));
    }
    pass->pending[mark->call].is_under_way = true;
    return update_calls(pass);
}

static bool tell_verdict(const struct pass *pass, const struct overlap_teller *teller)
{
    const struct overlap_call *over = call_at(pass, pass->current);
    pass->judge->verdict->op = over->call.number;
    return teller->judged(teller->context, over);
}

static bool run_pass(struct pass *pass, const struct overlap_teller *teller)
{
    const struct overlap *overlap = pass->overlap;
    for (size_t i = 0; i < overlap->mark_count; i++) {
        const struct overlap_mark *mark = &overlap->marks[i];
        begin_verdict(pass->judge, call_at(pass, mark->call));
        const bool is_good = take_mark(pass, mark, i + 1 == overlap->mark_count);
        const bool goes_on = (is_good && !mark->is_return) || tell_verdict(pass, teller);
        if (!is_good || !goes_on) {
            return false;
        }
    }
    return true;
}

static void begin_pass(struct pass *pass)
{
    pass->pending = array_resized(NULL, pass->overlap->call_count * sizeof *pass->pending);
    for (size_t i = 0; i < pass->overlap->call_count; i++) {
        memset(&pass->pending[i], 0, offsetof(struct pending, verdict));
    }
    for (size_t i = 0; i < pass->overlap->mark_count; i++) {
        pass->pending[pass->overlap->marks[i].call]
            .return_index = i; /* the later mark of each call is its return */
    }
    for (uint32_t i = 0; i < pass->judge->host_count; i++) {
        const struct host *host = &pass->judge->hosts[i];
        pass->in_use_before[i] = model_in_use_bytes(host->model);
        pass->peak_low_before[i] = model_counters(host->model)->peak_low_bytes;
        pass->judge->had_absent = pass->judge->had_absent || model_absent_count(host->model) > 0;
    }
}

static void end_pass(struct pass *pass)
{
    for (size_t i = 0; i < pass->overlap->call_count; i++) {
        oom_deinit(&pass->pending[i].oom);
    }
    free(pass->pending);
    oom_deinit(&pass->oom);
    overlap_moves_deinit(&pass->moves);
}

bool judge_overlap(struct judge *judge, struct overlap *overlap,
                   const struct overlap_teller *teller)
{
    struct pass pass = {.judge = judge, .overlap = overlap};
    CHECK(overlap->under_way_count == 0);
    CHECK(overlap->call_count > 0);
    judge->is_overlapping = true;
    judge->had_absent = false;
    pass.moves.let_go = overlap_effects_let_go;
    pass.moves.context = &pass;
    begin_pass(&pass);
    const char *message = judge->message;
    const bool is_good = run_pass(&pass, teller);
    judge->message = message;
    judge->is_overlapping = false;
    end_pass(&pass);
    return is_good;
}
