#include "harness/rules/private/judge_oom.h"

#include "harness/oracle/exhaustive.h"
#include "harness/oracle/shortfall.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/judge_regions.h"
#include "harness/rules/private/rules.h"

#include <stdio.h>
#include <string.h>

/* Of a run's OOMs every so many get a second opinion, and every premature one: it costs about as
 * much as the first, and it takes only small states. */
enum { SECOND_OPINION_PERIOD = 8 };
/* Of every so many the related states are judged, too: up to four judgements. */
enum { RELATIONS_PERIOD = 64 };

/* Asks a judge that shares nothing with the oracle.  True: it comes to another verdict, and
 * *verdict says so. */
static bool is_disputed(struct judge *judge, struct verdict *verdict)
{
    const enum verdict_kind second = exhaustive_judge(&judge->oom);
    judge->has_second_opinion = second != VERDICT_NONE;
    if (second == VERDICT_NONE || verdict->kind == VERDICT_UNKNOWN || second == verdict->kind) {
        return false;
    }
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle reports %s, the exhaustive search reports %s", verdict_name(verdict->kind),
             verdict_name(second));
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
    return true;
}

static enum verdict_kind ask_oracle(void *context, const struct oom *oom, uint64_t nodes_max)
{
    struct verdict verdict = {0};
    oracle_judge(context, oom, nodes_max, &verdict);
    return verdict.kind;
}

/* True: the oracle contradicts itself, and *verdict says so. */
static bool is_inconsistent(struct judge *judge, struct verdict *verdict)
{
    enum verdict_kind answer = VERDICT_NONE;
    const struct relation_judge ask = {judge->oracle, ask_oracle};
    const enum relation broken = relations_find_broken(&judge->relations, &judge->oom, verdict,
                                                       &ask, &judge->relations_checked, &answer);
    if (broken == RELATION_NONE) {
        return false;
    }
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle reports %s, and %s of the same state %s", verdict_name(verdict->kind),
             verdict_name(answer), relation_words(broken));
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
    return true;
}

/* Each of the others is asked about some.  True: one does not agree, and *verdict says so. */
static bool ask_others(struct judge *judge, struct verdict *verdict)
{
    const uint64_t index = judge->oom_count++;
    if ((index % SECOND_OPINION_PERIOD == 0 || verdict->kind == VERDICT_PREMATURE) &&
        is_disputed(judge, verdict)) {
        return true;
    }
    return index % RELATIONS_PERIOD == 0 && is_inconsistent(judge, verdict);
}

/* Where a call was refused in the op, nobody can see which room the allocator keeps for what is in
 * host memory.  What others of the process have taken nobody sees at all. */
static bool is_excused(const struct host *host)
{
    return host->contract.limit == TARGET_LIMIT_PROCESS ||
           (model_absent_count(host->model) > 0 && device_faults_fired(host->device) != 0);
}

/* While a block is absent, the numbers of the text leave out the room that is kept for it, and
 * nobody can see where; nor where blocks without an address are, nor whether the target saw what
 * completed between its last looks. */
static bool judge_text(struct judge *judge, const struct host *host, const struct call *call)
{
    const bool has_seen_all = device_seen_count(host->device) ==
                              timeline_completed_count(host->timeline);
    const bool has_numbers = has_seen_all && model_absent_count(host->model) == 0 &&
                             host->contract.placement == PLACEMENT_RANGES;
    return rule_judge(RULE_MESSAGE,
                      &(const struct evidence){
                          .judge = judge, .host = host, .call = call, .has_numbers = has_numbers});
}

static struct shortfall_done find_done(const struct device *device)
{
    struct shortfall_done done = {0};
    size_t count = 0;
    const struct device_call *calls = device_calls(device, &count);
    for (size_t i = 0; i < count; i++) {
        if (calls[i].result == DEVICE_OK) {
            done.drained = done.drained || calls[i].kind == DEVICE_CALL_WAIT;
            done.defragmented = done.defragmented || calls[i].kind == DEVICE_CALL_COPY ||
                                calls[i].kind == DEVICE_CALL_STAGE_IN;
            done.evicted = done.evicted || calls[i].kind == DEVICE_CALL_UNLOAD;
            done.trimmed = done.trimmed || calls[i].kind == DEVICE_CALL_REGION_GIVE;
            done.grown = done.grown || calls[i].kind == DEVICE_CALL_REGION_TAKE;
        }
    }
    return done;
}

