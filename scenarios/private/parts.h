/* Every scenario is made of these: a device drawn anew, sizes as parts of it, one line per op, and
 * the way back to an empty device. */
#ifndef SCENARIOS_PRIVATE_PARTS_H
#define SCENARIOS_PRIVATE_PARTS_H

#include "harness/base/random.h"
#include "harness/generate/scenario.h"
#include "harness/model/model.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

/* --- the device ---
 *
 * The device and the allocator's settings are drawn anew for each trial: a fault that needs one
 * capacity, granule, contract or order is found only by runs that have it. */

/* The needs that a scenario has of its device; zero-initialise, then set. */
struct device_options {
    const char *chip;             /* whose capacity is one of those drawn; never NULL */
    uint64_t granules_min;        /* of the capacity, when it is free; 0 = 1 */
    bool must_defragment;         /* draws no contract without moves */
    bool must_evict_for_programs; /* draws program_evicts_program=yes only */
    bool is_small;                /* a free capacity is small in every trial */
};

/* A small device has 2 to 256 granules, or as few as the scenario can do with: every place and
 * every length comes soon there. */
enum { DEVICE_SMALL_GRANULES_MIN = 2, DEVICE_SMALL_GRANULES_MAX = 256 };

/* Sets what is still open in setup: capacity (when it is free; a small one when it is 0), granule,
 * and, for targets that have these options (hbm and the planted ones), defrag, order and
 * program_evicts_program.  What the user set stays. */
void device_draw(struct random *random, struct setup *setup, bool capacity_is_free,
                 const struct device_options *options);

/* --- sizes, as parts of the device, in whole granules, so that one scenario fits 64 KiB and 96 GiB
 * --- */

/* size_bytes rounded down to granules, but at least one. */
static inline uint64_t whole_granules(const struct model *model, uint64_t size_bytes)
{
    const uint64_t granule = model_granule_bytes(model);
    return size_bytes < granule ? granule : size_bytes - size_bytes % granule;
}

/* numerator / denominator of a capacity; numerator up to 2^13, denominator at least 1. */
static inline uint64_t capacity_part(const struct model *model, uint64_t capacity_bytes,
                                     uint64_t numerator, uint64_t denominator)
{
    const uint64_t bytes = capacity_bytes / denominator * numerator +
                           capacity_bytes % denominator * numerator / denominator;
    return whole_granules(model, bytes);
}

/* Returns the same of the device. */
static inline uint64_t device_part(const struct model *model, uint64_t numerator,
                                   uint64_t denominator)
{
    return capacity_part(model, model_capacity_bytes(model), numerator, denominator);
}

/* Among so few blocks any packing can be decided.  With the contract repack, more blocks than this
 * are not mixed with unmovable ones and requests for nearly all that is free: such a question is a
 * subset sum, which neither allocator nor judge answers in reasonable time. */
enum { FEW_BLOCKS = 12 };
static inline bool repacks(const struct model *model)
{
    return model_contract(model)->defrag == DEFRAG_REPACK;
}

/* --- ops: op_make with the fields of that kind filled in; the host is set by whoever emits it ---
 */

/* Returns true when op `ref` made what the client can still name; false for OP_NONE. */
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

/* --- the way back --- */

/* Takes a host back to an empty device, op by op: what a process does when it restarts after an
 * error.  The next op on the way: releases, frees, unloads, and in the end lets pending events
 * complete. False: nothing is left that a client can name.  keep_programs: loaded programs stay. */
bool clear_next(const struct scenario_view *view, uint8_t host, bool keep_programs, struct op *op);
/* Does the same for all hosts, one after the other; no program stays. */
bool clear_hosts_next(const struct scenario_view *view, struct op *op);

#endif
