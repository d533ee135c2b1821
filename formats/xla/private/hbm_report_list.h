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

#endif
