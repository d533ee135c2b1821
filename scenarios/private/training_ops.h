/* Queues the ops of one host of a training job, phase by phase.  See scenarios/training.c. */
#ifndef SCENARIOS_PRIVATE_TRAINING_OPS_H
#define SCENARIOS_PRIVATE_TRAINING_OPS_H

#include "scenarios/private/op_queue.h"
#include "scenarios/private/training_job.h"

enum training_tag {
    TRAINING_TAG_PARAMETERS = 0,
    TRAINING_TAG_OPTIMIZER,
    TRAINING_TAG_GRADIENTS,
    TRAINING_TAG_MICRO_GRADIENTS,
    TRAINING_TAG_ACTIVATIONS,
    TRAINING_TAG_GATHERED,
    TRAINING_TAG_BATCH,
    TRAINING_TAG_BUCKET,
    TRAINING_TAG_EXCHANGE,
    TRAINING_TAG_LOGITS,
    TRAINING_TAG_METRICS,
    TRAINING_TAG_LOGGED,
    TRAINING_TAG_CHECKPOINT,
    TRAINING_TAG_STEP, /* programs from here on */
    TRAINING_TAG_EVALUATE,
    TRAINING_TAG_REDUCE,
    TRAINING_TAG_SEND,
    TRAINING_TAG_COUNT
};
extern const char *const training_tag_names[TRAINING_TAG_COUNT];

/* The things that a host can name: each by the op that made it. */
enum training_slot {
    SLOT_PARAMETERS = 0,
    SLOT_OPTIMIZER,
    SLOT_NEW_PARAMETERS, /* without donation */
    SLOT_NEW_OPTIMIZER,
    SLOT_GRADIENTS,
    SLOT_MICRO_GRADIENTS,
    SLOT_ACTIVATIONS,
    SLOT_GATHERED,
    SLOT_LOGITS,
    SLOT_EVALUATE,
    SLOT_REDUCE,
    SLOT_SEND,
    SLOT_STEP_EVENT,
    SLOT_LAST_EVENT, /* of the last program of the step */
    SLOT_BATCH_FIRST,
    SLOT_HELD_FIRST = SLOT_BATCH_FIRST + TRAINING_PREFETCH_COUNT_MAX,
    SLOT_PROGRAM_FIRST = SLOT_HELD_FIRST + TRAINING_HELD_COUNT_MAX,
    SLOT_COUNT = SLOT_PROGRAM_FIRST + TRAINING_CACHE_COUNT_MAX,
    SLOT_NOWHERE = SLOT_COUNT
};

enum training_state {
    HOST_RUNS = 0,
    HOST_DIED, /* of an error */
    HOST_LEFT, /* without a word */
    HOST_WAITS /* in a collective that somebody will never join */
};

struct training_host {
    uint32_t slots[SLOT_COUNT];               /* op numbers; OP_NONE */
    uint8_t shapes[TRAINING_CACHE_COUNT_MAX]; /* of the programs, 1 + the shape; 0 = no program */
    uint8_t newest;                           /* of the programs */
    uint8_t state;                            /* enum training_state */
};

/* Plain data; all zero, but for job, is the start. */
struct training {
    struct training_job job;
    struct op_queue queue;
    uint8_t queue_slots[OP_QUEUE_COUNT_MAX]; /* which slot an entry fills; SLOT_NOWHERE */
    uint32_t noted;                          /* entries before it have filled theirs */
    uint32_t step;
    uint8_t phase;
    uint32_t micro_batch; /* of the phase, which comes again for each */
    uint32_t turn, host;  /* whose turn it is */
    /* Bits per host: entered the collective of this phase, or its pair with the next stage, with
     * the previous one. */
    uint64_t joined, joined_next, joined_previous;
    uint32_t last_op; /* what it did last; OP_NONE */
    uint8_t last_kind;
    uint16_t last_group;
    bool is_open;
    struct training_host hosts[OP_HOST_COUNT_MAX];
};

/* Phases of a job, in this order; those from BEGIN on are of a step.  In each all hosts take their
 * turn before the next one begins: so those that a collective waits for come before its members do
 * anything else.  The turns of BACKWARD begin with the last host. */
enum training_phase {
    PHASE_START = 0,
    PHASE_BEGIN,
    PHASE_STEP,
    PHASE_FORWARD,  /* activations go from stage to stage; comes for each micro-batch */
    PHASE_BACKWARD, /* gradients come back */
    PHASE_REDUCE,
    PHASE_END,
    PHASE_EVALUATE,
    PHASE_EVALUATED,
    PHASE_CHECKPOINT,
    TRAINING_PHASE_COUNT
};

/* Queues what the host whose turn it is does in this phase, which may be nothing. */
void training_queue_phase(struct training *training, struct random *random,
                          const struct scenario_view *view);
/* The axis of the collective of the phase, data or tensor; TRAINING_AXIS_COUNT: it has none. */
enum training_axis training_phase_axis(const struct training *training);
/* Return true when the stages of a pipeline exchange something in the phase, and when the host
 * lacks a neighbour so far. */
bool training_phase_has_pairs(const struct training *training);
bool training_lacks_neighbour(const struct training *training, uint32_t host);

#endif
