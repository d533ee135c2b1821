/* The functions that make the experiments of infer/list.h. */
#ifndef INFER_PRIVATE_EXPERIMENTS_H
#define INFER_PRIVATE_EXPERIMENTS_H

#include "infer/lab.h"

#define EXPERIMENT(name, needs, question, bounds) void experiment_##name(struct lab *lab);
#include "infer/list.h"
#undef EXPERIMENT

/* So often a refused request is repeated: defects of failed calls need not show at the first, and
 * the harness looks at all of it after one refusal in eight. */
enum { EXPERIMENT_REFUSAL_COUNT = 8 };

/* Events of experiments complete after this, unless they are lost. */
#define EXPERIMENT_DELAY_NS UINT64_C(1000000)

#endif
