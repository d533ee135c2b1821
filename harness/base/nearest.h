/* The valid name that a wrong one was probably meant to be. */
#ifndef HARNESS_BASE_NEAREST_H
#define HARNESS_BASE_NEAREST_H

#include <stddef.h>

/* The name of names[count] with the fewest edits to name, at most a third of its length plus one;
 * NULL when none is so near.  The first of equals wins.  O(count * length of name). */
const char *nearest_name(const char *name, const char *const *names, size_t count);

#endif
