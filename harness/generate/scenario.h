/* One adversarial workload: a source of ops that chooses from its random source and the model,
 * never from the target. */
#ifndef HARNESS_GENERATE_SCENARIO_H
#define HARNESS_GENERATE_SCENARIO_H

#include "harness/base/random.h"
#include "harness/model/model.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

/* The facts that a scenario sees when it chooses. */
struct scenario_view {
    const struct model *const *hosts; /* host_count of them */
    uint32_t host_count;
    uint32_t op_number; /* the number that the chosen op will get */
};

enum { SCENARIO_STATE_BYTES = 49152 };

struct scenario_option;

/* A descriptor; all of it is constant. */
struct scenario {
    const char *name;
    const char *summary; /* what it does to an allocator: one sentence */
    const char *source;  /* the field report or published test that it comes from */
    const char *chip;    /* when the user names neither chip nor capacity */
    /* A trial ends after so many ops, or when next returns false.  At least 1: a trial of no ops
     * would keep every promise, so what leaves this out is not run (CHECK). */
    uint32_t ops_per_trial;
    /* The op count, all trials together, of a run that bounds neither ops nor trials nor time; 0 =
     * as many as for any other scenario.  It is for trials that come to their point late. */
    uint32_t op_count_default;
    bool needs_programs; /* pointless on a target without programs: the run skips it and says so */
    /* Its hosts share a device.  Only targets can that sleep or grow in regions, perhaps with an
     * option such as `sleep`. */
    bool shares_device;
    bool is_run_once;   /* its trials are so long that none is run a second time to compare */
    bool takes_weights; /* some of its ops come from the generator, with the weights of its setup */
    /* Its job has steps: setup->until_step says how many, and such a trial is as long as they are.
     */
    bool counts_steps;
    bool has_clocks; /* its hosts have a time of their own, so that it runs without lanes */
    /* The options that a user may set (scenario_option.h); the last has no name.  NULL: none. */
    const struct scenario_option *options;
    /* Returns, in one line, why options that are each possible do not go together; NULL: they do.
     * May be NULL. */
    const char *(*refuses)(const struct setup *setup);

    /* Draws what this trial will be like.  May change setup (host_count, tag names, capacity when
     * capacity_is_free, target options that are not set) but nothing that the user fixed.  A free
     * capacity is that of the scenario's chip, or 0, which asks for a small device.
     * state: SCENARIO_STATE_BYTES of the caller's, zeroed, aligned for any type. */
    void (*begin)(void *state, struct random *random, struct setup *setup, bool capacity_is_free);

    /* Chooses the next op.  False: the trial is over.  Must be total: whatever the model says, it
     * returns some op or ends. */
    bool (*next)(void *state, struct random *random, const struct scenario_view *view,
                 struct op *op);
};

#endif
