#include "harness/sweep/sweep.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/call/driver.h"
#include "harness/device/timeline.h"
#include "harness/sweep/private/sweep_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sweep_mode_name(enum sweep_mode mode)
{
    static const char *const names[SWEEP_MODE_COUNT] = {
        [SWEEP_FOR_EVER] = "for ever", [SWEEP_ONCE] = "once"};
    CHECK(mode < SWEEP_MODE_COUNT);
    return names[mode];
}

const char *sweep_place_print(const struct sweep_place *place, char text[SWEEP_PLACE_BYTES])
{
    if (place->phase == SWEEP_PLAIN) {
        snprintf(text, SWEEP_PLACE_BYTES, "without a fault");
        return text;
    }
    char host[24] = "";
    if (place->host > 0) {
        snprintf(host, sizeof host, " on host %" PRIu32, place->host);
    }
    snprintf(text, SWEEP_PLACE_BYTES, "%s%s %" PRIu64 " %s%s",
             place->phase == SWEEP_OPEN ? "open: " : "", fault_info(place->kind)->name, place->call,
             sweep_mode_name(place->mode), host);
    return text;
}

/* --- from one replay to the next --- */

/* A target that makes other calls each time must not keep a sweep going for ever. */
enum { CALLS_BEYOND_MAX = 16, OPEN_CALLS_MAX = 100000 };

static uint64_t calls_here(const struct sweep_result *result, enum fault_kind kind, uint32_t host)
{
    const uint32_t calls = sweep_calls_of(kind);
    uint64_t count = 0;
    for (unsigned i = 0; i < DEVICE_CALL_KIND_COUNT; i++) {
        count += (calls >> i & 1) != 0 ? result->calls[host][i] : 0;
    }
    return count;
}

/* Goes to the first call of that host and kind, or of the next that has a call that could be
 * struck.
 */
static void begin_kind(struct sweep_result *result, unsigned kind, uint32_t host)
{
    for (; kind < FAULT_KIND_COUNT; kind++, host = 0) {
        for (; host < result->host_count; host++) {
            if (calls_here(result, (enum fault_kind)kind, host) > 0) {
                result->place = (struct sweep_place){
                    .phase = SWEEP_LIST, .kind = (enum fault_kind)kind, .host = host, .call = 1};
                return;
            }
        }
    }
    result->place = (struct sweep_place){.phase = SWEEP_DONE};
}

static void next_mode(struct sweep_result *result)
{
    struct sweep_place *place = &result->place;
    place->call = 1;
    if (++place->mode < SWEEP_MODE_COUNT) {
        return;
    }
    if (place->phase == SWEEP_OPEN) {
        begin_kind(result, 0, 0);
    } else {
        begin_kind(result, place->kind, place->host + 1);
    }
}

static void next_in_list(struct sweep_result *result, bool has_struck)
{
    struct sweep_place *place = &result->place;
    const uint64_t calls = calls_here(result, place->kind, place->host);
    if (!has_struck && place->mode == SWEEP_FOR_EVER && place->call == 1) {
        begin_kind(result, place->kind, place->host + 1);
    } else if (place->call < calls || (has_struck && place->call < calls + CALLS_BEYOND_MAX)) {
        place->call++;
    } else {
        next_mode(result);
    }
}

static void next_place(struct sweep_result *result, bool has_struck)
{
    struct sweep_place *place = &result->place;
    switch (place->phase) {
    case SWEEP_PLAIN:
        *place = (struct sweep_place){.phase = SWEEP_OPEN, .kind = FAULT_HOST_MEMORY, .call = 1};
        return;
    case SWEEP_OPEN:
        if (has_struck && place->call < OPEN_CALLS_MAX) {
            place->call++;
        } else {
            next_mode(result);
        }
        return;
    default:
        next_in_list(result, has_struck);
    }
}

uint64_t sweep_skip(struct sweep_result *result, enum rule rule, bool leaves_mode)
{
    CHECK(rule < RULE_COUNT);
    const uint64_t count = ++result->found[rule];
    if (result->place.phase == SWEEP_PLAIN) {
        result->place = (struct sweep_place){.phase = SWEEP_DONE};
        return count;
    }
    sweep_count_here(result)->findings++;
    if (leaves_mode) {
        next_mode(result);
    } else {
        next_place(result, true);
    }
    return count;
}

/* --- open() --- */

static void count_open(struct sweep_result *result, enum target_result answer)
{
    struct sweep_count *count = &result->open;
    count->failed[result->place.mode]++;
    count->strikes[result->place.mode]++;
    count->ops_failed += answer == TARGET_FAILED;
    count->ops_succeeded += answer == TARGET_OK;
    count->ooms += answer == TARGET_NO_MEMORY;
}

/* NULL, or what is wrong with an answer to open(); *rule says which promise it breaks. */
static const char *wrong_answer(const struct device *device, enum target_result answer,
                                bool has_struck, const char *reason, enum rule *rule)
{
    *rule = RULE_STATUS;
    if (answer != TARGET_OK && answer != TARGET_FAILED && answer != TARGET_INVALID) {
        return "open returned neither OK nor INVALID nor FAILED";
    }
    if (answer != TARGET_OK && !has_struck) {
        return "open failed although nothing was refused";
    }
    *rule = RULE_MESSAGE;
    if (answer != TARGET_OK && reason[0] == '\0') {
        return "open failed without a reason";
    }
    *rule = RULE_HOST_MEMORY;
    return device_host_bytes(device) != 0 ? "host memory was not released" : NULL;
}

