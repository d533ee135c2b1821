/* The bytes of a file, decompressed: plain, gzip (all members) and zstd (all frames), told apart by content. */
#ifndef FORMATS_TEXT_H
#define FORMATS_TEXT_H

#include "formats/formats.h"

#include <stddef.h>

struct text {
    char *bytes; /* length of them, and one NUL behind */
    size_t length;
};

/* Reads path.  IMPORT_OK: the caller calls text_deinit.  IMPORT_UNREADABLE: no such file, a directory, a
 * read error, a damaged or truncated archive, more than bytes_max before or after decompression, or no host
 * memory; *error says which. */
enum import_result text_read(const char *path, size_t bytes_max, struct text *text, struct import_error *error);
void text_deinit(struct text *text);

#endif
