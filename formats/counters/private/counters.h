/* Counters as people paste them: a name, and a number behind it, in whatever brackets and quotes
 * the language prints; and the heap that sums of them stand for. */
#ifndef FORMATS_COUNTERS_PRIVATE_COUNTERS_H
#define FORMATS_COUNTERS_PRIVATE_COUNTERS_H

#include "formats/common/cursor.h"
#include "formats/common/import.h"
#include "formats/common/phrase.h"

/* "'bytes_in_use': 12288", "('active_bytes.all.peak', 3)", "bytes_reserved = 27.25 GiB". */
struct counter {
    const char *name; /* letters, digits, '_' and '.'; in the text */
    size_t name_length;
    size_t at; /* of the name */
    bool is_negative;
    struct unit_size value; /* bytes, or a count */
};

/* The next name that a number follows; moves the cursor behind it.  False: there is none.  Numbers
 * of more than 18 digits are passed over.  Linear. */
bool counter_next(struct phrase_cursor *cursor, struct counter *counter);

/* One device of which sums are known: whole granules. */
struct counted_device {
    uint64_t limit_bytes, in_use_bytes, reserved_bytes;
    uint64_t largest_free_bytes; /* 0 = not known */
};

/* The ops that fill each device: what is reserved as the stack of a program that runs for ever,
 * what is in use above it, from the top down, and what is free in holes of which the lowest is the
 * largest.  tag: of what is in use.  Sets capacity, granule and hosts.  IMPORT_INVALID: a capacity
 * or granule that is fixed does not hold them. */
enum import_result counted_build(const struct counted_device *devices, size_t count,
                                 const char *tag, const struct import_input *input,
                                 struct import *import, struct import_error *error);

#endif
