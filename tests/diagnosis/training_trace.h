/* Op lists as training jobs and servers make them, by seed: forward, backward, optimizer,
 * evaluation, checkpoints, logging, loaders and caches, with one planted cause of trouble or none.
 *
 * The generator knows what jobs do and nothing of how causes are told: it includes no header of
 * diagnosis/ and shares no number with it. */
#ifndef TESTS_DIAGNOSIS_TRAINING_TRACE_H
#define TESTS_DIAGNOSIS_TRAINING_TRACE_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

/* What is wrong with a job; each is named as the cause in diagnosis/causes/ that should be told. */
enum training_plant {
    TRAINING_HEALTHY = 0,    /* never runs out of memory */
    TRAINING_EXHAUSTED,      /* healthy, on a device that is too small for a step of it */
    TRAINING_LEAK,           /* blocks of some steps are never freed */
    TRAINING_GROWING_SET,    /* each batch is longer than the one before */
    TRAINING_STILL_GROWING,  /* a cache without a bound, fed at random */
    TRAINING_COPIES,         /* parameters or optimizer state are made again beside the old ones */
    TRAINING_SPIKE,          /* one request far above all that was before */
    TRAINING_REFERENCES,     /* what was freed is still held */
    TRAINING_QUEUED_FREES,   /* each of many frees waits for an event of its own that is lost */
    TRAINING_HEAD_OF_LINE,   /* many frees wait for one event of a small op */
    TRAINING_PADDING,        /* the blocks are much larger than what is in them */
    TRAINING_FRAGMENTED,     /* small blocks that stay lie between what was freed */
    TRAINING_ROUNDED_UP,     /* the request's size class is much larger than the request */
    TRAINING_HOST_SKEW,      /* one host has more than its peers */
    TRAINING_OUT_OF_PLACE,   /* a held block lies where a program's stack must be */
    TRAINING_PROGRAM_RELOAD, /* a program was evicted and is needed again */
    TRAINING_REFUSED_THOUGH_IT_FITS, /* the target refuses what fits */
    TRAINING_PLANT_COUNT
};

struct training_trace {
    struct setup setup;
    struct op_list ops;
    enum training_plant plant;
    uint32_t step_count;  /* that the list has, the last maybe in part; counted from its window */
    uint32_t plant_count; /* how often the plant acted: leaking steps, frees, ... */
    bool has_plant_tag;
    uint8_t plant_tag; /* of the blocks that leak or grow */
    uint32_t plant_op; /* that the others wait for; OP_NONE */
    bool ends_in_oom;  /* whether the capacity was chosen so */
};

/* The trace of that seed with about op_count_max ops (100 or more) at most.  The caller deinits. */
void training_trace_make(struct training_trace *trace, uint64_t seed, enum training_plant plant,
                         uint32_t op_count_max);
void training_trace_deinit(struct training_trace *trace);

/* "leak"; "healthy". */
const char *training_plant_name(enum training_plant plant);

#endif
