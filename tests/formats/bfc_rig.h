/* What tests of BFC dumps share: the import of a file of our own, whose text stays at hand to be
 * damaged. */
#ifndef TESTS_FORMATS_BFC_RIG_H
#define TESTS_FORMATS_BFC_RIG_H

#include "formats/formats.h"

enum { BFC_TEXT_BYTES_MAX = 1 << 17 };

/* Of the last import. */
struct bfc_rig {
    struct import import;
    struct import_error error;
    char text[BFC_TEXT_BYTES_MAX]; /* length bytes, and a NUL */
    size_t length;
};
extern struct bfc_rig rig;

/* Fixtures of each test. */
void rig_setup(void);
void rig_teardown(void);

/* Fails the test when the file cannot be read or is too long. */
void rig_read(const char *path);
/* Imports a text as a BFC dump. */
enum import_result rig_import_text(const char *text, size_t length);
/* Reads a file of corpus/field/bfc and imports it, the format found by content. */
enum import_result rig_import_own(const char *name);

#endif
