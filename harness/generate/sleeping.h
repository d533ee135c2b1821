/* Slips sleeps and wakes into the ops of any scenario, if the target sleeps (contract.sleeps). Most
 * sleeps are followed by another one at once.  Where a trial may have faults, a device call of some
 * of them is refused. */
#ifndef HARNESS_GENERATE_SLEEPING_H
#define HARNESS_GENERATE_SLEEPING_H

#include "harness/generate/faulting.h"
#include "harness/generate/scenario.h"

enum {
    /* A sleep is wanted once in so many ops, and one more for each block: it touches them all. */
    SLEEPING_PERIOD = 150,
    /* so long it waits for a moment at which nothing is in use, which it then brings about */
    SLEEPING_PATIENCE = 16,
    SLEEPING_REFUSED_PERCENT = 40, /* of sleeps and wakes meet a refused call */
    SLEEPING_NTH_MAX = 4,          /* the call that is refused */
    SLEEPING_AGAIN_PERCENT = 60    /* of wakes are followed by another sleep */
};

/* An open value: a stream of its own, so that the scenario's draws are the same with and without
 * sleeps. */
struct sleeping {
    struct random random;
    uint32_t fault_kinds;  /* as in struct fault_options; those that refuse a call count */
    uint32_t waited_count; /* ops since the sleep is wanted */
    uint8_t host;          /* that is to sleep, or sleeps */
    uint8_t fault;         /* enum fault_kind, the last one armed */
    bool is_off;           /* the scenario decides who sleeps */
    bool is_wanted;
    bool has_woken; /* and nothing was drawn since */
    bool is_armed;  /* the fault, as far as it did not strike */
    bool is_next;   /* the fault came, and what it is armed for did not */
};

void sleeping_init(struct sleeping *sleeping, const struct fault_options *options, uint64_t seed);

/* Whether an op comes before the scenario's next one: true sets *op.  Between a sleep and its wake
 * every op is.  To be asked again for the op after it, with a new view. */
bool sleeping_next(struct sleeping *sleeping, const struct scenario_view *view, struct op *op);

#endif
