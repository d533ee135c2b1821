#include "harness/device/private/device_state.h"

#include "harness/base/check.h"
#include "harness/device/timeline.h"

void faults_arm(struct device_faults *faults, const struct device_fault *fault)
{
    CHECK(fault->kind < FAULT_KIND_COUNT);
    faults->armed[fault->kind] = *fault;
    if (fault->kind == FAULT_UNLOAD_BUSY && fault->call == 0) {
        faults->busy_until_ns = 0;
        faults->is_grant_due = false;
    }
}

const struct device_fault *faults_strike(struct device_faults *faults, enum fault_kind kind)
{
    CHECK_COSTLY((unsigned)kind < FAULT_KIND_COUNT);
    struct device_fault *armed = &faults->armed[kind];
    if (armed->call == 0 || faults->is_pinned ||
        (fault_info(kind)->needs_resuming && !faults->resumes) || armed->call-- > 1) {
        return NULL;
    }
    armed->call = armed->is_for_ever ? 1 : 0;
    faults->struck |= 1u << kind;
    CHECK_COSTLY(armed->kind == kind);
    return armed;
}

bool faults_goes_on(struct device_faults *faults, enum fault_kind kind)
{
    return faults->armed[kind].is_for_ever && faults->armed[kind].call == 1 &&
           faults_strike(faults, kind) != NULL;
}

bool faults_refuse(struct device_faults *faults, enum fault_kind call)
{
    CHECK(fault_refuses(call));
    const bool strikes_it = faults_strike(faults, call) != NULL;
    const bool strikes_any = faults_strike(faults, FAULT_ANY) != NULL;
    CHECK_COSTLY(!strikes_any || (faults->struck & 1u << FAULT_ANY) != 0);
    if (strikes_it || strikes_any) {
        faults->fired |= 1u << call;
    }
    return strikes_it || strikes_any;
}

static bool is_busy_now(struct device_faults *faults, uint64_t now_ns)
{
    if (now_ns < faults->busy_until_ns) {
        faults->struck |= 1u << FAULT_UNLOAD_BUSY;
        return true;
    }
    if (faults->is_pinned) {
        return false;
    }
    if (faults->is_grant_due) {
        faults->is_grant_due = false;
        return false;
    }
    const struct device_fault *busy = faults_strike(faults, FAULT_UNLOAD_BUSY);
    if (busy == NULL) {
        return false;
    }
    CHECK_COSTLY(busy->kind == FAULT_UNLOAD_BUSY);
    const bool ends = !__builtin_add_overflow(now_ns, busy->delay_ns, &faults->busy_until_ns);
    faults->busy_until_ns = ends ? faults->busy_until_ns : UINT64_MAX;
    faults->is_grant_due = true;
    CHECK_COSTLY(faults->busy_until_ns >= now_ns);
    return true;
}

bool faults_are_busy(struct device_faults *faults, uint64_t now_ns)
{
    const bool is_busy = is_busy_now(faults, now_ns);
    CHECK_COSTLY(!is_busy || (faults->struck & 1u << FAULT_UNLOAD_BUSY) != 0);
    CHECK_COSTLY(!is_busy || faults->busy_until_ns >= now_ns);
    faults->fired |= is_busy ? 1u << FAULT_UNLOAD : 0;
    return is_busy;
}

/* --- waits --- */

/* Strikes the event itself.  A lost event does not come early: it was never due. */
static void disturb_event(struct device_faults *faults, struct timeline *timeline, uint64_t event)
{
    const bool is_pending = timeline_state(timeline, event) == EVENT_PENDING;
    const bool is_lost = faults_strike(faults, FAULT_EVENT_LOST) != NULL;
    const struct device_fault *late = faults_strike(faults, FAULT_EVENT_LATE);
    const bool is_early = faults_strike(faults, FAULT_EVENT_EARLY) != NULL;
    if (is_pending && is_lost) {
        timeline_postpone(timeline, event, DELAY_NEVER);
    }
    if (is_pending && late != NULL) {
        timeline_postpone(timeline, event, late->delay_ns);
    }
    if (is_pending && is_early && timeline_due_ns(timeline, event) != DELAY_NEVER) {
        timeline_complete(timeline, event);
    }
}

static void disturb_others(struct device_faults *faults, struct timeline *timeline, uint64_t event)
{
    const bool is_pending = timeline_state(timeline, event) == EVENT_PENDING;
    const bool comes_last_first = faults_strike(faults, FAULT_EVENT_ORDER) != NULL;
    const bool come_all = faults_strike(faults, FAULT_EVENT_OTHERS) != NULL;
    if (is_pending && comes_last_first) {
        timeline_complete(timeline, timeline_last_due(timeline, event));
    }
    if (is_pending && come_all) {
        timeline_complete_others(timeline, event);
    }
}

bool faults_disturb_wait(struct device_faults *faults, struct timeline *timeline, uint64_t event)
{
    disturb_others(faults, timeline, event);
    disturb_event(faults, timeline, event);
    const struct device_fault *timeout = faults_strike(faults, FAULT_WAIT_TIMEOUT);
    if (timeout == NULL || timeline_state(timeline, event) != EVENT_PENDING) {
        return false;
    }
    const uint64_t due_ns = timeline_due_ns(timeline, event);
    CHECK_COSTLY(due_ns >= timeline_now_ns(timeline));
    if (due_ns != DELAY_NEVER && due_ns - timeline_now_ns(timeline) <= timeout->delay_ns) {
        return false;
    }
    CHECK_COSTLY((faults->struck & 1u << FAULT_WAIT_TIMEOUT) != 0);
    timeline_advance(timeline, timeout->delay_ns);
    faults->fired |= 1u << FAULT_WAIT;
    return true;
}
