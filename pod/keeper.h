/* Knows where ranks meet: who joined which collective, who waits for whom, and when waiting is in
 * vain.  It hears each rank through a file and answers through another, and knows no process. */
#ifndef POD_KEEPER_H
#define POD_KEEPER_H

#include "harness/op/setup.h"
#include "harness/oracle/verdict.h"
#include "pod/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- answers to requests that all of a group make (spmd=) --- */

/* The n-th request of each member is one.  Two ranks that asked for the same must get the same
 * answer if sums alone decide it, and decide it alike: the rule spmd (docs/promise.md). */
struct answer_difference {
    uint16_t group;
    struct answer_place {
        uint32_t rank, op, step;
        uint8_t result; /* enum target_result */
    } first, other;     /* the lower rank is first */
    uint64_t count;     /* of the same two ranks and this group; the first is above */
};

struct spmd_answers;
/* setup outlives it. */
struct spmd_answers *answers_create(const struct setup *setup);
void answers_destroy(struct spmd_answers *answers);

/* A FRAME_ANSWER of the rank, which is at that step.  coming: the ranks that may still answer, a
 * bit each; what waits for nobody else is dropped.  O(answers that others still owe). */
void answers_take(struct spmd_answers *answers, uint32_t rank, uint32_t step,
                  const struct pod_frame *frame, uint64_t coming);

size_t answers_difference_count(const struct spmd_answers *answers);
const struct answer_difference *answers_difference_at(const struct spmd_answers *answers,
                                                      size_t index);

/* --- the keeper --- */

enum rank_state {
    RANK_COMING = 0, /* it has not said hello */
    RANK_RUNNING,
    RANK_ENDED, /* its list is over */
    RANK_DEAD   /* its file closed before that; `death` says why, where that is known */
};

struct keeper_rank {
    int in, out; /* -1 = none */
    struct frame_inbox inbox;
    enum rank_state state;
    bool is_waiting; /* for all that it joined */
    bool is_silent;  /* it made no progress for as long as others wait */
    uint32_t unanswered_count;
    uint32_t op, step;   /* the last that was over */
    uint64_t heard_ns;   /* when it last made progress, by clock_now_ns() */
    uint64_t awaited_ns; /* how long all others of its collectives were there before it */
    uint64_t process;
    uint64_t oom_count, ooms_by_verdict[VERDICT_DISPUTED + 1];
    struct pod_frame first_oom, first_finding, first_missed; /* kind FRAME_NONE: there was none */
    uint64_t finding_count;
    struct pod_frame failed, death; /* the same */
};

enum wait_cause {
    WAIT_FOR_DEAD,   /* a member is dead */
    WAIT_FOR_ENDED,  /* a member's list ended without it */
    WAIT_FOR_SILENT, /* a member makes no progress */
    WAIT_FOR_EACH    /* each waits for another: no member can come */
};
/* A rank that waited in vain; of equal ones the first. */
struct keeper_wait {
    uint32_t rank, op, step;
    uint16_t group;
    uint64_t missing; /* bit per rank */
    enum wait_cause cause;
    uint64_t since_ns; /* after the beginning */
    uint64_t count;
};

struct keeper;
struct keeper_plan {
    const struct setup *setup; /* outlives the keeper */
    uint64_t hash;             /* of the list, that each rank must have, too */
    uint64_t patience_ns;      /* how long a rank may make no progress */
    int arrivals;              /* file that notes the order of arrivals */
};
struct keeper *keeper_create(const struct keeper_plan *plan);
/* Closes no file. */
void keeper_destroy(struct keeper *keeper);

/* From here on the keeper hears the rank.  The files are the caller's. */
void keeper_connect(struct keeper *keeper, uint32_t rank, int in, int out);
/* Reads what came from the rank, now. */
void keeper_hear(struct keeper *keeper, uint32_t rank);
void keeper_take(struct keeper *keeper, uint32_t rank, const struct pod_frame *frame);
/* Lets all begin once all are there; answers those who wait in vain; looks who makes no progress.
 */
void keeper_decide(struct keeper *keeper);
/* Nobody makes progress any more, or all ended. */
bool keeper_is_over(const struct keeper *keeper);

uint32_t keeper_rank_count(const struct keeper *keeper);
struct keeper_rank *keeper_rank(struct keeper *keeper, uint32_t rank);
size_t keeper_wait_count(const struct keeper *keeper);
const struct keeper_wait *keeper_wait_at(const struct keeper *keeper, size_t index);
/* Returns how ranks were answered to the same request. */
const struct spmd_answers *keeper_answers(const struct keeper *keeper);
/* Arrivals at a collective that another member had given up. */
uint64_t keeper_late_count(const struct keeper *keeper);
/* A write to the file of arrivals failed. */
bool keeper_is_failed(const struct keeper *keeper);

#endif
