#include "harness/rules/private/judge_spending.h"

#include "harness/base/align.h"
#include "harness/device/device_pool.h"
#include "harness/rules/judge_request.h"

/* Of no more blocks a look at all is as cheap. */
enum { SMALL_COUNT_MAX = 64 };

/* --- when it begins --- */

/* Bytes that the op moves; false: it evicts, too. */
static bool sum_moves(const struct host *host, uint64_t *moved_bytes)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    *moved_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_done = calls[i].result == DEVICE_OK || calls[i].result == DEVICE_PARTIAL;
        if (is_done && calls[i].kind == DEVICE_CALL_UNLOAD) {
            return false;
        }
        const bool is_move = calls[i].kind == DEVICE_CALL_COPY ||
                             calls[i].kind == DEVICE_CALL_STAGE_OUT;
        *moved_bytes += is_done && is_move ? calls[i].bytes : 0;
    }
    return true;
}

/* Whether the largest hole is one granule less than the request needs.  False: it is not known, or
 * a hole is large enough but for the alignment. */
static bool find_granule_short(const struct model *model, const struct oom_request *request,
                               bool *is_short)
{
    struct model_window hole;
    size_t count = 0;
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t need = align_up(request->size_bytes, granule);
    if (request->align_bytes > granule &&
        (!model_find_holes(model, need, 1, &hole, &count) || count > 0)) {
        return false;
    }
    const bool is_known = need == granule ||
                          model_find_holes(model, need - granule, 1, &hole, &count);
    *is_short = count > 0;
    return is_known;
}

/* No plan moves fewer bytes than the op, for certain. */
static bool is_cheapest(const struct host *host, const struct oom_request *request,
                        bool *is_granule_short)
{
    uint64_t moved_bytes = 0;
    return model_map(host->model)->count > SMALL_COUNT_MAX && sum_moves(host, &moved_bytes) &&
           regret_has_none(host->model, request, moved_bytes) &&
           find_granule_short(host->model, request, is_granule_short);
}

void judge_begin_spending(struct judge *judge, const struct host *host, const struct call *call)
{
    /* Who judges no regrets looks for no probes.  What room is kept for an absent block cannot be
     * seen. */
    if (!judge->looks_back || judge->is_spending || !judge_is_request(&call->op) ||
        model_absent_count(host->model) > 0) {
        return;
    }
    const struct oom_request request = judge_request(host, call);
    judge->is_spending = true;
    judge->is_cheapest = is_cheapest(host, &request, &judge->is_granule_short);
    if (!judge->is_cheapest) {
        oom_take(&judge->before, host->model, &request, 0);
    }
}

/* --- when it is over --- */

/* Not when a fault of the device stood in its way, nor where others may have. */
void judge_look_back(struct judge *judge, const struct host *host, const struct call *call)
{
    const bool is_judged = call->result == TARGET_OK || call->result == TARGET_NO_MEMORY;
    const bool had_fault = device_faults_fired(host->device) != 0 ||
                           device_faults_struck(host->device) != 0;
    const bool is_bounded = host->contract.regions.grows && device_pool_of(host->device) != NULL;
    judge->spent.is_met = call->result == TARGET_OK;
    if (judge->looks_back && judge->is_spending && is_judged && !is_bounded &&
        model_absent_count(host->model) == 0 && !had_fault && !call->is_pinned &&
        host->contract.limit == TARGET_LIMIT_DEVICE &&
        host->contract.placement == PLACEMENT_RANGES &&
        !(judge->is_cheapest && judge->spent.is_met)) {
        judge->regret = regret_judge(judge->planner, &judge->before, &judge->spent);
    }
}
