/* One machine of the job: its device, its allocator, and the model of what that promised. */
#ifndef HARNESS_CALL_HOST_H
#define HARNESS_CALL_HOST_H

#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "harness/model/model.h"
#include "harness/op/setup.h"
#include "harness/target.h"

struct clients;
struct collectives;
struct device_guard;
struct guarded_device;

/* Open to whoever drives or judges it. */
struct host {
    const struct target *target;
    struct target_instance *instance; /* NULL once it is closed */
    struct target_contract contract;
    struct device *device;
    struct timeline *timeline;       /* of all hosts, or of this one; the run's */
    struct collectives *collectives; /* of all hosts; the run's */
    struct model *model;
    struct device_guard *guard;     /* whose turn it is at the device; NULL: one thread calls */
    struct guarded_device *guarded; /* what the target has then for its device */
    /* what each lane knows; NULL: one client, who knows what the model knows */
    const struct clients *clients;
    struct target_stats stats; /* as the target showed them after the last call that was judged */
    uint64_t region_changes;   /* of the device, when each block was last seen to lie in a region */
    uint64_t kept_bytes;       /* of a shared device, in the sleep in which it was opened */
    uint64_t next_address;     /* where the next block without an address is put for the harness */
    uint64_t access_count;     /* to memory, in the last call; has_cost */
    uint32_t call_count;       /* calls under way */
    uint32_t refused_op; /* one client: the last op, if it may be asked again (OP_RETRY); OP_NONE */
    bool is_plain;       /* what it promises is judged on the short road (rules/call.c) */
    bool has_cost;       /* what ops cost is judged (rules/cost.c) */
    uint8_t index;
    uint8_t clock; /* the first host with this timeline */
};

/* Opens the target on a new device.  host->guard is set, or NULL; the rest of *host is not read.
 * False: refused; reason says why, nothing is left open. */
bool host_open(struct host *host, uint8_t index, const struct target *target,
               const struct setup *setup, struct timeline *timeline, char *reason,
               size_t reason_bytes);
/* Opens the target alone, on host->device; reason stays as it is where the target has nothing to
 * say. */
enum target_result host_open_target(struct host *host, const struct setup *setup, char *reason,
                                    size_t reason_bytes);
/* From here on the device of the target, which was just opened, is one of the pool.  A target that
 * does not grow is put to sleep first.  False: it does not sleep, or not as it is opened; reason
 * says why. */
struct device_pool;
bool host_share(struct host *host, struct device_pool *pool, char *reason, size_t reason_bytes);
/* Closes the target, and its device leaves its pool; device and model stay. */
void host_close(struct host *host);
void host_deinit(struct host *host);

/* From here on several clients call: each lane knows what clients says (NULL: one client again),
 * and events complete in an order that has nothing to do with when they are due.  clients outlives
 * that. */
void host_set_clients(struct host *host, const struct clients *clients);

/* A call begins, on whichever thread, and ends.  Calls that are under way together have one log in
 * the device; between a begin and its end of the caller's own, all calls of others have. */
void host_begin_call(struct host *host);
void host_end_call(struct host *host);

/* The most device calls that one op may make.  An honest mitigation moves each block, awaits each
 * event and evicts each program about once, and may start over after each eviction; 64 times all of
 * that is far beyond it. */
enum { HOST_DEVICE_CALLS_FACTOR = 64, HOST_DEVICE_CALLS_MIN = 4096 };
static inline uint64_t host_device_calls_max(const struct host *host)
{
    const uint64_t blocks = model_counters(host->model)->block_count;
    const uint64_t events = timeline_pending_count(host->timeline);
    return HOST_DEVICE_CALLS_MIN + HOST_DEVICE_CALLS_FACTOR * (blocks + events);
}

#endif
