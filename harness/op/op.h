/* One step of a run as plain data: a call into the allocator, a fault of the device, or time. */
#ifndef HARNESS_OP_OP_H
#define HARNESS_OP_OP_H

#include "harness/op/fault.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Order is part of the byte format of fuzz inputs: append only. */
enum op_kind {
    OP_ALLOC = 0,  /* size_bytes, align_log2, tag, unpadded_bytes: a user's buffer */
    OP_OUTPUT,     /* the same: an output of a program */
    OP_FREE,       /* block; asynchronous: waits for its uses and holds */
    OP_FREE_AFTER, /* block; waits for `event`, or for an own event after delay_ns */
    OP_USE,        /* block is in use until `event`, or an own event after delay_ns */
    OP_HOLD,       /* block: takes one external reference */
    OP_RELEASE,    /* block: gives one back */
    OP_DONATE,     /* block is taken over by a new output of size_bytes, tag */
    OP_LOAD,       /* size_bytes of image, stack_bytes, tag */
    OP_UNLOAD,     /* program */
    OP_EXECUTE,    /* program; own event after delay_ns; loads it again when it was evicted */
    OP_DEFRAGMENT,
    OP_COMPLETE, /* `event` completes now, whatever its delay was, lost ones too */
    OP_ADVANCE,  /* delay_ns of virtual time pass (of its host: setup.has_clocks) */
    OP_TOUCH,    /* block: its contents are read and compared */
    OP_REPORT,   /* counters, holes and the allocations report are compared */
    OP_FAULT,  /* fault; size_bytes = which call from now, 1 = the next, 0 = disarms it; delay_ns */
    OP_RETIRE, /* size_bytes at address go bad for ever: the allocator may not use them; skipped
                  unless free */
    OP_SWITCH, /* of the schedule: at point size_bytes of op `ref` (OP_NONE: of lane `lane`, a
                  thread of the target's own) lane `tag` goes on, or `event` completes; skipped
                  where lanes are not run */
    OP_SLEEP,  /* skipped unless the target sleeps (contract.sleeps) and nothing is in use */
    OP_WAKE,   /* skipped unless it is asleep; all calls of the target but this one and OP_REPORT
                  are skipped then */
    OP_RECORD, /* begins a recording; skipped unless the target records (contract.records), and
                  while another one is open */
    OP_RECORD_END,  /* of the one that is open */
    OP_RECORD_DROP, /* ref: the OP_RECORD of one that is not open */
    OP_KIND_COUNT
};

#define OP_NONE UINT32_MAX     /* no reference */
#define DELAY_NEVER UINT64_MAX /* the event is lost: only OP_COMPLETE ends it */

enum op_flag {
    /* ref counts in the live set (modulo its size) instead of naming an op; event counts in the
     * pending events.  OP_RETIRE: the range is what is free at or above address (modulo the
     * capacity, and from the bottom on when nothing is), cut to size_bytes.  Resolved when the op
     * is recorded. */
    OP_RELATIVE = 1u << 0,
    /* OP_EXECUTE: the event completes delay_ns after the executions of the same collective (group)
     * have been enqueued on every host of that group (setup_members()), or, with an error, a bound
     * after this op (setup_collective_bound_ns()). */
    OP_COLLECTIVE = 1u << 1,
    /* A request that is made alike on every host of this group; all must get the same answer. */
    OP_SPMD = 1u << 2,
    /* OP_FAULT: strikes that call and all later ones until it is disarmed. */
    OP_FOR_EVER = 1u << 3,
    /* size_bytes of a request is a fit (harness/op/fit.h).  Resolved when the op is recorded. */
    OP_FITTED = 1u << 4,
    /* A request (can_be_refused): the op before is asked again, with time pinned: no event
     * completes and no fault strikes.  It takes over all that op asked for when it is recorded.
     * Skipped unless that one, on the same host and of no group, was answered out of memory.  Where
     * lanes are run the op before is that of its lane, and time is not pinned. */
    OP_RETRY = 1u << 5,
    /* On the stream `stream`: what a target of which contract.stream_ordered is told of the
     * request, or of the op's own event.  Without it the stream is 0. */
    OP_ON_STREAM = 1u << 6,
    OP_FLAG_MASK = 127u
};
#define COLLECTIVE_BOUND_NS UINT64_C(5000000000) /* 5 s: how long peers wait for a missing host */

/* delay_ns later; DELAY_NEVER where that is never, or beyond all times. */
static inline uint64_t delay_after_ns(uint64_t from_ns, uint64_t delay_ns)
{
    uint64_t due_ns = 0;
    return delay_ns == DELAY_NEVER || __builtin_add_overflow(from_ns, delay_ns, &due_ns)
               ? DELAY_NEVER
               : due_ns;
}

/* Alignments go up to 2 MiB: what every allocator we know of accepts. */
enum {
    OP_TAG_COUNT = 256,
    OP_HOST_COUNT_MAX = 64,
    OP_LANE_COUNT_MAX = 64,
    OP_STREAM_COUNT_MAX = 64,
    OP_ALIGN_LOG2_MAX = 21
};

/* ref and event name the op (its index in the list) that made the block, program, recording or
 * event.
 * A removed op therefore never redirects another one: ops that name it are skipped. */
