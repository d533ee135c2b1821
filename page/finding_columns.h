/* The interleaving of a finding: what every lane of its list did, in columns. */
#ifndef PAGE_FINDING_COLUMNS_H
#define PAGE_FINDING_COLUMNS_H

#include "harness/base/writing.h"
#include "page/report_page.h"

/* Runs the list at that path, which has lanes, in a process of its own and appends the columns.
 * False: it could not be run; nothing is appended. */
bool finding_columns(const struct page_options *options, const char *path, struct writing *text);

#endif
