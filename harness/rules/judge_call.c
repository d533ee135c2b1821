#include "harness/rules/judge_call.h"

#include "harness/base/check.h"
#include "harness/rules/judge_completions.h"
#include "harness/rules/private/judge_absent.h"
#include "harness/rules/private/judge_answer.h"
#include "harness/rules/private/judge_contents.h"
#include "harness/rules/private/judge_cost.h"
#include "harness/rules/private/judge_device.h"
#include "harness/rules/private/judge_failed.h"
#include "harness/rules/private/judge_host.h"
#include "harness/rules/private/judge_moved.h"
#include "harness/rules/private/judge_moves.h"
#include "harness/rules/private/judge_oom.h"
#include "harness/rules/private/judge_order.h"
#include "harness/rules/private/judge_regions.h"
#include "harness/rules/private/judge_reported.h"
#include "harness/rules/private/judge_sleep.h"
#include "harness/rules/private/judge_spending.h"
#include "harness/rules/private/rules.h"

/* What ends with the op is ended first: nobody may be asked about it any more, and others may have
 * taken its place. */
static bool is_end_of_block(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return call->result == TARGET_OK &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD || kind == OP_RELEASE);
}

/* What the blocks hold, if there is memory behind them. */
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
    const struct evidence answer = {.judge = judge, .host = host, .call = call};
    /* An answer that is wrong by itself is not held against those of other hosts. */
    return rule_judge(RULE_RETRY, &answer) &&
           (judge->oom_kind == VERDICT_PREMATURE || judge->has_wrong_status ||
            rule_judge(RULE_SPMD, &answer));
}

static bool has_fault(const struct host *host)
{
    return device_faults_fired(host->device) != 0 || device_faults_struck(host->device) != 0;
}

/* What an answer of out of memory leaves for the same request, asked again at once.  Room that is
 * kept for a block in host memory may be given up then, and others of the process may give theirs
 * back. */
static void note_refusal(struct judge *judge, const struct host *host, const struct call *call)
{
    if (call->result == TARGET_NO_MEMORY) {
        judge->is_refusal_settled = has_fault(host) || judge->has_wrong_status ||
                                    judge->oom_kind == VERDICT_PREMATURE ||
                                    host->contract.limit == TARGET_LIMIT_PROCESS ||
                                    model_absent_count(host->model) > 0;
    }
}

static void check_polls(struct judge *judge, const struct host *host)
{
    (void)rule_judge(RULE_HANG,
                     &(const struct evidence){.judge = judge, .host = host, .sight = SIGHT_LATER});
}

/* The target writes into what is the call's alone: between lanes nothing that it can see orders
 * what belongs to the host. */
static void judge_ask_stats(struct host *host)
{
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    host->stats = stats;
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

/* What is kept of one call alone, and read while it is judged and counted. */
static void begin_call(struct judge *judge)
{
    judge_forget_answer(judge);
    judge->spent = (struct regret_spent){0};
    judge->regret = (struct regret){0};
    judge->is_spending = judge->is_cheapest = false;
    judge->has_second_opinion = judge->has_wrong_status = false;
    judge->relations_checked = 0;
}

/* As judge_call(), after begin_call(). */
static void judge_whole_call(struct judge *judge, struct host *host, const struct call *call)
{
    judge->hosts_differ = judge->hosts_differ || (has_fault(host) && !call->is_pinned);
    judge_note_holes(judge, host);
    const bool is_followed = judge_answer(judge, host, call);
    note_refusal(judge, host, call);
    if (!is_followed) {
        return;
    }
    judge_look_back(judge, host, call);
    judge_absorb_all(judge);
    if (!judge_absent(judge, host, call)) {
        return;
    }
    judge_ask_stats(host);
    judge_reports(judge, host, call);
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

void judge_regret(struct judge *judge, uint64_t count)
{
    (void)rule_judge(RULE_REGRET, &(const struct evidence){.judge = judge, .count = count});
}
