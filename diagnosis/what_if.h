/* What if: the list that ended in an out-of-memory is run again under each remedy, to see what
 * would have met the request. */
#ifndef DIAGNOSIS_WHAT_IF_H
#define DIAGNOSIS_WHAT_IF_H

#include "diagnosis/what_if_row.h"

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
    bool grows;      /* the list leaves more behind in each step: what grows on is no answer */
    bool has_lanes;  /* they were left out: one client makes all calls in the order of the list */
};

/* The caller's wishes, in addition to the table. */
struct what_if_wish {
    /* Told of each variant that was run, after it was; setup and ops are valid for the call.  NULL:
     * nobody is. */
    void (*take)(void *context, const struct what_if_row *row, const struct setup *setup,
                 const struct op_list *ops);
    void *context;
    const bool *named_tags; /* as in struct remedy_case */
};

/* Remedies that users of the list's system cannot do are no rows (advice.h).
 *
 * Runs the list up to the out-of-memory that `explain` explains (the first that breaks a promise,
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

#endif
