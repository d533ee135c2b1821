/* What a size that is named by what fits comes to in a model (harness/op/fit.h). */
#ifndef HARNESS_MODEL_FIT_BYTES_H
#define HARNESS_MODEL_FIT_BYTES_H

#include "harness/model/model.h"
#include "harness/op/fit.h"

/* What it comes to now, at least 1: a granule where there is no such block, and nothing is taken
 * off where nothing would be left.  O(1), or O(blocks) after a change for FIT_HOLE. */
uint64_t fit_bytes(const struct fit *fit, const struct model *model);

#endif
