/* Ends what an op copied as device_settle() does, without a look at what it left alone. */
#ifndef HARNESS_DEVICE_DEVICE_SETTLE_H
#define HARNESS_DEVICE_DEVICE_SETTLE_H

#include "harness/device/device.h"

/* After moves were checked: forgets what was in memory where the device calls of this op read or
 * wrote.  The caller stamps the blocks that live there; all others keep their stamps.  O(calls log
 * blocks). */
void device_settle_moved(struct device *device);

#endif
