/* Reads one list of a page, runs it in a process of its own, and records it. */
#ifndef PAGE_LIST_RUN_H
#define PAGE_LIST_RUN_H

#include "campaign/process/death.h"
#include "page/report_page.h"
#include "page/run_holders.h"
#include "page/run_record.h"
#include "recording/recording.h"
#include "recording/step_axis.h"

/* Runs a list and records it.  If the target dies or hangs, that is a result, and the record until
 * then is there. */
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

/* Reads the file.  EXIT_KEPT, or another code after one message; deinit in both cases. */
enum exit_code list_run_init(struct list_run *run, const struct page_options *options,
                             const char *path);
/* Runs what was read, unless there is no list.  The same codes. */
enum exit_code list_run_execute(struct list_run *run, const struct page_options *options);
void list_run_deinit(struct list_run *run);

#endif
