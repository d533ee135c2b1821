#include "harness/base/check.h"
#include "harness/device/collectives.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>

/* The collective that was awaited until the bound; NULL: the wait was for something else, or for
 * what was over already. */
static const struct collective *find_awaited(const struct host *host,
                                             const struct device_call *made)
{
    if (made->kind != DEVICE_CALL_WAIT || collectives_open_count(host->collectives) == 0 ||
        timeline_state(host->timeline, made->from) != EVENT_DONE ||
        timeline_completed_index(host->timeline, made->from) < made->completed_before) {
        return NULL;
    }
    return collectives_open_of(host->collectives, made->from);
}

/* Only where the places of all blocks are known, and nothing else kept the target from granting:
 * after a move they are known again when the op is over, and what others of the process have, what
 * room is kept for a block in host memory and what completes next to lanes nobody sees.  A refusal
 * of what fitted is premature, waited or not. */
static bool is_judged(const struct judge *judge, const struct host *host, const struct call *call)
{
    const struct target_contract *contract = &host->contract;
    return judge_is_request(&call->op) && call->result == TARGET_OK &&
           contract->placement == PLACEMENT_RANGES && contract->limit == TARGET_LIMIT_DEVICE &&
           host->clients == NULL && !judge->had_absent && model_absent_count(host->model) == 0 &&
           !device_had_fault(host->device);
}

bool judge_held_back(struct judge *judge, const struct host *host, const struct call *call,
                     const struct device_call *made, bool has_moved)
{
    const struct collective *awaited = find_awaited(host, made);
    if (awaited == NULL || has_moved || !is_judged(judge, host, call)) {
        return true;
    }
    struct evidence wait = evidence_on(judge, host, call, SIGHT_MITIGATION, SLOT_NONE);
    wait.made = made;
    wait.awaited = awaited;
    return rule_judge(RULE_HELD_BACK, &wait);
}

/* This rule asks if an allocator held back what it could have granted: its request waited for a
 * collective that somebody did not join in time, and fitted without that wait. */

/* True if the contract names the mitigation before drain, even if the order does not bind.  A
 * mitigation that it does not name comes last. */
static bool comes_before_drain(const struct target_contract *contract, enum mitigation mitigation)
{
    for (unsigned i = 0; i < MITIGATION_ORDER_COUNT; i++) {
        if (contract->order[i] == mitigation) {
            return true;
        }
        if (contract->order[i] == MITIGATION_DRAIN || contract->order[i] == MITIGATION_NONE) {
            return false;
        }
    }
    return false;
}

/* True if something completed in this call before the wait.  From then on an allocator that is
 * draining may look for holes alone: no contract says that it begins anew with what comes first. */
static bool is_draining(const struct evidence *evidence)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(evidence->host->device, &count);
    CHECK(count > 0);
    return evidence->made->completed_before > calls[0].completed_before;
}

/* Returns what was enough without the wait; NULL: nothing that comes before it. */
static const char *find_enough(const struct evidence *evidence)
{
    const struct target_contract *contract = &evidence->host->contract;
    if (state_fits(evidence, &(const struct reach_limits){0})) {
        return "although a hole fitted";
    }
    if (is_draining(evidence)) {
        return NULL;
    }
    if (comes_before_drain(contract, MITIGATION_DEFRAGMENT) &&
        state_fits(evidence, &(const struct reach_limits){.moves = true})) {
        return "although moves were enough";
    }
    if (comes_before_drain(contract, MITIGATION_EVICT) &&
        state_fits(evidence, &(const struct reach_limits){.evicts = true})) {
        return "although evictions were enough";
    }
    return NULL;
}

/* Whom the collective lacked: "collective 'stage 0', which host 1 and 2 more had not joined". */
static void describe_awaited(const struct evidence *evidence, char *text, size_t text_bytes)
{
    const struct collective *awaited = evidence->awaited;
    const char *name = setup_group_name(evidence->judge->setup, awaited->group);
    const uint64_t missing = awaited->members & ~awaited->joined;
    const int more = __builtin_popcountll(missing) - 1;
    char number[16] = "";
    char others[24] = "";
    (void)snprintf(number, sizeof number, "%" PRIu16, awaited->group);
    if (more > 0) {
        (void)snprintf(others, sizeof others, " and %d more", more);
    }
    const char *quote = name[0] == '\0' ? "" : "'";
    (void)snprintf(text, text_bytes, "collective %s%s%s, which host %d%s had not joined", quote,
                   name[0] == '\0' ? number : name, quote, __builtin_ctzll(missing), others);
}

bool rules_judge_held_back(const struct evidence *evidence)
{
    const char *enough = find_enough(evidence);
    if (enough == NULL) {
        return true;
    }
    char mechanism[VERDICT_MECHANISM_BYTES];
    char awaited[SETUP_GROUP_NAME_BYTES + 64];
    (void)snprintf(mechanism, sizeof mechanism, "wait in vain %s", enough);
    describe_awaited(evidence, awaited, sizeof awaited);
    return evidence_break_as(
        evidence, RULE_HELD_BACK, mechanism,
        "it waited until the bound for %s, %s, for a request of %" PRIu64 " bytes", awaited, enough,
        judge_request(evidence->host, evidence->call).size_bytes);
}
