/* Describes a training job before it starts: its options as numbers, its mesh of hosts, and the
 * sizes that follow from both.  See scenarios/training.c. */
#ifndef SCENARIOS_PRIVATE_TRAINING_H
#define SCENARIOS_PRIVATE_TRAINING_H

#include "harness/generate/scenario_option.h"
#include "scenarios/private/parts.h"

enum training_axis { AXIS_DATA = 0, AXIS_TENSOR, AXIS_PIPELINE, TRAINING_AXIS_COUNT };

/* Groups of data and tensor are all hosts of that axis.  Those of the pipeline are pairs: a stage
 * and the next one, which is the next host.  64 hosts need at most 124 groups. */

enum {
    TRAINING_HELD_COUNT_MAX = 32,
    TRAINING_PREFETCH_COUNT_MAX = 8,
    TRAINING_CACHE_COUNT_MAX = 16,
    TRAINING_GROUPS_PER_AXIS = 100 /* group numbers: axis * this + the first host */
};

enum training_sharding { SHARDING_NONE = 0, SHARDING_OPTIMIZER, SHARDING_FULL };
enum training_checkpoint { CHECKPOINT_ALL = 0, CHECKPOINT_WEIGHTS, CHECKPOINT_SHARDS };

/* Plain data.  Sizes are of one host, in bytes; 0 where the job has none of it. */
struct training_job {
    uint32_t step_count, host_count;
    uint32_t axes[TRAINING_AXIS_COUNT]; /* hosts on each; their product is host_count */
    uint32_t batch, sequence, accumulation, prefetch, held, cache, shapes, model_percent;
    uint32_t shape_every, evaluation_every, checkpoint_every, log_every, reduce_every; /* steps */
    bool donates, recomputes;
    uint8_t sharding, checkpoint;
    uint64_t leaking;               /* bit per host: its logger keeps what it logs */
    uint32_t leaving, leaving_step; /* the host that leaves without a line, killed or not, and when;
                                       OP_NONE: none */
    uint64_t
        sized_for_bytes; /* capacity whose parts the sizes are; 0: the device's, not yet known */
    uint64_t parameter_bytes, optimizer_bytes, gradient_bytes, micro_gradient_bytes, bucket_bytes;
    uint64_t gathered_bytes; /* of sharded parameters, for a step */
    uint64_t activation_bytes, batch_bytes, exchange_bytes, logit_bytes, metric_bytes, leak_bytes;
    uint64_t checkpoint_bytes[2]; /* staged at once: parameters, optimizer */
    uint64_t image_bytes, step_stack_bytes, other_stack_bytes;
    uint64_t step_ns; /* from one step to the next */
};

extern const struct scenario_option training_options[];
/* Refuses a setup as in struct scenario. */
const char *training_refuses(const struct setup *setup);

/* Reads the options of the setup, or draws what they leave open where it does not say until when;
 * declares the groups of the mesh.  Sizes come later. */
void training_job_begin(struct training_job *job, const struct scenario *scenario,
                        struct random *random, struct setup *setup);
/* The sizes, once the device is known. */
void training_job_size(struct training_job *job, const struct model *model);

/* Returns the tokens in a sequence of the step, as its shape has them. */
uint32_t training_sequence(const struct training_job *job, uint32_t step);
/* Returns the step's shape: 0..shapes - 1. */
uint32_t training_shape(const struct training_job *job, uint32_t step);

/* The group of the host on that axis, data or tensor, which has more than one host; and its
 * members. */
uint16_t training_group(const struct training_job *job, enum training_axis axis, uint32_t host);
uint64_t training_members(const struct training_job *job, enum training_axis axis, uint32_t host);

/* Return true when the host's stage is followed by one, which is host + 1, or follows one. */
bool training_has_next(const struct training_job *job, uint32_t host);
bool training_has_previous(const struct training_job *job, uint32_t host);
/* The pair of that host and the next one. */
uint16_t training_pair(uint32_t host);

/* Queues the ops of one host of a training job, phase by phase.  See scenarios/training.c. */
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

#endif