/* The reason is the plan, which costs more than the verdict: a run that goes on has it for the
 * first of each mechanism. */
static void explain_premature(struct judge *judge, const struct host *host)
{
    struct verdict *verdict = judge->verdict;
    char mechanism[VERDICT_MECHANISM_BYTES];
    const struct shortfall_done done = find_done(host->device);
    shortfall_name(judge->oracle, &judge->oom, &judge->reach, &done, mechanism);
    if (!judge->goes_on || !judge_was_told(judge, RULE_PREMATURE, mechanism)) {
        (void)oracle_prove(judge->oracle, &judge->oom, verdict->nodes_max, verdict);
    }
    memcpy(verdict->mechanism, mechanism, sizeof mechanism);
}

/* What the device calls of the op broke before is told of it; the verdict is kept next to it. */
static void restore_broken(struct judge *judge, const struct verdict *broken)
{
    struct verdict *verdict = judge->verdict;
    if (broken->kind != VERDICT_BROKEN) {
        return;
    }
    judge->oom_verdict = *verdict;
    judge->hides_oom = true;
    verdict->kind = broken->kind;
    verdict->rule = broken->rule;
    memcpy(verdict->mechanism, broken->mechanism, sizeof verdict->mechanism);
    memcpy(verdict->reason, broken->reason, sizeof verdict->reason);
}

/* Without places nobody sees whether memory that is kept for other streams was given out again
 * there.  The verdict stands if it is the same with all of it and with none of it. */
static void ask_oracle_twice(struct judge *judge, const struct host *host,
                             const struct oom_request *request)
{
    struct verdict *verdict = judge->verdict;
    oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    if (verdict->kind != VERDICT_JUSTIFIED) {
        return;
    }
    oom_take(&judge->oom, host->model, request, device_faults_fired(host->device));
    oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    verdict->kind = verdict->kind == VERDICT_PREMATURE ? VERDICT_NONE : verdict->kind;
}

bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call)
{
    const struct oom_request request = judge_request(host, call);
    struct verdict *verdict = judge->verdict;
    /* Each is at most 2^63. */
    if (__builtin_add_overflow(request.asked_bytes, request.stack_bytes,
                               &verdict->requested_bytes)) {
        verdict->requested_bytes = UINT64_MAX;
    }
    verdict->free_bytes = model_free_bytes(host->model);
    oom_take(&judge->oom, host->model, &request, device_faults_fired(host->device));
    if (is_excused(host)) {
        return judge_text(judge, host, call);
    }
    judge_pool(host, &judge->oom);
    if (model_absent_count(host->model) > 0) {
        oom_add_absent(&judge->oom, host->model);
    }
    oom_assume(&judge->oom, host->model, judge->setup);
    const struct verdict before = *verdict;
    if (host->contract.placement != PLACEMENT_RANGES && oom_add_kept(&judge->oom, host->model)) {
        ask_oracle_twice(judge, host, &request);
    } else {
        oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    }
    judge->oom_kind = verdict->kind;
    if (verdict->kind == VERDICT_NONE) { /* it depends on places that are hidden */
        *verdict = before;
        return judge_text(judge, host, call);
    }
    if (ask_others(judge, verdict)) {
        judge->oom_kind = VERDICT_NONE;
        return false;
    }
    assumed_judge(judge->assumed, judge->oracle, &judge->oom, verdict);
    judge->oom_kind = verdict->kind;
    if (verdict->kind == VERDICT_PREMATURE) {
        explain_premature(judge, host);
        return judge->goes_on;
    }
    restore_broken(judge, &before);
    return judge_text(judge, host, call);
}

/* Whatever the device refused, the allocator may have in mind what it could do otherwise.  Room for
 * blocks that are absent is not asked for. */
void judge_loaded_stack(struct judge *judge, const struct host *host, const struct call *call,
                        uint64_t stack_bytes, struct verdict *proof)
{
    const struct oom_request request = {.class = REQUEST_PROGRAM,
                                        .align_bytes = host->contract.granule_bytes,
                                        .stack_bytes = stack_bytes,
                                        .own_op = call->number};
    oom_take(&judge->oom, host->model, &request, 0);
    oracle_judge_stack(judge->oracle, &judge->oom, judge->nodes_max, proof);
    if (proof->kind == VERDICT_JUSTIFIED && is_disputed(judge, proof)) {
        *judge->verdict = *proof;
        judge->verdict->op = call->number;
    }
}
