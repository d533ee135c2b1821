#include "harness/rules/private/judge_held_back.h"

#include "harness/device/collectives.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/rules.h"

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
           device_faults_fired(host->device) == 0 && device_faults_struck(host->device) == 0;
}

bool judge_held_back(struct judge *judge, const struct host *host, const struct call *call,
                     const struct device_call *made, bool has_moved)
{
    const struct collective *awaited = find_awaited(host, made);
    return awaited == NULL || has_moved || !is_judged(judge, host, call) ||
           rule_judge(RULE_HELD_BACK, &(const struct evidence){.judge = judge,
                                                               .host = host,
                                                               .call = call,
                                                               .made = made,
                                                               .awaited = awaited,
                                                               .sight = SIGHT_MITIGATION,
                                                               .slot = SLOT_NONE});
}
