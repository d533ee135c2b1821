/* What every importer of a field format is held to: any beginning of a file and any damage is
 * imported or refused in one line, and what is imported replays.  For libcheck tests. */
#ifndef TESTS_FORMATS_IMPORT_CHECKS_H
#define TESTS_FORMATS_IMPORT_CHECKS_H

#include "formats/formats.h"

#include <stddef.h>
#include <stdint.h>

/* A whole file, decompressed, in memory of exactly its length, so that a sanitizer sees whoever
 * reads behind it. The caller frees. */
char *import_checks_read(const char *path, size_t *length);

/* Replays on target hbm: no promise breaks.  Returns how many requests ran out of memory. */
uint64_t import_checks_replay(const struct import *import);

/* Imports the file of that path, of the format that is recognised. */
void import_checks_file(const char *path, const char *format, const struct import_options *options,
                        struct import *import);

/* Imports each beginning of corpus/field/NAME, or every third (tests/helpers/draws.h), and the file
 * with some of its bytes replaced, `rounds` times or a twelfth of them.  The folder of the name is
 * its format; import is initialised. */
void import_checks_field_damage(const char *name, uint64_t rounds, struct import *import);

#endif
