/* Marks for what every op goes through: millions of calls, most of them smaller than the saving of
 * registers around them. */
#ifndef HARNESS_BASE_OFTEN_H
#define HARNESS_BASE_OFTEN_H

/* With all that it calls in one piece, wherever the compiler sees it, ... */
#define OFTEN __attribute__((flatten))
/* ... but for this, which stays a call of its own. */
#define SELDOM __attribute__((noinline, cold))

#endif
