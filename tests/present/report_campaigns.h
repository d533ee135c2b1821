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
enum { NAMED_CAMPAIGN_COUNT = 5 };

/* "empty", "good", "findings" (every kind), "hostile" (no text is harmless), "reviewed" (with a job
 * file, a trace and a baseline); static, the same at each call. */
const struct named_campaign *campaign_get(unsigned number);

/* All that a file or a target may think of: markup, quotes, control characters, bytes that are not
 * UTF-8. */
extern const char hostile_text[];

#endif
