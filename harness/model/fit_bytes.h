/* Computes the size that harness/op/fit.h names by what fits in a model. */
#ifndef HARNESS_MODEL_FIT_BYTES_H
#define HARNESS_MODEL_FIT_BYTES_H

#include "harness/model/model.h"
#include "harness/op/fit.h"

/* Returns the size that it names now, at least 1: a granule if there is no such block, and it
 * subtracts nothing if nothing would be left.  O(1), or O(blocks) after a change for FIT_HOLE. */
uint64_t fit_bytes(const struct fit *fit, const struct model *model);

#endif
