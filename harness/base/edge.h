/* The largest number for which something holds that holds for all smaller ones: doubling or
 * halving until both sides are known, then bisection. */
#ifndef HARNESS_BASE_EDGE_H
#define HARNESS_BASE_EDGE_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers to search, and the questions to ask about each. */
struct edge_search {
    uint64_t low, high; /* numbers that are tried, both included; low is at least 1 */
    /* True if one more number may be tried; what it says after `false` is not asked. */
    bool (*may_try)(void *context);
    bool (*holds)(void *context, uint64_t number);
    void *context;
};

/* Both sides: it held for `holds`, and not for `fails`; 0 = not known of any number. */
struct edge {
    uint64_t holds, fails;
};

/* Goes on from what *edge knows; where that is nothing, from `start`, which is between low and high
 * and always tried.  Ends when fails is holds + 1, when low fails, when high holds, or when no more
 * may be tried.  Where it holds for a number above one for which it does not, another edge is
 * found. */
void edge_find(const struct edge_search *search, uint64_t start, struct edge *edge);

#endif
