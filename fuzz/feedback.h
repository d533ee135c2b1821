/* Tells a fuzz engine, beside the code that ran, in which states the ops of an input left the heap.
 * Code is much the same whether three holes are left or thirty, and so an engine that sees code
 * alone keeps no input for thirty.
 *
 * A state is a cell, one of a fixed number; an input has noted a cell or not.  How the engine gets
 * to see that is the business of one of fuzz/feedback_libfuzzer.c, fuzz/feedback_afl.c and, where
 * no engine is, fuzz/feedback_none.c. */
#ifndef FUZZ_FEEDBACK_H
#define FUZZ_FEEDBACK_H

#include "harness/run/run.h"

/* The ways in which a request can end. */
enum feedback_outcome {
    FEEDBACK_PLACED = 0,
    FEEDBACK_JUSTIFIED, /* out of memory, */
    FEEDBACK_UNJUDGED,  /* the same, and nobody knows, or it was excused */
    FEEDBACK_FAILED,    /* otherwise */
    FEEDBACK_OUTCOME_COUNT
};
/* Bits: what was done for a request. */
enum {
    FEEDBACK_DRAINED = 1,
    FEEDBACK_MOVED = 2,
    FEEDBACK_EVICTED = 4,
    FEEDBACK_MITIGATIONS_COUNT = 8
};

/* The state that one request left behind. */
struct feedback_sight {
    enum feedback_outcome outcome;
    uint8_t mitigations;    /* FEEDBACK_DRAINED... */
    uint64_t granule_bytes; /* at least 1 */
    uint64_t request_bytes; /* 0 = not known */
    uint64_t free_bytes, largest_hole_bytes;
    uint64_t best_span_bytes; /* free in the span that has most of it: what moves inside of it could
                                 make one hole */
    uint64_t span_count;      /* between unmovable blocks */
    uint64_t queued_free_count; /* blocks that die */
};

/* Buckets of a number: 0, 1, 2-3, 4-7 and so on, the last one open. */
enum {
    FEEDBACK_LEVEL_COUNT = 8,     /* of fragmentation: free / largest hole */
    FEEDBACK_BUCKET_COUNT = 8,    /* of spans and of queued frees */
    FEEDBACK_DISTANCE_COUNT = 16, /* between request and best span, in granules, for each sign */
};
/* The first cell of each group of cells. */
enum {
    FEEDBACK_HEAP = 0, /* fragmentation x mitigations x outcome */
    FEEDBACK_SPANS = FEEDBACK_HEAP +
                     FEEDBACK_LEVEL_COUNT * FEEDBACK_MITIGATIONS_COUNT * FEEDBACK_OUTCOME_COUNT,
    FEEDBACK_QUEUED = FEEDBACK_SPANS + FEEDBACK_BUCKET_COUNT * FEEDBACK_MITIGATIONS_COUNT,
    FEEDBACK_DISTANCE = FEEDBACK_QUEUED + FEEDBACK_BUCKET_COUNT,
    FEEDBACK_SWITCHES = FEEDBACK_DISTANCE + 2 * FEEDBACK_DISTANCE_COUNT * FEEDBACK_OUTCOME_COUNT,
    FEEDBACK_POINT_COUNT =
        16, /* of an op, in buckets; switches: kind of op x point x whether an event completed */
    FEEDBACK_CELL_COUNT = FEEDBACK_SWITCHES + OP_KIND_COUNT * FEEDBACK_POINT_COUNT * 2
};
enum { FEEDBACK_CELLS_PER_OP_MAX = 4 };

/* The cells of one request, each below FEEDBACK_CELL_COUNT; returns how many. */
uint32_t feedback_cells(const struct feedback_sight *sight,
                        uint32_t cells[FEEDBACK_CELLS_PER_OP_MAX]);
/* Reads what the last op of the run left behind; verdict is that on it.  False: it was no request,
 * or one that was placed without a call into the device.  O(blocks). */
bool feedback_see(const struct run *run, const struct verdict *verdict,
                  struct feedback_sight *sight);

/* For the player of an input: feedback_begin() before it, the listener while it plays, and after a
 * run in lanes the list that was recorded, with its schedule. */
void feedback_begin(void);
extern const struct run_listener feedback_listener;
void feedback_take_schedule(const struct op_list *ops);

/* --- towards the engine: one file for each --- */

/* A new input: no cell is noted. */
void feedback_forget(void);
/* cell < FEEDBACK_CELL_COUNT */
void feedback_note(uint32_t cell);

#endif
