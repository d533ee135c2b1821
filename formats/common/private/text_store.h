/* Where the text of a file is put while it is read: host memory, and from TEXT_HEAP_BYTES_MAX on a
 * file without a name. */
#ifndef FORMATS_COMMON_PRIVATE_TEXT_STORE_H
#define FORMATS_COMMON_PRIVATE_TEXT_STORE_H

#include "formats/common/text.h"

#include <stdint.h>

struct text_store {
    char *heap; /* what is not in the file */
    size_t heap_length, heap_capacity;
    size_t length; /* in all, at most bytes_max */
    size_t bytes_max;
    int file;                /* -1: none yet */
    uint64_t file_bytes_max; /* half of what was free where the file is when it was begun */
    struct import_error *error;
};

void text_store_init(struct text_store *store, size_t bytes_max, struct import_error *error);
/* Where the next bytes go, *room of them (at least 1), and afterwards how many were put there.
 * IMPORT_UNREADABLE: as text_read() says. */
enum import_result text_store_room(struct text_store *store, char **at, size_t *room);
enum import_result text_store_add(struct text_store *store, size_t count);
/* Hands the text over.  IMPORT_UNREADABLE: it cannot be mapped. */
enum import_result text_store_finish(struct text_store *store, struct text *text);
void text_store_deinit(struct text_store *store);

#endif
