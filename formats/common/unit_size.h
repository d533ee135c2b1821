/* A size as people's programs print it, number and unit apart or together: "9.06 GiB", "512 bytes",
 * "1062 MB", "82514MiB".  It is rounded, so that it stands for a range. */
#ifndef FORMATS_COMMON_UNIT_SIZE_H
#define FORMATS_COMMON_UNIT_SIZE_H

#include "formats/common/phrase.h"

/* bytes is the number as it stands; step_bytes the worth of its last digit: a rounded number is off
 * by half of it at most, a number that is cut down by less than all of it.  0: it is exact. */
struct unit_size {
    uint64_t bytes, step_bytes;
};

/* Takes one after any gap.  Units are powers of 1024, "GB" and "GiB" alike.  False: there is none,
 * or it has more than 12 digits before the point.  What is above 2^62 becomes 2^62. */
bool unit_size_take(struct phrase_cursor *cursor, struct unit_size *size);

#endif
