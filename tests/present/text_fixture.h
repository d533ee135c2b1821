/* What a test prints: the text of the test, whose rest is its last block (tests/helpers/snap.h). */
#ifndef TESTS_PRESENT_TEXT_FIXTURE_H
#define TESTS_PRESENT_TEXT_FIXTURE_H

#include "harness/base/writing.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

static struct writing text;

/* For EVERY_TEST(.teardown = snap_text). */
static void snap_text(void)
{
    if (text.length > 0) {
        snap(writing_string(&text));
    }
    writing_deinit(&text);
}

#endif
