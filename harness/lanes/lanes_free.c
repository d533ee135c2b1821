#include "harness/lanes/lanes_free.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/call/driver.h"
#include "harness/call/progress.h"
#include "harness/device/device_guard.h"
#include "harness/device/timeline.h"
#include "harness/lanes/lanes_list.h"
#include "harness/lanes/private/lane_calls.h"
#include "harness/run/trial.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many calls are judged together, at least and at most: few keep the judge strict, many let the
 * lanes run. */
enum { JUDGED_TOGETHER_MIN = 2, JUDGED_TOGETHER_MAX = 64 };
/* So often a call that wants company lets others go first: about what it takes a thread to wake up.
 */
enum { COMPANY_YIELD_COUNT_MAX = 256 };
/* Streams of what is drawn from the seed. */
enum { STREAM_LANES = 0, STREAM_DEVICE };
/* About what a few calls take: events complete between them, and in their midst. */
enum { EVENT_DELAY_NS_MAX = 50000 };

struct free_lane {
    struct free_lanes *lanes;
    pthread_t thread;
    bool is_started;
    uint8_t number;
};

/* Everything belongs to who holds the guard; while is_judging, calls (but for the run's devices'
 * services) belong to the lane that judges. */
struct free_lanes {
    struct device_guard guard;
    struct lane_calls calls;
    const struct lanes_plan *plan;
    struct device_waiter waiter;
    struct random random;
    struct random device_random; /* of the device's thread alone */
    pthread_t device_thread;
    struct lanes_free_found *found;
    uint64_t met_count;          /* calls since none was under way */
    uint64_t together_count_max; /* so many are judged together */
    uint32_t lane_count;         /* lanes that have ops left */
    atomic_uint under_way_count; /* calls; the one number that is read without the guard */
    uint32_t awaiting_count;     /* calls that wait for an event */
    bool is_judging, is_over, is_device_off;
    struct free_lane lanes[LANES_CLIENT_COUNT_MAX];
};

/* --- the device: completions --- */

/* The event that is due first; 0 = none is coming, or nothing may happen now but what somebody
 * waits for. */
static uint64_t next_event(const struct free_lanes *lanes)
{
    uint64_t next = 0;
    if (lanes->is_judging && lanes->awaiting_count == 0) {
        return 0;
    }
    return lanes_events_coming(lanes->calls.run->timelines[0], &next, 1) == 0 ? 0 : next;
}

/* Lets the lanes go on for a while, unless all of them wait for the device. */
static void delay_event(struct free_lanes *lanes)
{
    struct random *random = &lanes->device_random;
    if (lanes->awaiting_count >= lanes->lane_count || random_chance(random, 1, 2)) {
        return;
    }
    const struct timespec delay = {.tv_nsec = (long)random_below(random, EVENT_DELAY_NS_MAX)};
    device_guard_leave(&lanes->guard);
    (void)nanosleep(&delay, NULL);
    device_guard_enter(&lanes->guard);
}

static void *complete_events(void *context)
{
    struct free_lanes *lanes = context;
    device_guard_enter(&lanes->guard);
    while (!lanes->is_device_off) {
        if (next_event(lanes) == 0) {
            device_guard_await(&lanes->guard);
            continue;
        }
        delay_event(lanes);
        timeline_complete(lanes->calls.run->timelines[0], next_event(lanes));
        device_guard_tell(&lanes->guard);
    }
    device_guard_leave(&lanes->guard);
    return NULL;
}

/* From then on it completes none.  Without the guard. */
static void end_device(struct free_lanes *lanes)
{
    device_guard_enter(&lanes->guard);
    CHECK(!lanes->is_device_off);
    lanes->is_device_off = true;
    device_guard_tell(&lanes->guard);
    device_guard_leave(&lanes->guard);
    CHECK(pthread_join(lanes->device_thread, NULL) == 0);
}

/* --- the device: what the target asks of it --- */

static bool is_coming(const struct timeline *timeline, uint64_t event)
{
    return timeline_state(timeline, event) == EVENT_PENDING &&
           timeline_due_ns(timeline, event) != DELAY_NEVER;
}

/* Waits within a service: the caller has the guard. */
static void await_event(void *context, uint64_t event)
{
    CHECK(event > 0);
    struct free_lanes *lanes = context;
    lanes->awaiting_count++;
    device_guard_tell(&lanes->guard);
    while (is_coming(lanes->calls.run->timelines[0], event)) {
        device_guard_await(&lanes->guard);
    }
    CHECK(lanes->awaiting_count > 0);
    lanes->awaiting_count--;
}