/* Opens and closes the target on a device, which may be armed.  False: a promise broke. */
static bool open_and_close(const struct sweep *sweep, struct sweep_result *result,
                           struct host *host, const struct setup *setup, bool *has_struck)
{
    char reason[RUN_REASON_BYTES] = "";
    char place[SWEEP_PLACE_BYTES];
    struct verdict verdict = {.kind = VERDICT_BROKEN};
    const enum target_result answer = host_open_target(host, setup, reason, sizeof reason);
    *has_struck = device_faults_struck(host->device) != 0;
    if (*has_struck) {
        count_open(result, answer);
    }
    if (answer != TARGET_OK) {
        host->instance = NULL;
    }
    host_close(host);
    const char *wrong = wrong_answer(host->device, answer, *has_struck, reason, &verdict.rule);
    if (wrong != NULL) {
        snprintf(verdict.reason, sizeof verdict.reason, "%s: %s",
                 sweep_place_print(&result->place, place), wrong);
        sweep_tell_open(sweep, result, setup, &verdict, reason);
    }
    return wrong == NULL;
}

/* True: the fault struck. */
static bool sweep_open(const struct sweep *sweep, struct sweep_result *result,
                       const struct setup *setup)
{
    struct timeline *timeline = timeline_create();
    struct host host = {.target = sweep->target,
                        .device = device_create(setup->capacity_bytes, timeline)};
    struct device_fault fault = {.kind = FAULT_HOST_MEMORY,
                                 .call = result->place.call,
                                 .is_for_ever = result->place.mode == SWEEP_FOR_EVER};
    bool has_struck = false, strikes_again = false;
    device_arm(host.device, &fault);
    if (open_and_close(sweep, result, &host, setup, &has_struck)) {
        fault.call = 0;
        device_arm(host.device, &fault);
        device_begin_op(host.device, UINT64_MAX);
        (void)open_and_close(sweep, result, &host, setup, &strikes_again);
    }
    host_deinit(&host);
    timeline_destroy(timeline);
    return has_struck;
}

/* --- the whole --- */

static void begin_replay(const struct sweep *sweep, struct sweep_result *result,
                         const struct setup *setup)
{
    if (sweep->listener.begins != NULL) {
        sweep->listener.begins(sweep->listener.context, setup);
    }
    result->replays++;
    if (result->place.phase != SWEEP_PLAIN) {
        sweep_count_here(result)->replays++;
    }
}

static void count_calls(struct sweep_result *result)
{
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        for (uint32_t host = 0; host < result->host_count; host++) {
            result->kinds[kind].calls += calls_here(result, (enum fault_kind)kind, host);
        }
    }
}

static void run_plain(const struct sweep *sweep, struct sweep_result *result,
                      const struct setup *setup, const struct op_list *ops)
{
    result->host_count = setup->host_count;
    result->op_count = ops->count;
    begin_replay(sweep, result, setup);
    (void)sweep_replay(sweep, result, setup, ops);
    count_calls(result);
    if (sweep_findings(result) > 0) {
        result->place = (struct sweep_place){.phase = SWEEP_DONE};
    } else {
        next_place(result, false);
    }
}

static void run_all(const struct sweep *sweep, struct sweep_result *result,
                    const struct setup *setup, const struct op_list *ops)
{
    if (result->place.phase == SWEEP_PLAIN) {
        run_plain(sweep, result, setup, ops);
    }
    while (result->place.phase != SWEEP_DONE) {
        begin_replay(sweep, result, setup);
        const bool has_struck = result->place.phase == SWEEP_OPEN
                                    ? sweep_open(sweep, result, setup)
                                    : sweep_replay(sweep, result, setup, ops);
        next_place(result, has_struck);
    }
    const uint64_t *opened = result->open.failed;
    result->open.calls = opened[SWEEP_ONCE] > opened[SWEEP_FOR_EVER] ? opened[SWEEP_ONCE]
                                                                     : opened[SWEEP_FOR_EVER];
}

static void list_without_faults(struct op_list *list, const struct op_list *ops)
{
    bool *keep = array_resized(NULL, ops->count + 1);
    op_list_init(list);
    op_list_copy(list, ops);
    for (size_t i = 0; i < ops->count; i++) {
        CHECK((ops->ops[i].flags & (OP_RELATIVE | OP_FITTED)) == 0);
        keep[i] = ops->ops[i].kind != OP_FAULT;
    }
    op_list_filter(list, keep);
    free(keep);
}

bool sweep_run(const struct sweep *sweep, struct sweep_result *result,
               char reason[RUN_REASON_BYTES])
{
    struct op_list ops;
    struct run *run = run_create(sweep->target, sweep->setup, reason);
    if (run == NULL) {
        return false;
    }
    const struct setup setup = *run_setup(run);
    run_destroy(run);
    list_without_faults(&ops, sweep->ops);
    run_all(sweep, result, &setup, &ops);
    op_list_deinit(&ops);
    return true;
}

uint64_t sweep_findings(const struct sweep_result *result)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < RULE_COUNT; i++) {
        count += result->found[i];
    }
    return count;
}

bool sweep_is_complete(const struct sweep_result *result)
{
    bool is_complete = result->place.phase == SWEEP_DONE;
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        const struct sweep_count *count = &result->kinds[kind];
        const bool has_failed_each = count->failed[SWEEP_ONCE] == count->calls &&
                                     count->failed[SWEEP_FOR_EVER] == count->calls;
        is_complete = is_complete && (has_failed_each || !fault_refuses((enum fault_kind)kind));
    }
    return is_complete && result->open.failed[SWEEP_ONCE] == result->open.failed[SWEEP_FOR_EVER];
}
