/* A tiny simulated device for the tests of libhbm: real bytes, events by number, refusals on
 * demand, and a count of every service call. */
#ifndef TESTS_ALLOCATOR_HBM_DEVICE_H
#define TESTS_ALLOCATOR_HBM_DEVICE_H

#include <stdatomic.h>

#include "allocator/hbm.h"

#define DEVICE_EVENTS_MAX 65536
#define DEVICE_TOKENS_MAX 64

/* Kinds of call that can be struck by a fault, as bits: copies and stages are one kind. */
enum device_call {
    DEVICE_CALL_COPY = 1,
    DEVICE_CALL_WAIT = 2,
    DEVICE_CALL_UNLOAD = 4,
    DEVICE_CALL_HOST = 8,
    DEVICE_CALL_ANY = 15,
};

enum device_fault_kind {
    DEVICE_REFUSES,
    DEVICE_HALVES, /* copy, stage_in and unload answer PARTIAL a few times before they are done */
    DEVICE_TIMES_OUT, /* a wait is refused, and all other events complete meanwhile */
    DEVICE_JUMPS, /* before the call events complete: all of them, or, for ever, one each time */
};

/* Strikes the at-th call (from 1) of the kinds in `calls`; for_ever: each one from there on.  at 0:
 * none. */
struct device_fault {
    enum device_fault_kind kind;
    unsigned calls; /* of enum device_call */
    uint64_t at;
    bool for_ever;
};

/* A call that was answered PARTIAL and is not yet done. */
struct device_torn {
    enum device_call call; /* 0: there is none */
    uint64_t from, to, bytes;
};

/* Invariant: host_bytes is what host_alloc gave and host_free did not yet get back. */
struct hbm_device {
    unsigned char *memory; /* [capacity_bytes], NULL: contents are not simulated */
    uint64_t capacity_bytes;
    atomic_bool done[DEVICE_EVENTS_MAX];
    bool lost[DEVICE_EVENTS_MAX];
    _Atomic uint64_t completed;
    unsigned char *staged[DEVICE_TOKENS_MAX];
    atomic_size_t host_bytes;
    uint64_t stage_outs, unload_count;
    uint64_t host_allocs_until_refusal; /* 0: never; 1: the next one */
    uint64_t clock;
    struct device_fault fault;
    uint64_t fault_calls;  /* that the fault could have struck */
    uint64_t fault_count;  /* that it did */
    uint64_t event_newest; /* events up to here exist; for the faults that complete some */
    struct device_torn torn;
    unsigned torn_left;        /* how many more times it is answered PARTIAL */
    unsigned char *torn_bytes; /* what it copies: the source may be gone */
    uint64_t torn_broken;      /* times something else was asked for meanwhile */
};

/* memory_bytes 0 leaves contents out. */
void hbm_device_init(struct hbm_device *device, uint64_t memory_bytes);
void hbm_device_deinit(struct hbm_device *device);
void hbm_device_complete(struct hbm_device *device, uint64_t event);

/* Arms a fault in place of the one before, and counts from here. */
void hbm_device_arm(struct hbm_device *device, const struct device_fault *fault);
struct hbm_services hbm_device_services(struct hbm_device *device);

#endif
