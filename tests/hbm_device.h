/* A tiny simulated device for the tests of libhbm: real bytes, events by number, refusals on demand,
 * and a count of every service call. */
#ifndef TESTS_HBM_DEVICE_H
#define TESTS_HBM_DEVICE_H

#include <stdatomic.h>

#include "allocator/hbm.h"

#define DEVICE_EVENTS_MAX 65536
#define DEVICE_UNLOADS_MAX 64
#define DEVICE_TOKENS_MAX 64

/* Invariant: host_bytes is what host_alloc gave and host_free did not yet get back. */
struct hbm_device {
    unsigned char *memory; /* [capacity_bytes], NULL: contents are not simulated */
    uint64_t capacity_bytes;
    atomic_bool done[DEVICE_EVENTS_MAX];
    bool lost[DEVICE_EVENTS_MAX];
    _Atomic uint64_t completed;
    unsigned char *staged[DEVICE_TOKENS_MAX];
    atomic_size_t host_bytes;
    uint64_t copies, stage_outs, stage_ins, unload_count;
    _Atomic uint64_t waits;
    uint64_t unloads[DEVICE_UNLOADS_MAX]; /* program ids in order, the first DEVICE_UNLOADS_MAX */
    uint64_t copies_refused, stage_ins_refused, unloads_refused; /* how many of the next to refuse */
    uint64_t copies_before_refusal; /* how many are still accepted before copies_refused counts */
    uint64_t host_allocs_until_refusal; /* 0: never; 1: the next one */
    uint64_t clock;
};

/* memory_bytes 0 leaves contents out. */
void hbm_device_init(struct hbm_device *device, uint64_t memory_bytes);
void hbm_device_deinit(struct hbm_device *device);
void hbm_device_complete(struct hbm_device *device, uint64_t event);
struct hbm_services hbm_device_services(struct hbm_device *device);

#endif
