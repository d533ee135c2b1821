#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/op/rounding.h"
#include "harness/rules/judge.h"
#include "harness/rules/private/families.h"

/* --- the answer of a plain call --- */

/* Asks what the rules on a granted range ask: those that take_block() has judged one by one. */
static bool is_sound_block(const struct host *host, const struct call *call, uint64_t align_bytes,
                           uint64_t promised_bytes)
{
    const struct target_block *block = &call->block;
    const uint64_t capacity = model_capacity_bytes(host->model);
    const uint64_t granule = host->contract.granule_bytes;
    return block->handle != 0 && block->size_bytes >= call->op.size_bytes &&
           block->size_bytes <= promised_bytes && block->size_bytes <= capacity &&
           block->address <= capacity - block->size_bytes &&
           block->address >= model_reserved_bytes(host->model) &&
           (block->address & (align_bytes - 1)) == 0 && (block->size_bytes & (granule - 1)) == 0;
}

static bool take_block(struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t granule = host->contract.granule_bytes;
    const uint64_t asked_align = (uint64_t)1 << op->align_log2;
    const uint64_t promised = rounding_bytes_max(&host->contract.rounding, granule, op->size_bytes);
    const struct model_new what = {
        .requested_bytes = op->size_bytes,
        .promised_bytes = promised,
        .align_bytes = asked_align > granule ? asked_align : granule,
        .kind = BLOCK_BUFFER,
        .tag = op->tag,
    };
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    if (op->size_bytes == 0 || !is_sound_block(host, call, what.align_bytes, promised) ||
        !model_add(host->model, &what, &call->block, &slot, &other)) {
        return false;
    }
    device_stamp(host->device, call->block.address, op->size_bytes, slot);
    return true;
}

static bool take_end(struct host *host, const struct call *call)
{
    if (!model_end_plain(host->model, call->slot)) {
        return false;
    }
    device_scrub(host->device, call->slot);
    return true;
}

/* True: every rule on the answer is kept, and the model has taken it in.  False: something else
 * happened, or a rule may be broken; nothing was changed, and the long road (judge_call) tells.
 */
static bool take_answer(const struct judge *judge, struct host *host, const struct call *call)
{
    /* What completed is taken in before the answer is. */
    if (judge->absorbed_counts[host->clock] != timeline_completed_count(host->timeline) ||
        !judge_keeps_host_memory(host)) {
        return false;
    }
    return call->op.kind == OP_ALLOC ? take_block(host, call) : take_end(host, call);
}

/* --- what it says of itself --- */

OFTEN enum judge_road judge_short(struct judge *judge, struct host *host, const struct call *call)
{
    struct target_stats *stats = &host->stats;
    if (!call->is_plain || !take_answer(judge, host, call)) {
        return JUDGE_ROAD_LONG;
    }
    judge_forget_answer(judge);
    judge->cost.calls = device_call_total(host->device);
    zero_often(stats, sizeof *stats); /* no lanes share the host: the target may write there */
    host->target->stats(host->instance, stats);
    if (device_hung(host->device) || !judge_counters_are_exact(judge, host, stats)) {
        return JUDGE_ROAD_REPORTS;
    }
    judge_narrow_peak(host, stats->peak_bytes_in_use);
    return JUDGE_ROAD_SHORT;
}

/* True if a block ends with the op.  It is ended first: nobody may be asked about it any more, and
 * others may have taken its place. */
static bool is_end_of_block(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return call->result == TARGET_OK &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD || kind == OP_RELEASE);
}

/* Judges what the blocks hold, if there is memory behind them. */
static bool judge_held(struct judge *judge, struct host *host, const struct call *call)
{
    if (model_is_asleep(host->model)) {
        return true;
    }
    return judge_is_sleep(&call->op) ? judge_after_sleep(judge, host, call)
                                     : judge_contents(judge, host);
}

static bool judge_answer(struct judge *judge, struct host *host, const struct call *call)
{
    bool moved = false;
    if (!judge_device_calls(judge, host, call, &moved) || !judge_host_memory(judge, host) ||
        !judge_status(judge, host, call)) {
        return false;
    }
    if (!judge_stamps(judge, host, call) || !judge_take_sleep(judge, host, call)) {
        return false;
    }
    const bool failed = call->result != TARGET_OK;
    const bool looks = moved || call->op.kind == OP_REPORT || judge_is_sleep(&call->op);
    const bool ends = is_end_of_block(call);
    if (ends) {
        judge_take_end(host, call);
    }
    if (!moved || !judge_moves(judge, host, call)) {
        if ((looks || failed) && !judge_places(judge, host, call, moved)) {
            return false;
        }
        if (looks && !judge_held(judge, host, call)) {
            return false;
        }
    }
    if (!failed && !ends && !judge_take_success(judge, host, call)) {
        return false;
    }
    /* No size that can never be right is out of memory. */
    const bool is_oom = call->result == TARGET_NO_MEMORY && !judge->has_wrong_status;
    if (is_oom &&
        (!judge_no_memory(judge, host, call) || !judge_last_eviction(judge, host, call))) {
        return false;
    }
    const struct rule_evidence answer = evidence_of(judge, host, call, SIGHT_ANSWER);
    /* An answer that is wrong by itself is not held against those of other hosts. */
    return rule_judge(RULE_RETRY, &answer) &&
           (judge->oom_kind == VERDICT_PREMATURE || judge->has_wrong_status ||
            rule_judge(RULE_SPMD, &answer));
}