static void note_look(void *context)
{
    (void)context; /* a lane that polls keeps nobody from going on */
}

static void gave_back(void *context, const void *memory, size_t bytes)
{
    (void)context;
    (void)memory;
    (void)bytes;
}

/* --- judging --- */

static uint64_t draw_together(struct free_lanes *lanes)
{
    return lanes->lane_count <= 1
               ? 1
               : random_log_uniform(&lanes->random, JUDGED_TOGETHER_MIN, JUDGED_TOGETHER_MAX);
}

/* No call is under way, and none begins before this returns.  The target is asked without the
 * guard: it may take locks of its own in which it calls the device. */
static void judge_calls(struct free_lanes *lanes)
{
    CHECK(!lanes->is_judging);
    CHECK(lanes->calls.overlap.under_way_count == 0);
    lanes->is_judging = true;
    overlap_stretch(&lanes->calls.overlap, &lanes->calls.run->judge);
    device_guard_leave(&lanes->guard);
    lane_calls_judge(&lanes->calls);
    device_guard_enter(&lanes->guard);
    lanes->is_judging = false;
    lanes->is_over = lanes->calls.run->is_broken;
    lanes->together_count_max = draw_together(lanes);
    CHECK(lanes->together_count_max >= 1);
}

static void judge_if_due(struct free_lanes *lanes)
{
    const struct overlap *overlap = &lanes->calls.overlap;
    if (!lanes->is_judging && overlap->under_way_count == 0 && overlap->call_count > 0 &&
        overlap->call_count >= lanes->together_count_max) {
        judge_calls(lanes);
    }
    device_guard_tell(&lanes->guard);
}

/* --- calls --- */

struct free_call {
    struct host *host;
    struct call call;
    uint64_t handle;
    uint32_t in_overlap;
    bool is_made; /* false: the client has nothing to call for */
    bool wants_company;
};

static bool is_done(const struct free_lanes *lanes, uint32_t op)
{
    return op >= lanes->plan->ops->count || lanes->calls.undone[op] == 0;
}

static bool may_begin(const struct free_lanes *lanes, const struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    if (lanes->is_judging || lanes->calls.overlap.call_count >= lanes->together_count_max) {
        return false;
    }
    if (((info->has_block || info->has_program) && !is_done(lanes, op->ref)) ||
        (info->has_event && !is_done(lanes, op->event))) {
        return false;
    }
    const uint32_t *gate = clients_gate(lanes->calls.clients, op);
    return gate == NULL || *gate == 0;
}

static void count_free_call(struct free_lanes *lanes)
{
    struct lanes_free_found *found = lanes->found;
    lanes->met_count = lanes->calls.overlap.under_way_count == 0 ? 1 : lanes->met_count + 1;
    found->call_count++;
    found->overlapping_count += lanes->met_count == 1 ? 0 : lanes->met_count == 2 ? 2 : 1;
    found->longest_count = lanes->met_count > found->longest_count ? lanes->met_count
                                                                   : found->longest_count;
    CHECK(lanes->met_count >= 1);
    CHECK(found->overlapping_count <= found->call_count);
}

static void begin_free_call(struct free_lanes *lanes, const struct free_lane *lane, uint32_t number,
                            struct free_call *over)
{
    CHECK(number < lanes->plan->ops->count);
    CHECK(!lanes->is_over);
    struct run *run = lanes->calls.run;
    const struct op *op = &lanes->plan->ops->ops[number];
    over->host = &run->hosts[op->host];
    over->is_made = clients_may_begin(lanes->calls.clients, op);
    over->wants_company = lanes->lane_count > 1 && random_chance(&lanes->random, 1, 2);
    atomic_fetch_add(&lanes->under_way_count, 1);
    count_free_call(lanes);
    over->in_overlap = lane_calls_begin(&lanes->calls, over->host, lane->number);
    clients_begin(lanes->calls.clients, op);
    progress_begin(PROGRESS_OP, (enum op_kind)op->kind, number);
    over->call = (struct call){.op = *op, .number = number, .slot = SLOT_NONE, .skipped = true};
    if (over->is_made) {
        over->handle = driver_begin_call(over->host, op, number, &over->call);
    }
    device_guard_tell(&lanes->guard); /* there may be an event more, or one less */
}

