#include "harness/sweep/private/sweep_replay.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/device.h"
#include "harness/model/model.h"

#include <stdlib.h>
#include <string.h>

/* For the kinds that have one: long beside a copy, short beside the events of the scenarios. */
#define SWEEP_DELAY_NS UINT64_C(1000000)

enum {
    ARRIVAL = 1u << DEVICE_CALL_COPY |
              1u << DEVICE_CALL_STAGE_IN, /* what writes into the device can stop half-way */
    COPY = ARRIVAL | 1u << DEVICE_CALL_STAGE_OUT,
    MAP = 1u << DEVICE_CALL_MAP,
    WAIT = 1u << DEVICE_CALL_WAIT,
    UNLOAD = 1u << DEVICE_CALL_UNLOAD,
    HOST = 1u << DEVICE_CALL_HOST_ALLOC,
    REGION = 1u << DEVICE_CALL_REGION_TAKE
};

static const uint8_t calls_of[FAULT_KIND_COUNT] = {
    [FAULT_COPY] = COPY | MAP,
    [FAULT_WAIT] = WAIT,
    [FAULT_UNLOAD] = UNLOAD,
    [FAULT_HOST_MEMORY] = HOST,
    [FAULT_COPY_HALF] = ARRIVAL,
    [FAULT_COPY_LATE] = COPY,
    [FAULT_WAIT_TIMEOUT] = WAIT,
    [FAULT_EVENT_LOST] = WAIT,
    [FAULT_EVENT_LATE] = WAIT,
    [FAULT_EVENT_EARLY] = WAIT,
    [FAULT_EVENT_DOUBLED] = WAIT,
    [FAULT_EVENT_ORDER] = WAIT,
    [FAULT_EVENT_OTHERS] = WAIT,
    [FAULT_UNLOAD_BUSY] = UNLOAD,
    [FAULT_UNLOAD_HALF] = UNLOAD,
    [FAULT_CLOCK_JUMP] = COPY | MAP | WAIT | UNLOAD | REGION,
    [FAULT_ANY] = COPY | MAP | WAIT | UNLOAD | HOST | REGION,
    [FAULT_POLL_JUMP] = 0, /* it strikes no call that can be refused */
    [FAULT_REGION] = REGION,
    [FAULT_REGION_SHORT] = REGION,
};

uint32_t sweep_calls_of(enum fault_kind kind)
{
    CHECK(kind < FAULT_KIND_COUNT);
    return calls_of[kind];
}

/* --- call sites --- */

/* Counts as the device does: whether the call is struck, so that only those pay for their site. */
static bool is_struck(struct sweep_replay *replay, uint32_t host, enum device_call_kind call)
{
    const struct sweep_place *place = &replay->result->place;
    if (host != place->host || (sweep_calls_of(place->kind) >> call & 1) == 0 ||
        replay->countdown == 0 || --replay->countdown > 0) {
        return false;
    }
    replay->countdown = place->mode == SWEEP_FOR_EVER;
    return true;
}

static void take_plain(struct sweep_result *result, uint32_t host, enum device_call_kind call,
                       uint64_t hash)
{
    struct sweep_site *site = sweep_site_find(&result->sites, hash);
    result->calls[host][call]++;
    if (site != NULL) {
        site->is_plain = 1;
    }
}

/* Not inlined: what it returns to is where the site begins. */
static __attribute__((noinline)) void note_device_call(void *context, enum device_call_kind call)
{
    const struct sweep_watch *watch = context;
    struct sweep_replay *replay = watch->replay;
    const bool is_plain = replay->result->place.phase == SWEEP_PLAIN;
    if (!is_plain && !is_struck(replay, watch->host, call)) {
        return;
    }
    const uint64_t hash = sweep_site_here(device_call_refusal(call), __builtin_return_address(0),
                                          replay->depth);
    if (is_plain) {
        take_plain(replay->result, watch->host, call, hash);
    } else if (replay->pending_count < SWEEP_PENDING_COUNT_MAX) {
        replay->pending[replay->pending_count++] = hash;
    }
}

static void watch_devices(struct sweep_replay *replay)
{
    for (uint32_t i = 0; i < replay->setup->host_count; i++) {
        replay->watches[i] = (struct sweep_watch){replay, i};
        device_set_witness(run_device(replay->run, i), note_device_call, &replay->watches[i]);
    }
}

