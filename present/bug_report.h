/* The report of a finding in Markdown: what a maintainer of the allocator reads. */
#ifndef PRESENT_BUG_REPORT_H
#define PRESENT_BUG_REPORT_H

#include "harness/base/writing.h"
#include "present/bug.h"

/* What stands in it besides the finding; texts of any bytes, and lines where it says so. */
struct bug_circumstances {
    const char *hbmstress; /* its version */
    const char *compiler;  /* a line; "" = not known */
    const char *sources;   /* a line: which versions of them; "" = not known */
    const char *system;    /* a line */
    const char *program;   /* lines: the source */
    const char *file;      /* its name */
    const char *build;     /* the command that was run, with its names of variables */
    const char *variables; /* lines: NAME=VALUE of those; "" = there are none */
    const char *run;       /* the command */
    const char *output;    /* lines: what it printed */
    const char *end;       /* how it ended: "exit status 1", "signal 11 (Segmentation fault)" */
    const char *repeat;    /* the line of hbmstress that repeats the finding */
    const char *list;      /* lines: the ops */
};

void bug_report_append(const struct bug *bug, const struct bug_circumstances *circumstances,
                       struct writing *text);

/* Appends the picture of the heap right after the last call: a bar, and a row for each range. Lines
 * of text without markup; nothing where blocks have no places. */
void bug_picture_append(const struct bug *bug, struct writing *text);

#endif
