#include "allocator/private/failure.h"
#include "allocator/private/life.h"
#include "allocator/private/report_lines.h"

const char *hbm_kind_name(enum hbm_kind kind)
{
    static const char *const names[] = {"buffer", "output", "program", "retired"};
    return names[kind];
}

const char *hbm_state_name(enum hbm_state state)
{
    static const char *const names[] = {"movable",      "held",         "dying",
                                        "program idle", "program busy", "retired"};
    return names[state];
}

const char *hbm_result_name(enum hbm_result result)
{
    static const char *const names[] = {"ok", "no memory", "invalid", "unavailable"};
    return names[result];
}

enum hbm_result hbm_report_visit(struct hbm *hbm, hbm_report_visitor *visit, void *context)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    const bool visited = hbm_report_visit_locked(hbm, visit, context);
    hbm_lock_give(&hbm->lock);
    return visited ? HBM_OK : hbm_fail_unavailable(hbm, "no host memory to sort the report in");
}

void hbm_report_sum(struct hbm *hbm, uint64_t bytes[HBM_STATE_COUNT])
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    hbm_report_sum_locked(hbm, bytes);
    hbm_lock_give(&hbm->lock);
}

void hbm_report_print(struct hbm *hbm, const struct hbm_sink *sink)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    hbm_report_print_locked(hbm, sink);
    hbm_lock_give(&hbm->lock);
}
