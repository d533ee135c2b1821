/* Every scenario is made of these: a device drawn anew, sizes as parts of it, one line per op, the
 * way back to an empty device, and orders in which ops come. */
#ifndef SCENARIOS_PRIVATE_PARTS_H
#define SCENARIOS_PRIVATE_PARTS_H

#include "harness/base/random.h"
#include "harness/generate/scenario.h"
#include "harness/generate/scenario_option.h"
#include "harness/model/model.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

/* --- rows of options: a number, one of some words, or a number or word --- */

#define OPTION_NUMBER(key, low_value, high_value, default_value, text)                     \
    {                                                                                      \
        .name = (key), .low = (low_value), .high = (high_value), .value = (default_value), \
        .summary = (text)                                                                  \
    }
#define OPTION_WORDS(key, of, text)                                                \
    {                                                                              \
        .name = (key), .words = (of), .value = SCENARIO_WORD(0), .summary = (text) \
    }
#define OPTION_EITHER(key, of, low_value, high_value, text)                     \
    {                                                                           \
        .name = (key), .words = (of), .low = (low_value), .high = (high_value), \
        .value = SCENARIO_WORD(0), .summary = (text)                            \
    }

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

/* At most one more than there is room for, of so many granules each. */
static inline uint32_t bound_count(const struct model *model, uint64_t count, uint64_t granules)
{
    const uint64_t room = model_free_bytes(model) / (model_granule_bytes(model) * granules);
    return (uint32_t)(count < room ? count : room + 1);
}

/* The size of the free memory's parts; denominator at least 1. */
static inline uint64_t free_part(const struct model *model, uint64_t denominator)
{
    return whole_granules(model, model_free_bytes(model) / denominator);
}

/* Returns true when a fill that began with op `first` was refused: the target would refuse all that
 * is left. */
static inline bool is_full(const struct scenario_view *view, uint32_t first)
{
    return view->op_number > first && model_last_result(view->hosts[0]) == TARGET_NO_MEMORY;
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

/* --- a queue of ops ---
 *
 * A short list of ops that a scenario has decided on and hands out one by one.  An entry may name
 * what an earlier entry makes; an entry whose block, program or event never came to be is dropped,
 * not emitted. */

enum { OP_QUEUE_COUNT_MAX = 64 };

/* Names what entry `index` makes, in ref and event of later entries.  Numbers of real ops stay
 * below it: a list of two thousand million ops does not fit in memory. */
#define OP_QUEUE_ENTRY(index) (UINT32_C(0x80000000) | (uint32_t)(index))

/* Plain data; all zero is an empty queue.  next <= count <= OP_QUEUE_COUNT_MAX. */
struct op_queue {
    uint32_t count; /* entries since it was last empty */
    uint32_t next;  /* entries before it are handed out or dropped */
    struct op ops[OP_QUEUE_COUNT_MAX];
    uint32_t numbers[OP_QUEUE_COUNT_MAX]; /* the op number that entry got; OP_NONE when dropped */
};

static inline bool op_queue_is_empty(const struct op_queue *queue)
{
    return queue->next == queue->count;
}

/* Forgets all entries, what they made included. */
void op_queue_clear(struct op_queue *queue);

/* Adds an op and gives back how later entries name what it makes; when the queue is full the op is
 * dropped and the name is OP_NONE. */
uint32_t op_queue_add(struct op_queue *queue, struct op op);

/* Does the same for an op of that host. */
uint32_t op_queue_add_on(struct op_queue *queue, uint8_t host, struct op op);

/* Hands out the next entry that can act.  False: none is left. */
bool op_queue_next(struct op_queue *queue, const struct scenario_view *view, struct op *op);

/* --- a walk ---
 *
 * A way through a stretch of ops, each number once, in one of several orders: which of thousands of
 * blocks goes next, with no list of them. */

enum op_walk_order {
    OP_WALK_FORWARD = 0, /* first in, first out */
    OP_WALK_BACKWARD,    /* last in, first out */
    OP_WALK_ALTERNATING, /* every second one, then the others */
    OP_WALK_SHUFFLED,
    OP_WALK_ORDER_COUNT
};

/* Plain data: the numbers first + (start + i * stride) % length for i from index to length - 1. */
struct op_walk {
    uint32_t first, length;
    uint32_t index, start, stride; /* stride and length have no common factor */
};

/* From the ops [first, end) in that order; none when end <= first.  The walk may name one more
 * number, end itself. */
void op_walk_begin(struct op_walk *walk, struct random *random, uint32_t first, uint32_t end,
                   enum op_walk_order order);

/* The same in an order that is drawn. */
void op_walk_begin_any(struct op_walk *walk, struct random *random, uint32_t first, uint32_t end);

/* The next number.  False: none is left. */
bool op_walk_next(struct op_walk *walk, uint32_t *number);
/* The next one whose op made what the client can still name. */
bool op_walk_next_made(struct op_walk *walk, const struct model *model, uint32_t *number);

#endif
