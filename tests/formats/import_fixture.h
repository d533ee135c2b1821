/* One import at a time, and why it was refused: what most tests of formats work on. */
#ifndef TESTS_FORMATS_IMPORT_FIXTURE_H
#define TESTS_FORMATS_IMPORT_FIXTURE_H

#include "formats/formats.h"

static struct import import;
static struct import_error error;

/* For checked fixtures. */
static void setup_import(void)
{
    import_init(&import);
    error = (struct import_error){0};
}

static void teardown_import(void)
{
    import_deinit(&import);
}

#endif
