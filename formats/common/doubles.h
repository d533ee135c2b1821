/* Finds a name that comes twice: of millions, in about linear time. */
#ifndef FORMATS_COMMON_DOUBLES_H
#define FORMATS_COMMON_DOUBLES_H

#include <stddef.h>

struct double_name {
    const char *text; /* length bytes, any */
    size_t length;
};

/* The lowest number of a name in names[count] (1 to 2^32 - 1) that came before, or count when none
 * did.  O(bytes), and count log count where somebody chose names of the same hash. */
size_t doubles_find(const struct double_name *names, size_t count);

#endif
