/* A finding for the allocator's maintainer: a program of its own API that shows it, built and run,
 * and a report. */
#ifndef BUG_REPORT_BUG_H
#define BUG_REPORT_BUG_H

#include "recording/recording.h"

/* Texts belong to the caller. */
struct bug_options {
    struct recording_options reading;
    const char *path;
    const char *output; /* the folder that is written; NULL: named after the list */
};

/* Writes the folder and prints what the program shows.  EXIT_KEPT: it shows the defect;
 * EXIT_UNKNOWN: it does not; otherwise the usual codes. */
enum exit_code bug_report_write(const struct bug_options *options);

#endif