static void end_free_call(struct free_lanes *lanes, struct free_call *over, const char *message)
{
    struct run *run = lanes->calls.run;
    const struct overlap_answer answer = {over->in_overlap, &over->call, message};
    if (over->is_made) {
        driver_end_call(over->host, &over->call);
    }
    clients_end(lanes->calls.clients, &over->call);
    overlap_end(&lanes->calls.overlap, &run->judge, &answer);
    CHECK(atomic_load(&lanes->under_way_count) > 0);
    atomic_fetch_sub(&lanes->under_way_count, 1);
    CHECK(lanes->calls.undone[over->call.number] == 1);
    lanes->calls.undone[over->call.number] = 0;
    if (lanes->calls.overlap.under_way_count == 0) {
        progress_end();
    }
    judge_if_due(lanes);
}

/* Calls are short, and threads wake up slowly: without this hardly any two would meet. */
static void await_company(struct free_lanes *lanes, const struct free_call *over)
{
    const int yield_count_max = over->wants_company ? COMPANY_YIELD_COUNT_MAX : 0;
    for (int i = 0; i < yield_count_max && atomic_load(&lanes->under_way_count) < 2; i++) {
        (void)sched_yield();
    }
}

/* Calls the target with the op, in parallel; returns the target's error text. */
static const char *call_target(const struct run *run, struct free_call *over)
{
    struct host *host = over->host;
    driver_call_target(host, &run->setup, over->handle, &over->call);
    if (over->call.op.kind == OP_REPORT) {
        struct target_stats stats; /* compared when no call is under way */
        host->target->stats(host->instance, &stats);
    }
    return overlap_message(host, &over->call);
}

/* False: the run is over. */
static bool run_op(struct free_lane *lane, uint32_t number)
{
    struct free_lanes *lanes = lane->lanes;
    struct free_call over = {0};
    device_guard_enter(&lanes->guard);
    while (!lanes->is_over && !may_begin(lanes, &lanes->plan->ops->ops[number])) {
        device_guard_await(&lanes->guard);
    }
    const bool goes_on = !lanes->is_over;
    if (goes_on) {
        begin_free_call(lanes, lane, number, &over);
        device_guard_leave(&lanes->guard);
        await_company(lanes, &over);
        const char *message = call_target(lanes->calls.run, &over);
        device_guard_enter(&lanes->guard);
        end_free_call(lanes, &over, message);
    }
    device_guard_leave(&lanes->guard);
    return goes_on;
}

/* --- lanes --- */

static void end_lane(struct free_lanes *lanes)
{
    device_guard_enter(&lanes->guard);
    CHECK(lanes->lane_count > 0);
    CHECK(lanes->lane_count <= LANES_CLIENT_COUNT_MAX);
    if (--lanes->lane_count == 1) {
        lanes->together_count_max =
            1; /* who is left may wait for what was called until now to be judged */
    }
    judge_if_due(lanes);
    device_guard_leave(&lanes->guard);
}

static void *run_lane(void *context)
{
    struct free_lane *lane = context;
    const struct op_list *ops = lane->lanes->plan->ops;
    bool goes_on = true;
    for (uint32_t i = 0; i < ops->count && goes_on; i++) {
        if (ops->ops[i].lane == lane->number) {
            goes_on = run_op(lane, i);
        }
    }
    end_lane(lane->lanes);
    return NULL;
}

static void start_lane(struct free_lanes *lanes, uint8_t number)
{
    CHECK(number < LANES_CLIENT_COUNT_MAX);
    struct free_lane *lane = &lanes->lanes[number];
    CHECK(!lane->is_started);
    lane->is_started = true;
    device_guard_enter(&lanes->guard);
    if (++lanes->lane_count == 2) { /* alone each call was judged by itself */
        lanes->together_count_max = draw_together(lanes);
    }
    device_guard_leave(&lanes->guard);
    CHECK(pthread_create(&lane->thread, NULL, run_lane, lane) == 0);
}

/* Lane 0, and the start of the others where they come up. */
static void run_main_lane(struct free_lanes *lanes)
{
    const struct op_list *ops = lanes->plan->ops;
    bool goes_on = true;
    for (uint32_t i = 0; i < ops->count && goes_on; i++) {
        const uint8_t number = ops->ops[i].lane;
        if (number == 0) {
            goes_on = run_op(&lanes->lanes[0], i);
        } else if (!lanes->lanes[number].is_started) {
            start_lane(lanes, number);
        }
    }
    end_lane(lanes);
    for (uint32_t i = 1; i < LANES_CLIENT_COUNT_MAX; i++) {
        if (lanes->lanes[i].is_started) {
            CHECK(pthread_join(lanes->lanes[i].thread, NULL) == 0);
        }
    }
}

/* --- a run --- */

