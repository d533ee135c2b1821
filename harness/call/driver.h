/* Turns one op into one call of the target of its host and notes what came back.  It never judges.
 */
#ifndef HARNESS_CALL_DRIVER_H
#define HARNESS_CALL_DRIVER_H

#include "harness/device/device.h"
#include "harness/model/model_update.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

struct clients;
struct device_guard;
struct guarded_device;

/* One machine of the job: its device, its allocator, and the model of what that promised. */
struct host {
    const struct target *target;
    struct target_instance *instance; /* NULL once it is closed */
    struct target_contract contract;
    struct device *device;
    struct model *model;
    struct device_guard *guard;     /* whose turn it is at the device; NULL: one thread calls */
    struct guarded_device *guarded; /* what the target has then for its device */
    /* what each lane knows; NULL: one client, who knows what the model knows */
    const struct clients *clients;
    uint32_t call_count; /* calls under way */
    uint8_t index;
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
/* Closes the target; device and model stay. */
void host_close(struct host *host);
void host_deinit(struct host *host);

/* What an op came to: the call that was made and its answer.  No model was changed yet. */
struct call {
    struct op op;            /* resolved */
    uint32_t number;         /* of the op */
    uint32_t slot;           /* of the block or program that the op names; SLOT_NONE */
    uint64_t event;          /* that the op refers to or made; 0 = none */
    uint64_t event_delay_ns; /* of an event that the op made */
    bool makes_event;
    bool skipped;     /* does not apply here: no call was made */
    bool is_deferred; /* a free that the harness keeps back until its event is done */
    enum target_result result;
    struct target_block block; /* zero unless the call sets one and returned OK */
};

/* From here on the calls that begin may overlap, on any host: the device has one log for all of
 * them.  Until host_end_overlap(). */
void host_begin_overlap(struct host *host);
void host_end_overlap(struct host *host);

/* Names what an OP_RELATIVE op refers to, and gives an OP_FITTED one its size; other ops stay as
 * they are.  Clears fields that the kind does not have. */
void driver_resolve(const struct host *host, const struct timeline *timeline, struct op *op);

/* Executes a resolved op; setup gives hosts and tag names. */
void driver_call(struct host *host, struct timeline *timeline, const struct setup *setup,
                 const struct op *op, uint32_t number, struct call *call);
/* Its three parts, for who lets several threads call: the first and the last touch device, timeline
 * and clients, and are for one thread at a time; in between the target alone is called, unless the
 * op is skipped.  The first returns the handle of what the op names, for the second; 0 = it names
 * nothing. */
uint64_t driver_begin_call(struct host *host, struct timeline *timeline, const struct op *op,
                           uint32_t number, struct call *call);
void driver_call_target(struct host *host, const struct setup *setup, uint64_t handle,
                        struct call *call);
void driver_end_call(struct host *host, struct timeline *timeline, const struct setup *setup,
                     struct call *call);

#endif
