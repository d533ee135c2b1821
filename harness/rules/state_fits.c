#include "harness/rules/private/state_fits.h"

#include "harness/rules/judge_request.h"

static bool has_surplus(const struct oom *oom)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].surplus_bytes > 0) {
            return true;
        }
    }
    return false;
}

const struct oom *state_take(const struct evidence *evidence)
{
    struct oom *oom = &evidence->judge->reservable;
    const struct oom_request request = judge_request(evidence->host, evidence->call);
    oom_take(oom, evidence->host->model, &request, 0);
    return oom;
}

bool state_fits(const struct evidence *evidence, const struct reach_limits *limits)
{
    struct reach *reach = &evidence->judge->reach;
    const struct oom *oom = state_take(evidence);
    struct reach_gap where;
    if (has_surplus(oom)) {
        return false;
    }
    reach_decide(reach, oom, limits);
    return !reach_is_too_large(reach) && reach_fixed_below(reach) == NULL &&
           reach_slides(reach, &where);
}
