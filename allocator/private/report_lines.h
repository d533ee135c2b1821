/* The report of all blocks, as values and as text, with the lock already held. */
#ifndef ALLOCATOR_PRIVATE_REPORT_LINES_H
#define ALLOCATOR_PRIVATE_REPORT_LINES_H

#include "allocator/private/state.h"

typedef void hbm_report_visitor(void *context, const struct hbm_report_entry *entry);

/* Visits every block, largest first.  False: no host memory to sort in, and none was visited. */
bool hbm_report_visit_locked(struct hbm *hbm, hbm_report_visitor *visit, void *context);

/* Bytes of the blocks in each state, by enum hbm_state. */
void hbm_report_sum_locked(struct hbm *hbm, uint64_t bytes[HBM_STATE_COUNT]);

void hbm_report_print_locked(struct hbm *hbm, const struct hbm_sink *sink);

#endif
