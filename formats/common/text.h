/* The bytes of a file, decompressed: plain, gzip (all members) and zstd (all frames), told apart by
 * content; UTF-16 with its byte order mark becomes UTF-8: marks are left out, and half of a pair
 * alone becomes U+FFFD.  Small texts are kept in host memory,
 * large ones in a file of our own without a name, so that nobody can cut it while it is read, and
 * which the system may write out when memory is short.
 */
#ifndef FORMATS_COMMON_TEXT_H
#define FORMATS_COMMON_TEXT_H

#include "formats/common/import_error.h"

#include <stdbool.h>
#include <stddef.h>

/* Up to so many bytes stay in host memory: as much as a few million ops take. */
#define TEXT_HEAP_BYTES_MAX ((size_t)64 << 20)

struct text {
    char *bytes; /* length of them, and one NUL behind; read only */
    size_t length;
    bool is_mapped; /* from a file in $TMPDIR, or /tmp, which has no name any more */
};

/* Reads path once, from begin to end; "-" is standard input, from where it stands.  IMPORT_OK: the
 * caller calls text_deinit.  IMPORT_UNREADABLE: no such file, a directory, a read error, a damaged
 * or truncated archive, more than bytes_max bytes of text, no host memory, no room for the
 * temporary file or only by taking more than half of what is free there, a device that is no
 * terminal; *error says which. */
enum import_result text_read(const char *path, size_t bytes_max, struct text *text,
                             struct import_error *error);
void text_deinit(struct text *text);

#endif
