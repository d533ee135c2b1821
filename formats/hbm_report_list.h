/* The lists of allocations in a report: entries with operator, shape, sizes and type. */
#ifndef FORMATS_HBM_REPORT_LIST_H
#define FORMATS_HBM_REPORT_LIST_H

#include "formats/hbm_report.h"
#include "formats/phrase.h"

/* "Largest program allocations in hbm:", or "... arguments and outputs ...", and the entries below.
 * False: it is neither. */
bool hbm_report_parse_list(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Unpadded size: S" of an entry that began before the text did. */
bool hbm_report_parse_entry_end(struct phrase_cursor *cursor, struct hbm_report *report);

#endif
