/* Checks what must hold of libhbm whatever is called: counters, reports, errors and shapes agree in
 * all the ways that there are to ask. */
#ifndef FUZZ_HBM_CALLS_PRIVATE_CHECK_H
#define FUZZ_HBM_CALLS_PRIVATE_CHECK_H

#include "allocator/hbm.h"
#include "allocator/hbm_shape.h"

/* Each returns NULL, or what does not hold as a text that stays. */

/* Checks one heap, at any time: its own invariants, its counters' sum, and that it holds
 * *host_bytes of host memory, which asking may change: what completed is taken in. */
const char *calls_check_heap(struct hbm *hbm, const size_t *host_bytes);

/* After a call with this result: the last failure is of a form that the result can have, and has a
 * text. */
const char *calls_check_failure(const struct hbm *hbm, enum hbm_result result);

/* The visited report and the printed one: sorted, in sum what the counters say, each line
 * printable.  Sets *result to that of the visit; a refused one has visited nothing. */
const char *calls_check_report(struct hbm *hbm, enum hbm_result *result);

/* A valid shape prints as what is read as the same shape, and padding never makes it smaller. */
const char *calls_check_shape(const struct hbm_shape *shape);

#endif
