/* What `report` makes of its PATH: each kind of PATH appends its sections to the open page. */
#ifndef PAGE_REPORT_PAGE_H
#define PAGE_REPORT_PAGE_H

#include "cli/arguments.h"
#include "harness/base/writing.h"

/* Appends the whole page of the directory of a campaign, running or ended, to *html; with
 * arguments->against next to that of an earlier one.  EXIT_KEPT, or another code after one message.
 */
enum exit_code report_campaign(const struct arguments *arguments, struct writing *html);

/* The same of a list or of a field file, which is run on its target in a process of its own. */
enum exit_code report_list(const struct arguments *arguments, struct writing *html);

/* Appends the data of one run (reports/page/README.md) of the file, for a page that shows more than
 * one list.  False: it could not be run, and *why (a line) says why; nothing is appended. */
enum { REPORT_WHY_BYTES = 256 };
bool report_run_data(const struct arguments *arguments, const char *path, struct writing *json,
                     char why[REPORT_WHY_BYTES]);

#endif
