/* A device for several threads: who calls it waits for his turn first.  The simulated device and
 * the timeline know one thread at a time. */
#ifndef HARNESS_DEVICE_DEVICE_GUARD_H
#define HARNESS_DEVICE_DEVICE_GUARD_H

#include "harness/device/device.h"

#include <pthread.h>

/* Guards all devices of a run, their timeline, and what else the owner says: the thread that holds
 * the mutex owns them. */
struct device_guard {
    pthread_mutex_t mutex;  /* not recursive */
    pthread_cond_t changed; /* with the mutex: an event may have completed, or been lost */
};
void device_guard_init(struct device_guard *guard);
void device_guard_deinit(struct device_guard *guard);
void device_guard_enter(struct device_guard *guard);
void device_guard_leave(struct device_guard *guard);
/* The caller holds it: the others are told, and look again. */
void device_guard_tell(struct device_guard *guard);
/* The caller holds it: until somebody tells.  It may return before that. */
void device_guard_await(struct device_guard *guard);

/* The services of one device, each call of which holds the guard. */
struct guarded_device;
struct guarded_device *guarded_device_create(struct device_guard *guard,
                                             const struct device_services *device);
void guarded_device_destroy(struct guarded_device *guarded); /* NULL: nothing */
const struct device_services *guarded_device_services(const struct guarded_device *guarded);

#endif
