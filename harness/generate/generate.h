/* The generator under all scenarios: swarm testing.  For each seed it draws op weights, size
 * classes and lifetimes anew and switches some kinds off altogether, because tests that omit
 * features reach states that tests with all of them never do (Groce et al., ISSTA 2012). */
#ifndef HARNESS_GENERATE_GENERATE_H
#define HARNESS_GENERATE_GENERATE_H

#include "harness/generate/scenario.h"

enum { GENERATE_SIZE_CLASS_COUNT = 6 };

/* The numbers of a draw: plain data, at most 512 bytes, so that it fits in a scenario's state. */
struct generate {
    uint32_t weights[OP_KIND_COUNT]; /* 0 = switched off */
    uint32_t never_kinds;            /* bit per op_kind: not even in the place of another one */
    struct {
        uint64_t low_bytes, high_bytes;
        uint32_t weight;
    } sizes[GENERATE_SIZE_CLASS_COUNT];
    uint64_t delay_low_ns, delay_high_ns;
    uint32_t never_percent; /* of delays: a lost event */
    /* aims to keep so much of the device in use: frees above, allocates below */
    uint32_t fill_percent;
    uint32_t align_percent; /* of requests with an alignment above the granule */
    uint32_t program_count_max;
    uint8_t tag_count;
};

/* A limit on what may be drawn; zero-initialise, then set. */
struct generate_limits {
    uint32_t allowed_kinds; /* bit per op_kind; 0 = all but faults */
    const uint16_t
        *weights; /* percent of each kind's weight, as in struct setup; NULL = 100 each */
    uint64_t size_max_bytes; /* 0 = half the capacity */
    bool no_lost_events;
};

/* A kind that chance switched off may still come in the place of one that does not apply (a request
 * when there is no block to free, a release instead of the free of a held block); one with the
 * weight 0 in limits never does.  One of OP_ALLOC and OP_OUTPUT must be allowed. */
void generate_init(struct generate *generate, struct random *random, uint64_t capacity_bytes,
                   uint64_t granule_bytes, const struct generate_limits *limits);

/* True if the generator ever draws the kind. */
bool generate_draws(enum op_kind kind);

/* The next op for one host: references are resolved against the model.  Always makes one. */
struct op generate_next(struct generate *generate, struct random *random, const struct model *model,
                        uint8_t host);

/* A size that is interesting in this state: the largest hole, one granule more, one less, all that
 * is free, half of it, an exact fit of a freed neighbour. */
uint64_t generate_interesting_size(struct random *random, const struct model *model);

#endif