struct op {
    uint8_t kind; /* enum op_kind */
    uint8_t lane; /* client thread, 0..63 */
    uint8_t host; /* machine of the SPMD job, 0..63 */
    uint8_t flags;
    uint32_t ref;   /* block, program or recording; OP_NONE */
    uint32_t event; /* OP_NONE: an own event after delay_ns */
    uint8_t tag; /* index into the list's tag names; OP_FAULT: enum fault_kind; OP_SWITCH: a lane */
    uint8_t align_log2; /* 0 = the granule */
    union {
        uint16_t group;  /* with OP_COLLECTIVE or OP_SPMD: which one, any number; of all hosts, or
                            of those that the setup declares */
        uint16_t stream; /* with OP_ON_STREAM: 1..63; it spans the hosts that share one time */
    };
    uint64_t size_bytes;
    union {
        uint64_t delay_ns;       /* virtual time; DELAY_NEVER */
        uint64_t stack_bytes;    /* OP_LOAD */
        uint64_t unpadded_bytes; /* OP_ALLOC, OP_OUTPUT, OP_DONATE; 0 = size_bytes */
        uint64_t address;        /* OP_RETIRE */
    };
};
static_assert(sizeof(struct op) == 32, "an op is 32 bytes: lists of millions are kept in memory");

static inline bool op_is_of_recording(enum op_kind kind)
{
    return kind == OP_RECORD || kind == OP_RECORD_END || kind == OP_RECORD_DROP;
}

/* True if no op can name its block or program any more once the op has returned. */
static inline bool op_ends_handle(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_DONATE ||
           op->kind == OP_UNLOAD;
}

/* An op of a kind with no references; the other fields are zero. */
struct op op_make(enum op_kind kind);

/* The name and the fields of an op kind: one row per kind. */
struct op_kind_info {
    const char *name; /* as in .ops text: "free_after" */
    bool has_size, has_align, has_tag, has_unpadded, has_stack, has_delay, has_address, has_point;
    bool has_block, has_program, has_event; /* ref to a block, ref to a program, event */
    bool has_recording;                     /* ref to one */
    bool event_required;                    /* has_event, and there is no own event instead */
    bool has_stream;                        /* OP_ON_STREAM, where it names no event */
    bool makes_block, makes_program, makes_event;
    bool can_be_fitted;  /* OP_FITTED */
    bool can_be_refused; /* a request, which may end out of memory; OP_RETRY */
};
const struct op_kind_info *op_kind_info(enum op_kind kind);

/* The kind of that name, or OP_KIND_COUNT. */
enum op_kind op_kind_find(const char *name, size_t name_length);

/* Clears the fields that the kind does not have: references become OP_NONE, numbers 0; so does a
 * delay next to a named event, and a group that no flag asks for; OP_ON_STREAM goes with a stream
 * that is 0, is none or the op does not have.  op->kind is one, and the tag of an OP_FAULT an enum
 * fault_kind; other flags stay. */
void op_clear_unused(struct op *op);

/* Returns the stream that the op is on. */
static inline uint32_t op_stream(const struct op *op)
{
    return (op->flags & OP_ON_STREAM) != 0 ? op->stream : 0;
}
/* stream 0..63; the op has one. */
void op_set_stream(struct op *op, uint32_t stream);

/* True if a request on the same lane and host asks for the same; retries or not. */
bool op_asks_same(const struct op *a, const struct op *b);

/* True if all 32 bytes of two ops are equal.  Fields that their kind does not have count, too:
 * op_clear_unused() makes these equal. */
bool op_equal(const struct op *a, const struct op *b);

/* Gives each reference its new number, numbers[reference], and OP_NONE to those from count on.  An
 * op whose event went names nothing, so that it does not get an event of its own.  Relative
 * references stay as they are. */
void op_renumber(struct op *op, const uint32_t *numbers, size_t count);

/* A growing list of ops.  Owned by whoever called op_list_init. */
struct op_list {
    struct op *ops; /* count of them */
    size_t count;
    size_t capacity;
};
void op_list_init(struct op_list *list);
void op_list_deinit(struct op_list *list);
/* Makes room for one more. */
void op_list_grow(struct op_list *list);
static inline void op_list_append(struct op_list *list, const struct op *op)
{
    if (list->count == list->capacity) {
        const struct op copy = *op; /* op may lie in the list that moves */
        op_list_grow(list);
        list->ops[list->count++] = copy;
        return;
    }
    list->ops[list->count++] = *op;
}
void op_list_clear(struct op_list *list);
/* Makes *to equal to *from; both initialised. */
void op_list_copy(struct op_list *to, const struct op_list *from);
/* Does the same for a caller that needs *from no more: it is empty then; nothing is copied. */
void op_list_move(struct op_list *to, struct op_list *from);
/* Drops every op i with keep[i] false and renumbers references; what named a dropped op is left
 * as OP_NONE and will be skipped.  Relative references stay as they are. */
void op_list_filter(struct op_list *list, const bool *keep);
/* Puts count ops, which are not in the list, before its op number `at` (<= list->count) and
 * renumbers the references of the ops behind.  References of the ops that come in count in the list
 * as it is then. */
void op_list_insert(struct op_list *list, size_t at, const struct op *ops, size_t count);

#endif
