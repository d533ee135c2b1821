/* Runs `explain` on a list, at the same time as the run that the page shows: both take about
 * equally long. */
#ifndef PAGE_LIST_WORDS_H
#define PAGE_LIST_WORDS_H

#include "campaign/process/background.h"
#include "page/report_page.h"

/* The process at work; zero before it begins.  options and recording outlive it. */
struct list_words {
    const struct page_options *options;
    const struct recording *recording;
    struct background background;
};

/* EXIT_KEPT, or EXIT_HARNESS after one message; deinit in both cases. */
enum exit_code list_words_start(struct list_words *words, const struct page_options *options,
                                const struct recording *recording);
/* Waits for them: as explain() of the options. */
enum exit_code list_words_take(struct list_words *words, struct writing *text,
                               char why[PAGE_WHY_BYTES]);
/* Ends the process wherever it is. */
void list_words_deinit(struct list_words *words);

#endif
