/* The events that lanes wait for, in the order in which the device completes them when nobody
 * decides otherwise. */
#ifndef HARNESS_LANES_PRIVATE_LANES_EVENTS_H
#define HARNESS_LANES_PRIVATE_LANES_EVENTS_H

#include "harness/device/device.h"

/* Writes up to max (at least 1) of the pending events that are coming, those first that are due
 * first; of events due at the same time the one with the lower number.  Returns how many. O(pending
 * * max). */
uint32_t lanes_events_coming(const struct timeline *timeline, uint64_t *events, uint32_t max);

#endif
