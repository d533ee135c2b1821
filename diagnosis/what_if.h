/* What if: the list that ended in an out-of-memory is run again under each remedy, to see what
 * would have met the request. */
#ifndef DIAGNOSIS_WHAT_IF_H
#define DIAGNOSIS_WHAT_IF_H

#include "diagnosis/remedy.h"
#include "harness/run/run.h"

/* How a variant ended. */
enum what_if_end {
    WHAT_IF_FITS, /* no out-of-memory and no broken promise, those after the last op included */
    WHAT_IF_NO_MEMORY,     /* an out-of-memory at failed_op */
    WHAT_IF_BROKEN,        /* another promise broke at failed_op */
    WHAT_IF_REFUSED,       /* the target refused the setup */
    WHAT_IF_DOES_NOT_APPLY /* there is no such variant; note says why */
};

struct what_if_row {
    const struct remedy *remedy; /* NULL: the list as it is */
    uint64_t parameter;
    char title[REMEDY_TITLE_BYTES]; /* "as-it-is", "chip-v5p" */
    enum what_if_end end;
    bool is_smallest; /* of its remedy, the smallest change that fits */
    uint64_t capacity_bytes;
    uint64_t peak_bytes; /* the most in use, stack included, fillers (SETUP_FILLER_NAME) and retired
                          * memory left out, on any one host; up to where it failed */
    uint64_t headroom_bytes; /* the least that a host had besides: capacity, less what is retired
                                and in use */
    uint64_t largest_hole_bytes; /* at that moment on that host; at the failure when there is one */
    uint64_t op_count;           /* of the variant */
    uint32_t failed_op;          /* in the variant */
    uint64_t requested_bytes;    /* of the request that failed */
    char note[REMEDY_NOTE_BYTES];
};

struct what_if {
    /* count of them: the list as it is first, then in the order of the remedies */
    struct what_if_row *rows;
    size_t count, room;
    /* of the list that was given: the out-of-memory looked at; OP_NONE: there is none */
    uint32_t op;
    size_t left_out_count; /* ops up to there that did nothing, or were refused before: left out
                              everywhere */
    size_t smallest; /* the row of the smallest change that fits; 0: the list as it is does; count:
                        none */
    bool is_whole;   /* nothing was cut off after that op: what it asked for is named later, so the
                      * list comes   from where it was granted */
    bool has_lanes;  /* they were left out: one client makes all calls in the order of the list */
};

/* What is wanted beside the table. */
struct what_if_wish {
    /* Told of each variant that was run, after it was; setup and ops are valid for the call.  NULL:
     * nobody is. */
    void (*take)(void *context, const struct what_if_row *row, const struct setup *setup,
                 const struct op_list *ops);
    void *context;
    const bool *named_tags; /* as in struct remedy_case */
};

enum what_if_result {
    WHAT_IF_DONE,
    WHAT_IF_PROMISE_BROKE, /* the first thing that goes wrong in the list is no out-of-memory:
                              nothing is tried */
    WHAT_IF_TARGET_REFUSED /* the target refuses the setup of the list */
};

/* Runs the list up to the out-of-memory that `explain` explains (the first that breaks a promise,
 * else the first), or all of it when there is none, under every remedy.  What came after it is left
 * out: it is what a job did that had run out; unless a later op names what was refused: then the
 * job was granted it, on another device, and the whole list is run. what_if is initialised by this
 * and deinitialised by the caller in every case.  wish may be NULL.  Runs the target in this
 * process.  Cost: 20 to 100 runs of the list, 2^26 ops in all at most; what is beyond is not tried,
 * and its row says so. */
enum what_if_result what_if_run(const struct target *target, const struct setup *setup,
                                const struct op_list *ops, const struct what_if_wish *wish,
                                struct what_if *what_if);
void what_if_deinit(struct what_if *what_if);

/* "fits", "out of memory", "broken", "refused", "does not apply". */
const char *what_if_end_name(enum what_if_end end);
/* headroom_bytes; 0 when it does not fit. */
uint64_t what_if_headroom_bytes(const struct what_if_row *row);

#endif
