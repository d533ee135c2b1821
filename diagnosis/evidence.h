/* The evidence that a cause may look at: the history, the list, and every block of the host at the
 * moment that is explained. */
#ifndef DIAGNOSIS_EVIDENCE_H
#define DIAGNOSIS_EVIDENCE_H

#include "diagnosis/fit.h"
#include "diagnosis/history.h"
#include "harness/run/run.h"

/* A block, the image of a loaded program, or memory that was retired; state GONE: a program that is
 * evicted. */
struct evidence_block {
    uint64_t address; /* meaningless when is_absent or GONE */
    uint64_t size_bytes, unpadded_bytes, requested_bytes;
    uint64_t image_stack_bytes; /* programs: the stack that an execution needs */
    uint32_t op;                /* that made it */
    uint32_t freed_op;          /* that freed or unloaded it; OP_NONE */
    uint32_t hold_op;           /* the last that took a reference; OP_NONE */
    uint32_t event_op; /* that made the unfinished event it waits for, a lost one first; OP_NONE */
    uint32_t hold_count;
    uint8_t state; /* enum block_state */
    uint8_t kind;  /* enum block_kind */
    uint8_t tag;
    bool is_movable, is_absent, is_busy;
    bool waits_for_ever; /* event_op's event is lost */
};

/* The room that the explained request had, according to the verdict. */
enum evidence_room {
    ROOM_NOT_JUDGED,    /* there was no out-of-memory */
    ROOM_NONE,          /* justified */
    ROOM_AT_ONCE,       /* premature: a hole took it as things lay */
    ROOM_AFTER_EFFORTS, /* premature: after mitigations that were left */
    ROOM_UNKNOWN,       /* the search ended, or our own judges disagree */
    EVIDENCE_ROOM_COUNT
};

/* Open to read; evidence_take() fills it. */
struct evidence {
    const struct history *history;
    const struct setup *setup;
    const struct op_list *ops;     /* run so far, resolved */
    const struct verdict *verdict; /* on the out-of-memory; kind NONE: there was none */
    const struct op *op;           /* that ran out of memory; NULL */
    const struct target_contract *contract;
    enum evidence_room room;
    struct line_fit fit; /* of ROOM_AT_ONCE and ROOM_AFTER_EFFORTS; else all zero */
    uint32_t host, host_count;
    /* block_count of them by address; absent ones and evicted programs at the end */
    struct evidence_block *blocks;
    size_t block_count;
    /* in_use: without memory that was retired */
    uint64_t capacity_bytes, in_use_bytes, retired_bytes, stack_bytes, free_bytes,
        largest_hole_bytes, hole_count;
    uint64_t requested_bytes; /* by op: image and stack together for a program; 0: there was no
                                 out-of-memory */
    uint64_t missing_bytes;   /* requested beyond free_bytes; 0 when so much is free */
    uint64_t host_in_use_bytes[OP_HOST_COUNT_MAX];
    uint64_t host_capacity_bytes[OP_HOST_COUNT_MAX];
    uint32_t host_newest_ops[OP_HOST_COUNT_MAX]; /* that made the newest block or program not freed
                                                    yet; OP_NONE */
};

/* Looks at the run as it is now: after the op of the verdict, or after the last op and before
 * run_finish().  history, run and verdict outlive the evidence.  O(ops + blocks log blocks); a
 * premature out-of-memory is judged once more, for its plan. */
void evidence_take(const struct history *history, const struct run *run,
                   const struct verdict *verdict, struct evidence *evidence);
/* Does the same for the given host, whichever host the verdict is on. */
void evidence_take_of_host(const struct history *history, const struct run *run,
                           const struct verdict *verdict, uint32_t host, struct evidence *evidence);
void evidence_deinit(struct evidence *evidence);
/* True if the blocks are in their order, and the sums agree.  O(blocks); for tests. */
bool evidence_invariants_hold(const struct evidence *evidence);

/* The name of a tag, or "tag N", within a call. */
struct tag_text {
    char text[SETUP_NAME_BYTES];
};
struct tag_text evidence_tag_name(const struct evidence *evidence, uint8_t tag);
/* True if the list is rebuilt from sums, so that nothing may be said about where blocks lie. */
bool evidence_placement_is_assumed(const struct evidence *evidence);
/* True if the verdict is on an out-of-memory. */
bool evidence_has_oom(const struct evidence *evidence);
/* Whom an op is for: an execution is for its program. */
uint8_t evidence_tag_of(const struct evidence *evidence, const struct op *op);
/* The stack that a load or an execution asks for; 0 for others. */
uint64_t evidence_stack_bytes(const struct evidence *evidence, const struct op *op);

#endif
