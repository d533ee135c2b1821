/* A file that is there whole or not at all: written next to its place and renamed. */
#ifndef HARNESS_BASE_WHOLE_FILE_H
#define HARNESS_BASE_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { WHOLE_FILE_PATH_BYTES = 4096 };

/* Opens path.partial, in place of one that a killed process left, and names it in partial.  NULL:
 * errno says why (ENAMETOOLONG: for path and ending). */
FILE *whole_file_begin(const char *path, char partial[WHOLE_FILE_PATH_BYTES]);

/* Closes the stream and renames partial to path; with is_forced the bytes are on the disk before
 * the name is.  False: a write failed at any time, and errno says why; partial is gone, and path is
 * what it was before. */
bool whole_file_end(FILE *stream, const char *partial, const char *path, bool is_forced);

/* Writes the whole file at once.  Fails with false, as above. */
bool whole_file_write(const char *path, const void *bytes, size_t length, bool is_forced);

#endif
