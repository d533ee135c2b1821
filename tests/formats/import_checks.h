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

/* Imports each beginning of the text, or every third (tests/helpers/draws.h).  import is
 * initialised. */
void import_checks_prefixes(const char *text, size_t length, const char *format,
                            struct import *import);

/* Imports the text with some bytes of it replaced, `rounds` times, or a third of them. */
void import_checks_damage(const char *text, size_t length, const char *format, uint64_t rounds,
                          struct import *import);

/* Replays on target hbm: no promise breaks.  Returns how many requests ran out of memory. */
uint64_t import_checks_replay(const struct import *import);

/* The ops as text, one a line, are these. */
void import_checks_ops(const struct import *import, const char *expected);

/* Imports the file of that path, of the format that is recognised. */
void import_checks_file(const char *path, const char *format, const struct import_options *options,
                        struct import *import);

/* The same for corpus/field/NAME, where the folder of the name is its format. */
void import_checks_field(const char *name, struct import *import);

/* Imports beginnings of that file, and the file with `rounds` damages, as the functions above do.
 */
void import_checks_field_damage(const char *name, uint64_t rounds, struct import *import);

/* A file that is refused: result, line, column, and a part of the reason. */
struct import_refused {
    const char *name; /* of the file, or the text itself where the folder is NULL */
    enum import_result result;
    size_t line, column;
    const char *reason;
};
void import_checks_refused(const struct import_refused *refused, const char *folder,
                           const char *format, struct import *import);

#endif
