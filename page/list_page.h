/* The page of one list or field trace: the list, run in a process of its own and recorded, and the
 * sections made of it. */
#ifndef PAGE_LIST_PAGE_H
#define PAGE_LIST_PAGE_H

#include "campaign/process/death.h"
#include "page/report_page.h"
#include "page/run_record.h"
#include "recording/step_axis.h"

/* A list that was read and, where there is one, run.  If the target dies or hangs, that is a
 * result, and the record until then is there. */
struct list_run {
    const char *path;
    struct recording recording;
    struct step_axis steps;
    struct run_record *record;       /* NULL: recording.why_no_list; then the rest is not set */
    bool has_died, is_stopped;       /* stopped: by --op-timeout or --trial-timeout */
    char death[DEATH_WORDS_BYTES];   /* how, in words */
    char signature[SIGNATURE_BYTES]; /* the same as a finding has it */
    uint32_t peak, peak_host;        /* run_record_peak() */
    struct run_holders holders;      /* then */
};

/* Each appends HTML. */
/* The verdict of the run in one line, what was run, and what the importer assumed, as the file does
 * not say it. */
void list_sections_head(const struct list_run *run, struct writing *html);
/* Appends where scripts draw the run whose data is `data`; against: another run's data, or NULL. */
void list_sections_pictures(const struct list_run *run, const char *data, const char *against,
                            struct writing *html);
/* Each out-of-memory and broken promise. */
void list_sections_failures(const struct list_run *run, struct writing *html);
/* Ops by kind, mitigations, who holds memory at the peak. */
void list_sections_tables(const struct list_run *run, struct writing *html);

#endif