/* Unwatches the devices: no fault can strike the calls of cleaning up, such as a last wake. */
static void unwatch_devices(struct sweep_replay *replay)
{
    for (uint32_t i = 0; i < replay->setup->host_count; i++) {
        device_set_witness(run_device(replay->run, i), NULL, NULL);
    }
}

static void take_sites(struct sweep_replay *replay)
{
    for (size_t i = 0; i < replay->pending_count; i++) {
        struct sweep_site *site = sweep_site_find(&replay->result->sites, replay->pending[i]);
        if (site != NULL) {
            site->struck_by |= 1u << replay->result->place.kind;
        }
    }
}

/* --- findings --- */

struct sweep_count *sweep_count_here(struct sweep_result *result)
{
    CHECK(result->place.kind < FAULT_KIND_COUNT);
    return result->place.phase == SWEEP_LIST ? &result->kinds[result->place.kind] : &result->open;
}

void sweep_tell(const struct sweep *sweep, struct sweep_result *result,
                const struct sweep_finding *finding)
{
    const enum rule rule = finding->verdict->kind == VERDICT_DISPUTED ? RULE_NONE
                                                                      : finding->verdict->rule;
    CHECK(rule < RULE_COUNT);
    result->found[rule]++;
    if (result->place.phase != SWEEP_PLAIN) {
        sweep_count_here(result)->findings++;
    }
    if (result->found[rule] <= SWEEP_SAME_COUNT_MAX && sweep->listener.found != NULL) {
        sweep->listener.found(sweep->listener.context, finding);
    }
}

static void tell_verdict(const struct sweep_replay *replay, const struct verdict *verdict)
{
    const struct sweep_finding finding = {.place = replay->result->place,
                                          .setup = run_setup(replay->run),
                                          .verdict = verdict,
                                          .message = run_message(replay->run),
                                          .run = replay->run,
                                          .ops = run_ops(replay->run)};
    sweep_tell(replay->sweep, replay->result, &finding);
}

void sweep_tell_open(const struct sweep *sweep, struct sweep_result *result,
                     const struct setup *setup, const struct verdict *verdict, const char *reason)
{
    const struct op_list none = {0};
    sweep_tell(sweep, result,
               &(struct sweep_finding){.place = result->place,
                                       .setup = setup,
                                       .verdict = verdict,
                                       .message = reason,
                                       .ops = &none});
}

/* --- ops --- */

/* False: a promise broke, and that was told.  Not inlined: call sites begin here, however deep that
 * is. */
static __attribute__((noinline)) bool sweep_step(struct sweep_replay *replay, const struct op *op)
{
    const struct sweep_listener *listener = &replay->sweep->listener;
    if (listener->steps != NULL) {
        listener->steps(listener->context, op);
    }
    replay->depth = sweep_depth();
    replay->pending_count = 0;
    const struct verdict *verdict = run_step(replay->run, op);
    if (!run_is_broken(replay->run)) {
        return true;
    }
    tell_verdict(replay, verdict);
    return false;
}

/* call 0: disarms. */
static bool arm_fault(struct sweep_replay *replay, uint64_t call)
{
    const struct sweep_place *place = &replay->result->place;
    struct op op = op_make(OP_FAULT);
    op.tag = (uint8_t)place->kind;
    op.host = (uint8_t)place->host;
    op.size_bytes = call;
    op.delay_ns = call != 0 && fault_info(place->kind)->has_delay ? SWEEP_DELAY_NS : 0;
    op.flags = call != 0 && place->mode == SWEEP_FOR_EVER ? OP_FOR_EVER : 0;
    const bool goes_on = sweep_step(replay, &op);
    replay->countdown = call;
    return goes_on;
}

/* The first block, the middle one and the last of the host. */
static bool touch_some(struct sweep_replay *replay, uint32_t host)
{
    const struct model *model = run_model(replay->run, host);
    const size_t count = model_live_count(model);
    for (size_t i = 0; i < 3 && i < count; i++) {
        struct op op = op_make(OP_TOUCH);
        op.host = (uint8_t)host;
        op.ref = model_live(model, i * (count - 1) / 2)->op;
        if (!sweep_step(replay, &op)) {
            return false;
        }
    }
    return true;
}

