/* Which functions of the C library a shared object imports that make threads wait for each other,
 * or for the world, in a way that lanes do not model. */
#ifndef EXPLORE_PTHREADS_PTHREADS_IMPORTS_H
#define EXPLORE_PTHREADS_PTHREADS_IMPORTS_H

#include <stddef.h>

/* A function, and why a lane that calls it would not do what it does outside of lanes. */
struct pthreads_unmodelled {
    const char *name;
    const char *only_with; /* another import without which it does no harm; NULL: none is needed */
    const char *reason;    /* completes "NAME REASON" */
};

/* Every function that lanes do not model; the last has a NULL name. */
extern const struct pthreads_unmodelled pthreads_unmodelled[];

/* Lists in words what lanes model. */
extern const char pthreads_modelled[];

/* The first of the table that the shared object imports which has this address in it; what its own
 * libraries import is not looked at.  NULL: none, the address is in the program itself, or no
 * loaded file has it.  O(symbols of the object). */
const struct pthreads_unmodelled *pthreads_find_unmodelled(const void *address);

#endif
