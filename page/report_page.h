/* Makes the page of `report`: each kind of PATH appends its own sections to the open page. */
#ifndef PAGE_REPORT_PAGE_H
#define PAGE_REPORT_PAGE_H

#include "harness/base/writing.h"
#include "recording/recording.h"

/* How to make a page.  Texts belong to the caller.  The functions give the words of the page: */
enum { PAGE_WHY_BYTES = 512 };
struct page_options {
    struct recording_options reading;
    const char *path, *against; /* against: NULL = nothing */
    /* Appends what explain prints of the recording of path.  EXIT_KEPT, also where the target died
     * or hung: then nothing is appended, and why says how; or another code after one message. */
    enum exit_code (*explain)(const void *context, const struct recording *recording,
                              struct writing *text, char why[PAGE_WHY_BYTES]);
    /* Like explain, for two files: path and the earlier one. */
    enum exit_code (*compare)(const void *context, const char *against, struct writing *text);
    const void *context; /* of both */
};

/* Appends the whole page of the directory of a campaign, running or ended, to *html; with
 * options->against next to that of an earlier one.  EXIT_KEPT, or another code after one message.
 */
enum exit_code report_campaign(const struct page_options *options, struct writing *html);

/* Like report_campaign(), for a list or field file; its own process runs it on the target. */
enum exit_code report_list(const struct page_options *options, struct writing *html);

/* Appends the data of one run (present/page/README.md) of the file, for a page that shows more than
 * one list.  False: it could not be run, and *why (a line) says why; nothing is appended. */
enum { REPORT_WHY_BYTES = 256 };
bool report_run_data(const struct page_options *options, const char *path, struct writing *json,
                     char why[REPORT_WHY_BYTES]);

#endif
