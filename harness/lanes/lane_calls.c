#include "harness/lanes/private/lane_calls.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/timeline.h"
#include "harness/rules/overlap.h"

#include <stdlib.h>

void lane_calls_init(struct lane_calls *calls, size_t op_count)
{
    CHECK(calls->clients == NULL);
    CHECK(calls->undone == NULL);
    calls->clients = clients_create(op_count);
    calls->undone = array_resized(NULL, (op_count + 1) * sizeof *calls->undone);
}

void lane_calls_deinit(struct lane_calls *calls)
{
    CHECK((calls->clients == NULL) == (calls->undone == NULL));
    clients_destroy(calls->clients);
    free(calls->undone);
    calls->clients = NULL;
    calls->undone = NULL;
}

void lane_calls_reset(struct lane_calls *calls)
{
    CHECK(calls->ops != NULL);
    CHECK(calls->undone != NULL);
    calls->run = NULL;
    clients_clear(calls->clients);
    for (size_t i = 0; i < calls->ops->count + 1; i++) {
        calls->undone[i] = 1;
    }
    overlap_clear(&calls->overlap);
}

/* --- the run --- */

void lane_calls_attach(struct lane_calls *calls, const struct device_waiter *waiter)
{
    CHECK(calls->run != NULL);
    CHECK(waiter != NULL);
    calls->run->judge.hosts_differ =
        true; /* who asks first is the schedule's business: their answers may differ */
    for (uint32_t i = 0; i < calls->run->setup.host_count; i++) {
        struct host *host = &calls->run->hosts[i];
        host_set_clients(host, calls->clients);
        device_set_waiter(host->device, waiter);
    }
}

void lane_calls_detach(struct lane_calls *calls)
{
    for (uint32_t i = 0; i < calls->run->setup.host_count; i++) {
        host_set_clients(&calls->run->hosts[i], NULL);
        device_set_waiter(calls->run->hosts[i].device, NULL);
    }
}

void lane_calls_finish(struct lane_calls *calls)
{
    (void)run_finish(calls->run);
    (void)lane_calls_tell(calls);
}

/* --- calls --- */

uint32_t lane_calls_begin(struct lane_calls *calls, struct host *host, uint8_t lane)
{
    struct run *run = calls->run;
    for (uint32_t i = 0; i < run->setup.host_count && calls->overlap.call_count == 0; i++) {
        host_begin_call(&run->hosts[i]);
    }
    return overlap_begin(&calls->overlap, &run->judge, host, lane);
}

/* --- judging --- */

bool lane_calls_tell(struct lane_calls *calls)
{
    CHECK(calls->run != NULL);
    CHECK(calls->trial != NULL);
    struct run *run = calls->run;
    if (calls->listener != NULL && calls->listener->judged != NULL) {
        calls->listener->judged(calls->listener->context, run, &run->verdict);
    }
    if (run->is_broken) {
        calls->trial->first = run->verdict;
    }
    return !run->is_broken;
}

/* True if blocks moved or programs went while the calls met. */
static bool has_moved(const struct run *run)
{
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        EACH_DEVICE_CALL(run->hosts[i].device, made) {
            if (made->kind != DEVICE_CALL_WAIT && made->kind != DEVICE_CALL_HOST_ALLOC) {
                return true;
            }
        }
    }
    return false;
}

/* Gives up, without a finding, if an address that was read late may explain what broke.  The model
 * no longer matches the target then. */
static bool give_up(struct lane_calls *calls)
{
    CHECK(calls->run != NULL);
    CHECK(!calls->run->is_broken);
    struct run *run = calls->run;
    const enum verdict_kind kind = run->verdict.kind;
    if (!calls->places_may_be_late || (kind != VERDICT_BROKEN && kind != VERDICT_PREMATURE) ||
        !has_moved(run)) {
        return false;
    }
    run->verdict.kind = VERDICT_NONE;
    run->verdict.rule = RULE_NONE;
    run->totals.excused++;
    run->is_broken = true;
    return true;
}

static bool judged_overlapping(void *context, const struct overlap_call *over)
{
    struct lane_calls *calls = context;
    if (give_up(calls)) {
        return false;
    }
    run_take_overlapping(calls->run, over->host, &over->call, over->message);
    return lane_calls_tell(calls);
}

static void judge_one(struct lane_calls *calls)
{
    CHECK(calls->overlap.call_count == 1);
    CHECK(calls->overlap.under_way_count == 0);
    struct overlap_call *over = &calls->overlap.calls[0];
    const struct op_kind_info *info = op_kind_info(over->call.op.kind);
    if (!over->call.skipped && (info->has_block || info->has_program)) {
        over->call.slot = model_slot_of_op(over->host->model, over->call.op.ref);
    }
    probe_watch_begin(&calls->run->watch, over->host->model, &over->call.op);
    run_take_call(calls->run, over->host, &over->call, over->message);
    (void)lane_calls_tell(calls);
}

/* It met no other call, nor an event that completed at an instant that matters: of an out-of-memory
 * any instant may be the one that excuses it, and of others the device's log tells, unless events
 * never pause.  Then it is judged as strictly as the call of a single client. */
static bool is_one_alone(const struct lane_calls *calls)
{
    const struct overlap *overlap = &calls->overlap;
    const bool is_oom = overlap->calls[0].call.result == TARGET_NO_MEMORY;
    return overlap->call_count == 1 &&
           ((!calls->events_never_pause && !is_oom) ||
            overlap->marks[0].completed_count ==
                overlap->marks[overlap->mark_count - 1].completed_count);
}

static void judge_many(struct lane_calls *calls)
{
    struct run *run = calls->run;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        run_count_device_calls(run, &run->hosts[i]);
    }
    const struct overlap_teller teller = {calls, judged_overlapping};
    (void)judge_overlap(&run->judge, &calls->overlap, &teller);
}

void lane_calls_judge(struct lane_calls *calls)
{
    struct run *run = calls->run;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        host_end_call(&run->hosts[i]);
    }
    if (is_one_alone(calls)) {
        judge_one(calls);
    } else {
        judge_many(calls);
    }
    overlap_clear(&calls->overlap);
}

/* --- events --- */

static bool is_due_before(const struct timeline *timeline, uint64_t a, uint64_t b)
{
    const uint64_t due_a = timeline_due_ns(timeline, a);
    const uint64_t due_b = timeline_due_ns(timeline, b);
    return due_a != due_b ? due_a < due_b : a < b;
}

uint32_t lanes_events_coming(const struct timeline *timeline, uint64_t *events, uint32_t max)
{
    CHECK(max >= 1);
    uint32_t count = 0;
    for (size_t i = 0; i < timeline_pending_count(timeline); i++) {
        const uint64_t event = timeline_pending_at(timeline, i);
        if (timeline_due_ns(timeline, event) == DELAY_NEVER ||
            (count == max && !is_due_before(timeline, event, events[count - 1]))) {
            continue;
        }
        uint32_t place = count < max ? count++ : count - 1;
        for (; place > 0 && is_due_before(timeline, event, events[place - 1]); place--) {
            events[place] = events[place - 1];
        }
        events[place] = event;
    }
    CHECK(count <= max);
    return count;
}
