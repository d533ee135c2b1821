#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/device/device.h"
#include "harness/rules/judge.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>

/* With no more blocks a look at all of them is as cheap. */
enum { SMALL_COUNT_MAX = 64 };

/* --- when it begins --- */

/* Bytes that the op moves; false: it evicts, too. */
static bool sum_moves(const struct host *host, uint64_t *moved_bytes)
{
    *moved_bytes = 0;
    EACH_DEVICE_CALL(host->device, made) {
        const bool is_done = made->result == DEVICE_OK || made->result == DEVICE_PARTIAL;
        if (is_done && made->kind == DEVICE_CALL_UNLOAD) {
            return false;
        }
        const bool is_move = made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT;
        *moved_bytes += is_done && is_move ? made->bytes : 0;
    }
    return true;
}

/* Sets *is_short: true if the largest hole is one granule less than the request needs.  False: it
 * is not known, or a hole is large enough but for the alignment. */
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
    /* A judge of no regrets looks for no probes.  Nobody sees which room is kept for an absent
     * block. */
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
    const bool had_fault = device_had_fault(host->device);
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

/* --- costs --- */

bool rules_judge_regret(const struct rule_evidence *evidence)
{
    const struct regret *regret = &evidence->judge->regret;
    const char *names[REGRET_KIND_COUNT];
    size_t name_count = 0;
    const char *mechanism = NULL;
    for (unsigned i = 0; i < REGRET_KIND_COUNT; i++) {
        if ((regret->kinds >> i & 1) != 0) {
            const struct regret_info *info = regret_info((enum regret_kind)i);
            mechanism = name_count == 0 ? info->name : mechanism;
            names[name_count++] = info->summary;
        }
    }
    CHECK(name_count > 0);
    return evidence_break_as(
        evidence, RULE_REGRET, mechanism,
        "regretted request number {count}: it %s%s%s; %" PRIu64 " bytes of programs and %" PRIu64
        " bytes of moves more than the cheapest plan",
        names[0], name_count > 1 ? " and " : "", name_count > 1 ? names[1] : "",
        regret->evicted_bytes, regret->moved_bytes);
}

void judge_regret(struct judge *judge, uint64_t count)
{
    (void)rule_judge(RULE_REGRET, &(const struct rule_evidence){.judge = judge, .count = count});
}
