#include "scenarios/private/parts.h"

bool clear_next(const struct scenario_view *view, uint8_t host, bool keep_programs, struct op *op)
{
    const struct model *model = view->hosts[host];
    const size_t live_count = model_live_count(model);
    if (live_count > 0) {
        const struct block *block = model_live(model, live_count - 1);
        *op = build_on(block->hold_count > 0 ? OP_RELEASE : OP_FREE, block->op);
    } else if (!keep_programs && model_program_count(model) > 0) {
        *op = build_on(OP_UNLOAD, model_program(model, 0)->op);
    } else if (model_event_count(model) > 0) {
        *op = build_complete(model_event_op(model, 0));
    } else {
        return false;
    }
    op->host = host;
    return true;
}

bool clear_hosts_next(const struct scenario_view *view, struct op *op)
{
    for (uint32_t host = 0; host < view->host_count; host++) {
        if (clear_next(view, (uint8_t)host, false, op)) {
            return true;
        }
    }
    return false;
}
