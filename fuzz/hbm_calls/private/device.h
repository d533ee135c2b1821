/* The device below libhbm when its own interface is played: it has events, time, host memory that
 * is counted, and calls that refuse or do their work in parts, but no contents. */
#ifndef FUZZ_HBM_CALLS_PRIVATE_DEVICE_H
#define FUZZ_HBM_CALLS_PRIVATE_DEVICE_H

#include "allocator/hbm.h"

enum { CALLS_EVENTS_MAX = 1024 };

/* The services that can refuse, or do their work in parts. */
enum calls_service {
    CALLS_COPY = 0,
    CALLS_STAGE_OUT,
    CALLS_STAGE_IN,
    CALLS_WAIT,
    CALLS_UNLOAD,
    CALLS_HOST_MEMORY,
    CALLS_SERVICE_COUNT
};

/* After `after` more calls the next `count` go wrong: they refuse, or (copy, stage in, unload) are
 * done in part. */
struct calls_fault {
    uint32_t after, count;
    bool is_partial;
};

/* Invariant: host_bytes is what host_alloc gave and host_free did not get back. */
struct calls_device {
    struct calls_fault faults[CALLS_SERVICE_COUNT];
    bool is_done[CALLS_EVENTS_MAX], is_lost[CALLS_EVENTS_MAX];
    uint64_t completed_count;
    uint64_t clock_ns;
    uint64_t stage_count; /* of which the last one has this token */
    size_t host_bytes;
    uint64_t refusal_count;
};

/* Zero is a valid start. */
struct hbm_services calls_device_services(struct calls_device *device);

/* Event numbers are below CALLS_EVENTS_MAX. */
void calls_device_complete(struct calls_device *device, uint64_t event);
/* No wait will complete it; calls_device_complete still does. */
void calls_device_lose(struct calls_device *device, uint64_t event);
/* Every service works again, and every event is done. */
void calls_device_calm(struct calls_device *device);

#endif
