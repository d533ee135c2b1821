/* The lists of allocations in a report: entries with operator, shape, sizes and type. */
#ifndef FORMATS_XLA_PRIVATE_HBM_REPORT_LIST_H
#define FORMATS_XLA_PRIVATE_HBM_REPORT_LIST_H

#include "formats/common/phrase.h"
#include "formats/xla/private/hbm_report.h"

/* "Largest program allocations in hbm:", or "... arguments and outputs ...", and the entries below.
 * False: it is neither. */
bool hbm_report_parse_list(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Unpadded size: S" of an entry that began before the text did. */
bool hbm_report_parse_entry_end(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Peak buffers:" of XLA:GPU and the buffers below; nothing, where there are none. */
void hbm_report_parse_peak(struct phrase_cursor *cursor, struct hbm_report *report);
/* "10.04GiB", "24.6KiB", "112B": sizes with the units of XLA:GPU, after any gap. */
bool hbm_report_take_binary_size(struct phrase_cursor *cursor, struct compile_size *size);

#endif
