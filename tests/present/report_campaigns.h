/* Campaigns to print, made up: what every form of report must be able to say. */
#ifndef TESTS_PRESENT_REPORT_CAMPAIGNS_H
#define TESTS_PRESENT_REPORT_CAMPAIGNS_H

#include "present/report.h"

/* A campaign, and what its JUnit form counts. */
struct named_campaign {
    const char *name;
    struct report_campaign campaign;
    unsigned suites, tests, failures, errors, skipped;
};
enum { CAMPAIGN_EMPTY, CAMPAIGN_GOOD, CAMPAIGN_FINDINGS, CAMPAIGN_HOSTILE, CAMPAIGN_REVIEWED };
enum { NAMED_CAMPAIGN_COUNT = 5 };

/* "empty", "good", "findings" (every kind), "hostile" (no text is harmless), "reviewed" (with a job
 * file, a trace and a baseline); static, the same at each call. */
const struct named_campaign *campaign_get(unsigned number);

/* A campaign in a form; the text is static, and lasts until the next call. */
const char *campaign_print(void (*form)(struct writing *text,
                                        const struct report_campaign *campaign),
                           const struct report_campaign *campaign);

/* All that a file or a target may think of: markup, quotes, control characters, bytes that are not
 * UTF-8. */
extern const char hostile_text[];

#endif
