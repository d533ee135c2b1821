/* Records what a list does to its devices over time, while it runs: samples at even distances, and
 * next to them the few things that samples would miss (the largest rises, the peak, who evicted
 * what, at which ages blocks were freed).
 *
 * A history takes at most HISTORY_SAMPLE_COUNT_MAX * 5.2 KiB = 1.3 MiB of host memory for each host
 * that has ops, however long the list is.  When a host's array is full every two samples become
 * one, and the distance doubles. */
#ifndef DIAGNOSIS_HISTORY_H
#define DIAGNOSIS_HISTORY_H

#include "harness/model/model.h"
#include "harness/run/run.h"

enum {
    HISTORY_SAMPLE_COUNT_MAX = 256, /* even */
    HISTORY_RISE_COUNT_MAX = 8,
    HISTORY_EVICTION_COUNT_MAX = 64,
    HISTORY_AGE_COUNT = 33 /* ages 0, 1, 2..3, 4..7, ... ops */
};

/* The state during the ops [first_op, first_op of the next sample).  The bytes of a tag include
 * queued frees.  A tag's floor and top are exact for what the ops of that tag did.  A change by an
 * event alone is seen at the next op of the tag, or when the next sample begins.  In-use is taken
 * at the sample's end, without retired memory and fillers (SETUP_FILLER_NAME), here as everywhere.
 * Numbers that need a walk over the blocks are taken at its beginning. */
struct history_sample {
    uint64_t first_op;
    uint64_t floor_bytes[OP_TAG_COUNT], top_bytes[OP_TAG_COUNT];
    uint32_t counts[OP_TAG_COUNT]; /* the fewest blocks of the tag */
    uint64_t in_use_bytes, top_in_use_bytes;
    uint64_t free_bytes, stack_bytes, largest_hole_bytes; /* at the beginning */
    uint32_t hole_count, dying_count, program_count;      /* the same; programs on the device */
    uint32_t made_count, freed_count, executed_count;     /* during the sample */
};

/* An op after which more was in use than before. */
struct history_rise {
    uint32_t op;
    uint64_t bytes;             /* by which in-use rose */
    uint64_t before_bytes;      /* in use before */
    uint64_t peak_before_bytes; /* the most in use by then */
};
struct history_eviction {
    uint32_t program; /* the op that loaded it */
    uint32_t op;      /* that evicted it */
};

struct history_host {
    /* NULL: no op of this host yet; HISTORY_SAMPLE_COUNT_MAX of them */
    struct history_sample *samples;
    uint32_t count;    /* the last one is still open */
    uint64_t interval; /* ops; a power of two */
    uint64_t in_use_bytes, peak_bytes;
    uint32_t peak_op;
    uint64_t largest_request_bytes; /* of those that were granted; donations are none */
    /* largest first, the earlier of equal ones */
    struct history_rise rises[HISTORY_RISE_COUNT_MAX];
    uint32_t rise_count;
    struct history_eviction evictions[HISTORY_EVICTION_COUNT_MAX]; /* the last ones, oldest first */
    uint32_t eviction_count;
    uint32_t deaths[OP_TAG_COUNT]
                   [HISTORY_AGE_COUNT]; /* how many blocks of a tag were freed at that age */
};
struct history {
    struct history_host hosts[OP_HOST_COUNT_MAX];
    uint64_t op_count;
    unsigned
        filler_tag; /* setup_filler_tag() of the run that is recorded; known from its first op on */
    const struct op_list *whole; /* the list as it goes on behind what was run, with the same
                                    numbers; NULL = nobody knows */
    bool has_lanes;              /* calls overlapped: what they did is seen when they were judged */
};

/* The effects of an op on its host, for callers that have no run. tag_bytes and tag_counts have
 * OP_TAG_COUNT places. */
struct history_note {
    uint32_t host, op;
    bool makes, frees,
        executes; /* a block or program was made; freed or donated; a program was executed */
    uint8_t made_tag, freed_tag;
    uint64_t freed_age;       /* ops since the block that was freed was made */
    uint64_t requested_bytes; /* 0: it is no request */
    const uint64_t *tag_bytes;
    uint64_t in_use_bytes;
};

/* The caller's storage of 2.2 MiB; init and deinit pair. */
void history_init(struct history *history);
void history_deinit(struct history *history);

/* True if the samples of each host ascend, no floor is above its top, no peak below what is in use,
 * and the rises descend.  O(samples * tags); for tests. */
bool history_invariants_hold(const struct history *history);

/* Takes in the last op of the run; called after each run_step(), or by a listener.  O(1), O(device
 * calls) when a program is evicted, and O(tags + blocks) once in history_host.interval ops. */
void history_step(struct history *history, const struct run *run);
/* Does the same for callers that have no run; ops ascend.  Holes, programs and evictions stay
 * zero. */
void history_take(struct history *history, const struct history_note *note);

/* The age class of so many ops; the youngest age of a class. */
uint32_t history_age_class(uint64_t age);
uint64_t history_age_of(uint32_t age_class);

#endif
