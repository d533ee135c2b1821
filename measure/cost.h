/* Measures what the calls of a target cost on an op list: the target alone, without device, model
 * or rules. */
#ifndef MEASURE_COST_H
#define MEASURE_COST_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

/* Medians of COST_REPEAT_COUNT runs. */
enum { COST_REPEAT_COUNT = 5 };
struct cost {
    uint64_t op_count;     /* requests and frees of one run; 0: nothing was measured */
    uint64_t ns;           /* of all of them */
    uint64_t instructions; /* the same, in user mode; 0: this machine does not count them */
};

/* Calls the target's table with the requests and frees of the list, each free at once, over
 * services that do nothing.  Nothing is measured of a target that takes regions or orders frees by
 * streams, which such services cannot serve.  In this process. */
void cost_measure(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  struct cost *cost);

/* Opens the target over device services that do as little as can be (host memory from malloc,
 * copies that copy nothing, events that are always done), with the capacity, granule and options of
 * the setup.  False, and why in reason (reason_bytes of room): it refuses the setup, or takes
 * regions or orders frees by streams, which such services cannot serve. */
bool bare_open(const struct target *target, const struct setup *setup,
               struct target_instance **instance, char *reason, size_t reason_bytes);

#endif