static void begin_free_run(struct free_lanes *lanes, uint64_t seed)
{
    CHECK(lanes->plan != NULL);
    CHECK(lanes->calls.run == NULL);
    device_guard_init(&lanes->guard);
    random_init(&lanes->random, random_derive(seed, STREAM_LANES));
    random_init(&lanes->device_random, random_derive(seed, STREAM_DEVICE));
    lanes->waiter = (struct device_waiter){lanes, await_event, note_look, gave_back};
    lanes->lane_count = 1;
    lanes->together_count_max = 1;
    for (uint32_t i = 0; i < LANES_CLIENT_COUNT_MAX; i++) {
        lanes->lanes[i].lanes = lanes;
        lanes->lanes[i].number = (uint8_t)i;
    }
    lane_calls_init(&lanes->calls, lanes->plan->ops->count);
    lane_calls_reset(&lanes->calls);
}

static void end_free_run(struct free_lanes *lanes)
{
    CHECK(!lanes->is_judging);
    CHECK(lanes->awaiting_count == 0);
    run_destroy(lanes->calls.run);
    lane_calls_deinit(&lanes->calls);
    overlap_deinit(&lanes->calls.overlap);
    device_guard_deinit(&lanes->guard);
    free(lanes);
}

static bool open_run(struct free_lanes *lanes, char reason[RUN_REASON_BYTES])
{
    CHECK(lanes->calls.run == NULL);
    CHECK(lanes->plan != NULL);
    const struct lanes_plan *plan = lanes->plan;
    const char *why_not = lanes_why_not_list(plan->ops);
    if (why_not != NULL) {
        snprintf(reason, RUN_REASON_BYTES, "%s", why_not);
        return false;
    }
    lanes->calls.run = run_create_guarded(plan->target, plan->setup, &lanes->guard, reason);
    if (lanes->calls.run == NULL) {
        return false;
    }
    const char *why = lanes_why_not(&lanes->calls.run->hosts[0].contract);
    if (why != NULL) {
        snprintf(reason, RUN_REASON_BYTES, "target '%s' cannot be run with lanes: %s",
                 plan->target->name, why);
        return false;
    }
    run_go_on(lanes->calls.run);
    op_list_copy(&lanes->calls.run->ops, plan->ops);
    return true;
}

static void add_note(char reason[VERDICT_REASON_BYTES])
{
    static const char note[] = " (free-running: not exactly replayable)";
    const size_t used = strlen(reason);
    const size_t room = VERDICT_REASON_BYTES - sizeof note;
    memcpy(reason + (used < room ? used : room), note, sizeof note);
}

static void collect_free_trial(struct trial *trial, const struct run *run)
{
    trial_collect(trial, run);
    trial_name_first(trial);
    for (size_t i = 0; i < trial->findings.count; i++) {
        add_note(trial->findings.findings[i].verdict.reason);
    }
    if (trial->first.kind != VERDICT_NONE) {
        add_note(trial->first.reason);
    }
    trial->digest = 0; /* of no use: no two runs are the same */
}

static void run_list(struct free_lanes *lanes)
{
    CHECK(lanes->calls.run != NULL);
    lane_calls_attach(&lanes->calls, &lanes->waiter);
    CHECK(pthread_create(&lanes->device_thread, NULL, complete_events, lanes) == 0);
    run_main_lane(lanes);
    end_device(lanes);
    CHECK(lanes->calls.overlap.call_count == 0 || lanes->is_over);
    lane_calls_detach(&lanes->calls);
    if (!lanes->is_over) {
        lane_calls_finish(&lanes->calls);
    }
    collect_free_trial(lanes->calls.trial, lanes->calls.run);
}

bool lanes_run_free(const struct lanes_plan *plan, uint64_t seed,
                    const struct run_listener *listener, struct trial *trial,
                    struct lanes_free_found *found, char reason[RUN_REASON_BYTES])
{
    struct free_lanes *lanes = array_zeroed(1, sizeof *lanes);
    CHECK(scheduler_current() == NULL);
    memset(trial, 0, sizeof *trial);
    *found = (struct lanes_free_found){0};
    lanes->plan = plan;
    lanes->found = found;
    lanes->calls.ops = plan->ops;
    lanes->calls.listener = listener;
    lanes->calls.trial = trial;
    lanes->calls.events_never_pause = lanes->calls.places_may_be_late = true;
    begin_free_run(lanes, seed);
    const bool was_run = open_run(lanes, reason);
    if (was_run) {
        run_list(lanes);
    }
    end_free_run(lanes);
    return was_run;
}
