/* The calling thread reads these about the last call that failed. */
#ifndef ALLOCATOR_PRIVATE_FAILURE_H
#define ALLOCATOR_PRIVATE_FAILURE_H

#include "allocator/private/state.h"

/* Each sets this thread's failure and returns the matching result.  The state is read now. */
enum hbm_result hbm_fail_memory(struct hbm *hbm, enum hbm_failure_form form,
                                uint64_t requested_bytes, const char *name);
enum hbm_result hbm_fail_invalid(const struct hbm *hbm, const char *text);
enum hbm_result hbm_fail_unavailable(const struct hbm *hbm, const char *text);

#endif
