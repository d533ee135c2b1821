/* The sections of the page of one list: how it ended, its facts and tables. */
#ifndef PAGE_LIST_SECTIONS_H
#define PAGE_LIST_SECTIONS_H

#include "harness/base/writing.h"
#include "page/list_run.h"

/* Each appends HTML. */
/* The verdict of the run in one line, and what was run. */
void list_sections_head(const struct list_run *run, struct writing *html);
/* Appends what the importer assumed, as the file does not say it; nothing if it assumed nothing. */
void list_sections_assumed(const struct list_run *run, struct writing *html);
/* Appends where scripts draw the run whose data is `data`; against: another run's data, or NULL. */
void list_sections_pictures(const struct list_run *run, const char *data, const char *against,
                            struct writing *html);
/* Each out-of-memory and broken promise. */
void list_sections_failures(const struct list_run *run, struct writing *html);
/* Ops by kind, mitigations, who holds memory at the peak. */
void list_sections_tables(const struct list_run *run, struct writing *html);

#endif