/* The op as it is in this run: what it names has other numbers here. */
static struct op op_renumbered(const struct sweep_replay *replay, size_t i)
{
    struct op op = replay->ops->ops[i];
    const bool named_event = op.event != OP_NONE;
    op.ref = op.ref < i ? replay->numbers[op.ref] : OP_NONE;
    op.event = op.event < i ? replay->numbers[op.event] : OP_NONE;
    if (named_event && op.event == OP_NONE) {
        op.ref = OP_NONE; /* as op_list_filter: it must not get an event of its own */
    }
    if (replay->has_struck) {
        op.flags &=
            (uint8_t)~OP_SPMD; /* hosts of which one met a fault need not agree from then on */
    }
    return op;
}

static bool step_listed(struct sweep_replay *replay, size_t i)
{
    const struct op op = op_renumbered(replay, i);
    replay->numbers[i] = (uint32_t)run_ops(replay->run)->count;
    return sweep_step(replay, &op);
}

static void count_strike(struct sweep_replay *replay, enum target_result result)
{
    struct sweep_count *count = sweep_count_here(replay->result);
    const enum sweep_mode mode = replay->result->place.mode;
    count->failed[mode] += !replay->has_struck;
    count->strikes[mode]++;
    count->ops_failed += result == TARGET_FAILED;
    count->ops_succeeded += result == TARGET_OK;
    count->ooms += result == TARGET_NO_MEMORY;
    replay->has_struck = true;
}

/* True if the fault struck in the op of the list that just ended. */
static bool take_strike(struct sweep_replay *replay, size_t i)
{
    const struct sweep_place *place = &replay->result->place;
    if (place->phase != SWEEP_LIST || replay->ops->ops[i].host != place->host ||
        (device_faults_struck(run_device(replay->run, place->host)) >> place->kind & 1) == 0) {
        return false;
    }
    count_strike(replay, (enum target_result)run_observation(replay->run)->result);
    take_sites(replay);
    return true;
}

/* After a strike: without the fault all is as it was, and the op that did not succeed is made
 * again. */
static bool recover_from_strike(struct sweep_replay *replay, size_t i)
{
    const struct sweep_place *place = &replay->result->place;
    const uint32_t result = run_observation(replay->run)->result;
    struct op report = op_make(OP_REPORT);
    report.host = (uint8_t)place->host;
    if (!arm_fault(replay, 0) || !sweep_step(replay, &report) || !touch_some(replay, place->host)) {
        return false;
    }
    if ((result == TARGET_FAILED || result == TARGET_NO_MEMORY) && !step_listed(replay, i)) {
        return false;
    }
    return place->mode == SWEEP_ONCE || arm_fault(replay, 1);
}

static bool replay_ops(struct sweep_replay *replay)
{
    const bool has_fault = replay->result->place.phase == SWEEP_LIST;
    if (has_fault && !arm_fault(replay, replay->result->place.call)) {
        return false;
    }
    for (size_t i = 0; i < replay->ops->count; i++) {
        const bool goes_on = step_listed(replay, i);
        if ((take_strike(replay, i) && goes_on && !recover_from_strike(replay, i)) || !goes_on) {
            return false;
        }
    }
    return !has_fault || arm_fault(replay, 0);
}

static void replay_all(struct sweep_replay *replay)
{
    watch_devices(replay);
    if (replay_ops(replay)) {
        unwatch_devices(replay);
        const struct verdict *last = run_finish(replay->run);
        if (run_is_broken(replay->run)) {
            tell_verdict(replay, last);
        }
    }
    run_totals_add(&replay->result->totals, run_totals(replay->run));
}

bool sweep_replay(const struct sweep *sweep, struct sweep_result *result, const struct setup *setup,
                  const struct op_list *ops)
{
    char reason[RUN_REASON_BYTES] = "";
    struct sweep_replay replay = {.sweep = sweep, .result = result, .setup = setup, .ops = ops};
    replay.run = run_create(sweep->target, setup, reason);
    if (replay.run == NULL) {
        struct verdict verdict = {.kind = VERDICT_BROKEN, .rule = RULE_REPLAY};
        snprintf(verdict.reason, sizeof verdict.reason,
                 "the target accepted this setup before: %.180s", reason);
        sweep_tell_open(sweep, result, setup, &verdict, reason);
        return false;
    }
    replay.numbers = array_resized(NULL, (ops->count + 1) * sizeof *replay.numbers);
    replay_all(&replay);
    free(replay.numbers);
    run_destroy(replay.run);
    return replay.has_struck;
}
