/* Files that are there whole or not at all, and directories. */
#ifndef CAMPAIGN_BASE_FILE_H
#define CAMPAIGN_BASE_FILE_H

#include "reports/writing.h"

#include <stdbool.h>
#include <stddef.h>

enum { FILE_PATH_BYTES = 4096 };

/* Whether both are there, and are one file: under other names, too, and through symbolic links; "-"
 * is standard input. */
bool file_is_same(const char *a, const char *b);

/* Makes of any text what a file can be called: '/', ':', blanks and control characters become '_'.
 */
void file_name_clean(char *name);

/* Makes a directory and those above it.  False: errno says why. */
bool make_directories(const char *path);

/* Writes path by way of path.partial; with is_forced the bytes are on the disk before the name is.
 * False: errno says why, and path is what it was before. */
bool file_replace(const char *path, const void *bytes, size_t length, bool is_forced);

/* Appends all of a file of at most length_max bytes.  False: errno says why (EFBIG: it is larger).
 */
bool file_read(const char *path, size_t length_max, struct writing *bytes);

#endif
