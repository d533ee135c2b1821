/* Turns one op into one call of the target of its host and notes what came back.  It never judges.
 */
#ifndef HARNESS_CALL_DRIVER_H
#define HARNESS_CALL_DRIVER_H

#include "harness/call/call.h"
#include "harness/call/host.h"
#include "harness/op/setup.h"

/* Names what an OP_RELATIVE op refers to, and gives an OP_FITTED one its size; other ops stay as
 * they are.  Clears fields that the kind does not have. */
void driver_resolve(const struct host *host, struct op *op);
/* True if the op is an alloc or a free, no retry, that resolving would leave as it is. */
static inline bool driver_is_resolved(const struct op *op)
{
    if (op->flags != 0 || op->event != OP_NONE || op->group != 0) {
        return false;
    }
    return op->kind == OP_ALLOC ? op->ref == OP_NONE && op->align_log2 <= OP_ALIGN_LOG2_MAX
                                : op->kind == OP_FREE && op->size_bytes == 0 && op->delay_ns == 0 &&
                                      op->tag == 0 && op->align_log2 == 0;
}

/* Executes a resolved op; setup gives hosts and tag names. */
void driver_call(struct host *host, const struct setup *setup, const struct op *op, uint32_t number,
                 struct call *call);
/* The three parts of that call, for a caller that lets several threads call.  The first and the
 * last touch device, timeline and clients, and are for one thread at a time.  The second calls the
 * target alone, unless the op is skipped.  The first returns the handle that the op names, for the
 * second; 0 = it names nothing. */
uint64_t driver_begin_call(struct host *host, const struct op *op, uint32_t number,
                           struct call *call);
void driver_call_target(struct host *host, const struct setup *setup, uint64_t handle,
                        struct call *call);
void driver_end_call(struct host *host, struct call *call);

#endif
