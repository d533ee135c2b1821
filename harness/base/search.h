/* Binary search in whatever is sorted: the one loop for it, written into the caller's place, so
 * that it costs what a loop by hand costs. */
#ifndef HARNESS_BASE_SEARCH_H
#define HARNESS_BASE_SEARCH_H

/* Sets index, a variable of uint32_t or wider, to the first number in [from, end) for which `holds`
 * is true, or to end where there is none.  holds is an expression that reads index; it is false
 * below some number and true from there on, and is evaluated at most log2(end - from) + 1 times.
 * from and end are evaluated once; from is at most end.
 *
 *     SEARCH_FIRST(i, 0, count, places[i].start >= start);
 */
#define SEARCH_FIRST(index, from, end, holds)                       \
    do {                                                            \
        __typeof__(index) search_low = (from), search_high = (end); \
        while (search_low < search_high) {                          \
            (index) = search_low + (search_high - search_low) / 2;  \
            if (holds) {                                            \
                search_high = (index);                              \
            } else {                                                \
                search_low = (index) + 1;                           \
            }                                                       \
        }                                                           \
        (index) = search_low;                                       \
    } while (0)

#endif
