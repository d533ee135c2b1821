/* The device of a run whose log does not say all of it: limits, granule and capacity. */
#ifndef FORMATS_COMMON_CAPACITY_H
#define FORMATS_COMMON_CAPACITY_H

#include "formats/common/import.h"

#define CAPACITY_BYTES_MAX ((uint64_t)1 << 50) /* what a setup can hold as capacity */

/* The granule of `hbm` when nobody says otherwise: the heap quantum seen in public counters of v4
 * and v5e. */
enum { GRANULE_BYTES_DEFAULT = 512 };

/* 198,000 ops of 2,000 live blocks replay in 7.4 s with nothing to spare, in 5.1 s with 2 % more,
 * in 1.4 s with an eighth, and in 1.1 s with half. */
enum { CAPACITY_TIGHT_OPS_MAX = 1 << 12, CAPACITY_SPARE_PART = 8 };

/* The largest power of two up to GRANULE_BYTES_DEFAULT that divides all sizes; size_bits: these,
 * or-ed. */
uint64_t capacity_granule(uint64_t size_bits);

/* Chooses what is not fixed, and adds a note where the capacity is assumed or too small.
 * size_bits: all sizes, or-ed.  peak_bytes: the most that is live at a time, each size rounded up
 * to the granule where it is fixed.  IMPORT_INVALID: there is no such device.
 *
 * - The granule, unless it is fixed or in import->setup: capacity_granule().
 * - The capacity, unless it is fixed or in import->setup: the peak.  Nothing is to spare then, so
 * that target option defrag=repack is suggested.  Of more than CAPACITY_TIGHT_OPS_MAX ops, which
 * import->ops must have by then, it is an eighth more. */
enum import_result capacity_choose(const struct import_input *input, uint64_t size_bits,
                                   uint64_t peak_bytes, struct import *import,
                                   struct import_error *error);

#endif
