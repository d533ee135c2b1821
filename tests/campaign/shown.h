/* What a campaign shows of its trials (tests/helpers/shown.h), and the folder of a test. */
#ifndef TESTS_CAMPAIGN_SHOWN_H
#define TESTS_CAMPAIGN_SHOWN_H

#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"

/* --- trials --- */

struct run_totals;
struct trial_result;
struct verdict;

/* How it ended, its totals that are not 0, its findings and what was saved: a line each. */
void show_trial(struct trial_result *trial);
void show_totals(const struct run_totals *totals); /* those that are not 0 */
/* "broken crash at op 1", without an end of the line. */
void show_verdict(const struct verdict *verdict);

/* --- the folder of a test --- */

void folder_enter(const char *name);
void folder_leave(void); /* with all that is in it */
/* All names are printed; a path or a text is valid until the fourth call from now. */
const char *folder_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *folder_read(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool folder_has(const char *format, ...) __attribute__((format(printf, 1, 2)));
void folder_write(const char *name, const char *text);
void folder_write_bytes(const char *name, const char *bytes, size_t length);

unsigned count_text(const char *text, const char *wanted);

#endif
