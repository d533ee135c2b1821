/* One line per op that a scenario makes: op_make with the fields of that kind filled in.  The host
 * is set by whoever emits the op. */
#ifndef SCENARIOS_PRIVATE_OP_BUILD_H
#define SCENARIOS_PRIVATE_OP_BUILD_H

#include "harness/model/model.h"
#include "harness/op/op.h"

/* Whether op number `ref` made something that the client can still name; false for OP_NONE. */
static inline bool has_made(const struct model *model, uint32_t ref)
{
    return ref != OP_NONE && model_find(model, ref) != NULL;
}

/* size_bytes may be anything, 0 included: what the target answers is judged, not assumed. */
static inline struct op build_request(enum op_kind kind, uint64_t size_bytes, uint8_t tag)
{
    struct op op = op_make(kind);
    op.size_bytes = size_bytes;
    op.tag = tag;
    return op;
}

static inline struct op build_load(uint64_t image_bytes, uint64_t stack_bytes, uint8_t tag)
{
    struct op op = build_request(OP_LOAD, image_bytes, tag);
    op.stack_bytes = stack_bytes;
    return op;
}

/* Free, hold, release, touch, unload: kinds with a reference and nothing else. */
static inline struct op build_on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    return op;
}

/* Use and free_after with an own event. */
static inline struct op build_delayed(enum op_kind kind, uint32_t ref, uint64_t delay_ns)
{
    struct op op = build_on(kind, ref);
    op.delay_ns = delay_ns;
    return op;
}

/* Use and free_after with the event of another op. */
static inline struct op build_awaiting(enum op_kind kind, uint32_t ref, uint32_t event)
{
    struct op op = build_on(kind, ref);
    op.event = event;
    return op;
}

static inline struct op build_donate(uint32_t ref, uint64_t size_bytes, uint8_t tag)
{
    struct op op = build_request(OP_DONATE, size_bytes, tag);
    op.ref = ref;
    return op;
}

static inline struct op build_complete(uint32_t event)
{
    struct op op = op_make(OP_COMPLETE);
    op.event = event;
    return op;
}

static inline struct op build_advance(uint64_t delay_ns)
{
    struct op op = op_make(OP_ADVANCE);
    op.delay_ns = delay_ns;
    return op;
}

#endif
