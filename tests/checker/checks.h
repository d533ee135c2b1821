/* Certificates as text, with what the checker says of each: checks/README.md has the form. */
#ifndef TESTS_CHECKER_CHECKS_H
#define TESTS_CHECKER_CHECKS_H

#include "tests/checker/story.h"

/* The tests in all files, which are read once. */
int checks_count(void);
/* Goes through the rows of a test, each of which is answered as it says.  on_valid_story is NULL,
 * or called with what is valid as a whole: a list, its log and a certificate. */
void checks_run(int test, void (*on_valid_story)(struct story_texts *texts));

#endif
