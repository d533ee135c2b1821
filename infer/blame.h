/* Which line of a contract a finding refutes. */
#ifndef INFER_BLAME_H
#define INFER_BLAME_H

#include "infer/inference.h"

/* The field; FIELD_COUNT: the promise of the rule has no field of its own, every target makes it.
 * The finding is one of the experiment, under the declared contract. */
enum inference_field blame_find(const struct inference *inference, enum experiment_number number,
                                const struct run_finding *finding);

/* Whether the finding says that a promise is broken: the refusals of an experiment that looks for a
 * limit do not. */
bool blame_counts(enum experiment_number number, const struct run_finding *finding);

#endif
