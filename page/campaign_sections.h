/* The sections of a campaign's page, in the order of the page. */
#ifndef PAGE_CAMPAIGN_SECTIONS_H
#define PAGE_CAMPAIGN_SECTIONS_H

#include "harness/base/writing.h"
#include "page/campaign_lines.h"
#include "page/report_page.h"

/* The verdict in one line, and the facts. */
void campaign_head(struct writing *html, const struct campaign_lines *lines);
/* Trials of all parts: those that the results file leaves out, too. */
uint64_t campaign_trials(const struct campaign_lines *lines);
/* Findings that the baseline does not know. */
size_t campaign_new_findings(const struct campaign_lines *lines);

/* Appends both campaigns next to each other. */
void campaign_against(struct writing *html, const struct campaign_lines *now,
                      const struct campaign_lines *before);

/* A card for each finding, as many as fit into length_max bytes of html.  A plug-in is
 * loaded only where they name it. */
void campaign_findings(struct writing *html, const struct campaign_lines *lines,
                       const struct page_options *options, size_t length_max);

/* Appends why out-of-memories were justified. */
void campaign_ooms(struct writing *html, const struct campaign_lines *lines);

/* Memory in use over all trials of each job, where the campaign left its checkpoint and this build
 * wrote it. */
void campaign_memory(struct writing *html, const struct campaign_lines *lines);

/* A table of all rules. */
void campaign_rules(struct writing *html, const struct campaign_lines *lines);

void campaign_tables(struct writing *html, const struct campaign_lines *lines);

#endif
