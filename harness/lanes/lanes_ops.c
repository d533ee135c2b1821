#include "harness/base/check.h"
#include "harness/lanes/private/lanes_state.h"

#include "explore/order.h"
#include "explore/pthreads/pthreads.h"
#include "harness/call/driver.h"
#include "harness/call/progress.h"
#include "harness/lanes/lanes.h"

/* --- what lanes know --- */

/* Records the order that the client knows: an op that names what another made comes after that op,
 * and an op that ends it comes after all that used it. */
static void order_after(struct lanes *lanes, const struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    struct order *order = lanes->plan->order;
    if (order == NULL || op->ref >= lanes->plan->ops->count ||
        !(info->has_block || info->has_program)) {
        return;
    }
    const uint8_t lane = scheduler_lane(lanes->scheduler);
    order_acquire(order, lane, &lanes->calls.undone[op->ref]);
    if (op_ends_handle(op)) {
        order_acquire(order, lane, (const unsigned char *)&lanes->calls.undone[op->ref] + 1);
    }
}

static void order_before(struct lanes *lanes, const struct op *op, uint32_t number)
{
    struct order *order = lanes->plan->order;
    if (order == NULL) {
        return;
    }
    const uint8_t lane = scheduler_lane(lanes->scheduler);
    order_release(order, lane, &lanes->calls.undone[number]);
    if (op->ref < lanes->plan->ops->count) {
        order_release(order, lane, (const unsigned char *)&lanes->calls.undone[op->ref] + 1);
    }
}

static void await_op(struct lanes *lanes, uint32_t op)
{
    if (op < lanes->plan->ops->count && lanes->calls.undone[op] != 0) {
        scheduler_step(lanes->scheduler, &(struct step){.kind = STEP_WAIT,
                                                        .object = &lanes->calls.undone[op],
                                                        .gate = &lanes->calls.undone[op]});
    }
}

/* --- calls --- */

/* No call is under way any more. */
static void judge_calls(struct lanes *lanes)
{
    scheduler_alone(lanes->scheduler, true);
    lane_calls_judge(&lanes->calls);
    lanes_device_open_gates(lanes);
    if (lanes->calls.run->is_broken) {
        scheduler_stop(lanes->scheduler);
    }
    scheduler_alone(lanes->scheduler, false);
}

/* The call itself, between its begin and its return. */
static void make_call(struct lanes *lanes, struct host *host, const struct op *op,
                      struct call *call)
{
    CHECK(lanes->calls.run != NULL);
    CHECK(call->skipped);
    struct run *run = lanes->calls.run;
    const bool may_begin = clients_may_begin(lanes->calls.clients, op);
    clients_begin(lanes->calls.clients, op);
    progress_begin(PROGRESS_OP, (enum op_kind)op->kind, call->number);
    lanes->look_count = 0;
    order_after(lanes, op);
    if (may_begin) {
        driver_call(host, &run->setup, op, call->number, call);
    }
    if (op->kind == OP_REPORT) {
        struct target_stats stats; /* compared when no call is under way */
        host->target->stats(host->instance, &stats);
    }
    progress_end();
}

static void tell_returned(const struct lanes *lanes, uint32_t number)
{
    const struct lanes_watch *watch = lanes->plan->watch;
    if (watch != NULL) {
        watch->returned(watch->context, number);
    }
}

static void call_op(struct lanes *lanes, struct host *host, const struct op *op, uint32_t number)
{
    CHECK(number < lanes->plan->ops->count);
    struct call call = {.op = *op, .number = number, .slot = SLOT_NONE, .skipped = true};
    const uint32_t in_overlap = lane_calls_begin(&lanes->calls, host,
                                                 scheduler_lane(lanes->scheduler));
    make_call(lanes, host, op, &call);
    clients_end(lanes->calls.clients, &call);
    const struct overlap_answer answer = {in_overlap, &call, overlap_message(host, &call)};
    overlap_end(&lanes->calls.overlap, &lanes->calls.run->judge, &answer);
    CHECK(lanes->calls.undone[number] == 1);
    lanes->calls.undone[number] = 0;
    order_before(lanes, op, number);
    lanes_device_open_gates(lanes);
    tell_returned(lanes, number);
    scheduler_progress(lanes->scheduler);
    if (lanes->calls.overlap.under_way_count == 0) {
        judge_calls(lanes);
    }
}

static void run_op(struct lanes *lanes, uint32_t number)
{
    const struct op *op = &lanes->plan->ops->ops[number];
    const struct op_kind_info *info = op_kind_info(op->kind);
    if (info->has_block || info->has_program) {
        await_op(lanes, op->ref);
    }
    if (info->has_event) {
        await_op(lanes, op->event);
    }
    scheduler_op(lanes->scheduler, number);
    scheduler_step(lanes->scheduler,
                   &(struct step){.kind = STEP_OP, .gate = clients_gate(lanes->calls.clients, op)});
    call_op(lanes, &lanes->calls.run->hosts[op->host], op, number);
}

/* --- lanes --- */

static void run_lane(void *context)
{
    const struct lane_task *task = context;
    const struct op_list *ops = task->lanes->plan->ops;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].lane == task->lane) {
            run_op(task->lanes, i);
        }
    }
    pthreads_lane_end();
}

static void start_lane(struct lanes *lanes, uint8_t lane)
{
    CHECK(lane >= 1);
    CHECK(lane < LANES_CLIENT_COUNT_MAX);
    lanes->tasks[lane] = (struct lane_task){lanes, lane};
    scheduler_client_start(lanes->scheduler, lane, run_lane, &lanes->tasks[lane]);
}

static void await_lane(struct lanes *lanes, uint8_t lane)
{
    scheduler_step(
        lanes->scheduler,
        &(struct step){.kind = STEP_WAIT, .gate = scheduler_lane_gate(lanes->scheduler, lane)});
    if (lanes->plan->order != NULL) {
        order_join(lanes->plan->order, 0, lane);
    }
}

/* Lane 0, and the start of the others where they come up. */
void lanes_ops_run(struct lanes *lanes)
{
    const struct op_list *ops = lanes->plan->ops;
    uint64_t started = 1;
    for (uint32_t i = 0; i < ops->count; i++) {
        const uint8_t lane = ops->ops[i].lane;
        if (lane == 0) {
            run_op(lanes, i);
        } else if ((started >> lane & 1) == 0) {
            started |= UINT64_C(1) << lane;
            start_lane(lanes, lane);
        }
    }
    for (uint8_t lane = 1; lane < LANES_CLIENT_COUNT_MAX; lane++) {
        if ((started >> lane & 1) != 0) {
            await_lane(lanes, lane);
        }
    }
}
