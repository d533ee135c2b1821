/* The sections of the page of one list: how it ended, its facts and tables. */
#ifndef PAGE_LIST_SECTIONS_H
#define PAGE_LIST_SECTIONS_H

#include "harness/base/writing.h"
#include "page/list_run.h"

/* Each appends HTML. */
/* The verdict of the run in one line, and what was run. */
void list_sections_head(const struct list_run *run, struct writing *html);
/* What the file does not say and the list has; nothing where there is nothing. */
void list_sections_assumed(const struct list_run *run, struct writing *html);
/* Where the scripts draw the run whose data is `data`; against: that of another run, or NULL. */
void list_sections_pictures(const struct list_run *run, const char *data, const char *against,
                            struct writing *html);
/* Each out-of-memory and broken promise. */
void list_sections_failures(const struct list_run *run, struct writing *html);
/* Ops by kind, mitigations, who holds memory at the peak. */
void list_sections_tables(const struct list_run *run, struct writing *html);

#endif
