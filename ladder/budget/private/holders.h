/* Which tags hold the most at a moment, or grew the most: what words and JSON lines of budget
 * share. */
#ifndef LADDER_BUDGET_PRIVATE_HOLDERS_H
#define LADDER_BUDGET_PRIVATE_HOLDERS_H

#include "ladder/budget/budget.h"

enum { HOLDER_COUNT_MAX = 5 };
struct holder {
    uint8_t tag;
    uint64_t bytes; /* > 0 */
};
/* The most first, the smaller tag of equals. */
struct holders {
    struct holder items[HOLDER_COUNT_MAX]; /* count of them */
    size_t count;
};

/* The moment of a row; NULL: it is one of growth, or not measured. */
const struct budget_moment *budget_moment_of(const struct budget *budget,
                                             const struct budget_row *row);
/* Of that moment; of growth the tags whose floors rose, by so much. */
void holders_find(const struct budget *budget, const struct budget_row *row,
                  struct holders *holders);

#endif