/* Notes what an out-of-memory says of the same request, asked again at once.  The answer may
 * change if room was kept for a block in host memory, or if others of the process give theirs
 * back. */
static void note_refusal(struct judge *judge, const struct host *host, const struct call *call)
{
    if (call->result == TARGET_NO_MEMORY) {
        judge->is_refusal_settled = device_had_fault(host->device) || judge->has_wrong_status ||
                                    judge->oom_kind == VERDICT_PREMATURE ||
                                    host->contract.limit == TARGET_LIMIT_PROCESS ||
                                    model_absent_count(host->model) > 0;
    }
}

static void check_polls(struct judge *judge, const struct host *host)
{
    const struct rule_evidence later = evidence_of(judge, host, NULL, SIGHT_LATER);
    (void)rule_judge(RULE_HANG, &later);
}

/* The last things asked of the target on an op: what it says of itself. */
static void judge_reports(struct judge *judge, struct host *host, const struct call *call)
{
    const bool in_full = call->op.kind == OP_REPORT || call->result != TARGET_OK;
    if (!judge_regions(judge, host, NULL)) {
        return;
    }
    if (judge_counters(judge, host, &host->stats, in_full) && call->op.kind == OP_REPORT) {
        (void)judge_report(judge, host);
    }
    judge_narrow_peak(host, host->stats.peak_bytes_in_use);
    (void)judge_failed(judge, host, call);
    check_polls(judge, host);
}

/* Resets what is kept of one call alone, and read while it is judged and counted. */
static void begin_call(struct judge *judge)
{
    judge_forget_answer(judge);
    judge->spent = (struct regret_spent){0};
    judge->regret = (struct regret){0};
    judge->is_spending = judge->is_cheapest = false;
    judge->has_second_opinion = judge->has_wrong_status = false;
    judge->relations_checked = 0;
}

/* Judges as judge_call() does, after begin_call(). */
static void judge_whole_call(struct judge *judge, struct host *host, const struct call *call)
{
    judge->hosts_differ = judge->hosts_differ ||
                          (device_had_fault(host->device) && !call->is_pinned);
    judge_note_holes(judge, host);
    const bool is_followed = judge_answer(judge, host, call);
    note_refusal(judge, host, call);
    if (!is_followed) {
        return;
    }
    judge_look_back(judge, host, call);
    judge_absorb_all(judge);
    if (judge_absent(judge, host, call)) {
        /* The target writes into what is the call's alone: between lanes nothing that it can see
         * orders what belongs to the host. */
        struct target_stats stats = {0};
        host->target->stats(host->instance, &stats);
        host->stats = stats;
        judge_reports(judge, host, call);
    }
}

void judge_call(struct judge *judge, struct host *host, const struct call *call,
                enum judge_road road)
{
    CHECK(road != JUDGE_ROAD_SHORT);
    begin_call(judge);
    if (road == JUDGE_ROAD_REPORTS) {
        judge->had_absent = false;
        judge_take_plain_cost(judge, call);
        judge_reports(judge, host, call);
        return;
    }
    judge_note_cost(judge, host, call);
    judge->had_absent = model_absent_count(host->model) > 0;
    judge_whole_call(judge, host, call);
    judge_op_cost(judge, host, call);
}

void judge_look_again(struct judge *judge, struct host *host)
{
    const struct call none = {.op = op_make(OP_REPORT), .number = OP_NONE, .slot = SLOT_NONE};
    if (judge->looked_counts[host->index] > 0) {
        (void)judge_places(judge, host, &none, false);
    }
}

void judge_empty_heap(struct judge *judge, struct host *host)
{
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    CHECK(model_in_use_bytes(host->model) == model_retired_bytes(host->model));
    if (judge_regions(judge, host, NULL)) {
        judge_counters(judge, host, &stats, true);
    }
}

void judge_closed(struct judge *judge, struct host *host)
{
    check_polls(judge, host);
    judge_host_closed(judge, host);
    judge_regions_closed(judge, host);
}
