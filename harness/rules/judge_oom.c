#include "harness/rules/judge_oom.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/oracle/exhaustive.h"
#include "harness/rules/private/judge_reported.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t judge_align_bytes(const struct host *host, const struct op *op)
{
    const uint64_t align = (uint64_t)1 << op->align_log2;
    return align > host->contract.granule_bytes ? align : host->contract.granule_bytes;
}

bool judge_is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ||
           op->kind == OP_EXECUTE;
}

struct oom_request judge_request(const struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t granule = host->contract.granule_bytes;
    struct oom_request request = {
        .class = op->kind == OP_ALLOC || op->kind == OP_OUTPUT ? REQUEST_BUFFER : REQUEST_PROGRAM,
        .size_bytes = op->size_bytes,
        .align_bytes = judge_align_bytes(host, op),
        .own_op = OP_NONE,
    };
    if (op->kind == OP_LOAD) {
        /* Above 2^63 it was invalid already: the sum cannot overflow. */
        request.stack_bytes = align_up(op->stack_bytes, granule);
    } else if (op->kind == OP_EXECUTE) {
        const struct block *program = model_block(host->model, call->slot);
        request.size_bytes = program->state == BLOCK_GONE ? program->requested_bytes : 0;
        request.stack_bytes = program->stack_bytes;
        request.own_op = program->op;
    }
    return request;
}

/* Of a run's OOMs every so many get a second opinion, and every premature one: it costs about as
 * much as the first, and it takes only small states. */
enum { SECOND_OPINION_PERIOD = 8 };

/* Asks a judge that shares nothing with the oracle, if it is its turn.  True: it comes to another
 * verdict, and *verdict says so. */
static bool second_judge_disagrees(struct judge *judge)
{
    struct verdict *verdict = judge->verdict;
    const bool is_asked = judge->oom_count++ % SECOND_OPINION_PERIOD == 0 ||
                          verdict->kind == VERDICT_PREMATURE;
    const enum verdict_kind second = is_asked ? exhaustive_judge(&judge->oom) : VERDICT_NONE;
    judge->has_second_opinion = second != VERDICT_NONE;
    if (second == VERDICT_NONE || verdict->kind == VERDICT_UNKNOWN || second == verdict->kind) {
        return false;
    }
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle says %s, trying everything says %s", verdict_name(verdict->kind),
             verdict_name(second));
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
    return true;
}

/* The allocator may keep room for what is in host memory, and nobody can see where: neither the
 * answer nor the numbers of its text can be judged. */
static bool judge_excused(struct judge *judge)
{
    return judge->message[0] != '\0' ||
           judge_broken(judge, RULE_MESSAGE, "an out-of-memory without an error text");
}

bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call)
{
    const struct oom_request request = judge_request(host, call);
    struct verdict *verdict = judge->verdict;
    /* Each is at most 2^63. */
    if (__builtin_add_overflow(request.size_bytes, request.stack_bytes,
                               &verdict->requested_bytes)) {
        verdict->requested_bytes = UINT64_MAX;
    }
    verdict->free_bytes = model_free_bytes(host->model);
    oom_take(&judge->oom, host->model, &request, device_faults_fired(host->device));
    if (model_absent_count(host->model) > 0) {
        return judge_excused(judge);
    }
    oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    if (second_judge_disagrees(judge)) {
        return false;
    }
    if (verdict->kind == VERDICT_PREMATURE) {
        /* The reason is the plan. */
        (void)oracle_prove(judge->oracle, &judge->oom, judge->nodes_max, verdict);
        return false;
    }
    const struct verdict judged = *verdict;
    if (!judge_message(judge, host, call)) {
        return false;
    }
    *verdict = judged;
    return true;
}

/* Not when a fault of the device stood in its way. */
void judge_look_back(struct judge *judge, const struct host *host, const struct call *call)
{
    const bool is_judged = call->result == TARGET_OK || call->result == TARGET_NO_MEMORY;
    const bool had_fault = device_faults_fired(host->device) != 0 ||
                           device_faults_struck(host->device) != 0;
    if (judge->looks_back && judge->is_spending && is_judged &&
        model_absent_count(host->model) == 0 && !had_fault) {
        judge->spent.is_met = call->result == TARGET_OK;
        judge->regret = regret_judge(judge->planner, &judge->before, &judge->spent);
    }
}

void judge_regret(struct judge *judge, uint64_t count)
{
    const struct regret *regret = &judge->regret;
    const char *names[REGRET_KIND_COUNT];
    size_t name_count = 0;
    for (unsigned i = 0; i < REGRET_KIND_COUNT; i++) {
        if ((regret->kinds >> i & 1) != 0) {
            names[name_count++] = regret_info((enum regret_kind)i)->summary;
        }
    }
    CHECK(name_count > 0);
    judge_broken(judge, RULE_REGRET,
                 "request %" PRIu64 " that is regretted: it %s%s%s; %" PRIu64
                 " bytes of programs and %" PRIu64 " bytes of moves beyond the cheapest plan",
                 count, names[0], name_count > 1 ? " and " : "", name_count > 1 ? names[1] : "",
                 regret->evicted_bytes, regret->moved_bytes);
}
