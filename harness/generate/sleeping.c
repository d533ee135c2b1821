#include "harness/generate/sleeping.h"

#include "harness/base/check.h"

/* "sleeping", as a number that no other part of a seed uses. */
#define SLEEPING_STREAM UINT64_C(0x736C656570696E67)

void sleeping_init(struct sleeping *sleeping, const struct fault_options *options, uint64_t seed)
{
    *sleeping = (struct sleeping){.fault_kinds = options->kinds};
    random_init(&sleeping->random, random_derive(seed, SLEEPING_STREAM));
}

static struct op make_fault(const struct sleeping *sleeping, uint64_t nth)
{
    struct op op = op_make(OP_FAULT);
    op.host = sleeping->host;
    op.tag = sleeping->fault;
    op.size_bytes = nth;
    return op;
}

/* The fault that the next sleep or wake meets.  False: it meets none. */
static bool draw_fault(struct sleeping *sleeping, struct op *op)
{
    static const enum fault_kind faults[] = {FAULT_COPY, FAULT_COPY, FAULT_HOST_MEMORY, FAULT_ANY};
    const enum fault_kind fault = faults[random_below(&sleeping->random, 4)];
    const uint64_t nth = random_between(&sleeping->random, 1, SLEEPING_NTH_MAX);
    if ((sleeping->fault_kinds >> fault & 1u) == 0 ||
        !random_chance(&sleeping->random, SLEEPING_REFUSED_PERCENT, 100)) {
        return false;
    }
    sleeping->fault = (uint8_t)fault;
    sleeping->is_armed = sleeping->is_next = true;
    *op = make_fault(sleeping, nth);
    return true;
}

/* The sleep or wake, or before it the fault that it meets. */
static struct op make_next(struct sleeping *sleeping, enum op_kind kind)
{
    struct op op = op_make(kind);
    op.host = sleeping->host;
    if (!sleeping->is_next && draw_fault(sleeping, &op)) {
        return op;
    }
    sleeping->is_next = false;
    sleeping->has_woken = kind == OP_WAKE;
    sleeping->is_wanted = false;
    return op;
}

/* What is in use ends, one event after the other.  False: a block that is held while it dies stays.
 */
static bool make_idle(struct sleeping *sleeping, const struct model *model, struct op *op)
{
    if (model_event_count(model) == 0) {
        sleeping->is_wanted = false;
        return false;
    }
    *op = op_make(OP_COMPLETE);
    op->event = model_event_op(model, 0);
    op->host = sleeping->host;
    return true;
}

static void draw_wish(struct sleeping *sleeping, const struct scenario_view *view)
{
    if (sleeping->has_woken) {
        sleeping->is_wanted = random_chance(&sleeping->random, SLEEPING_AGAIN_PERCENT, 100);
        sleeping->has_woken = false;
    } else if (!sleeping->is_wanted) {
        sleeping->host = (uint8_t)random_below(&sleeping->random, view->host_count);
        sleeping->is_wanted = random_chance(
            &sleeping->random, 1,
            SLEEPING_PERIOD + (uint32_t)model_live_count(view->hosts[sleeping->host]));
        sleeping->waited_count = 0;
    }
}

bool sleeping_next(struct sleeping *sleeping, const struct scenario_view *view, struct op *op)
{
    CHECK(view->host_count >= 1);
    const struct model *model = view->hosts[sleeping->host];
    if (sleeping->is_off || model_contract(model)->sleeps == SLEEP_NONE) {
        return false;
    }
    if (model_is_asleep(model)) {
        *op = make_next(sleeping, OP_WAKE);
        return true;
    }
    if (sleeping->is_armed && !sleeping->is_next) {
        sleeping->is_armed = false;
        *op = make_fault(sleeping, 0);
        return true;
    }
    draw_wish(sleeping, view);
    model = view->hosts[sleeping->host];
    if (sleeping->is_wanted && model_is_idle(model)) {
        *op = make_next(sleeping, OP_SLEEP);
        return true;
    }
    return sleeping->is_wanted && sleeping->waited_count++ >= SLEEPING_PATIENCE &&
           make_idle(sleeping, model, op);
}
