/* Which faults of a simulated device are armed, and which calls they come to.
 * harness/op/fault.h says what each of them does. */
#ifndef HARNESS_DEVICE_PRIVATE_DEVICE_FAULTS_H
#define HARNESS_DEVICE_PRIVATE_DEVICE_FAULTS_H

#include "harness/device/device.h"

struct device_faults {
    struct device_fault armed[FAULT_KIND_COUNT]; /* call 0 = not armed */
    bool resumes;
    bool is_pinned;         /* nothing strikes, and no call is counted */
    uint32_t fired, struck; /* as device_faults_fired and device_faults_struck say */
    uint64_t busy_until_ns; /* until then no unload is granted */
    bool is_grant_due;      /* the unload after that is granted, whatever FAULT_UNLOAD_BUSY says */
};

void faults_arm(struct device_faults *faults, const struct device_fault *fault);
/* Counts one call for the fault.  Returns what is armed when it strikes this call, else NULL. */
const struct device_fault *faults_strike(struct device_faults *faults, enum fault_kind kind);
/* Whether the fault was armed for ever and has begun to strike: calls that go on with a begun one
 * are not counted. */
bool faults_goes_on(struct device_faults *faults, enum fault_kind kind);
/* Counts one call of this kind, which fault_refuses(), for the faults that refuse it. */
bool faults_refuse(struct device_faults *faults, enum fault_kind call);
/* The same for the times in which no unload is granted. */
bool faults_are_busy(struct device_faults *faults, uint64_t now_ns);
/* Counts one event_wait that was not refused.  Changes the event awaited and others as the faults
 * want it; true: the wait times out, and its time has passed. */
bool faults_disturb_wait(struct device_faults *faults, struct timeline *timeline, uint64_t event);

#endif
