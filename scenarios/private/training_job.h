/* Describes a training job before it starts: its options as numbers, its mesh of hosts, and the
 * sizes that follow from both.  See scenarios/training.c. */
#ifndef SCENARIOS_PRIVATE_TRAINING_JOB_H
#define SCENARIOS_PRIVATE_TRAINING_JOB_H

#include "harness/generate/scenario_option.h"

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

#endif
