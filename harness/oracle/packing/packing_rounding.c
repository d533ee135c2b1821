#include "harness/oracle/packing/private/packing_search.h"

/* With sizes and bins divided by a unit and rounded down, a bin still holds no more than its own
 * quotient.  Rounding takes from bins and items alike, so the unit refutes when it takes more from
 * the bins than from the items and the slack together. */
static bool unit_refutes(const struct packing_sizes *sizes, uint64_t unit)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < sizes->bin_count; i++) {
        lost += sizes->bins[i] % unit;
    }
    if (lost <= sizes->slack) {
        return false;
    }
    const uint64_t most = lost - sizes->slack;
    uint64_t spared = 0;
    for (size_t i = 0; i < sizes->item_count && spared < most; i++) {
        spared += sizes->items[i] % unit;
    }
    return spared < most;
}

/* Parts of an item or a bin that are tried as units, and how many bins are divided in all: about a
 * millisecond. */
enum { PARTS_MAX = 4, DIVISIONS_MAX = 1 << 18 };

/* Tries parts of length, each larger by `more`, as the unit. */
static bool part_refutes(const struct packing_sizes *sizes, uint64_t length, uint64_t more,
                         uint64_t *unit)
{
    /* A bin loses less than the unit. */
    const uint64_t unit_min = sizes->slack / sizes->bin_count + 2;
    for (uint64_t parts = 1; parts <= PARTS_MAX && length / parts + more >= unit_min; parts++) {
        *unit = length / parts + more;
        if (unit_refutes(sizes, *unit)) {
            return true;
        }
    }
    return false;
}

uint64_t packing_greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool packing_rounding_refutes(const struct packing_sizes *sizes, uint64_t *unit)
{
    /* All items are multiples of *unit. */
    *unit = 0;
    for (size_t i = 0; i < sizes->item_count && *unit != 1; i++) {
        *unit = packing_greatest_divisor(sizes->items[i], *unit);
    }
    if (unit_refutes(sizes, *unit)) {
        return true;
    }
    size_t left = DIVISIONS_MAX / PARTS_MAX / sizes->bin_count;
    for (size_t i = 0; i < sizes->item_count && left > 0; left--) {
        if (part_refutes(sizes, sizes->items[i], 0, unit)) {
            return true;
        }
        i = packing_run_end(sizes->items, sizes->item_count, i);
    }
    for (size_t i = 0; i < sizes->bin_count && left > 0; left--) {
        /* One more than a part is the least that does not go into the bin so often. */
        if (part_refutes(sizes, sizes->bins[i], 1, unit)) {
            return true;
        }
        i = packing_run_end(sizes->bins, sizes->bin_count, i);
    }
    return false;
}
